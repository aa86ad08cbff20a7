"""Lengths of time as people write them: `12h`, `30d`, `2w`."""

import re
from datetime import timedelta
from typing import Final

DURATION: Final = re.compile(r"([0-9]{1,4})(h|d|w)")
UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


def parse_duration(text: str) -> timedelta:
    """Reads a duration.

    Args:
        text: A whole number up to 9999 and `h`, `d` or `w`.

    Returns:
        The duration.

    Raises:
        ValueError: It is none; the message says how to write one.
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration: it takes a whole number up to 9999 and h, d or w")
    return timedelta(**{UNITS[found[2]]: int(found[1])})

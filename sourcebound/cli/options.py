"""Lengths of time as people write them: `12h`, `30d`, `2w`.

Values of options that several commands take.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from sourcebound.errors import RequestError


def read_moment(text: str | None) -> datetime | None:
    """A date or a time as a moment; UTC where it names no zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestError(f"{text!r} is no time: {error}.", "Write it as 2024-03-01 or 2024-03-01T08:00Z.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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

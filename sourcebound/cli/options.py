"""Values of options that several commands take."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from sourcebound.errors import RequestError

DURATION: Final = re.compile(r"([0-9]{1,4})(h|d|w)")
UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


def read_moment(text: str | None) -> datetime | None:
    """Read a date or a time; UTC where it names no zone.

    Raises:
        RequestError: The text is neither.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestError(
            f"{text!r} is not a date or a time: {error}.", "Write it as 2024-03-01 or 2024-03-01T08:00Z."
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_duration(text: str) -> timedelta:
    """Read a duration: a whole number up to 9999 and `h`, `d` or `w`.

    Raises:
        ValueError: The text has another form. The message says how to write one.
    """
    match = DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write a whole number (max 9999) followed by h, d or w")
    return timedelta(**{UNITS[match[2]]: int(match[1])})

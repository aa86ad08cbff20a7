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


def read_label_options(
    labels: list[str] | None, is_none: bool, option: str, *, of_caller: bool = False
) -> tuple[str, ...] | None:
    """Read the labels that a command names.

    Args:
        labels: The values of `--label`.
        is_none: Whether the option was given that means no label.
        option: The name of that option.
        of_caller: Whether they are those of a caller, who may have more than a document.

    Returns:
        The labels in order; None if neither option was given.

    Raises:
        RequestError: A label has another form, or both options were given.
    """
    if labels and is_none:
        raise RequestError(f"--label and {option} exclude each other.", "Omit one of them.")
    if not labels:
        return () if is_none else None
    from sourcebound.contracts.labels import MAX_CALLER_LABELS, MAX_LABELS, read_labels

    try:
        return read_labels(labels, MAX_CALLER_LABELS if of_caller else MAX_LABELS)
    except ValueError as error:
        raise RequestError(f"--label {error}.", "Try --label qa.", code="BAD_LABEL") from error

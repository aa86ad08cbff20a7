"""Values of options that several commands take."""

from datetime import UTC, datetime

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

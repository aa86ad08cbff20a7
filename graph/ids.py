"""New ids."""

from uuid_utils import uuid7


def new_id() -> str:
    """A UUIDv7 (S-2)."""
    return str(uuid7())

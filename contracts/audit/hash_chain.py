"""R5P-4: the hash chain of the audit records, which anyone can recompute.

The hash of a record is the SHA-256 of a JSON object of its columns and `previous_hash`, written by `canonical_json`.
Null columns are omitted, so that a column added later does not change the hashes of older records. `timestamp_utc` is
text, in UTC, with six decimal places of the second and `+00:00`. `position`, `previous_hash` and `row_hash` belong to
the chain and are not columns of the record.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.text.canonical_json import canonical_json

GENESIS: Final = "0" * 64
"""`previous_hash` of the first record."""
Column = bool | int | float | str | list[str] | None


class Link(NamedTuple):
    """A place in the chain: the position and hash of a record."""

    position: int
    row_hash: str


START: Final = Link(0, GENESIS)
"""The place before the first record."""


class ChainedRow(NamedTuple):
    """One stored record, unchecked: it may have been tampered with."""

    position: int | None
    """None for a record that is older than the chain."""
    previous_hash: str | None
    row_hash: str | None
    columns: dict[str, Column]
    """The columns of R5P-2, metrics included, by their names in the table."""


class BrokenRow(NamedTuple):
    """The first record that does not fit its chain."""

    position: int
    run_id: str | None
    """None if the end of the chain is missing."""
    finding: str


class ChainReport(NamedTuple):
    """The result of verifying a whole chain."""

    records: int
    """The number of valid records, up to the end or to the first broken one."""
    end: Link
    """The place of the last valid record."""
    unchained: int
    """The number of records that are older than the chain, which does not cover them."""
    broken: BrokenRow | None


def audit_columns(record: AuditRecord) -> dict[str, Column]:
    """Return the columns of a record as the table names them and as they are hashed."""
    values = record.model_dump(mode="json")
    metrics = values.pop("grounding_metrics")
    timestamp = datetime.fromisoformat(record.timestamp_utc)
    timestamp = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    values["timestamp_utc"] = timestamp.astimezone(UTC).isoformat(timespec="microseconds")
    return {**values, **metrics}


def record_hash(record: Mapping[str, Column], previous_hash: str) -> str:
    """Compute the hash of a record at its place in the chain.

    Args:
        record: Its columns, as `audit_columns` returns them.
        previous_hash: The hash of the record before it; `GENESIS` for the first.

    Returns:
        64 hexadecimal digits.
    """
    payload = {name: value for name, value in record.items() if value is not None} | {"previous_hash": previous_hash}
    return hashlib.sha256(canonical_json(payload)).hexdigest()


def verify_chain(rows: Iterable[ChainedRow], after: Link = START) -> BrokenRow | None:
    """Recompute a part of the chain.

    Args:
        rows: The records in the order of their positions.
        after: The place that they follow.

    Returns:
        The first record that does not fit, or None.
    """
    for row in rows:
        finding = _find_break(row, after)
        if finding is not None:
            return BrokenRow(row.position or 0, str(row.columns.get("run_id")), finding)
        after = link_of(row)
    return None


def link_of(row: ChainedRow) -> Link:
    """Return the place of a record that is part of the chain."""
    if row.position is None or row.row_hash is None:
        raise ValueError("a record from before the chain has no place in it")
    return Link(row.position, row.row_hash)


def _find_break(row: ChainedRow, after: Link) -> str | None:
    expected = after.position + 1
    if row.position is None or row.position < expected:
        return f"it stands where position {expected} should"
    if row.position > expected:
        return f"position {expected} is missing before it"
    if row.previous_hash != after.row_hash:
        return "its previous_hash is not the row_hash of the record before it"
    try:
        computed = record_hash(row.columns, after.row_hash)
    except ValueError:
        return "one of its columns holds a number that is none"
    return None if row.row_hash == computed else "its columns do not give its row_hash: one of them was changed"

"""R5P-4: the audit records as a hash chain that anyone can compute again.

The hash of a record is the SHA-256 of a JSON object of its columns and `previous_hash`, in the form of `canonical_json`
and with the columns that are null left out (so that a column added later leaves the hashes of older records as they
are). `timestamp_utc` is text, in UTC, with six digits of a second and `+00:00`.
`position`, `previous_hash` and `row_hash` are the chain's own and no columns of the record.
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
    """A place in the chain: a record's position and hash."""

    position: int
    row_hash: str


START: Final = Link(0, GENESIS)
"""The place before the first record."""


class ChainedRow(NamedTuple):
    """One record as it is stored, whatever that is: it may have been tampered with."""

    position: int | None
    """None for a record from before the chain."""
    previous_hash: str | None
    row_hash: str | None
    columns: dict[str, Column]
    """The columns of R5P-2, metrics included, in the table's names."""


class BrokenRow(NamedTuple):
    """The first record that does not fit its chain."""

    position: int
    run_id: str | None
    """None where the record is missing from the end."""
    finding: str


class ChainReport(NamedTuple):
    """What a verification of a whole chain found."""

    records: int
    """Records that were found in order, up to the end or to the first broken one."""
    end: Link
    """The last of them."""
    unchained: int
    """Records from before the chain, which it does not cover."""
    broken: BrokenRow | None


def audit_columns(record: AuditRecord) -> dict[str, Column]:
    """The record as the columns of its table, in the form in which they are hashed."""
    values = record.model_dump(mode="json")
    metrics = values.pop("grounding_metrics")
    moment = datetime.fromisoformat(record.timestamp_utc)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    values["timestamp_utc"] = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return {**values, **metrics}


def record_hash(record: Mapping[str, Column], previous_hash: str) -> str:
    """The hash of a record in its place.

    Args:
        record: Its columns, as `audit_columns` gives them.
        previous_hash: The hash of the record before it; `GENESIS` for the first.

    Returns:
        64 hexadecimal digits.
    """
    form = {name: value for name, value in record.items() if value is not None} | {"previous_hash": previous_hash}
    return hashlib.sha256(canonical_json(form)).hexdigest()


def verify_chain(rows: Iterable[ChainedRow], after: Link = START) -> BrokenRow | None:
    """Computes a stretch of the chain again.

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
    """The place of a record that is part of the chain."""
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

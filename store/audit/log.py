"""R5P in PostgreSQL: the audit record, its chain position and the end of its run, in one transaction.

The database itself refuses changes, and the chain shows changes by an owner who overrules it.
"""

import asyncio
import contextlib
import json
from datetime import datetime
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor, IsolationLevel

from sourcebound.contracts.audit.hash_chain import (
    START,
    BrokenRow,
    ChainedRow,
    ChainReport,
    Link,
    audit_columns,
    link_of,
    record_hash,
    verify_chain,
)
from sourcebound.contracts.audit.record import ADDED, AuditRecord
from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.request import Run
from sourcebound.errors import StoreError
from sourcebound.store.audit.signed_heads import SignedHeads
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Flush
from sourcebound.store.connection.database import Pool, Row, open_pipeline, store_faults
from sourcebound.store.connection.queries import query

BATCH: Final = 1000
"""Records in one read."""


class PostgresAuditLog:
    """The table `validations`.

    A record is appended at the end of the chain that this process knows. If another process appended meanwhile, nothing
    is written, the end is locked and read, and the record is appended there.

    Args:
        pool: Connections to its database.
        buffer: The checkpoints that a record depends on; they are stored with it.
        heads: Signs the end of the chain at an interval (R5P-8).
    """

    def __init__(self, pool: Pool, buffer: CheckpointBuffer, heads: SignedHeads | None = None) -> None:
        self._pool = pool
        self._heads = heads
        self._buffer = buffer
        self._end: Link | None = None
        self._append_lock = asyncio.Lock()

    async def append(
        self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str
    ) -> AuditRecord:
        """Write the record, the texts and the end of the run together; return the stored record (R5P-1, R5P-3).

        If the run defers its last checkpoints, the record is written with them and the response.
        """
        run_values = {
            "question": run.question,
            "raw_model_text": raw_model_text or None,
            "validated_answer_text": validated_answer_text or None,
            "salt": run.salt,
            "status": record.generation_status,
            "reason": record.failure_reason or record.refusal_code,
        }

        async def write(is_last: bool) -> str:
            await self._buffer.wait_for_flush(run.thread_id)  # an error of the answer's write is not one of the record
            try:
                async with self._append_lock:
                    return await self._write(run.thread_id, record, run_values, is_last=is_last)
            except StoreError as error:
                if not error.is_unavailable and not is_last:  # the database answers
                    with contextlib.suppress(StoreError):
                        await self._close_unrecorded(run)
                raise

        if await self._buffer.set_final_write(run.thread_id, write):
            return record
        return record.model_copy(update={"timestamp_utc": await write(False)})

    async def find_records(self, prefix: str) -> list[ChainedRow]:
        """Return the records of the runs whose id starts with `prefix` or whose request id it is, by position."""
        values = {"prefix": prefix, "after": None, "since": None}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("read_validations"), values, binary=True)
                return [read_chained(row) for row in await cursor.fetchall()]

    async def verify(self, last: int | None = None) -> ChainReport:
        """Recompute the chain over one snapshot of the table (R5P-4).

        Args:
            last: The number of records at its end to recompute. None recomputes the whole chain.
        """
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                try:
                    async with connection.transaction():
                        return await _verify(connection, last)
                finally:
                    await connection.set_isolation_level(None)

    async def end(self) -> Link:
        """Return the end of the chain as the database has it."""
        with store_faults():
            async with self._pool.connection() as connection:
                head = _head(await (await connection.execute(query("read_audit_head"))).fetchone())
                return Link(head["position"], head["row_hash"])

    async def hashes_at(self, positions: list[int]) -> dict[int, str]:
        """Return the hashes of the records at some positions; a position without a record is absent."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("hashes_at"), {"positions": positions})
                return {row["position"]: row["row_hash"] for row in await cursor.fetchall()}

    async def _write(self, thread_id: str, record: AuditRecord, run_values: Row, *, is_last: bool) -> str:
        """Append the record at the known end of the chain, or at its actual end.

        The checkpoints follow it, on the condition that the record exists.
        """

        async def at_known_end(connection: AsyncConnection[Row], flush: Flush) -> AppendResult | None:
            async with open_pipeline(connection):  # one transaction, one round trip
                leases = {"workers": self._buffer.lease_ids(record.run_id)}
                appended = await _append(connection, record, run_values | leases, self._end)
                await flush.send(position=appended.end.position)
            await flush.check()
            return appended if await appended.is_stored() else None

        async def at_locked_end(connection: AsyncConnection[Row], flush: Flush) -> AppendResult:
            async with open_pipeline(connection), connection.transaction():
                while True:
                    lease_ids = self._buffer.lease_ids(record.run_id)
                    appended = await _append(connection, record, run_values | {"workers": lease_ids}, None)
                    if await appended.is_stored():
                        if is_last and not _is_same_time(appended.written_at, record.timestamp_utc):
                            raise _duplicate_error(record)
                        await flush.send()
                        await flush.check()
                        return appended
                    if lease_ids == self._buffer.lease_ids(record.run_id):
                        error = await self._buffer.find_run_lost_error(connection, record.run_id)
                        raise error or _not_written_error(record)

        appended = await self._buffer.write(thread_id, at_known_end, is_last=is_last) if self._end else None
        if appended is None:
            appended = await self._buffer.write(thread_id, at_locked_end, is_last=is_last)
        self._end = appended.end
        if self._heads:
            self._heads.note(appended.end)
        return appended.written_at

    async def _close_unrecorded(self, run: Run) -> None:
        """Close a run whose record could not be written, so that it is not listed as running for ever."""
        values = {
            "run_id": run.run_id,
            "reason": FailureCode.AUDIT_UNAVAILABLE.value,
            "policy_version": run.policy_version,
            "workers": self._buffer.lease_ids(run.run_id),
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("close_unrecorded_run"), values)


class AppendResult(NamedTuple):
    """A record that existed, or was sent."""

    end: Link
    """The end of the chain with the record."""
    written_at: str
    cursor: AsyncCursor[Row] | None = None

    async def is_stored(self) -> bool:
        """Whether the record existed, or the chain ended at the expected position."""
        return self.cursor is None or await self.cursor.fetchone() is not None


async def _append(
    connection: AsyncConnection[Row], record: AuditRecord, run_values: Row, end: Link | None
) -> AppendResult:
    """Send the record for the given end of the chain; without one, lock and read the end unless the record exists.

    The lock on the head of the chain serializes appends.
    """
    columns: Row = {**dict.fromkeys(ADDED), **audit_columns(record)}
    if end is None:
        locked = await connection.execute(query("lock_audit_head"))
        existing = await connection.execute(query("find_validation"), columns, binary=True)
        head, stored = _head(await locked.fetchone()), await existing.fetchone()
        end = Link(head["position"], head["row_hash"])
        if stored is not None:
            _check_same(record, columns, stored)
            return AppendResult(end, str(stored["timestamp_utc"]))
    added = Link(end.position + 1, record_hash(columns, end.row_hash))
    place = {**added._asdict(), "previous_hash": end.row_hash}
    values = columns | run_values | {"position": added.position, "record": json.dumps(columns | place)}
    cursor = await connection.execute(query("append_validation"), values)
    return AppendResult(added, record.timestamp_utc, cursor)


def _head(row: Row | None) -> Row:
    if row is None:
        raise StoreError(
            "the table audit_head has no row: the end of the audit chain is missing.",
            "Restore the database from a backup: records cannot be added without it.",
            code="AUDIT_HEAD_MISSING",
        )
    return row


def _not_written_error(record: AuditRecord) -> StoreError:
    return StoreError(
        f"the record of run {record.run_id} was not written although the end of the audit chain was locked.",
        "Check the chain with `sourcebound audit verify`, and ask again.",
        code="AUDIT_NOT_WRITTEN",
    )


def _is_same_time(first: str, second: str) -> bool:
    return datetime.fromisoformat(first) == datetime.fromisoformat(second)


def _duplicate_error(record: AuditRecord) -> StoreError:
    return StoreError(
        f"run {record.run_id} has its audit record already, with another timestamp than its response.",
        "Nothing: the response is made from the stored record.",
        code="AUDIT_STANDS",
    )


def _check_same(record: AuditRecord, row: Row, stored: Row) -> None:
    """Check that a repeated record equals the stored one, except for its timestamp (R5P-1)."""
    different = [
        name for name, value in row.items() if name in stored and name != "timestamp_utc" and stored[name] != value
    ]
    if different:
        raise StoreError(
            f"run {record.run_id} has a different audit record already; they differ in {', '.join(sorted(different))}.",
            "Start a new run: a record is never replaced.",
            code="AUDIT_CONFLICT",
        )


def read_chained(row: Row) -> ChainedRow:
    """Convert a row of the query `read_validations`."""
    columns: dict[str, Any] = {name: value for name, value in row.items() if name not in ADDED or value is not None}
    return ChainedRow(columns.pop("position"), columns.pop("previous_hash"), columns.pop("row_hash"), columns)


async def _verify(connection: AsyncConnection[Row], last: int | None) -> ChainReport:
    head = _head(await (await connection.execute(query("read_audit_head"))).fetchone())
    records, end = 0, START if last is None else await _read_link(connection, head["position"] - last)
    async with connection.cursor("audit_chain", binary=True) as cursor:
        await cursor.execute(query("read_validations"), {"prefix": None, "after": end.position, "since": None})
        while batch := [read_chained(row) for row in await cursor.fetchmany(BATCH)]:
            for row in batch:
                broken = verify_chain([row], end)
                if broken is not None:
                    return ChainReport(records, end, head["unplaced"], broken)
                records, end = records + 1, link_of(row)
    return ChainReport(records, end, head["unplaced"], _find_broken_end(end, head))


async def _read_link(connection: AsyncConnection[Row], position: int) -> Link:
    """Return the place of the record at a position, or the start of the chain. No record follows one that is gone."""
    if position <= START.position:
        return START
    row = await (await connection.execute(query("hashes_at"), {"positions": [position]})).fetchone()
    return Link(position, row["row_hash"] if row else "")


def _find_broken_end(end: Link, head: Row) -> BrokenRow | None:
    """Find breaks that the chain itself cannot show: records missing at its end, and records without a position."""
    expected = Link(head["position"], head["row_hash"])
    if end.position < expected.position:
        return BrokenRow(end.position + 1, None, f"the last {expected.position - end.position} records are missing")
    if end != expected:
        finding = f"audit_head says that the chain ends at {expected.position} with {expected.row_hash}"
        return BrokenRow(end.position, None, finding)
    if head["unplaced"] != head["unchained"]:
        finding = f"{head['unplaced']} records have no place in the chain; {head['unchained']} should"
        return BrokenRow(0, None, finding)
    return None

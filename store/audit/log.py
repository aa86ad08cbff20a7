"""R5P in PostgreSQL: the audit record, its place in the chain and the close of its run, in one transaction.

The database itself refuses changes, and the chain shows those of whoever can overrule it.
"""

import asyncio
import contextlib
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
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.request import Run
from sourcebound.errors import StoreError
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Flush
from sourcebound.store.connection.database import Pool, Row, pipelined, store_faults
from sourcebound.store.connection.queries import query

BATCH: Final = 1000
"""Records that are read at a time."""


class PostgresAuditLog:
    """The table `validations`.

    A record goes to the end of the chain where this process left it. Where another one has added to it meanwhile,
    nothing is written, the end is locked and read, and the record goes there.

    Args:
        pool: Connections to its database.
        journal: The checkpoints that a record stands on, which are stored with it.
    """

    def __init__(self, pool: Pool, journal: CheckpointBuffer) -> None:
        self._pool = pool
        self._journal = journal
        self._end: Link | None = None
        self._turn = asyncio.Lock()

    async def append(
        self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str
    ) -> AuditRecord:
        """Writes the record, the run's texts and its end together; returns the record that stands (R5P-1, R5P-3).

        Where the run's end is held for its last record, it is promised here, and written with the response.
        """
        beside = {
            "question": run.question,
            "raw_model_text": raw_model_text or None,
            "validated_answer_text": validated_answer_text or None,
            "status": record.generation_status,
            "reason": record.failure_reason or record.refusal_code,
        }

        async def write(is_last: bool) -> str:
            await self._journal.settle(run.thread_id)  # an answer that is refused is no refused record
            try:
                async with self._turn:
                    return await self._write(run.thread_id, record, beside, is_last=is_last)
            except StoreError as error:
                if error.failure_code != StoreError.code and not is_last:  # the database answers
                    with contextlib.suppress(StoreError):
                        await self._close_unrecorded(run)
                raise

        if await self._journal.promise(run.thread_id, write):
            return record
        return record.model_copy(update={"timestamp_utc": await write(False)})

    async def find_records(self, prefix: str) -> list[ChainedRow]:
        """The records of the runs whose id starts with `prefix` or whose request id it is, by position."""
        values = {"prefix": prefix, "after": None, "since": None}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("read_validations"), values, binary=True)
                return [read_chained(row) for row in await cursor.fetchall()]

    async def verify(self) -> ChainReport:
        """Computes the whole chain again, over one snapshot of the table (R5P-4)."""
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                try:
                    async with connection.transaction():
                        return await _verify(connection)
                finally:
                    await connection.set_isolation_level(None)

    async def _write(self, thread_id: str, record: AuditRecord, beside: Row, *, is_last: bool) -> str:
        """Writes the record at the known end of the chain, or else at the end that is found there.

        The checkpoints come after it, and on the condition that it is there.
        """

        async def at_known_end(connection: AsyncConnection[Row], sending: Flush) -> AppendResult | None:
            async with pipelined(connection):  # one transaction, one way there and back
                ours = {"workers": self._journal.numbers(record.run_id)}
                appended = await _append(connection, record, beside | ours, self._end)
                await sending.send(position=appended.end.position)
            await sending.check()
            return appended if await appended.is_there() else None

        async def at_locked_end(connection: AsyncConnection[Row], sending: Flush) -> AppendResult:
            async with pipelined(connection), connection.transaction():
                while True:
                    numbers = self._journal.numbers(record.run_id)
                    appended = await _append(connection, record, beside | {"workers": numbers}, None)
                    if await appended.is_there():
                        if is_last and not _is_of_one_moment(appended.written_at, record.timestamp_utc):
                            raise _duplicate_error(record)
                        await sending.send()
                        await sending.check()
                        return appended
                    if numbers == self._journal.numbers(record.run_id):
                        raise await self._journal.find_loss(connection, record.run_id) or _not_written(record)

        appended = await self._journal.write(thread_id, at_known_end, is_last=is_last) if self._end else None
        if appended is None:
            appended = await self._journal.write(thread_id, at_locked_end, is_last=is_last)
        self._end = appended.end
        return appended.written_at

    async def _close_unrecorded(self, run: Run) -> None:
        """The list of runs must not show for ever as running what failed for want of its record."""
        values = {
            "run_id": run.run_id,
            "reason": FailureCode.AUDIT_UNAVAILABLE.value,
            "policy_version": run.policy_version,
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("close_unrecorded_run"), values)


class AppendResult(NamedTuple):
    """A record that was there, or was sent to be written."""

    end: Link
    """The end of the chain with it."""
    written_at: str
    cursor: AsyncCursor[Row] | None = None

    async def is_there(self) -> bool:
        """Whether it was there, or the chain ended where it was to be added."""
        return self.cursor is None or await self.cursor.fetchone() is not None


async def _append(connection: AsyncConnection[Row], record: AuditRecord, beside: Row, end: Link | None) -> AppendResult:
    """Sends the record to the end of the chain; where none is given, that is locked and read, if it is not there yet.

    The lock on the chain's head makes appends take turns.
    """
    columns: Row = {**audit_columns(record)}
    if end is None:
        locked = await connection.execute(query("lock_audit_head"))
        found = await connection.execute(query("find_validation"), columns, binary=True)
        head, stored = _head(await locked.fetchone()), await found.fetchone()
        end = Link(head["position"], head["row_hash"])
        if stored is not None:
            _check_same(record, columns, stored)
            return AppendResult(end, str(stored["timestamp_utc"]))
    added = Link(end.position + 1, record_hash(columns, end.row_hash))
    place = {**added._asdict(), "previous_hash": end.row_hash}
    cursor = await connection.execute(query("append_validation"), columns | beside | place)
    return AppendResult(added, record.timestamp_utc, cursor)


def _head(row: Row | None) -> Row:
    if row is None:
        raise StoreError(
            "the table audit_head has lost its row, the end of the audit chain.",
            "Restore the database from a backup: records cannot be added without it.",
            code="AUDIT_HEAD_MISSING",
        )
    return row


def _not_written(record: AuditRecord) -> StoreError:
    return StoreError(
        f"the record of run {record.run_id} was not written although the end of the audit chain was held for it.",
        "Check the chain with `sourcebound audit verify`, and ask again.",
        code="AUDIT_NOT_WRITTEN",
    )


def _is_of_one_moment(first: str, second: str) -> bool:
    return datetime.fromisoformat(first) == datetime.fromisoformat(second)


def _duplicate_error(record: AuditRecord) -> StoreError:
    return StoreError(
        f"run {record.run_id} has its audit record already, of another moment than the response that is to go with it.",
        "Nothing: the response is made from the record that stands.",
        code="AUDIT_STANDS",
    )


def _check_same(record: AuditRecord, row: Row, stored: Row) -> None:
    """A repeated write of the same record is nothing new; the time at which it was made again may differ (R5P-1)."""
    different = [
        name for name, value in row.items() if name in stored and name != "timestamp_utc" and stored[name] != value
    ]
    if different:
        raise StoreError(
            f"run {record.run_id} has another audit record already; they differ in {', '.join(sorted(different))}.",
            "Start a new run: a record is never replaced.",
            code="AUDIT_CONFLICT",
        )


def read_chained(row: Row) -> ChainedRow:
    """A row of the query `read_validations`."""
    columns: dict[str, Any] = dict(row)
    return ChainedRow(columns.pop("position"), columns.pop("previous_hash"), columns.pop("row_hash"), columns)


async def _verify(connection: AsyncConnection[Row]) -> ChainReport:
    head = _head(await (await connection.execute(query("read_audit_head"))).fetchone())
    records, end = 0, START
    async with connection.cursor("audit_chain", binary=True) as cursor:
        await cursor.execute(query("read_validations"), {"prefix": None, "after": 0, "since": None})
        while batch := [read_chained(row) for row in await cursor.fetchmany(BATCH)]:
            for row in batch:
                broken = verify_chain([row], end)
                if broken is not None:
                    return ChainReport(records, end, head["unplaced"], broken)
                records, end = records + 1, link_of(row)
    return ChainReport(records, end, head["unplaced"], _find_broken_end(end, head))


def _find_broken_end(end: Link, head: Row) -> BrokenRow | None:
    """What the chain itself cannot show: records cut off its end, and records beside it."""
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

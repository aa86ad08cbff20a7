"""Reads stored runs page by page: checkpoints, values, audit rows and texts.

Nothing is decoded here. Each page is read from one snapshot of the database, so that an active run is seen whole or
not at all.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.audit.agreement import AnswerRow, TurnRow
from sourcebound.contracts.audit.hash_chain import BrokenRow, ChainedRow
from sourcebound.contracts.audit.removals import Removal, find_broken_removal
from sourcebound.contracts.replay.report import RecordedText
from sourcebound.store.audit.log import read_chained
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.runs.log import RunSummary

PAGE: Final = 32
"""Runs on a page: some hundred kilobytes."""


class StoredCheckpoint(NamedTuple):
    """A row of `checkpoints`."""

    checkpoint_id: str
    parent_checkpoint_id: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]


class StoredValue(NamedTuple):
    """A row of `checkpoint_blobs`: one version of one channel."""

    channel: str
    version: str
    type: str
    blob: bytes | None


class StoredRun(NamedTuple):
    """The stored rows of one run, ordered by checkpoint, chain position and attempt."""

    summary: RunSummary
    checkpoints: tuple[StoredCheckpoint, ...]
    values: tuple[StoredValue, ...]
    records: tuple[ChainedRow, ...]
    texts: tuple[RecordedText, ...]
    removals: frozenset[str]
    """The kinds of its removals that were noted."""
    answers: tuple[AnswerRow, ...]
    turn: TurnRow | None
    """Its place in a conversation; None if it has none."""


class PostgresHistory:
    """Every recorded run.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, since: datetime | None = None) -> int:
        """Count the runs, or those that began since a time."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("count_runs"), {"since": since})
                row = await cursor.fetchone()
                return row["runs"] if row else 0

    async def pages(self, since: datetime | None = None, size: int = PAGE) -> AsyncIterator[list[StoredRun]]:
        """Yield the runs in pages, oldest first.

        Args:
            since: Skip runs that began earlier.
            size: The number of runs on a page.
        """
        values: Row = {"since": since, "started_at": None, "run_id": "", "limit": size}
        while True:
            with store_faults():
                async with self._pool.connection() as connection, connection.transaction():
                    await connection.execute(query("one_state"))
                    cursor = await connection.execute(query("page_runs"), values)
                    summaries = [RunSummary(**row) for row in await cursor.fetchall()]
                    page = await _read(connection, summaries)
            if not page:
                return
            yield page
            values |= {"started_at": summaries[-1].started_at, "run_id": summaries[-1].run_id}

    async def find_records_without_run(self) -> list[str]:
        """Return the ids of runs that have an audit record and no row in `runs`."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("records_without_run"))
                return [row["run_id"] for row in await cursor.fetchall()]

    async def find_broken_removal(self) -> BrokenRow | None:
        """Recompute the chain of erasures and prunings; return the first that does not fit, or None (R5P-7)."""
        with store_faults():
            async with self._pool.connection() as connection:
                removals = await _rows(connection, "read_removals", {})
        return find_broken_removal(Removal(**row) for row in removals)

    async def read(self, summary: RunSummary) -> StoredRun:
        """Read the stored rows of one run."""
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("one_state"))
                (run,) = await _read(connection, [summary])
                return run


async def _read(connection: AsyncConnection[Row], summaries: Sequence[RunSummary]) -> list[StoredRun]:
    threads = {"threads": [summary.thread_id for summary in summaries]}
    runs = {"runs": [summary.run_id for summary in summaries]}
    requests = {"requests": [summary.request_id for summary in summaries]}
    checkpoints, values = defaultdict(list), defaultdict(list)
    records, texts, removals, answers = defaultdict(list), defaultdict(list), defaultdict(set), defaultdict(list)
    for row in await _rows(connection, "read_checkpoints", threads):
        checkpoints[row.pop("thread_id")].append(StoredCheckpoint(**row))
    for row in await _rows(connection, "read_checkpoint_values", threads):
        values[row.pop("thread_id")].append(StoredValue(**row))
    for row in await _rows(connection, "read_validations_of", runs | requests):
        records[row["run_id"]].append(read_chained(row))
    for row in await _rows(connection, "read_run_texts", runs):
        texts[row.pop("run_id")].append(RecordedText(**row))
    for row in await _rows(connection, "read_removals_of", runs):
        removals[row["run_id"]].add(row["kind"])
    for row in await _rows(connection, "read_answers_of", runs):
        answers[row.pop("run_id")].append(AnswerRow(**row))
    turns = {row.pop("run_id"): TurnRow(**row) for row in await _rows(connection, "read_turns_of", runs)}
    return [
        StoredRun(
            summary,
            tuple(checkpoints[summary.thread_id]),
            tuple(values[summary.thread_id]),
            tuple(records[summary.run_id]),
            tuple(texts[summary.run_id]),
            frozenset(removals[summary.run_id]),
            tuple(answers[summary.run_id]),
            turns.get(summary.run_id),
        )
        for summary in summaries
    ]


async def _rows(connection: AsyncConnection[Row], name: str, values: Row) -> list[Row]:
    return await (await connection.execute(query(name), values, binary=True)).fetchall()

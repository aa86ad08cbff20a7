"""The recorded runs as they are stored: checkpoints, values, audit rows and texts, a page of runs at a time.

Nothing is decoded here. All that belongs to a page is read from one snapshot of the database, so that a run that is at
work meanwhile is seen whole or not at all.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.audit.hash_chain import ChainedRow
from sourcebound.contracts.replay.report import RecordedText
from sourcebound.store.audit.log import read_chained
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.runs.log import RunSummary

PAGE: Final = 32
"""Runs of a page; some hundred kilobytes, whatever the length of the history."""


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
    """All that is stored of one run; by the order of its checkpoints, of the chain and of the attempts."""

    summary: RunSummary
    checkpoints: tuple[StoredCheckpoint, ...]
    values: tuple[StoredValue, ...]
    records: tuple[ChainedRow, ...]
    texts: tuple[RecordedText, ...]


class PostgresHistory:
    """Every recorded run.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, since: datetime | None = None) -> int:
        """How many runs there are, or have been begun since a moment."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("count_runs"), {"since": since})
                row = await cursor.fetchone()
                return row["runs"] if row else 0

    async def pages(self, since: datetime | None = None, size: int = PAGE) -> AsyncIterator[list[StoredRun]]:
        """The runs, oldest first, some at a time.

        Args:
            since: Leaves out what began before.
            size: Runs of a page.
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

    async def read(self, summary: RunSummary) -> StoredRun:
        """All that is stored of one run."""
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
    records, texts = defaultdict(list), defaultdict(list)
    for row in await _rows(connection, "read_checkpoints", threads):
        checkpoints[row.pop("thread_id")].append(StoredCheckpoint(**row))
    for row in await _rows(connection, "read_checkpoint_values", threads):
        values[row.pop("thread_id")].append(StoredValue(**row))
    for row in await _rows(connection, "read_validations_of", runs | requests):
        records[row["run_id"]].append(read_chained(row))
    for row in await _rows(connection, "read_run_texts", runs):
        texts[row.pop("run_id")].append(RecordedText(**row))
    return [
        StoredRun(
            summary,
            tuple(checkpoints[summary.thread_id]),
            tuple(values[summary.thread_id]),
            tuple(records[summary.run_id]),
            tuple(texts[summary.run_id]),
        )
        for summary in summaries
    ]


async def _rows(connection: AsyncConnection[Row], name: str, values: Row) -> list[Row]:
    return await (await connection.execute(query(name), values, binary=True)).fetchall()

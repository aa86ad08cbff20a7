"""Retention: removes checkpoints by age and count, and nothing else (CP-7).

Checkpoints are removed in bounded transactions. After each, a run has all its checkpoints, or none and is marked as
pruned. A run that has not ended is never pruned, and neither are checkpoints that belong to no run.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query

BATCH: Final = 200
"""Threads in a transaction; a run has about 40 rows."""
SETTLED: Final = timedelta(minutes=1)
"""The minimum age: a run writes its last checkpoints after its record says that it ended."""


class Rule(NamedTuple):
    """The checkpoints that may be removed."""

    older_than: timedelta
    """Time since the run ended."""
    keep_last: int
    """The number of newest ended runs that keep their checkpoints, whatever their age."""


class Prunable(NamedTuple):
    """The checkpoints that a rule would remove."""

    threads: tuple[str, ...]
    bytes: int
    """Stored size without indexes."""
    unfinished: int
    """Runs of that age that have not ended and keep their checkpoints."""


class Pruned(NamedTuple):
    """The checkpoints that were removed."""

    threads: int
    rows: int
    bytes: int


class Sizes(NamedTuple):
    """Bytes on disk by purpose, with indexes."""

    runs: int
    checkpoints: int
    collections: int
    audit: int
    listed: int
    """The number of runs."""
    whole: int
    """The number of runs with checkpoints."""
    records: int
    """The number of audit records."""


class Retention:
    """The checkpoints of all runs.

    Args:
        pool: Connections to their database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def plan(self, rule: Rule) -> Prunable:
        """Return what would be removed; removes nothing."""
        with store_faults():
            async with self._pool.connection() as connection:
                rows = await _find_prunable(connection, rule)
                threads = [row["thread_id"] for row in rows]
                measured = await _one(connection, "measure_checkpoints", {"threads": threads})
                unfinished = await _one(connection, "count_unfinished", _values(rule))
        return Prunable(tuple(threads), measured["bytes"], unfinished["runs"])

    async def prune(
        self, rule: Rule, threads: Sequence[str], report: Callable[[int], None] = lambda done: None
    ) -> Pruned:
        """Remove the checkpoints of a plan, as far as the rule still allows it.

        Args:
            rule: The rule of the plan.
            threads: Its threads.
            report: Receives the number of threads done.

        Returns:
            The removed checkpoints, without those that another prune or an erasure removed meanwhile.
        """
        pruned, done = Pruned(0, 0, 0), 0
        with store_faults():
            async with self._pool.connection() as connection:
                for batch in _batches(threads):
                    removed = await _prune_batch(connection, rule, batch)
                    pruned = Pruned(*(a + b for a, b in zip(pruned, removed, strict=True)))
                    done += len(batch)
                    report(done)
                await connection.execute("VACUUM checkpoint_writes, checkpoint_blobs, checkpoints")
        return pruned

    async def sizes(self) -> Sizes:
        """Measure the stored data by purpose."""
        with store_faults():
            async with self._pool.connection() as connection:
                return Sizes(**await _one(connection, "storage_sizes", {}))


async def _prune_batch(connection: AsyncConnection[Row], rule: Rule, threads: Sequence[str]) -> Pruned:
    async with connection.transaction():
        await connection.execute(query("removal_turn"))
        allowed = [row["thread_id"] for row in await _find_prunable(connection, rule, threads)]
        removed = await _one(connection, "remove_checkpoints", {"threads": allowed})
        await connection.execute(query("mark_pruned"), {"threads": allowed})
    return Pruned(len(allowed), removed["rows"], removed["bytes"])


async def _find_prunable(connection: AsyncConnection[Row], rule: Rule, among: Sequence[str] | None = None) -> list[Row]:
    values = {**_values(rule), "threads": None if among is None else list(among)}
    return await (await connection.execute(query("prunable_threads"), values)).fetchall()


async def _one(connection: AsyncConnection[Row], name: str, values: Row) -> Row:
    row = await (await connection.execute(query(name), values)).fetchone()
    if row is None:
        raise ValueError(f"{name} always has a row")
    return row


def _values(rule: Rule) -> Row:
    return {"age": max(rule.older_than, SETTLED), "keep": rule.keep_last}


def _batches(threads: Sequence[str]) -> list[Sequence[str]]:
    return [threads[start : start + BATCH] for start in range(0, len(threads), BATCH)]

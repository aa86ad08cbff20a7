"""Retention: checkpoints go by age and count, and nothing else does (contract CP-7).

They are removed in bounded transactions, each of which leaves whole runs behind: with their checkpoints, or without and
saying so. A run that has not ended is never touched, and neither is what no run names.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query

BATCH: Final = 200
"""Threads a transaction; a run has about 40 rows."""
SETTLED: Final = timedelta(minutes=1)
"""A run writes its last checkpoints after its record says that it ended; younger ones are left alone."""


class Rule(NamedTuple):
    """Which checkpoints may go."""

    older_than: timedelta
    """Since the run ended."""
    keep_last: int
    """The newest runs that have ended, which keep theirs whatever their age."""


class Prunable(NamedTuple):
    """What a rule would remove."""

    threads: tuple[str, ...]
    bytes: int
    """As they are stored, without indexes."""
    unfinished: int
    """Runs of that age that have not ended and so keep theirs."""


class Pruned(NamedTuple):
    """What was removed."""

    threads: int
    rows: int
    bytes: int


class Sizes(NamedTuple):
    """Bytes on disk, indexes included, and what they are for."""

    runs: int
    checkpoints: int
    collections: int
    audit: int
    listed: int
    """Runs."""
    whole: int
    """Runs that have their checkpoints."""
    records: int
    """Audit records."""


class Retention:
    """The checkpoints of all runs.

    Args:
        pool: Connections to their database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def plan(self, rule: Rule) -> Prunable:
        """Says what would be removed; removes nothing."""
        with store_faults():
            async with self._pool.connection() as connection:
                found = await _find(connection, rule)
                threads = [row["thread_id"] for row in found]
                measured = await _one(connection, "measure_checkpoints", {"threads": threads})
                unfinished = await _one(connection, "count_unfinished", _values(rule))
        return Prunable(tuple(threads), measured["bytes"], unfinished["runs"])

    async def prune(
        self, rule: Rule, threads: Sequence[str], report: Callable[[int], None] = lambda done: None
    ) -> Pruned:
        """Removes what a plan found, as far as the rule still allows it.

        Args:
            rule: The rule of the plan.
            threads: Its threads.
            report: Is told how many are done.

        Returns:
            What went; what another prune or an erasure removed meanwhile is not counted.
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
        """What is stored, by what it is for."""
        with store_faults():
            async with self._pool.connection() as connection:
                return Sizes(**await _one(connection, "storage_sizes", {}))


async def _prune_batch(connection: AsyncConnection[Row], rule: Rule, threads: Sequence[str]) -> Pruned:
    async with connection.transaction():
        await connection.execute(query("removal_turn"))
        still = [row["thread_id"] for row in await _find(connection, rule, threads)]
        removed = await _one(connection, "remove_checkpoints", {"threads": still})
        await connection.execute(query("mark_pruned"), {"threads": still})
    return Pruned(len(still), removed["rows"], removed["bytes"])


async def _find(connection: AsyncConnection[Row], rule: Rule, among: Sequence[str] | None = None) -> list[Row]:
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

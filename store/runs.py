"""The list of runs."""

from datetime import datetime
from typing import NamedTuple

from sourcebound.contracts.request import Run, fork_request
from sourcebound.errors import RequestError
from sourcebound.store.conversations import take_turn
from sourcebound.store.database import Pool, store_faults
from sourcebound.store.queries import query


class RunSummary(NamedTuple):
    """One line of the list."""

    run_id: str
    request_id: str
    thread_id: str
    collection: str | None
    policy_version: str
    model: str
    status: str
    reason: str | None
    started_at: datetime
    finished_at: datetime | None
    pruned_at: datetime | None
    erased_at: datetime | None
    question: str | None


class PostgresRunLog:
    """The table `runs`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, run: Run) -> None:
        """Notes that a run has begun, at the end of its conversation if it has one; noting it again changes nothing.

        Raises:
            RequestError: There is no such conversation.
        """
        values = run.model_dump(mode="json")
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                if run.conversation_id is not None:
                    await take_turn(connection, run.conversation_id)
                    await connection.execute(query("begin_turn"), values)
                await connection.execute(query("begin_run"), values)

    async def has_ended(self, run_id: str) -> bool:
        """Whether a run of that id has been recorded, or closed without a record."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("find_ended_run"), {"run_id": run_id})
                return await cursor.fetchone() is not None

    async def list_runs(self, limit: int) -> list[RunSummary]:
        """The latest runs, newest first."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_runs"), {"limit": limit})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def find_runs(self, prefix: str) -> list[RunSummary]:
        """The runs whose id starts with `prefix` or whose request id it is; two at most."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("find_runs"), {"prefix": prefix})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def list_forks(self, run_id: str) -> list[str]:
        """The ids of the runs that answered from the candidates of a run and still hold its texts (CP-5)."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_forks"), {"request_id": fork_request(run_id)})
                return [row["run_id"] for row in await cursor.fetchall()]

    async def erase(self, run_id: str, thread_id: str) -> bool:
        """Erases the texts of a run and its checkpoints, all or nothing; its row and its audit record stay (R5P-3).

        Args:
            run_id: The whole id.
            thread_id: The thread of its checkpoints.

        Returns:
            Whether there was a text to erase.
        """
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("removal_turn"))
                await connection.execute(query("remove_checkpoints"), {"threads": [thread_id]})
                cursor = await connection.execute(query("erase_run_text"), {"run_id": run_id})
                await connection.execute(query("mark_erased"), {"run_id": run_id})
                await connection.execute(query("mark_pruned"), {"threads": [thread_id]})  # the thread's other runs
                return cursor.rowcount > 0

    async def check_kept(self, thread_id: str, run_id: str | None = None) -> None:
        """Says why a run has no checkpoints, where they were pruned or erased (CP-7, R5P-3).

        Args:
            thread_id: The run's thread.
            run_id: The run, where the thread may have more than one.

        Raises:
            RequestError: They were (`RUN_PRUNED`, `RUN_ERASED`).
        """
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("gone_thread"), {"thread_id": thread_id, "run_id": run_id})
                row = await cursor.fetchone()
        if row is None:
            return
        what = "erased with its texts" if row["erased_at"] else "pruned"
        raise RequestError(
            f"the checkpoints of run {row['run_id']} were {what} on {row['erased_at'] or row['pruned_at']:%Y-%m-%d}.",
            f"Its audit record is there: sourcebound audit show {row['run_id']}",
            code="RUN_ERASED" if row["erased_at"] else "RUN_PRUNED",
        )

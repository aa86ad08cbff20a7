"""CP-11: how the work on a run began at a checkpoint: from its own last step, from an earlier one, or after an edit."""

import asyncio
from itertools import pairwise
from typing import Final

from sourcebound.contracts.ports import StartPoint
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query

OWN: Final = ("branch:to:", "__")
"""The prefixes of LangGraph's own channels."""
POLLS: Final = 50
POLL_SECONDS: Final = 0.02
"""A host stores the first checkpoint of a branch while its first node runs already."""


class PostgresLineage:
    """The ancestors of checkpoints.

    Args:
        pool: Connections to the database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_start(
        self, thread_id: str, checkpoint_id: str, *, wait: bool = False, is_first: bool = False
    ) -> StartPoint:
        """Describe the checkpoint from which a node starts.

        Args:
            thread_id: The thread.
            checkpoint_id: The checkpoint.
            wait: Whether to wait for a checkpoint that the host has not stored yet, for at most a second.
            is_first: Whether the node is the first of the graph. LangGraph's own step, which takes over the input, is
                before it, and a branch may begin before that step.

        Returns:
            Whether it is the start of a branch, and whether a person edited the state since a node wrote it.

        Raises:
            StoreError: The database does not answer.
        """
        steps = await self._read(thread_id, checkpoint_id, is_first)
        for _ in range(POLLS if wait else 0):
            if steps:
                break
            await asyncio.sleep(POLL_SECONDS)
            steps = await self._read(thread_id, checkpoint_id, is_first)
        if not steps:
            return StartPoint(is_branch=False, is_edited=False)
        before: Row = {"versions": {}}
        pairs = pairwise([*steps, before])
        is_edited = any(step["source"] == "update" and _changes(parent, step) for step, parent in pairs)
        starts = [step["source"] for step in steps[: 2 if is_first else 1]]
        return StartPoint(is_branch="update" in starts or "fork" in starts, is_edited=is_edited)

    async def _read(self, thread_id: str, checkpoint_id: str, is_first: bool) -> list[Row]:
        """Return the checkpoint and its ancestors back to the last one that a node wrote, the latest first."""
        values = {"thread_id": thread_id, "checkpoint_id": checkpoint_id, "is_first": is_first}
        with store_faults():
            async with self._pool.connection() as connection:
                return await (await connection.execute(query("start_of_work"), values)).fetchall()


def _changes(before: Row, after: Row) -> bool:
    """Whether an update wrote a channel of the state. One that only says where to continue is no edit."""
    known: dict[str, str] = before["versions"]
    return any(known.get(name) != version for name, version in after["versions"].items() if not name.startswith(OWN))

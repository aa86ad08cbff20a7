"""Conversations: ordered lists of runs (CP-6).

A run gets its position when it begins, under a lock on its conversation. So two concurrent questions have an order, and
neither is lost.
"""

from collections.abc import Sequence
from typing import NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.conversation.turns import MAX_TURNS, Turn
from sourcebound.contracts.request import Run
from sourcebound.errors import RequestError
from sourcebound.store.connection.database import Pool, Row, fetch_visible, retry_on_lost_connection
from sourcebound.store.connection.queries import query


class RunAccess(NamedTuple):
    """The limits of what the caller of a run could see."""

    collection: str | None
    caller_labels: Sequence[str] | None
    """None: labels did not restrict it."""


class PostgresConversations:
    """The tables `conversations` and `turn_texts`, and the positions in `runs`.

    Args:
        pool: Connections to their database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def start(self, conversation_id: str) -> None:
        """Start a conversation; an existing one stays unchanged."""
        await self._execute("start_conversation", {"conversation_id": conversation_id})

    async def list_turns(self, conversation_id: str) -> list[Turn]:
        """Return the runs of a conversation in order.

        Raises:
            RequestError: The conversation does not exist.
        """
        if not await self._fetch("find_conversation", {"conversation_id": conversation_id}):
            raise conversation_not_found_error(conversation_id)
        values = {"conversation_id": conversation_id, "run_id": None, "limit": None}
        rows = await fetch_visible(self._pool, query("earlier_turns"), values)
        return [Turn.model_validate(row) for row in rows][::-1]

    async def list_access(self, conversation_id: str) -> list[RunAccess]:
        """Return what a caller must be able to read for all runs of a conversation; none if it has no run.

        This sees more than the caller, because it decides whether the caller may read the conversation.
        """
        rows = await self._fetch("access_of_conversation", {"conversation_id": conversation_id})
        return [RunAccess(**row) for row in rows]

    async def earlier(self, run: Run) -> list[Turn]:
        """Return the earlier runs of the conversation, the latest first, at most `MAX_TURNS`."""
        values = {"conversation_id": run.conversation_id, "run_id": run.run_id, "limit": MAX_TURNS}
        rows = await fetch_visible(self._pool, query("earlier_turns"), values)
        return [Turn.model_validate(row) for row in rows]

    async def keep(self, run: Run) -> None:
        """Store the search query of a run with its question; nothing is stored for an erased run."""
        await self._execute("keep_search_query", {"run_id": run.run_id, "search_query": run.search_query})

    async def _execute(self, name: str, values: Row) -> None:
        await retry_on_lost_connection(self._pool, lambda connection: connection.execute(query(name), values))

    async def _fetch(self, name: str, values: Row) -> list[Row]:
        async def fetch(connection: AsyncConnection[Row]) -> list[Row]:
            return await (await connection.execute(query(name), values)).fetchall()

        return await retry_on_lost_connection(self._pool, fetch)


async def lock_conversation(connection: AsyncConnection[Row], conversation_id: str) -> None:
    """Lock the conversation until the end of the transaction, so that runs get their positions in turn.

    Raises:
        RequestError: The conversation does not exist.
    """
    cursor = await connection.execute(query("lock_conversation"), {"conversation_id": conversation_id})
    if await cursor.fetchone() is None:
        raise conversation_not_found_error(conversation_id)


def conversation_not_found_error(conversation_id: str) -> RequestError:
    """Build the error for a conversation that does not exist."""
    return RequestError(
        f"there is no conversation {conversation_id!r}.",
        "Start one with `sourcebound chat`, or with Engine.start_conversation().",
        code="CONVERSATION_NOT_FOUND",
    )

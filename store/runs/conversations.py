"""Conversations: ordered lists of runs (contract CP-6).

A run takes its place when it begins, in turn with any other of its conversation; so two questions asked at once are one
after the other, and neither is lost.
"""

from psycopg import AsyncConnection

from sourcebound.contracts.conversation.turns import MAX_TURNS, Turn
from sourcebound.contracts.request import Run
from sourcebound.errors import RequestError
from sourcebound.store.connection.database import Pool, Row, on_a_connection
from sourcebound.store.connection.queries import query


class PostgresConversations:
    """The tables `conversations` and `turn_texts`, and the places in `runs`.

    Args:
        pool: Connections to their database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def start(self, conversation_id: str) -> None:
        """Opens a conversation; one that is there already is left as it is."""
        await self._execute("start_conversation", {"conversation_id": conversation_id})

    async def list_turns(self, conversation_id: str) -> list[Turn]:
        """The runs of a conversation in their order.

        Raises:
            RequestError: There is no such conversation.
        """
        if not await self._fetch("find_conversation", {"conversation_id": conversation_id}):
            raise conversation_not_found_error(conversation_id)
        values = {"conversation_id": conversation_id, "run_id": None, "limit": None}
        return [Turn.model_validate(row) for row in await self._fetch("earlier_turns", values)][::-1]

    async def earlier(self, run: Run) -> list[Turn]:
        """The runs before this one in its conversation, the latest first, `MAX_TURNS` at most."""
        values = {"conversation_id": run.conversation_id, "run_id": run.run_id, "limit": MAX_TURNS}
        return [Turn.model_validate(row) for row in await self._fetch("earlier_turns", values)]

    async def keep(self, run: Run) -> None:
        """Keeps the search query of a run beside its question; of an erased one nothing is kept."""
        await self._execute("keep_search_query", {"run_id": run.run_id, "search_query": run.search_query})

    async def _execute(self, name: str, values: Row) -> None:
        await on_a_connection(self._pool, lambda connection: connection.execute(query(name), values))

    async def _fetch(self, name: str, values: Row) -> list[Row]:
        async def fetch(connection: AsyncConnection[Row]) -> list[Row]:
            return await (await connection.execute(query(name), values)).fetchall()

        return await on_a_connection(self._pool, fetch)


async def take_turn(connection: AsyncConnection[Row], conversation_id: str) -> None:
    """Waits until no other run of the conversation is taking its place; until the end of the transaction.

    Raises:
        RequestError: There is no such conversation.
    """
    cursor = await connection.execute(query("lock_conversation"), {"conversation_id": conversation_id})
    if await cursor.fetchone() is None:
        raise conversation_not_found_error(conversation_id)


def conversation_not_found_error(conversation_id: str) -> RequestError:
    """The fault of a conversation that does not exist."""
    return RequestError(
        f"there is no conversation {conversation_id!r}.",
        "Start one with `sourcebound chat`, or with Engine.start_conversation().",
        code="CONVERSATION_NOT_FOUND",
    )

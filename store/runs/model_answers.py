"""What models answered, durable before anything depends on it (CP-2)."""

import json

from psycopg import AsyncConnection

from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Flush, run_taken_over_error
from sourcebound.store.connection.database import Pool, Row, fetch_one, pipelined
from sourcebound.store.connection.queries import query


class PostgresAnswerLog:
    """The table `model_answers`.

    Args:
        pool: Connections to its database.
        journal: The checkpoints that an answer stands on, which are stored with it.
    """

    def __init__(self, pool: Pool, journal: CheckpointBuffer) -> None:
        self._pool = pool
        self._journal = journal

    async def find(self, asked: GenerationKey) -> Generation | None:
        """The answer, if one was kept.

        It is looked for in a new run too where the database may be away: it could not keep what a model says.
        """
        await self._journal.settle(asked.run_id)  # the question may depend on an answer before
        if self._journal.is_fresh(asked.run_id):
            return None
        row = await fetch_one(self._pool, query("find_answer"), asked._asdict())
        return Generation.model_validate(row["generation"]) if row else None

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        """Keeps an answer and returns the one that stands; the commit waits for the disk.

        To the question of a new run that is the one given, which is on its way when this returns: whatever is stored or
        asked next waits until it is there, and is told where another process has kept one. Of an erased run nothing is
        kept.

        Raises:
            RequestError: The run turned out to be no longer this process's (`RUN_AT_WORK`, `NEVER_BEGAN`), or erased
                (`RUN_ERASED`).
            StoreError: The database does not answer, or refuses.
        """
        form = generation.model_dump(mode="json")
        values = {**asked._asdict(), "request_sha256": generation.request_sha256, "generation": json.dumps(form)}

        async def keep(connection: AsyncConnection[Row], sending: Flush) -> Row | None:
            async with pipelined(connection):  # one transaction
                await sending.send()
                kept = await connection.execute(query("keep_answer"), values)
                sending.is_sent.set()
            await sending.check()
            return await kept.fetchone()

        async def keep_own(connection: AsyncConnection[Row], sending: Flush) -> None:
            row = await keep(connection, sending)
            if row and row["generation"] != form:
                raise run_taken_over_error()

        if asked.attempt and self._journal.is_fresh(asked.run_id):
            await self._journal.send(asked.run_id, keep_own)
            return generation
        row = await self._journal.write(asked.run_id, keep)
        return Generation.model_validate(row["generation"]) if row else generation

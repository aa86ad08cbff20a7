"""Model answers, durable before anything depends on them (CP-2)."""

import json

from psycopg import AsyncConnection

from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Flush, run_taken_over_error
from sourcebound.store.connection.database import Pool, Row, fetch_one, open_pipeline
from sourcebound.store.connection.queries import query


class PostgresAnswerLog:
    """The table `model_answers`.

    Args:
        pool: Connections to its database.
        buffer: The checkpoints that an answer depends on; they are stored with it.
    """

    def __init__(self, pool: Pool, buffer: CheckpointBuffer) -> None:
        self._pool = pool
        self._buffer = buffer

    async def find(self, key: GenerationKey) -> Generation | None:
        """Return the stored answer, or None.

        A query is needed for a new run too if the database may be unavailable, because it could not store an answer.
        """
        await self._buffer.wait_for_flush(key.run_id)  # the prompt may depend on an earlier answer
        if self._buffer.is_fresh(key.run_id):
            return None
        row = await fetch_one(self._pool, query("find_answer"), key._asdict())
        return Generation.model_validate(row["generation"]) if row else None

    async def keep(self, key: GenerationKey, generation: Generation) -> Generation:
        """Store an answer and return the stored one; the commit waits for the disk.

        In a new run, this returns the answer as soon as it was sent to the database. The next write waits for the
        commit, and fails if another process stored another answer. Nothing is stored for an erased run.

        Raises:
            RequestError: The run no longer belongs to this process (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
                (`RUN_ERASED`).
            StoreError: The database does not answer, or refuses.
        """
        generation_json = generation.model_dump(mode="json")
        values = {
            **key._asdict(),
            "request_sha256": generation.request_sha256,
            "generation": json.dumps(generation_json),
        }

        async def write(connection: AsyncConnection[Row], flush: Flush) -> Row | None:
            async with open_pipeline(connection):  # one transaction
                await flush.send()
                cursor = await connection.execute(query("keep_answer"), values)
                flush.is_sent.set()
            await flush.check()
            return await cursor.fetchone()

        async def write_own(connection: AsyncConnection[Row], flush: Flush) -> None:
            row = await write(connection, flush)
            if row and row["generation"] != generation_json:
                raise run_taken_over_error()

        if key.attempt and self._buffer.is_fresh(key.run_id):
            await self._buffer.send(key.run_id, write_own)
            return generation
        row = await self._buffer.write(key.run_id, write)
        return Generation.model_validate(row["generation"]) if row else generation

"""What models answered, durable before anything depends on it (CP-2)."""

import json

from sourcebound.contracts.execution import Asked, Generation
from sourcebound.store.database import Pool, fetch_one
from sourcebound.store.queries import query


class PostgresAnswerLog:
    """The table `model_answers`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, asked: Asked) -> Generation | None:
        """The answer, if one was kept."""
        row = await fetch_one(self._pool, query("find_answer"), asked._asdict())
        return Generation.model_validate(row["generation"]) if row else None

    async def keep(self, asked: Asked, generation: Generation) -> Generation:
        """Keeps an answer and returns the one that stands; the commit waits for the disk.

        Of a run that was erased nothing is kept; it comes no further than to its next checkpoint.
        """
        form = json.dumps(generation.model_dump(mode="json"))
        values = {**asked._asdict(), "request_sha256": generation.request_sha256, "generation": form}
        row = await fetch_one(self._pool, query("keep_answer"), values)
        return Generation.model_validate(row["generation"]) if row else generation

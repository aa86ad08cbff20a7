"""Feedback of readers on answers, stored with the run that it is about."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sourcebound.store.connection.database import Pool, fetch_visible, store_faults
from sourcebound.store.connection.queries import query


class Feedback(NamedTuple):
    """The words of a reader about a run."""

    feedback_id: str
    rating: str
    """`up` or `down`."""
    comment: str | None
    """None if there is none, or if it was erased with the texts of the run."""
    given_at: datetime


class FeedbackOnRun(NamedTuple):
    """Feedback with the run that it is about."""

    feedback_id: str
    rating: str
    """`up` or `down`."""
    comment: str | None
    given_at: datetime
    run_id: str
    status: str
    question: str | None
    """None if it was erased."""


class PostgresFeedback:
    """The table `feedback`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(
        self, feedback_id: str, run_id: str, rating: str, comment: str | None, caller: str | None
    ) -> Feedback:
        """Store feedback on a run that exists; earlier feedback stays.

        Args:
            feedback_id: A new id.
            run_id: The run.
            rating: `up` or `down`.
            comment: The reader's words.
            caller: The id of the reader's API key; None on a server without keys.
        """
        values = {
            "feedback_id": feedback_id,
            "run_id": run_id,
            "rating": rating,
            "comment": comment,
            "caller": caller,
        }
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("insert_feedback"), values)
                row = await cursor.fetchone()
        assert row is not None
        return Feedback(feedback_id, rating, comment, row["given_at"])

    async def list(self, run_id: str) -> list[Feedback]:
        """Return the feedback on a run, the oldest first."""
        rows = await fetch_visible(self._pool, query("list_feedback"), {"run_id": run_id})
        return [Feedback(**row) for row in rows]

    async def list_latest(self, limit: int, rating: str | None = None) -> Sequence[FeedbackOnRun]:
        """Return the feedback on all runs, the newest first.

        Args:
            limit: The most entries.
            rating: `up` or `down`; None for both.
        """
        rows = await fetch_visible(self._pool, query("latest_feedback"), {"limit": limit, "rating": rating})
        return [FeedbackOnRun(**row) for row in rows]

"""Questions in progress: each is a task of its own, which ends with a record even if its client has gone (CP-2).

A server that holds as many questions as it may refuses the next one at once, because a queue without an end helps no
caller.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, NamedTuple

from sourcebound.api.metrics import Metrics
from sourcebound.api.problems import Problem
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.graph.batch.resume_all import ResumeOutcome, resume_all
from sourcebound.graph.engine import Engine

if TYPE_CHECKING:
    from sourcebound.api.callers import Caller

LOG = logging.getLogger("sourcebound.api")
RESUME_SECONDS: Final = 30.0
"""The time between two searches for interrupted runs: as long as the lease of a process on another machine."""


class Question(NamedTuple):
    """A question with the policy and the model of its run, and its caller."""

    request: AskInput
    context: RunContext
    caller: "Caller"
    """Its run sees what this caller sees."""


class Asking:
    """The questions in progress.

    Args:
        engine: Answers them.
        limit: The most questions at once.
        metrics: Receives their outcomes and times.
    """

    def __init__(self, engine: Engine, limit: int, metrics: Metrics | None = None) -> None:
        self._engine = engine
        self._metrics = metrics or Metrics()
        self._limit = limit
        self._tasks: set[asyncio.Task[PublicResponse]] = set()
        self._resuming: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> PublicResponse:
        """Answer a question. If the caller is cancelled, the run goes on to its record.

        Raises:
            Problem: There are too many questions (429).
            SourceboundError: The run could not be recorded.
        """
        return await asyncio.shield(self._start(question, None))

    async def stream(self, question: Question) -> AsyncIterator[str | PublicResponse]:
        """Answer a question: the name of each stage when it ends, then the validated response (CP-12).

        Raises:
            Problem: There are too many questions (429).
            SourceboundError: The run could not be recorded.
        """
        stages: asyncio.Queue[str | None] = asyncio.Queue()
        task = self._start(question, stages)
        while (stage := await stages.get()) is not None:
            yield stage
        yield await asyncio.shield(task)

    def resume_interrupted(self) -> None:
        """Start to resume the runs that no process holds: at once, and then those of servers that die meanwhile."""
        self._resuming = asyncio.create_task(self._resume())

    async def close(self) -> None:
        """Interrupt what is left. Its checkpoints are stored, and the next start resumes it."""
        left = [*self._tasks, *([self._resuming] if self._resuming else [])]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _start(self, question: Question, stages: "asyncio.Queue[str | None] | None") -> "asyncio.Task[PublicResponse]":
        if len(self._tasks) >= self._limit:
            self._metrics.turn_away()
            detail = f"the server answers {self._limit} questions at once, and no more."
            raise Problem(429, "TOO_MANY_QUESTIONS", detail, "Ask again in a moment.", {"Retry-After": "1"})
        timer = self._metrics.time_question()

        def end_stage(stage: str) -> None:
            timer.end_stage(stage)
            if stages:
                stages.put_nowait(stage)

        asked = question.caller.restrict(question.request)
        task = asyncio.create_task(self._engine.ask(asked, question.context, on_node=end_stage))
        self._tasks.add(task)
        self._metrics.in_progress.set(len(self._tasks))

        def end(ended: "asyncio.Task[PublicResponse]") -> None:
            self._tasks.discard(ended)
            self._metrics.in_progress.set(len(self._tasks))
            if stages:
                stages.put_nowait(None)
            if not ended.cancelled():  # asking for the exception marks it as read: a client that has gone reads none
                timer.end(None if ended.exception() else ended.result())

        task.add_done_callback(end)
        return task

    async def _resume(self) -> None:
        given_up: set[str] = set()
        while True:
            try:
                async for run in resume_all(self._engine, given_up):
                    LOG.info("run %s was interrupted: %s", run.run_id, run.ending)
                    if run.ending is ResumeOutcome.CUT_OFF and not isinstance(run.fault, StoreError):
                        given_up.add(run.run_id)
            except SourceboundError as error:
                LOG.error("interrupted runs are not resumed: %s: %s", error.failure_code, error.message)
            await asyncio.sleep(RESUME_SECONDS)

"""Recorded runs out of the database: one of them, or a whole history computed again on every core (CP-3).

The history is read a page at a time, and no more pages are under way than the workers can hold, so that memory does not
grow with it.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime
from functools import cache
from multiprocessing import get_context
from typing import Final

from sourcebound.contracts.replay.release_diff import ShippedRelease, read_shipped
from sourcebound.contracts.replay.report import NotReplayable, RecordedRun, RunReport
from sourcebound.errors import RequestError, SourceboundError
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.replay.verify import verify
from sourcebound.store.checkpoints.archive import PostgresHistory, StoredRun
from sourcebound.store.runs.log import RunSummary

WORTH_A_WORKER: Final = 1000
"""Runs for which one more process pays: it takes a second to start."""
Result = RunReport | NotReplayable


async def read_run(history: PostgresHistory, summary: RunSummary) -> RecordedRun:
    """The record of a run.

    Raises:
        RequestError: It cannot be computed again: it was erased, or has not ended.
    """
    run = read_recorded(await history.read(summary))
    if isinstance(run, NotReplayable):
        raise not_replayable_error(run)
    return run


def not_replayable_error(reason: NotReplayable) -> RequestError:
    """The fault that a single run which cannot be computed again is."""
    return RequestError(
        f"run {reason.run_id} cannot be computed again: {reason.message}.", reason.next_step, code=reason.code
    )


def choose_jobs(runs: int) -> int:
    """How many processes a history of some runs is worth on this machine."""
    return max(1, min(os.cpu_count() or 1, runs // WORTH_A_WORKER))


async def verify_history(
    history: PostgresHistory, since: datetime | None = None, jobs: int = 1
) -> AsyncIterator[Result]:
    """Computes every recorded run again.

    Args:
        history: The runs.
        since: Leaves out what began before.
        jobs: Processes; one works in this process.

    Yields:
        A report a run, or why it cannot be computed again; oldest first.

    Raises:
        StoreError: The database does not answer.
        SourceboundError: A worker was ended from outside.
    """
    loop, under_way = asyncio.get_running_loop(), deque[asyncio.Future[list[Result]]]()
    executor = _workers(jobs)
    try:
        async for page in history.pages(since):
            under_way.append(loop.run_in_executor(executor, verify_page, page))
            if len(under_way) > 2 * jobs:
                for result in await under_way.popleft():
                    yield result
        while under_way:
            for result in await under_way.popleft():
                yield result
    except BrokenExecutor as error:
        raise SourceboundError(
            "a worker process was ended from outside.", "Free some memory, or go on with --jobs 1.", code="WORKER_ENDED"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)


def verify_page(page: Sequence[StoredRun]) -> list[Result]:
    """Computes some runs again; blocks, in whatever process or thread it is called."""
    return asyncio.run(_verify_all(page))


async def _verify_all(page: Sequence[StoredRun]) -> list[Result]:
    runs = (read_recorded(stored) for stored in page)
    return [run if isinstance(run, NotReplayable) else await verify(run, _shipped()) for run in runs]


@cache
def _shipped() -> ShippedRelease:
    return read_shipped()


def _workers(jobs: int) -> Executor:
    """Fresh processes, which hold no connection and no lock of this one; Ctrl-C is for their parent to hear."""
    if jobs == 1:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))

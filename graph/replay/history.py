"""Recorded runs from the database: one of them, or the whole history verified on several cores (CP-3).

The history is read page by page, with a limited number of pages in progress, so that memory does not grow with it.
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

from sourcebound.contracts.replay.release_diff import ShippedRelease, load_shipped_release
from sourcebound.contracts.replay.report import NotReplayable, RecordedRun, RunReport
from sourcebound.errors import RequestError, SourceboundError
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.replay.verify import verify
from sourcebound.store.checkpoints.archive import PostgresHistory, StoredRun
from sourcebound.store.runs.log import RunSummary

WORTH_A_WORKER: Final = 1000
"""The number of runs for which another process pays; a process takes a second to start."""
Result = RunReport | NotReplayable


async def verify_run(history: PostgresHistory, summary: RunSummary) -> Result:
    """Recompute one run; return a report, or the reason why there is none."""
    run = read_recorded(await history.read(summary))
    return run if isinstance(run, NotReplayable) else await verify(run, _shipped())


async def read_run(history: PostgresHistory, summary: RunSummary) -> RecordedRun:
    """Load the record of a run.

    Raises:
        RequestError: The run cannot be recomputed: it was erased, or has not ended.
    """
    run = read_recorded(await history.read(summary))
    if isinstance(run, NotReplayable):
        raise not_replayable_error(run)
    return run


def not_replayable_error(reason: NotReplayable) -> RequestError:
    """Build the error raised when a run cannot be replayed."""
    return RequestError(
        f"run {reason.run_id} cannot be recomputed: {reason.message}.", reason.next_step, code=reason.code
    )


def choose_jobs(runs: int) -> int:
    """Choose the number of processes for a history of this many runs on this machine."""
    return max(1, min(os.cpu_count() or 1, runs // WORTH_A_WORKER))


async def verify_history(
    history: PostgresHistory, since: datetime | None = None, jobs: int = 1
) -> AsyncIterator[Result]:
    """Recompute every recorded run.

    Args:
        history: The runs.
        since: Skip runs that began earlier.
        jobs: The number of processes; one means this process.

    Yields:
        A report for each run, or the reason why it cannot be recomputed; oldest first.

    Raises:
        StoreError: The database does not answer.
        SourceboundError: A worker process was killed.
    """
    loop, in_progress = asyncio.get_running_loop(), deque[asyncio.Future[list[Result]]]()
    executor = _workers(jobs)
    try:
        async for page in history.pages(since):
            in_progress.append(loop.run_in_executor(executor, verify_page, page))
            if len(in_progress) > 2 * jobs:
                for result in await in_progress.popleft():
                    yield result
        while in_progress:
            for result in await in_progress.popleft():
                yield result
    except BrokenExecutor as error:
        raise SourceboundError(
            "a worker process was killed.", "Free some memory, or use --jobs 1.", code="WORKER_ENDED"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)


def verify_page(page: Sequence[StoredRun]) -> list[Result]:
    """Recompute a page of runs; blocks the calling process or thread."""
    return asyncio.run(_verify_all(page))


async def _verify_all(page: Sequence[StoredRun]) -> list[Result]:
    runs = (read_recorded(stored) for stored in page)
    return [run if isinstance(run, NotReplayable) else await verify(run, _shipped()) for run in runs]


@cache
def _shipped() -> ShippedRelease:
    return load_shipped_release()


def _workers(jobs: int) -> Executor:
    """Start worker processes that inherit no connection and no lock, and that ignore Ctrl-C."""
    if jobs == 1:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))

"""Resumes every interrupted run, one after another (CP-2)."""

from collections.abc import AsyncIterator, Collection
from enum import StrEnum
from typing import Final, NamedTuple

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import DATA_ERRORS, RequestError, SourceboundError
from sourcebound.graph.engine import Engine

SKIPPED: Final = ("RUN_AT_WORK", "NOT_RESUMABLE", "RUN_ERASED", "RUN_PRUNED")
"""Codes of runs that changed between the listing and their turn."""


class ResumeOutcome(StrEnum):
    """The outcome of resuming a run."""

    ENDED = "ended"
    """The run has its audit record and its response, whatever its status."""
    NEVER_BEGAN = "never_began"
    """Nothing of the run was stored; the question can be asked again."""
    CUT_OFF = "cut_off"
    """The run could not be completed this time either."""


class Resumed(NamedTuple):
    """A run that was resumed."""

    run_id: str
    ending: ResumeOutcome
    response: PublicResponse | None = None
    fault: SourceboundError | None = None
    """The reason why the run has no response."""


async def resume_all(engine: Engine, skip: Collection[str] = ()) -> AsyncIterator[Resumed]:
    """Resume the runs that have not ended and that no live process holds.

    A run that another process took over meanwhile, or that was erased, is skipped. An error of one run does not stop
    the others (S-4).

    Args:
        engine: Runs the graph.
        skip: Ids of runs that are not resumed.

    Yields:
        Each run when it ends, the oldest first.

    Raises:
        SourceboundError: The list of runs could not be read.
    """
    for run_id in await engine.list_cut_off():
        if run_id in skip:
            continue
        try:
            yield Resumed(run_id, ResumeOutcome.ENDED, await engine.resume(run_id))
        except RequestError as fault:
            if fault.failure_code == "NEVER_BEGAN":
                yield Resumed(run_id, ResumeOutcome.NEVER_BEGAN, fault=fault)
            elif fault.failure_code not in SKIPPED:
                yield Resumed(run_id, ResumeOutcome.CUT_OFF, fault=fault)
        except SourceboundError as fault:
            yield Resumed(run_id, ResumeOutcome.CUT_OFF, fault=fault)
        except DATA_ERRORS as error:
            yield Resumed(run_id, ResumeOutcome.CUT_OFF, fault=_unexpected(error))


def _unexpected(error: Exception) -> SourceboundError:
    fault = SourceboundError(
        f"the run cannot be continued: {type(error).__name__} in a node.",
        "Report this with the traceback of `sourcebound runs resume RUN`, or erase the run.",
        code="RUN_UNREADABLE",
    )
    fault.__cause__ = error
    return fault

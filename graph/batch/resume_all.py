"""Goes on with every run that was cut off, one after another (contract CP-2)."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Final, NamedTuple

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import RequestError, SourceboundError
from sourcebound.graph.engine import Engine

PASSED_OVER: Final = ("RUN_AT_WORK", "NOT_RESUMABLE", "RUN_ERASED", "RUN_PRUNED")
"""What may become of a run between the list and its turn."""


class ResumeOutcome(StrEnum):
    """What came of a run that was to be gone on with."""

    ENDED = "ended"
    """It has its audit record and its response, whatever they say."""
    NEVER_BEGAN = "never_began"
    """Nothing of it had been stored; the question can be asked again."""
    CUT_OFF = "cut_off"
    """It could not be brought to its end this time either."""


class Resumed(NamedTuple):
    """One of the runs."""

    run_id: str
    ending: ResumeOutcome
    response: PublicResponse | None = None
    fault: SourceboundError | None = None
    """Why the run has no response."""


async def resume_all(engine: Engine) -> AsyncIterator[Resumed]:
    """Goes on with the runs that have not ended and that no live process is at.

    A run that somebody else took over in the meantime, or that was erased, is passed over. What stops one run does not
    stop the others.

    Args:
        engine: What answers.

    Yields:
        Each run as it ends, the oldest first.

    Raises:
        SourceboundError: The list of runs could not be read.
    """
    for run_id in await engine.list_cut_off():
        try:
            yield Resumed(run_id, ResumeOutcome.ENDED, await engine.resume(run_id))
        except RequestError as fault:
            if fault.failure_code == "NEVER_BEGAN":
                yield Resumed(run_id, ResumeOutcome.NEVER_BEGAN, fault=fault)
            elif fault.failure_code not in PASSED_OVER:
                yield Resumed(run_id, ResumeOutcome.CUT_OFF, fault=fault)
        except SourceboundError as fault:
            yield Resumed(run_id, ResumeOutcome.CUT_OFF, fault=fault)

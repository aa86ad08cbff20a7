"""S-5: turns a fault at an edge into a public outcome. Its details go to the operator's log, under the run's id."""

import logging
from collections.abc import Mapping
from typing import Final

from sourcebound.contracts.outcome import FailureCode, Outcome, fail
from sourcebound.contracts.request import Run
from sourcebound.errors import SourceboundError

logger = logging.getLogger("sourcebound.faults")
IN_THE_LOG: Final = "The operator's log says why, under the id of this run."
PUBLIC_MESSAGES: Final[Mapping[FailureCode, str]] = {
    FailureCode.RETRIEVAL_FAILED: f"The documents could not be searched. {IN_THE_LOG}",
    FailureCode.REQUEST_ALTERED: f"Nothing was sent to the model: its request was not as required. {IN_THE_LOG}",
    FailureCode.MODEL_TIMEOUT: f"The model did not answer in time. Ask again, or later. {IN_THE_LOG}",
    FailureCode.MODEL_RATE_LIMITED: f"The model has too many requests. Ask again later. {IN_THE_LOG}",
    FailureCode.MODEL_UNAVAILABLE: f"The model did not answer. Ask again later. {IN_THE_LOG}",
    FailureCode.MODEL_REJECTED: f"The model cannot be used for this request. {IN_THE_LOG}",
    FailureCode.OUTPUT_TRUNCATED: f"The answer of the model exceeded its cap. {IN_THE_LOG}",
    FailureCode.AUDIT_UNAVAILABLE: f"The run could not be recorded, so nothing is released. {IN_THE_LOG}",
}
"""What a response, a state and a record say of a fault."""


def fail_in_public(run: Run, stage: str, code: FailureCode, detail: str) -> Outcome:
    """Return the outcome of a fault, and write its details to the log.

    Args:
        run: The run.
        stage: The stage at which it failed.
        code: One of `PUBLIC_MESSAGES`.
        detail: What happened and what the operator can do, with addresses and settings, but without secrets.
    """
    logger.error("run %s, request %s, %s: %s [%s]", run.run_id, run.request_id, stage, detail, code)
    return fail(stage, code, PUBLIC_MESSAGES[code])


def describe(error: SourceboundError) -> str:
    """Return everything that the operator can use of an error, on one line."""
    parts = (error.message, error.detail, error.next_step)
    return " ".join(part.replace("\n", " ") for part in parts if part)

"""Statuses and codes: how a stage can end, and why (contract S-1, S-3).

Status is monotone along a run: OK may become NO_EVIDENCE or FAILED, NO_EVIDENCE may become FAILED, and nothing ever
goes back. `keep_worst` is the reducer of the graph's `outcome` channel, so no node can undo what an earlier one found.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from sourcebound.contracts.base import Contract


class Status(StrEnum):
    """How a stage, or a whole run, ended."""

    OK = "OK"
    NO_EVIDENCE = "NO_EVIDENCE"
    FAILED = "FAILED"


SEVERITY: Final = {Status.OK: 0, Status.NO_EVIDENCE: 1, Status.FAILED: 2}


class RefusalCode(StrEnum):
    """Why a run ended without an answer although nothing went wrong."""

    COLLECTION_NOT_FOUND = "collection_not_found"
    NO_RELEVANT_CONTENT = "no_relevant_content"
    INSUFFICIENT_SOURCES = "insufficient_sources"
    BELOW_SIMILARITY_GATE = "below_similarity_gate"
    ALL_EVIDENCE_DROPPED = "all_evidence_dropped"
    NO_RELEVANT_FACTS = "no_relevant_facts"
    MODEL_REFUSED = "model_refused"


class RefusalSource(StrEnum):
    """Who refused: the retrieval gate, the selection of evidence or facts, or the model."""

    GATE = "GATE"
    SELECTION = "SELECTION"
    MODEL = "MODEL"


class FailureCode(StrEnum):
    """Why a run failed. Codes are stable: they are stored, documented and tested."""

    # R1 and the request
    INVALID_REQUEST = "INVALID_REQUEST"
    POLICY_INDEX_MISMATCH = "POLICY_INDEX_MISMATCH"
    RETRIEVAL_FAILED = "RETRIEVAL_FAILED"
    # R2
    INVALID_SCHEMA = "INVALID_SCHEMA"
    EMPTY_WITHOUT_STATUS = "EMPTY_WITHOUT_STATUS"
    INVALID_RANK = "INVALID_RANK"
    INVALID_SIMILARITY = "INVALID_SIMILARITY"
    INVALID_TEXT = "INVALID_TEXT"
    INVALID_DOMAIN = "INVALID_DOMAIN"
    MISSING_TRACE = "MISSING_TRACE"
    # R3
    INVALID_FACTS_SCHEMA = "INVALID_FACTS_SCHEMA"
    UNKNOWN_FACT = "UNKNOWN_FACT"
    DUPLICATE_FACT = "DUPLICATE_FACT"
    PROMPT_BUDGET = "PROMPT_BUDGET"
    # R4
    REQUEST_ALTERED = "REQUEST_ALTERED"
    MODEL_TIMEOUT = "MODEL_TIMEOUT"
    MODEL_RATE_LIMITED = "MODEL_RATE_LIMITED"
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    MODEL_REJECTED = "MODEL_REJECTED"
    MODEL_IDENTITY_MISMATCH = "MODEL_IDENTITY_MISMATCH"
    PROMPT_TRUNCATED = "PROMPT_TRUNCATED"
    OUTPUT_TRUNCATED = "OUTPUT_TRUNCATED"
    # R5
    EMPTY_ANSWER = "EMPTY_ANSWER"
    INVALID_REFUSAL_FORMAT = "INVALID_REFUSAL_FORMAT"
    MALFORMED_CITATION = "MALFORMED_CITATION"
    INVALID_CITATION_REFERENCE = "INVALID_CITATION_REFERENCE"
    UNCITED_FACTUAL_STATEMENT = "UNCITED_FACTUAL_STATEMENT"
    FORBIDDEN_CONTENT = "FORBIDDEN_CONTENT"
    UNSUPPORTED_LITERAL = "UNSUPPORTED_LITERAL"
    CITATION_MISMATCH = "CITATION_MISMATCH"
    INVALID_OUTPUT_SCHEMA = "INVALID_OUTPUT_SCHEMA"
    # R5P
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    # checkpoints
    STATE_ALTERED = "STATE_ALTERED"


class Violation(Contract):
    """A broken rule, as data: what, where, and which clause says so."""

    code: FailureCode
    clause: str
    message: str
    field: str | None = None
    row: int | None = None
    value: str | None = None


class Outcome(Contract):
    """How a run stands after a stage."""

    status: Status
    stage: str
    refusal_code: RefusalCode | None = None
    refusal_source: RefusalSource | None = None
    failure_code: FailureCode | None = None
    message: str = ""
    violations: tuple[Violation, ...] = ()


def fill_status(field: str) -> Callable[[Any], Any]:
    """A validator that keeps a layer's own status field equal to that of its outcome.

    Args:
        field: `assembly_status`, `build_status` or `generation_status`, as the layer's contract calls it.

    Returns:
        A function for pydantic's `model_validator(mode="before")`.
    """

    def fill(values: Any) -> Any:
        outcome = values.get("outcome") if isinstance(values, dict) else None
        status = outcome.get("status") if isinstance(outcome, dict) else getattr(outcome, "status", None)
        return {**values, field: status} if status is not None else values

    return fill


def proceed(stage: str) -> Outcome:
    """The outcome of a stage that has nothing to object."""
    return Outcome(status=Status.OK, stage=stage)


def refuse(stage: str, code: RefusalCode, source: RefusalSource, message: str) -> Outcome:
    """A refusal: a successful outcome with a reason."""
    return Outcome(status=Status.NO_EVIDENCE, stage=stage, refusal_code=code, refusal_source=source, message=message)


def fail(stage: str, code: FailureCode, message: str, violations: tuple[Violation, ...] = ()) -> Outcome:
    """A failure, with the violations that caused it where there are any."""
    return Outcome(status=Status.FAILED, stage=stage, failure_code=code, message=message, violations=violations)


def fail_with(stage: str, violations: tuple[Violation, ...]) -> Outcome:
    """A failure that is named by the first of its violations."""
    return fail(stage, violations[0].code, violations[0].message, violations)


TOO_LARGE: Final = "too large to show"
OPENING: Final = "accept"
"""The stage that opens a run, with which nothing that came before on its thread counts any more."""


def keep_worst(current: dict[str, object] | None, update: dict[str, object]) -> dict[str, object]:
    """Reducer of the `outcome` channel: an update counts only if it is at least as severe (S-1).

    Args:
        current: The JSON form of the outcome so far, or None at the start.
        update: The JSON form of a stage's outcome.

    Returns:
        The more severe of the two; of two that ended the run equally the earlier, but for a record that could not be
        written (R5P-6), which is always the last word, and for the opening of the next run.
    """
    if not current or update.get("stage") == OPENING:
        return update
    before, after = SEVERITY[Status(str(current["status"]))], SEVERITY[Status(str(update["status"]))]
    if update.get("failure_code") == FailureCode.AUDIT_UNAVAILABLE:
        return update
    return update if after > before or after == 0 == before else current


def schema_violation(message: str, field: str | None, value: object, row: int | None = None) -> Violation:
    """A bundle that does not have its schema (R2-V1)."""
    return Violation(
        code=FailureCode.INVALID_SCHEMA,
        clause="R2-V1",
        message=message,
        field=field,
        row=row,
        value=quote_value(value),
    )


def quote_value(value: object) -> str:
    """A value as a short, one-line text; never a whole document."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} {TOO_LARGE}"
    return text if len(text) <= 80 else text[:77] + "..."

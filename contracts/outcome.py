"""Statuses and codes: how a stage ends, and why (S-1, S-3).

Status is monotone along a run: OK may become NO_EVIDENCE or FAILED, NO_EVIDENCE may become FAILED, and no status is
ever revoked. `keep_worst` is the reducer of the graph's `outcome` channel, so no node can undo an earlier result.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from sourcebound.contracts.base import Contract


class Status(StrEnum):
    """The status of a stage, or of a whole run."""

    OK = "OK"
    NO_EVIDENCE = "NO_EVIDENCE"
    FAILED = "FAILED"


SEVERITY: Final = {Status.OK: 0, Status.NO_EVIDENCE: 1, Status.FAILED: 2}


class RefusalCode(StrEnum):
    """Reasons for a run without an answer although nothing failed."""

    COLLECTION_NOT_FOUND = "collection_not_found"
    NO_RELEVANT_CONTENT = "no_relevant_content"
    INSUFFICIENT_SOURCES = "insufficient_sources"
    BELOW_SIMILARITY_GATE = "below_similarity_gate"
    ALL_EVIDENCE_DROPPED = "all_evidence_dropped"
    UNCLEAR_FOLLOW_UP = "unclear_follow_up"
    NO_RELEVANT_FACTS = "no_relevant_facts"
    MODEL_REFUSED = "model_refused"
    NOT_ANSWERED = "NOT_ANSWERED"


class RefusalSource(StrEnum):
    """The source of a refusal: the retrieval gate, the selection of evidence or facts, the model, or validation."""

    GATE = "GATE"
    SELECTION = "SELECTION"
    MODEL = "MODEL"
    VALIDATION = "VALIDATION"


class FailureCode(StrEnum):
    """Reasons for a failed run. Codes are stable: they are stored, documented and tested."""

    # R1 and the request
    INVALID_REQUEST = "INVALID_REQUEST"
    POLICY_INDEX_MISMATCH = "POLICY_INDEX_MISMATCH"
    RETRIEVAL_FAILED = "RETRIEVAL_FAILED"
    CHUNK_ALTERED = "CHUNK_ALTERED"
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
    ANSWER_TOO_LONG = "ANSWER_TOO_LONG"
    INVALID_REFUSAL_FORMAT = "INVALID_REFUSAL_FORMAT"
    MALFORMED_CITATION = "MALFORMED_CITATION"
    INVALID_CITATION_REFERENCE = "INVALID_CITATION_REFERENCE"
    UNCITED_FACTUAL_STATEMENT = "UNCITED_FACTUAL_STATEMENT"
    FORBIDDEN_CONTENT = "FORBIDDEN_CONTENT"
    UNSUPPORTED_LITERAL = "UNSUPPORTED_LITERAL"
    CITATION_MISMATCH = "CITATION_MISMATCH"
    DEGENERATE_ANSWER = "DEGENERATE_ANSWER"
    UNSUPPORTED_STATEMENT = "UNSUPPORTED_STATEMENT"
    INVALID_OUTPUT_SCHEMA = "INVALID_OUTPUT_SCHEMA"
    # R5P
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    # checkpoints
    STATE_ALTERED = "STATE_ALTERED"


class Violation(Contract):
    """A broken rule as data: the code, the place and the clause."""

    code: FailureCode
    clause: str
    message: str
    field: str | None = None
    row: int | None = None
    value: str | None = None


class Outcome(Contract):
    """The state of a run after a stage."""

    status: Status
    stage: str
    refusal_code: RefusalCode | None = None
    refusal_source: RefusalSource | None = None
    failure_code: FailureCode | None = None
    message: str = ""
    violations: tuple[Violation, ...] = ()


def fill_status(field: str) -> Callable[[Any], Any]:
    """Return a validator that keeps a layer's status field equal to that of its outcome.

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
    """Return the outcome of a stage without objections."""
    return Outcome(status=Status.OK, stage=stage)


def refuse(stage: str, code: RefusalCode, source: RefusalSource, message: str) -> Outcome:
    """Return a refusal: a successful outcome with a reason."""
    return Outcome(status=Status.NO_EVIDENCE, stage=stage, refusal_code=code, refusal_source=source, message=message)


def fail(stage: str, code: FailureCode, message: str, violations: tuple[Violation, ...] = ()) -> Outcome:
    """Return a failure, with the violations that caused it, if any."""
    return Outcome(status=Status.FAILED, stage=stage, failure_code=code, message=message, violations=violations)


def fail_with(stage: str, violations: tuple[Violation, ...]) -> Outcome:
    """Return a failure with the code of its first violation."""
    return fail(stage, violations[0].code, violations[0].message, violations)


TOO_LARGE: Final = "too large to show"
OPENING: Final = "accept"
"""The stage that opens a run; it overrides the outcome of earlier runs on the thread."""


def keep_worst(current: dict[str, object] | None, update: dict[str, object]) -> dict[str, object]:
    """Reduce the `outcome` channel: an update counts only if it is more severe (S-1).

    Args:
        current: The JSON form of the outcome so far, or None at the start.
        update: The JSON form of a stage's outcome.

    Returns:
        The more severe outcome. Of two equally severe refusals or failures, the earlier; of two OKs, the later. A
        record that could not be written (R5P-6) and the opening of the next run always count.
    """
    if not current or update.get("stage") == OPENING:
        return update
    current_severity, new_severity = SEVERITY[Status(str(current["status"]))], SEVERITY[Status(str(update["status"]))]
    if update.get("failure_code") == FailureCode.AUDIT_UNAVAILABLE:
        return update
    return update if new_severity > current_severity or new_severity == 0 == current_severity else current


def schema_violation(message: str, field: str | None, value: object, row: int | None = None) -> Violation:
    """Return the violation of a bundle with an invalid schema (R2-V1)."""
    return Violation(
        code=FailureCode.INVALID_SCHEMA,
        clause="R2-V1",
        message=message,
        field=field,
        row=row,
        value=quote_value(value),
    )


def quote_value(value: object) -> str:
    """Quote a value as a short, one-line text; never a whole document."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} {TOO_LARGE}"
    return text if len(text) <= 80 else text[:77] + "..."

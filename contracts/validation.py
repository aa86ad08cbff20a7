"""R5: the firewall between a model and a reader. No model call, no edit: an answer passes byte for byte or not at all.

The checks run in the order of `CHECKS`; the first that finds something names the reason, and every metric is computed
whatever was found (contract R5-1 … R5-14).
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from pydantic import model_validator

from sourcebound.contracts.citations import CITATION
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.literals import LiteralFinding
from sourcebound.contracts.model import Contract
from sourcebound.contracts.outcome import (
    FailureCode,
    Outcome,
    RefusalCode,
    RefusalSource,
    Status,
    Violation,
    fail_with,
    fill_status,
    proceed,
    refuse,
)
from sourcebound.contracts.policy import Enforcement, Policy, ValidationPolicy
from sourcebound.contracts.reading import AnswerReading, Statement, read_answer

STAGE = "validate"


class ValidationStatus(StrEnum):
    """Whether an answer passed; NOT_RUN where there was none to check."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_RUN = "NOT_RUN"


class SupportLevel(StrEnum):
    """How broad the support of an accepted answer is (R5-15)."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class GroundingMetrics(Contract):
    """Counts over the raw answer, whether it passed or not (R5-14)."""

    citation_count: int = 0
    uncited_sentence_count: int = 0
    invalid_anchor_count: int = 0
    malformed_anchor_count: int = 0
    refusal_detected: bool = False
    length_ratio_flag: bool = False
    suspicious_new_ids: tuple[str, ...] = ()
    sentence_count: int = 0
    attribution_coverage: float = 0.0
    unsupported_literal_count: int = 0


class Validation(Contract):
    """The verdict on one answer (R5-13)."""

    outcome: Outcome
    generation_status: Status = Status.OK
    """The outcome's status."""
    validation_status: ValidationStatus
    validated_answer_text: str = ""
    validated_citations: tuple[str, ...] = ()
    grounding_metrics: GroundingMetrics = GroundingMetrics()
    statements: tuple[Statement, ...] = ()
    literals: tuple[LiteralFinding, ...] = ()
    support_level: SupportLevel | None = None

    _status = model_validator(mode="before")(fill_status("generation_status"))

    @property
    def failure_reason(self) -> str | None:
        """The first broken rule."""
        return self.outcome.failure_code.value if self.outcome.failure_code else None


Check = Callable[[AnswerReading, ValidationPolicy], Sequence[Violation]]


def validate(raw_text: str, bundle: AnswerBundle, policy: Policy) -> Validation:
    """Validates an answer against the evidence that its prompt showed.

    Args:
        raw_text: The model's text as it came.
        bundle: The answer bundle of the prompt.
        policy: The policy of the run.

    Returns:
        The verdict: the text itself when it passed, the reason and an empty text when it did not.
    """
    answer = read_answer(raw_text, bundle)
    metrics = _metrics(answer, policy.validation)
    if answer.is_refusal:
        outcome = refuse(
            STAGE, RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, "the model found no answer in the evidence"
        )
        return Validation(
            outcome=outcome,
            validation_status=ValidationStatus.PASSED,
            validated_answer_text=raw_text,
            grounding_metrics=metrics,
        )
    violations = tuple(violation for check in CHECKS for violation in check(answer, policy.validation))
    passed = not violations
    return Validation(
        outcome=proceed(STAGE) if passed else fail_with(STAGE, violations),
        validation_status=ValidationStatus.PASSED if passed else ValidationStatus.FAILED,
        validated_answer_text=raw_text if passed else "",
        validated_citations=answer.cited_anchors if passed else (),
        grounding_metrics=metrics,
        statements=answer.statements,
        literals=answer.literals,
        support_level=support_level(answer.cited_anchors, bundle, policy) if passed else None,
    )


def support_level(cited: Sequence[str], bundle: AnswerBundle, policy: Policy) -> SupportLevel:
    """HIGH, MEDIUM or LOW from the gate margin and the number of distinct sources (R5-15).

    HIGH needs both enough margin of the best cited chunk over the gate and enough distinct documents; one of the two is
    MEDIUM; neither is LOW.
    """
    chunks = [chunk for chunk in bundle.selected_evidence if chunk.anchor in cited]
    margin = max(chunk.similarity_score for chunk in chunks) - policy.retrieval.min_top_similarity
    wide = len({chunk.knowledge_id for chunk in chunks}) >= policy.validation.high_support_sources
    strong = margin >= policy.validation.high_support_margin
    return (SupportLevel.LOW, SupportLevel.MEDIUM, SupportLevel.HIGH)[wide + strong]


def _metrics(answer: AnswerReading, policy: ValidationPolicy) -> GroundingMetrics:
    factual = [statement for statement in answer.statements if statement.needs_citation]
    uncited = [statement for statement in factual if not statement.anchors]
    unsupported = [finding.audit_name for finding in answer.literals if not finding.supported]
    return GroundingMetrics(
        citation_count=len(answer.citations),
        uncited_sentence_count=len(uncited),
        invalid_anchor_count=len(answer.invented),
        malformed_anchor_count=len(answer.look_alikes),
        refusal_detected=answer.is_refusal or answer.refusal_words is not None,
        length_ratio_flag=len(answer.text) > policy.length_ratio_limit * max(1, answer.evidence_characters),
        suspicious_new_ids=tuple(dict.fromkeys(unsupported)),
        sentence_count=len(answer.statements),
        attribution_coverage=(len(factual) - len(uncited)) / len(factual) if factual else 0.0,
        unsupported_literal_count=len(unsupported),
    )


def _violation(
    code: FailureCode, clause: str, message: str, value: str | None = None, row: int | None = None
) -> Violation:
    return Violation(code=code, clause=clause, message=message, field="raw_model_text", row=row, value=value)


def _check_not_empty(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    if any(character.isalnum() for character in CITATION.sub("", answer.text)):
        return []
    return [_violation(FailureCode.EMPTY_ANSWER, "R5-1", "the answer is empty")]


def _check_refusal_format(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    if answer.refusal_words is None:
        return []
    message = "the answer carries a refusal and is not exactly the refusal string"
    return [_violation(FailureCode.INVALID_REFUSAL_FORMAT, "R5-2", message, answer.refusal_words)]


def _check_citation_form(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(FailureCode.MALFORMED_CITATION, "R5-3", "a citation is malformed; write [C0]", found.text)
        for found in answer.look_alikes
    ]


def _check_anchors_known(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(
            FailureCode.INVALID_CITATION_REFERENCE,
            "R5-4",
            f"[{anchor}] names no source of this prompt",
            anchor,
        )
        for anchor in answer.invented
    ]


def _check_statements_cited(answer: AnswerReading, policy: ValidationPolicy) -> list[Violation]:
    return [
        _violation(
            FailureCode.UNCITED_FACTUAL_STATEMENT,
            "R5-6",
            f"statement {index + 1} has no citation",
            CITATION.sub("", statement.text)[:80],
            index,
        )
        for index, statement in enumerate(answer.statements)
        if statement.needs_citation and not statement.anchors
    ]


def _check_something_stated(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    if not answer.text.strip() or any(statement.anchors for statement in answer.statements):
        return []
    return [_violation(FailureCode.UNCITED_FACTUAL_STATEMENT, "R5-6", "the answer cites nothing")]


def _check_forbidden(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(FailureCode.FORBIDDEN_CONTENT, "R5-7", f"the answer shows {found.what}", found.text[:80])
        for found in answer.forbidden
    ]


def _check_literals(answer: AnswerReading, policy: ValidationPolicy) -> list[Violation]:
    if policy.literal_grounding is Enforcement.MEASURE:
        return []
    return [
        _violation(
            FailureCode.UNSUPPORTED_LITERAL,
            "R5-8",
            f"statement {finding.segment + 1} has a {finding.kind} that no source it cites holds",
            finding.text,
            finding.segment,
        )
        for finding in answer.literals
        if not finding.supported
    ]


def _check_consistency(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    """Guards the list of citations itself: unique, in order of first use, all used and all allowed."""
    used = [citation.anchor for citation in answer.citations]
    expected = tuple(dict.fromkeys(used))
    if answer.cited_anchors == expected and set(expected) <= {*answer.allowed, *answer.invented}:
        return []
    return [_violation(FailureCode.CITATION_MISMATCH, "R5-9", "the list of citations does not match the text")]


CHECKS: Final[tuple[Check, ...]] = (
    _check_not_empty,
    _check_refusal_format,
    _check_citation_form,
    _check_anchors_known,
    _check_statements_cited,
    _check_something_stated,
    _check_forbidden,
    _check_literals,
    _check_consistency,
)


def not_run(outcome: Outcome) -> Validation:
    """The validation of a run that ended before there was an answer."""
    if outcome.status is Status.OK:
        raise ValueError("a run that is OK has an answer to validate")
    return Validation(outcome=outcome, validation_status=ValidationStatus.NOT_RUN)

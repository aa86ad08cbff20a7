"""R5: the firewall between a model and a reader. No model call, no edit: an answer passes byte for byte or not at all.

The first check that finds something names the reason, and every metric is computed whatever was found (contract R5-1 …
R5-14). Prose and JSON pass the same checks: JSON is parsed whole, and then judged
as the text that its readers will see.

The checks of the firewall, in the order in which they name a failure (contract R5-1 … R5-9).

A check returns its findings and never a bool; it reads an answer and decides nothing about the others.

The firewall alone: an answer that anything else wrote, checked against the sources it was given (R5).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.external import read_bundle
from sourcebound.contracts.outcome import (
    FailureCode,
    RefusalCode,
    RefusalSource,
    Violation,
    fail_with,
    proceed,
    refuse,
)
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Enforcement, Policy, ValidationPolicy
from sourcebound.contracts.prompt.answer_sentences import join, parse
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.answer_reading import AnswerReading, read_answer, read_rows
from sourcebound.contracts.validation.result import (
    GroundingMetrics,
    SupportLevel,
    ValidationResult,
    ValidationStatus,
    not_run,
)

Check = Callable[[AnswerReading, ValidationPolicy], Sequence[Violation]]


def _violation(
    code: FailureCode, clause: str, message: str, value: str | None = None, row: int | None = None
) -> Violation:
    return Violation(code=code, clause=clause, message=message, field="raw_model_text", row=row, value=value)


def check_not_empty(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    """R5-1: something is said."""
    if any(character.isalnum() for character in CITATION.sub("", answer.text)):
        return []
    return [_violation(FailureCode.EMPTY_ANSWER, "R5-1", "the answer is empty")]


def check_refusal_format(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    """R5-2: a refusal is exactly the refusal string."""
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
    check_not_empty,
    check_refusal_format,
    _check_citation_form,
    _check_anchors_known,
    _check_statements_cited,
    _check_something_stated,
    _check_forbidden,
    _check_literals,
    _check_consistency,
)


STAGE = "validate"
REFUSED: Final = "the model found no answer in the evidence"


def validate(raw_text: str, bundle: AnswerBundle, policy: Policy) -> ValidationResult:
    """Validates an answer against the evidence that its prompt showed.

    Args:
        raw_text: The model's text as it came.
        bundle: The answer bundle of the prompt.
        policy: The policy of the run; its output profile says what the text must be.

    Returns:
        The verdict: the text itself when it passed (of JSON, its sentences joined), the reason and an empty text when
        it did not.
    """
    raw = read_answer(raw_text, bundle)
    if raw.is_refusal:
        return _refused(raw, policy)
    if policy.prompt.output_profile == "prose" or check_not_empty(raw, policy.validation):
        return _judge((raw,), bundle, policy)
    parsed = parse(raw_text)
    if isinstance(parsed, Violation):
        return _off_schema(raw, parsed, policy)
    if parsed.is_refusal:
        return _refused(read_answer(join(parsed), bundle), policy)
    return _judge(read_rows(parsed, bundle), bundle, policy)


def _refused(answer: AnswerReading, policy: Policy) -> ValidationResult:
    """The verdict on the exact refusal (R5-2)."""
    return ValidationResult(
        outcome=refuse(STAGE, RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, REFUSED),
        validation_status=ValidationStatus.PASSED,
        validated_answer_text=answer.text,
        grounding_metrics=_metrics(answer, policy.validation),
    )


def _judge(readings: Sequence[AnswerReading], bundle: AnswerBundle, policy: Policy) -> ValidationResult:
    """The verdict on an answer that must pass in each of its readings; the first is the one that is reported."""
    answer, rules = readings[0], policy.validation
    violations = tuple(
        violation for check in CHECKS for violation in _first(check(reading, rules) for reading in readings)
    )
    passed = not violations
    return ValidationResult(
        outcome=proceed(STAGE) if passed else fail_with(STAGE, violations),
        validation_status=ValidationStatus.PASSED if passed else ValidationStatus.FAILED,
        validated_answer_text=answer.text if passed else "",
        validated_citations=answer.cited_anchors if passed else (),
        grounding_metrics=_metrics(answer, rules),
        statements=answer.statements,
        literals=answer.literals,
        support_level=support_level(answer.cited_anchors, bundle, policy) if passed else None,
    )


def _first(findings: Iterable[Sequence[Violation]]) -> Sequence[Violation]:
    """What a check found in the first reading in which it found anything, so that nothing is reported twice."""
    return next((found for found in findings if found), ())


def _off_schema(raw: AnswerReading, violation: Violation, policy: Policy) -> ValidationResult:
    """The verdict on a text that is not the JSON asked for; half a refusal is named as one, by the order of clauses."""
    return ValidationResult(
        outcome=fail_with(STAGE, (*check_refusal_format(raw, policy.validation), violation)),
        validation_status=ValidationStatus.FAILED,
        grounding_metrics=_metrics(raw, policy.validation),
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


def check_answer(bundle: object, text: str, policy: Policy | str = "SOURCEBOUND_V1") -> ValidationResult:
    """Checks an answer against its sources; no model, no database, nothing stored.

    Args:
        bundle: An answer bundle, a retrieval bundle, or `{"sources": ["text of C0", "text of C1"]}`.
        text: The answer, with its citations.
        policy: A policy, or the name of a released one.

    Returns:
        The verdict with every statement, citation and literal. A bundle that breaks its contract gives a FAILED outcome
        with the violations, and nothing is accepted.

    Raises:
        KeyError: There is no released policy of that name.
    """
    rules = load_shipped_policy(policy) if isinstance(policy, str) else policy
    read = read_bundle(bundle, rules)
    if read.bundle is None:
        return not_run(fail_with("assemble", read.violations))
    return validate(text, read.bundle, rules)

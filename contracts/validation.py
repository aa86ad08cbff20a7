"""R5: the firewall between a model and a reader. No model call, no edit: an answer passes byte for byte or not at all.

The first check that finds something names the reason, and every metric is computed whatever was found (contract R5-1 …
R5-14). Prose and JSON pass the same checks: JSON is parsed whole, and then judged
as the text that its readers will see.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sourcebound.contracts.answer_json import join, parse
from sourcebound.contracts.checks import CHECKS, check_not_empty, check_refusal_format
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.outcome import (
    RefusalCode,
    RefusalSource,
    Violation,
    fail_with,
    proceed,
    refuse,
)
from sourcebound.contracts.policy import Policy, ValidationPolicy
from sourcebound.contracts.reading import AnswerReading, read_answer
from sourcebound.contracts.rows import read_rows
from sourcebound.contracts.verdict import GroundingMetrics, SupportLevel, Validation, ValidationStatus

STAGE = "validate"
REFUSED: Final = "the model found no answer in the evidence"


def validate(raw_text: str, bundle: AnswerBundle, policy: Policy) -> Validation:
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


def _refused(answer: AnswerReading, policy: Policy) -> Validation:
    """The verdict on the exact refusal (R5-2)."""
    return Validation(
        outcome=refuse(STAGE, RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, REFUSED),
        validation_status=ValidationStatus.PASSED,
        validated_answer_text=answer.text,
        grounding_metrics=_metrics(answer, policy.validation),
    )


def _judge(readings: Sequence[AnswerReading], bundle: AnswerBundle, policy: Policy) -> Validation:
    """The verdict on an answer that must pass in each of its readings; the first is the one that is reported."""
    answer, rules = readings[0], policy.validation
    violations = tuple(
        violation for check in CHECKS for violation in _first(check(reading, rules) for reading in readings)
    )
    passed = not violations
    return Validation(
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


def _off_schema(raw: AnswerReading, violation: Violation, policy: Policy) -> Validation:
    """The verdict on a text that is not the JSON asked for; half a refusal is named as one, by the order of clauses."""
    return Validation(
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

"""R5: the firewall between a model and a reader. It edits nothing: an answer passes byte for byte or not at all.

The firewall calls no generative model. Its checks (`checks.py`) run in the order of their clauses (contract R5-1 …
R5-9, R5-16, R5-17), and the first check with a finding names the failure. Every metric is computed, whatever the checks
find (R5-14). Prose and JSON pass the same checks: JSON is parsed whole, and then judged as the text that its readers
will see.

`check_answer` runs the firewall alone, on an answer from any source (R5).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.external import read_bundle
from sourcebound.contracts.outcome import (
    RefusalCode,
    RefusalSource,
    Violation,
    fail_with,
    proceed,
    refuse,
)
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy, ValidationPolicy
from sourcebound.contracts.prompt.answer_sentences import join, parse
from sourcebound.contracts.validation.answer_reading import AnswerReading, read_answer, read_rows
from sourcebound.contracts.validation.checks import (
    CHECKS,
    check_degenerate,
    check_not_empty,
    check_refusal_format,
    check_support,
    leaves_question_open,
    too_long,
)
from sourcebound.contracts.validation.partial import missing_of, read_partial, read_partial_rows
from sourcebound.contracts.validation.result import (
    GroundingMetrics,
    SupportLevel,
    ValidationResult,
    ValidationStatus,
    skip_validation,
)
from sourcebound.contracts.validation.support_check import SupportReport, measure_support
from sourcebound.contracts.validation.versions import SECOND, VERSION

STAGE = "validate"
MAX_CHARACTERS: Final = 50_000
"""The length of the longest text that is read, about ten times what a policy lets a model write."""
LEVELS: Final = (SupportLevel.LOW, SupportLevel.MEDIUM, SupportLevel.HIGH)
REFUSAL_MESSAGE: Final = "the model found no answer in the evidence"
NOT_ANSWERED_MESSAGE: Final = "the evidence is on the subject of the question and does not answer it"


def validate(raw_text: str, bundle: AnswerBundle, policy: Policy, version: int = VERSION) -> ValidationResult:
    """Validate an answer against the evidence that its prompt showed.

    Args:
        raw_text: The model's text, unchanged.
        bundle: The answer bundle of the prompt.
        policy: The policy of the run. Its output profile says whether the text must be prose or JSON.
        version: The number of this contract under which the run was made (CP-10).

    Returns:
        The verdict. If the answer passed, it has the text (for JSON, the joined sentences). Otherwise it has the
        reason and an empty text.
    """
    if version >= SECOND and len(raw_text) > MAX_CHARACTERS:
        return _reject_length(raw_text, bundle, policy, version)
    partial = bool(policy.validation.partial_answers)
    is_prose = policy.prompt.output_profile == "prose"
    read = read_partial if partial and is_prose else read_answer
    raw = read(raw_text, bundle, version)
    if raw.is_refusal:
        return _accept_refusal(raw, policy)
    if is_prose or check_not_empty(raw, policy.validation):
        return _judge((raw,), bundle, policy, version)
    parsed = parse(raw_text, partial)
    if isinstance(parsed, Violation):
        return _reject_schema(raw, parsed, policy)
    if parsed.is_refusal:
        return _accept_refusal(read_answer(join(parsed), bundle, version), policy)
    return _judge((read_partial_rows if partial else read_rows)(parsed, bundle, version), bundle, policy, version)


def _accept_refusal(answer: AnswerReading, policy: Policy) -> ValidationResult:
    """Return the verdict on the exact refusal (R5-2)."""
    return ValidationResult(
        outcome=refuse(STAGE, RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, REFUSAL_MESSAGE),
        validation_status=ValidationStatus.PASSED,
        validated_answer_text=answer.text,
        grounding_metrics=_metrics(answer, policy.validation),
    )


def _judge(readings: Sequence[AnswerReading], bundle: AnswerBundle, policy: Policy, version: int) -> ValidationResult:
    """Return the verdict on an answer. It must pass in each of its readings; the first reading is reported."""
    answer, rules = readings[0], policy.validation
    report = measure_support(answer.statements, bundle) if rules.support else None
    violations = tuple(
        violation for check in CHECKS for violation in _first_findings(check(reading, rules) for reading in readings)
    )
    if version >= SECOND:
        violations += tuple(_first_findings(check_degenerate(reading, bundle, policy) for reading in readings))
    violations += tuple(check_support(answer, report, rules))
    if not violations and leaves_question_open(report, rules):
        return _refuse_answer(answer, report, rules)
    passed = not violations
    return ValidationResult(
        outcome=proceed(STAGE) if passed else fail_with(STAGE, violations),
        validation_status=ValidationStatus.PASSED if passed else ValidationStatus.FAILED,
        validated_answer_text=answer.text if passed else "",
        validated_citations=answer.cited_anchors if passed else (),
        grounding_metrics=_metrics(answer, rules),
        statements=answer.statements,
        literals=answer.literals,
        missing=missing_of(answer.statements) if passed and rules.partial_answers else None,
        support_level=support_level(answer.cited_anchors, bundle, policy, report) if passed else None,
        support=report,
    )


def _refuse_answer(answer: AnswerReading, report: SupportReport | None, rules: ValidationPolicy) -> ValidationResult:
    """Return the verdict on an answer that the evidence supports and that does not answer the question (R5-18)."""
    return ValidationResult(
        outcome=refuse(STAGE, RefusalCode.NOT_ANSWERED, RefusalSource.VALIDATION, NOT_ANSWERED_MESSAGE),
        validation_status=ValidationStatus.FAILED,
        grounding_metrics=_metrics(answer, rules),
        statements=answer.statements,
        literals=answer.literals,
        support=report,
    )


def _first_findings(findings: Iterable[Sequence[Violation]]) -> Sequence[Violation]:
    """Return the findings of the first reading that has any, so that nothing is reported twice."""
    return next((item for item in findings if item), ())


def _reject_schema(raw: AnswerReading, violation: Violation, policy: Policy) -> ValidationResult:
    """Return the verdict on a text off the JSON schema. An inexact refusal is reported first, as R5-2 precedes."""
    return ValidationResult(
        outcome=fail_with(STAGE, (*check_refusal_format(raw, policy.validation), violation)),
        validation_status=ValidationStatus.FAILED,
        grounding_metrics=_metrics(raw, policy.validation),
    )


def _reject_length(raw_text: str, bundle: AnswerBundle, policy: Policy, version: int) -> ValidationResult:
    """Return the verdict on a text that is too long to read (R5-1). Its metrics are those of an empty text."""
    nothing = read_answer("", bundle, version)
    is_flagged = len(raw_text) > policy.validation.length_ratio_limit * max(1, nothing.evidence_characters)
    return ValidationResult(
        outcome=fail_with(STAGE, (too_long(len(raw_text), MAX_CHARACTERS),)),
        validation_status=ValidationStatus.FAILED,
        grounding_metrics=_metrics(nothing, policy.validation).model_copy(update={"length_ratio_flag": is_flagged}),
    )


def support_level(
    cited: Sequence[str], bundle: AnswerBundle, policy: Policy, report: SupportReport | None = None
) -> SupportLevel:
    """Derive HIGH, MEDIUM or LOW (R5-15).

    With a verifier, the lowest score of a statement decides, and the second score may lower the level: a quotation has
    the highest support even if it answers another question. Without a verifier, HIGH requires that the best cited chunk
    exceeds the gate by a sufficient margin and that enough distinct documents are cited; MEDIUM requires one of the
    two, and LOW neither.

    Args:
        cited: The anchors that the answer cites.
        bundle: The evidence.
        policy: The policy of the run.
        report: The scores, if the policy has a verifier.
    """
    rules = policy.validation
    if rules.support and report:
        support, answers = report.lowest, report.answers_question
        reaches_medium = support >= rules.support.warn_support and answers >= rules.support.warn_answers_question
        reaches_high = support >= rules.support.high_support and answers >= rules.support.high_answers_question
        return LEVELS[reaches_medium + reaches_high]
    if rules.high_support_margin is None or rules.high_support_sources is None:
        return SupportLevel.LOW
    chunks = [chunk for chunk in bundle.selected_evidence if chunk.anchor in cited]
    margin = max(chunk.similarity_score for chunk in chunks) - policy.retrieval.min_top_similarity
    has_enough_sources = len({chunk.knowledge_id for chunk in chunks}) >= rules.high_support_sources
    has_enough_margin = margin >= rules.high_support_margin
    return LEVELS[has_enough_sources + has_enough_margin]


def _metrics(answer: AnswerReading, policy: ValidationPolicy) -> GroundingMetrics:
    factual = [statement for statement in answer.statements if statement.needs_citation]
    uncited = [statement for statement in factual if not statement.anchors]
    unsupported = [finding.audit_name for finding in answer.literals if not finding.supported]
    return GroundingMetrics(
        citation_count=len(answer.citations),
        uncited_sentence_count=len(uncited),
        invalid_anchor_count=len(answer.unknown_anchors),
        malformed_anchor_count=len(answer.look_alikes),
        refusal_detected=answer.is_refusal or answer.refusal_words is not None,
        length_ratio_flag=len(answer.text) > policy.length_ratio_limit * max(1, answer.evidence_characters),
        suspicious_new_ids=tuple(dict.fromkeys(unsupported)),
        sentence_count=len(answer.statements),
        attribution_coverage=(len(factual) - len(uncited)) / len(factual) if factual else 0.0,
        unsupported_literal_count=len(unsupported),
    )


def check_answer(bundle: object, text: str, policy: Policy | str = "SOURCEBOUND_V2") -> ValidationResult:
    """Check an answer against its sources, without a model or a database. Nothing is stored.

    Args:
        bundle: An answer bundle, a retrieval bundle, or `{"sources": ["text of C0", "text of C1"]}`.
        text: The answer, with its citations.
        policy: A policy, or the name of a released one.

    Returns:
        The verdict with every statement, citation and literal. A bundle that breaks its contract results in a FAILED
        outcome with the violations.

    Raises:
        KeyError: There is no released policy of that name.
    """
    rules = load_shipped_policy(policy) if isinstance(policy, str) else policy
    intake = read_bundle(bundle, rules)
    if intake.bundle is None:
        return skip_validation(fail_with("assemble", intake.violations))
    return validate(text, intake.bundle, rules)

"""The checks of the firewall, in the order of their clauses (R5-1 … R5-9, R5-16, R5-17).

A check returns its findings, never a bool, and does not depend on the other checks.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.policy.schema import Enforcement, Policy, ValidationPolicy
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.answer_reading import AnswerReading
from sourcebound.contracts.validation.degenerate import find_degenerate
from sourcebound.contracts.validation.support_check import SupportReport

Check = Callable[[AnswerReading, ValidationPolicy], Sequence[Violation]]


def _violation(
    code: FailureCode, clause: str, message: str, value: str | None = None, row: int | None = None
) -> Violation:
    return Violation(code=code, clause=clause, message=message, field="raw_model_text", row=row, value=value)


def check_not_empty(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    """Check that the answer has text besides its citations (R5-1)."""
    if any(character.isalnum() for character in CITATION.sub("", answer.text)):
        return []
    return [_violation(FailureCode.EMPTY_ANSWER, "R5-1", "the answer is empty")]


def too_long(characters: int, most: int) -> Violation:
    """Return the violation of a text that is too long to be read (R5-1)."""
    message = f"the answer has {characters} characters, and at most {most} are read"
    return _violation(FailureCode.ANSWER_TOO_LONG, "R5-1", message)


def check_refusal_format(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    """Check that a refusal is exactly the refusal string (R5-2)."""
    if answer.refusal_words is None:
        return []
    message = "the answer carries a refusal and is not exactly the refusal string"
    return [_violation(FailureCode.INVALID_REFUSAL_FORMAT, "R5-2", message, answer.refusal_words)]


def _check_citation_form(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(FailureCode.MALFORMED_CITATION, "R5-3", "a citation is malformed; write [C0]", item.text)
        for item in answer.look_alikes
    ]


def _check_anchors_known(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(
            FailureCode.INVALID_CITATION_REFERENCE,
            "R5-4",
            f"[{anchor}] names no source of this prompt",
            anchor,
        )
        for anchor in answer.unknown_anchors
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


def _check_any_citation(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    if not answer.text.strip() or any(statement.anchors for statement in answer.statements):
        return []
    return [_violation(FailureCode.UNCITED_FACTUAL_STATEMENT, "R5-6", "the answer cites nothing")]


def _check_leaks(answer: AnswerReading, _: ValidationPolicy) -> list[Violation]:
    return [
        _violation(FailureCode.FORBIDDEN_CONTENT, "R5-7", f"the answer shows {item.label}", item.text[:80])
        for item in answer.leaks
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
    """Check the list of citations itself: unique, in order of first use, all used and all known or already reported."""
    used = [citation.anchor for citation in answer.citations]
    expected = tuple(dict.fromkeys(used))
    if answer.cited_anchors == expected and set(expected) <= {*answer.known_anchors, *answer.unknown_anchors}:
        return []
    return [_violation(FailureCode.CITATION_MISMATCH, "R5-9", "the list of citations does not match the text")]


CHECKS: Final[tuple[Check, ...]] = (
    check_not_empty,
    check_refusal_format,
    _check_citation_form,
    _check_anchors_known,
    _check_statements_cited,
    _check_any_citation,
    _check_leaks,
    _check_literals,
    _check_consistency,
)


def check_degenerate(answer: AnswerReading, bundle: AnswerBundle, policy: Policy) -> list[Violation]:
    """Check that no statement is a loop, an echo or a filler (R5-16)."""
    return [
        _violation(
            FailureCode.DEGENERATE_ANSWER,
            "R5-16",
            f"statement {finding.statement + 1} {finding.reason}",
            finding.text,
            finding.statement,
        )
        for finding in find_degenerate(answer.statements, bundle, policy.prompt.template)
    ]


def check_support(answer: AnswerReading, report: SupportReport | None, policy: ValidationPolicy) -> list[Violation]:
    """Check that no statement has a score under the policy's minimum (R5-17)."""
    if policy.support is None or report is None:
        return []
    return [
        _violation(
            FailureCode.UNSUPPORTED_STATEMENT,
            "R5-17",
            f"the sources of statement {item.statement + 1} do not say it: score {item.score}, "
            f"minimum {policy.support.min_support}",
            CITATION.sub("", answer.statements[item.statement].text).strip()[:80],
            item.statement,
        )
        for item in report.statements
        if item.score < policy.support.min_support
    ]


def leaves_question_open(report: SupportReport | None, policy: ValidationPolicy) -> bool:
    """Whether an answer has a score under the policy's minimum for answering the question (R5-18)."""
    return bool(policy.support and report and report.answers_question < policy.support.min_answers_question)

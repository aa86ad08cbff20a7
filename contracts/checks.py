"""The checks of the firewall, in the order in which they name a failure (contract R5-1 … R5-9).

A check returns its findings and never a bool; it reads an answer and decides nothing about the others.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sourcebound.contracts.citations import CITATION
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.policy import Enforcement, ValidationPolicy
from sourcebound.contracts.reading import AnswerReading

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

"""The judgement on one outcome. It shares no code with the product's own rules."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from sourcebound.contracts.outcome import Status
from sourcebound.evals.natural.questions import Question, says


class Verdict(StrEnum):
    """The judgement on an outcome."""

    RIGHT = "right"
    PARTIAL = "partial"
    WRONG = "wrong"
    REFUSED = "refused"
    REJECTED = "rejected"
    """The run failed: the firewall rejected the answer, or a service failed."""


class Outcome(NamedTuple):
    """The public response to one question."""

    question: Question
    run_id: str
    status: Status
    code: str
    """The refusal or failure code; empty for a released answer."""
    answer: str
    cited: tuple[str, ...]
    """The files that the answer cites."""
    support_level: str
    seconds: float


def judge(outcome: Outcome) -> Verdict:
    """Judge one outcome.

    An answer is right if it says every fact of the question, and partial if it says some of them. It must cite one of
    the question's files, so that the same words about another subject do not count. Every answer to a question that the
    files do not answer is wrong, and there a refusal is right.
    """
    question = outcome.question
    if outcome.status is Status.NO_EVIDENCE:
        return Verdict.REFUSED if question.answerable else Verdict.RIGHT
    if outcome.status is not Status.OK:
        return Verdict.REJECTED
    if not _cites(question, outcome.cited):
        return Verdict.WRONG
    said = [says(outcome.answer, fact) for fact in question.facts]
    if all(said):
        return Verdict.RIGHT
    return Verdict.PARTIAL if any(said) else Verdict.WRONG


def _cites(question: Question, cited: Iterable[str]) -> bool:
    return not {place.file for place in question.places}.isdisjoint(cited)

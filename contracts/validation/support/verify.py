"""`support_v1`: a score for whether the cited chunks say a statement (R5-17), and for answering the question (R5-18).

A statement's score is the lower one of two. *Coverage* falls with the words, pairs of words, names and literals that
the chunks do not hold. *Alteration* falls where a statement is close to a sentence of a chunk and differs by
a negation, an opposite, a number, a name or an order, or is cut short. Whole sentences that are repeated word for word
have the highest score.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.answering import answering_features
from sourcebound.contracts.validation.support.candidates import Place, Shown, best_features, read_candidates
from sourcebound.contracts.validation.support.claims import Window, find_quotation, read_claim
from sourcebound.contracts.validation.support.features import support_features
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.weights import read_weights

HIGHEST: Final = 1000


class ComparedSentence(NamedTuple):
    """A sentence of a cited chunk that a statement was compared with: the chunk's index, and offsets in its text."""

    chunk: int
    start: int
    end: int


class SupportReading(NamedTuple):
    """The scores of a statement, in thousandths."""

    score: int
    """The lower one of the other two."""
    coverage: int
    alteration: int
    compared: tuple[ComparedSentence, ...]
    """The closest sentences; empty if no chunk shares a word with the statement."""


def read_support(statement: str, previous: str, question: str, chunks: Sequence[str]) -> SupportReading:
    """Score a statement against the chunks that it cites (R5-17).

    Args:
        statement: The statement without citations.
        previous: The statement before it in the answer; empty for the first.
        question: The question; empty if there is no question.
        chunks: The texts of the chunks that the statement cites, as in the prompt.

    Returns:
        The scores and the sentences that were compared.
    """
    quotation = find_quotation(read_claim(statement), chunks, [read_passage(chunk) for chunk in chunks])
    if quotation is not None:
        return SupportReading(HIGHEST, HIGHEST, HIGHEST, _compared(quotation))
    features, window = support_features(statement, previous, question, chunks)
    weights = read_weights()
    coverage = weights.to_thousandths(weights.coverage.sum(features))
    alteration = weights.to_thousandths(weights.alteration.sum(features))
    return SupportReading(min(coverage, alteration), coverage, alteration, _compared(window))


def _compared(window: Window) -> tuple[ComparedSentence, ...]:
    return tuple(ComparedSentence(window.passage, part.start, part.end) for part in window.sentences)


def score_support(statement: str, previous: str, question: str, chunks: Sequence[str]) -> int:
    """Return the support score of a statement in thousandths; the arguments are those of `read_support` (R5-17)."""
    return read_support(statement, previous, question, chunks).score


def score_subject(answer: str, question: str, chunks: Sequence[str]) -> int:
    """Return a score for whether an answer is about what the question asks for, in thousandths.

    Args:
        answer: The answer without citations.
        question: The question.
        chunks: The texts of the chunks that the answer cites.

    Returns:
        The score. A question without content words scores as if the answer held every word of it.
    """
    weights = read_weights()
    return weights.to_thousandths(weights.subject.sum(answering_features(answer, question, chunks)))


def score_answering(
    answer: str, question: str, chunks: Sequence[str], shown: Sequence[Shown], said: Collection[Place]
) -> int:
    """Return a score for whether an answer answers the question, in thousandths (R5-18).

    It rises with the subject's score, and with how far the sentences that the answer says are ahead of all others.

    Args:
        answer: The answer without citations.
        question: The question.
        chunks: The texts of the chunks that the answer cites.
        shown: All chunks of the prompt.
        said: The places of the shown evidence that the answer was compared with.

    Returns:
        The score.
    """
    weights = read_weights()
    best = best_features(read_candidates(question, shown), said, weights.order)
    features = {**best, "subject": score_subject(answer, question, chunks)}
    return weights.to_thousandths(weights.answering.sum(features))

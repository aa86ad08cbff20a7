"""Describes the sentences that an answer may quote, by their words and as a reader reads them (R4-9).

The reader takes longest. So it reads few chunks: those with the best sentences by their words.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sourcebound.contracts.extractive.features import Features, Reading, holds, lexical_features, word_weights
from sourcebound.contracts.extractive.labels import conflicts
from sourcebound.contracts.extractive.question import Asked, Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.extractive.subjects import (
    is_about,
    is_labelled,
    is_of_another_ordinal,
    read_part,
    read_subjects,
)
from sourcebound.contracts.extractive.weights import MILLION, Linear, read_weights
from sourcebound.contracts.prompt.build import EvidencePart

READ_CHUNKS: Final = 3
"""The most chunks that are read."""
FIRST_READ: Final = 2
"""Those that are read at once. The others are read if none of their sentences has `LIKELY_ODDS`."""
LIKELY_ODDS: Final = 200
"""In hundredths of a logit."""
NO_QUANTITY: Final = 2 * MILLION
"""What a sentence without the number loses that was asked for."""
QUANTITIES: Final = frozenset(
    {Asked.TIME, Asked.COUNT, Asked.MONEY, Asked.CONTACT, Asked.DURATION, Asked.FREQUENCY, Asked.MEASURE}
)
Described = tuple[Sentence, Features]
Reader = Callable[[Question, Sequence[tuple[EvidencePart, Sequence[Sentence]]]], list[list[Reading]]]
"""Reads each sentence of each chunk with the question."""


def describe(question: Question, sentences: Sequence[Sentence]) -> list[Described]:
    """Return the sentences about the subjects of a question, with the features of their words."""
    local = word_weights(question, sentences)
    subjects = read_subjects(question, sentences)
    stems: dict[int, frozenset[str]] = {}
    for each in sentences:
        stems[each.chunk] = stems.get(each.chunk, frozenset()) | each.stems
    part = read_part(question)
    return [
        (each, lexical_features(question, each, local, stems[each.chunk]))
        for each in sentences
        if (is_about(subjects, each, stems[each.chunk]) or is_labelled(question, subjects, each))
        and (not part or any(holds(each.stems | each.nearby | each.title, stem) for stem in part))
        and not conflicts(question.labels, each.text, each.source)
        and not is_of_another_ordinal(question, each)
    ]


def only_quoted(described: Iterable[Described]) -> list[Described]:
    """Return those that may be quoted, and the lead-ins of lists."""
    return [each for each in described if each[0].leads or each[0].is_quotable]


def compare(
    question: Question, evidence: Sequence[EvidencePart], described: Sequence[Described], read: Reader
) -> list[Described]:
    """Add what is read of the sentences that may be quoted in the most promising chunks; the others are left out."""
    within = [
        only_quoted(each for each in described if each[0].chunk == chunk) for chunk in _promising(question, described)
    ]
    found: list[Described] = []
    for part in (within[:FIRST_READ], within[FIRST_READ:]):
        if part and all(features["odds"] < LIKELY_ODDS for _, features in found):
            readings = read(question, [(evidence[each[0][0].chunk], [one for one, _ in each]) for each in part])
            found += [
                (sentence, features | reading._asdict())
                for of_chunk, read_of_chunk in zip(part, readings, strict=True)
                for (sentence, features), reading in zip(of_chunk, read_of_chunk, strict=True)
            ]
    return found


def _promising(question: Question, described: Sequence[Described]) -> list[int]:
    """Return the chunks with the best sentences that may be quoted, best first."""
    ranking = read_weights(embedded=False).ranking
    best = sorted(described, key=lambda each: (-score(question, ranking, each[1]), each[0].chunk))
    chosen: list[int] = []
    for each in best:
        if len(chosen) < READ_CHUNKS and each[0].chunk not in chosen and only_quoted([each]):
            chosen.append(each[0].chunk)
    return chosen


def score(question: Question, weights: Linear, features: Features) -> int:
    """Return the score of a sentence."""
    lacks = question.asked in QUANTITIES and features["type_missing"]
    return weights.sum(features) - (NO_QUANTITY if lacks else 0)

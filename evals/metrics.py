"""Measures of a ranking and their uncertainty: pure functions over ids, spans and numbers.

Gains are linear, as in trec_eval. A question without anything relevant scores 0; whoever averages leaves it out first.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2
from typing import Final, NamedTuple

import numpy as np

RESAMPLINGS: Final = 2000
SEED: Final = 20251121


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a document."""

    document: str
    start: int
    end: int


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float


def rank_once(items: Iterable[str]) -> tuple[str, ...]:
    """Each item at its first place: a document ranks where its best chunk does."""
    return tuple(dict.fromkeys(items))


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """Discounted cumulative gain of the first k, over that of the best possible order.

    Args:
        ranked: Ids, best first, each once.
        relevance: The grade of every relevant id; what it lacks is not relevant.
        k: How many places count.

    Returns:
        A share in [0, 1]; 0 where nothing is relevant.
    """
    ideal = _discounted(sorted(relevance.values(), reverse=True)[:k])
    return _discounted([relevance.get(item, 0.0) for item in ranked[:k]]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return fsum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


def recall(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """The share of the relevant ids that stand among the first k; 0 where nothing is relevant."""
    relevant = _relevant(relevance)
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """One over the place of the first relevant id, counted from 1; 0 where none stands among the first k."""
    relevant = _relevant(relevance)
    return next((1 / place for place, item in enumerate(ranked[:k], start=1) if item in relevant), 0.0)


def _relevant(relevance: Mapping[str, float]) -> set[str]:
    return {item for item, grade in relevance.items() if grade > 0}


def span_recall(retrieved: Iterable[Span], wanted: Iterable[Span]) -> float:
    """The share of the wanted characters that were retrieved; 0 where none is wanted."""
    needed = _characters(wanted)
    return len(needed & _characters(retrieved)) / len(needed) if needed else 0.0


def span_precision(retrieved: Iterable[Span], wanted: Iterable[Span]) -> float:
    """The share of the retrieved characters, each counted once, that are wanted; 0 where none was retrieved."""
    found = _characters(retrieved)
    return len(found & _characters(wanted)) / len(found) if found else 0.0


def _characters(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(span.document, offset) for span in spans for offset in range(span.start, span.end)}


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values and its bootstrap standard error: the spread of the means of resampled values.

    Args:
        values: One number a question.

    Returns:
        The estimate, the same for the same values; 0 ± 0 for none.
    """
    if not values:
        return Estimate(0.0, 0.0)
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLINGS, len(values)))
    return Estimate(fsum(values) / len(values), float(np.asarray(values, dtype=float)[drawn].mean(axis=1).std()))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How much better `first` is than `second` on the same questions, with the standard error of that difference.

    Raises:
        ValueError: The two are not of one length.
    """
    return estimate([a - b for a, b in zip(first, second, strict=True)])


def align(text: str, original: str, reach: int = 60) -> list[int]:
    """Where each character of a text stands in the text that it was read from.

    Args:
        text: What a loader made of `original`: the same characters in the same order, but for white space and markup.
        original: The text as it was.
        reach: How many characters of markup may be skipped at once.

    Returns:
        An offset in `original` for each character of `text`, never falling.

    Raises:
        ValueError: Over one character in a hundred is not found.
    """
    offsets, position, lost = [], 0, 0
    for character in text:
        found = -1 if character.isspace() else original.find(character, position, position + reach)
        lost += found < 0 and not character.isspace()
        offsets.append(position if found < 0 else found)
        position = position if found < 0 else found + 1
    if lost > len(text) / 100:
        raise ValueError(f"{lost} of {len(text)} characters do not stand in the original")
    return offsets

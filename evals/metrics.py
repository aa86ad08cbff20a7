"""Metrics of a ranking and their uncertainty: pure functions over ids, spans and numbers.

Gains are linear, as in trec_eval. A question without a relevant document scores 0; leave such questions out before
averaging.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2
from typing import Final, NamedTuple

import numpy as np

RESAMPLES: Final = 2000
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


class Interval(NamedTuple):
    """A mean or a share, and its 95 % interval."""

    mean: float
    low: float
    high: float


def rank_once(items: Iterable[str]) -> tuple[str, ...]:
    """Keep each item at its first position, so that a document has the rank of its best chunk."""
    return tuple(dict.fromkeys(items))


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """Return the discounted cumulative gain of the first k, relative to that of the best possible order.

    Args:
        ranked: Ids, best first, each once.
        relevance: The grade of every relevant id. All other ids are irrelevant.
        k: The number of positions that count.

    Returns:
        A share in [0, 1]; 0 if nothing is relevant.
    """
    ideal = _discount(sorted(relevance.values(), reverse=True)[:k])
    return _discount([relevance.get(item, 0.0) for item in ranked[:k]]) / ideal if ideal else 0.0


def _discount(gains: Sequence[float]) -> float:
    return fsum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


def recall(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """Return the share of the relevant ids that are among the first k; 0 if nothing is relevant."""
    relevant = _relevant(relevance)
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """Return the reciprocal of the first relevant id's position, from 1; 0 if none is among the first k."""
    relevant = _relevant(relevance)
    return next((1 / place for place, item in enumerate(ranked[:k], start=1) if item in relevant), 0.0)


def _relevant(relevance: Mapping[str, float]) -> set[str]:
    return {item for item, grade in relevance.items() if grade > 0}


def span_recall(retrieved: Iterable[Span], wanted: Iterable[Span]) -> float:
    """Return the share of the wanted characters that were retrieved; 0 if none is wanted."""
    wanted_characters = _characters(wanted)
    return len(wanted_characters & _characters(retrieved)) / len(wanted_characters) if wanted_characters else 0.0


def span_precision(retrieved: Iterable[Span], wanted: Iterable[Span]) -> float:
    """Return the share of the retrieved characters that are wanted, each counted once; 0 if none was retrieved."""
    found = _characters(retrieved)
    return len(found & _characters(wanted)) / len(found) if found else 0.0


def _characters(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(span.document, offset) for span in spans for offset in range(span.start, span.end)}


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate a mean and its bootstrap standard error, the standard deviation of the means of resampled values.

    Args:
        values: One number per question.

    Returns:
        The estimate. It is deterministic, and 0 ± 0 for no values.
    """
    if not values:
        return Estimate(0.0, 0.0)
    samples = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    return Estimate(fsum(values) / len(values), float(np.asarray(values, dtype=float)[samples].mean(axis=1).std()))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Estimate by how much `first` exceeds `second` on the same questions, with the standard error of the difference.

    Raises:
        ValueError: The two lengths differ.
    """
    return estimate([a - b for a, b in zip(first, second, strict=True)])


def mean_interval(values: Sequence[float]) -> Interval:
    """Estimate a mean and its 95 % interval by a bootstrap over the values; 0 for no values."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    samples = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(np.asarray(values, dtype=float)[samples].mean(axis=1), [2.5, 97.5])
    return Interval(fsum(values) / len(values), float(low), float(high))


def share_by_group(groups: Sequence[tuple[int, int]]) -> Interval:
    """Estimate a share of items that come in groups, by a bootstrap over whole groups.

    Args:
        groups: For each group the number of counted items and of all items.

    Returns:
        The share of all items and the 2.5th and 97.5th percentile of its resamples. It is deterministic, and 0 for no
        items.
    """
    if not sum(total for _, total in groups):
        return Interval(0.0, 0.0, 0.0)
    table = np.asarray(groups, dtype=float)
    samples = np.random.default_rng(SEED).integers(0, len(groups), (RESAMPLES, len(groups)))
    counted, totals = table[samples].sum(axis=1).T
    low, high = np.percentile(counted / totals, [2.5, 97.5])
    counted_all, total_all = table.sum(axis=0)
    return Interval(float(counted_all / total_all), float(low), float(high))


def align(text: str, original: str, reach: int = 60) -> list[int]:
    """Map each character of a text to its offset in the text that it was read from.

    Args:
        text: A loader's reading of `original`: the same characters in the same order, except white space and markup.
        original: The original text.
        reach: The number of characters of markup that may be skipped at once.

    Returns:
        An offset in `original` for each character of `text`, in non-decreasing order.

    Raises:
        ValueError: More than one character in a hundred is missing.
    """
    offsets, position, missing = [], 0, 0
    for character in text:
        found = -1 if character.isspace() else original.find(character, position, position + reach)
        missing += found < 0 and not character.isspace()
        offsets.append(position if found < 0 else found)
        position = position if found < 0 else found + 1
    if missing > len(text) / 100:
        raise ValueError(f"{missing} of {len(text)} characters are not in the original")
    return offsets

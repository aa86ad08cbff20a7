"""From several rankings to one: reciprocal rank fusion, then diversity (contract R1-4 … R1-6).

Scores of different kinds are never added up; only ranks are. What comes out orders candidates and gates nothing (P-5).
"""

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import NamedTuple


class Ranking(NamedTuple):
    """One list of item ids, best first, each once, and what the list counts for."""

    items: Sequence[str]
    weight: float = 1.0


def merge_best(lists: Sequence[Mapping[str, float]], count: int) -> dict[str, float]:
    """Several searches of one kind as one: each item keeps the best score that any of them gave it (R1-4).

    Args:
        lists: One mapping from item id to score for each search; higher is better.
        count: How many items to keep at most.

    Returns:
        The best items with their scores, best first; equal scores are ordered by id.
    """
    best = dict(lists[0]) if lists else {}
    for scores in lists[1:]:
        for item, score in scores.items():
            best[item] = max(score, best.get(item, score))
    return {item: best[item] for item in _best_first(best)[:count]}


def fuse_reciprocal_rank(rankings: Sequence[Ranking], k: int) -> dict[str, float]:
    """Reciprocal rank fusion: an item scores the sum of `weight / (k + position)` over the rankings (R1-5).

    Args:
        rankings: The rankings; positions count from 1.
        k: The damping constant.

    Returns:
        Every id once with its score, best first; equal scores are ordered by id. The order of the rankings does not
        matter.
    """
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for position, item in enumerate(ranking.items, start=1):
            shares.setdefault(item, []).append(ranking.weight / (k + position))
    scores = {item: fsum(parts) for item, parts in shares.items()}
    return {item: scores[item] for item in _best_first(scores)}


def relevance_of(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as shares of the best one, so that diversity can be weighed against them.

    Args:
        scores: Scores of 0 or more by item.

    Returns:
        The same items in the same order, each from 0 to 1.
    """
    best = max(scores.values(), default=0.0)
    return {item: score / best if best else 0.0 for item, score in scores.items()}


def diversify(
    relevance: Mapping[str, float], similarity: Callable[[str, str], float], mmr_lambda: float, count: int
) -> list[str]:
    """Maximal marginal relevance: each next item is relevant, and unlike those before it (R1-6).

    Args:
        relevance: How relevant each item is, from 0 to 1, best first; of equal ones the earlier wins. The fused score
            where lists were fused: with the plain similarity in its place the fusion would have been for nothing.
        similarity: The similarity of two items, from 0 to 1.
        mmr_lambda: 1 is relevance alone, 0 is unlikeness alone.
        count: How many to take at most.

    Returns:
        The chosen ids, in the order in which they were chosen.
    """
    left = list(relevance)
    chosen: list[str] = []
    nearest = dict.fromkeys(relevance, 0.0)
    while left and len(chosen) < count:
        best = max(left, key=lambda item: mmr_lambda * relevance[item] - (1 - mmr_lambda) * nearest[item])
        left.remove(best)
        chosen.append(best)
        for item in left:
            nearest[item] = max(nearest[item], similarity(best, item))
    return chosen


def _best_first(scores: Mapping[str, float]) -> list[str]:
    """The items of the best score first; those of equal scores by id."""
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)

"""Fusion of several rankings: by reciprocal ranks or by scores, then diversity (R1-4 to R1-6).

Scores of different kinds are added only as shares of what the question can reach: a similarity is one of 1, and a
lexical score is one of the sum of the weights of all the question's words. Nothing is scaled to the other candidates,
so a poor list stays poor. The result orders candidates and gates nothing (P-5).
"""

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import NamedTuple


class Ranking(NamedTuple):
    """A list of distinct item ids, best first, with its weight."""

    items: Sequence[str]
    weight: float = 1.0


def merge_best(lists: Sequence[Mapping[str, float]], count: int) -> dict[str, float]:
    """Merge several searches of one kind: each item keeps its best score (R1-4).

    Args:
        lists: One mapping from item id to score for each search; higher is better.
        count: The most items to keep.

    Returns:
        The best items with their scores, best first; equal scores are ordered by id.
    """
    best = dict(lists[0]) if lists else {}
    for scores in lists[1:]:
        for item, score in scores.items():
            best[item] = max(score, best.get(item, score))
    return {item: best[item] for item in _best_first(best)[:count]}


def fuse_reciprocal_rank(rankings: Sequence[Ranking], k: int) -> dict[str, float]:
    """Fuse rankings: an item scores the sum of `weight / (k + position)` over the rankings (R1-5).

    Args:
        rankings: The rankings; positions count from 1.
        k: The damping constant.

    Returns:
        Every id with its score, best first; equal scores are ordered by id. The order of the rankings does not
        matter.
    """
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for position, item in enumerate(ranking.items, start=1):
            shares.setdefault(item, []).append(ranking.weight / (k + position))
    scores = {item: fsum(parts) for item, parts in shares.items()}
    return {item: scores[item] for item in _best_first(scores)}


def fuse_scores(rankings: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    """Fuse scores: an item scores the sum of `weight × score` over the lists (R1-5).

    Args:
        rankings: For each list its scores, each a share from 0 to 1, and its weight. An item that a list lacks has 0.

    Returns:
        Every id with its score, best first; equal scores are ordered by id. The order of the lists does not matter.
    """
    shares: dict[str, list[float]] = {}
    for scores, weight in rankings:
        for item, score in scores.items():
            shares.setdefault(item, []).append(weight * score)
    fused = {item: fsum(parts) for item, parts in shares.items()}
    return {item: fused[item] for item in _best_first(fused)}


def relevance_of(scores: Mapping[str, float]) -> dict[str, float]:
    """Scale scores to the best one, so that diversity can be weighed against them.

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
    """Order by maximal marginal relevance: each next item is relevant, and unlike the earlier ones (R1-6).

    Args:
        relevance: The relevance of each item from 0 to 1, best first; of equal ones the earlier wins. For fused lists
            this is the fused score, because the plain similarity would undo the fusion.
        similarity: The similarity of two items, from 0 to 1.
        mmr_lambda: 1 is relevance only, 0 is dissimilarity only.
        count: The most items to take.

    Returns:
        The chosen ids, in the order of choice.
    """
    remaining = list(relevance)
    selection: list[str] = []
    nearest = dict.fromkeys(relevance, 0.0)
    while remaining and len(selection) < count:
        best = max(remaining, key=lambda item: mmr_lambda * relevance[item] - (1 - mmr_lambda) * nearest[item])
        remaining.remove(best)
        selection.append(best)
        for item in remaining:
            nearest[item] = max(nearest[item], similarity(best, item))
    return selection


def _best_first(scores: Mapping[str, float]) -> list[str]:
    """Order items by descending score, then by id."""
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)

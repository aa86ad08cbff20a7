"""The order of the candidates: the two lists of each search, fused, then made diverse (R1-4 … R1-6)."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.policy.schema import RetrievalPolicy
from sourcebound.contracts.retrieval.bm25 import UNITS, highest_score
from sourcebound.contracts.retrieval.fusion import (
    Ranking,
    diversify,
    fuse_reciprocal_rank,
    fuse_scores,
    merge_best,
    relevance_of,
)
from sourcebound.contracts.retrieval.retrieval_bundle import similarity_from_distance
from sourcebound.store.search.bm25 import SearchWords
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.vector_codec import PackedVector

SIMILARITY_DIGITS: Final = 6


class Searches(NamedTuple):
    """The search texts: the question and its variants, with a vector of each where there is an embedder."""

    texts: tuple[str, ...]
    vectors: Sequence[PackedVector] = ()
    own: tuple[int, ...] = (0,)
    """The numbers of those that are the question itself: as it was asked, in another spelling, and in English."""

    def with_own(self, texts: Sequence[str], vectors: Sequence[PackedVector]) -> "Searches":
        """Return the searches and the question in another spelling or language."""
        numbers = range(len(self.texts), len(self.texts) + len(texts))
        return Searches((*self.texts, *texts), [*self.vectors, *vectors], (*self.own, *numbers))


class ListPosition(NamedTuple):
    """The position of a candidate in the two lists that are fused; None where a list does not hold it."""

    dense: int | None = None
    lexical: int | None = None
    score: float | None = None
    """Its BM25 score."""


async def order_candidates(
    search: ChunkSearch, searches: Searches, words: SearchWords, limits: RetrievalPolicy, exact: bool
) -> dict[str, ListPosition]:
    """Return the candidates in the order of their ranks (R1-4 … R1-6), by id."""
    pool = limits.candidate_pool
    dense: Mapping[str, float] = {}
    lists: list[Mapping[str, float]] = []
    if searches.vectors:
        dense = merge_best([await search.dense(vector, pool, exact=exact) for vector in searches.vectors], pool)
    if limits.hybrid or not searches.vectors:
        lists = [await search.lexical(words, number, pool) for number in range(len(searches.texts))]
    lexical = merge_best(lists, pool)
    if limits.fusion is None or not (dense and lexical):
        fused = _fuse_ranks(dense, lexical, limits)
    else:
        shares = merge_best([_shares(scores, words, number) for number, scores in enumerate(lists)], pool)
        fused = await _fuse_scores(search, searches, dense, shares, limits)
    order = list(fused)[: limits.top_k]
    if limits.mmr_lambda is not None and dense:
        # Where nothing was fused, similarity itself is the relevance.
        near = {item: similarity_from_distance(-score) for item, score in dense.items()}
        relevance = relevance_of({item: fused[item] for item in list(fused)[:pool]}) if limits.hybrid else near
        order = await _diversify_order(search, relevance, limits.mmr_lambda, limits.top_k)
    first, second = ({item: position for position, item in enumerate(each)} for each in (dense, lexical))
    return {
        item: ListPosition(first.get(item), second.get(item), lexical[item] / UNITS if item in lexical else None)
        for item in order
    }


def _fuse_ranks(dense: Mapping[str, float], lexical: Mapping[str, float], limits: RetrievalPolicy) -> dict[str, float]:
    rankings = [Ranking(list(dense), limits.dense_weight or 1.0), Ranking(list(lexical), limits.lexical_weight or 1.0)]
    return fuse_reciprocal_rank(rankings, limits.rrf_k or 1)


async def _fuse_scores(
    search: ChunkSearch,
    searches: Searches,
    dense: Mapping[str, float],
    shares: Mapping[str, float],
    limits: RetrievalPolicy,
) -> dict[str, float]:
    """Fuse similarities and lexical shares. A chunk that only words have found has its true similarity too.

    Similarities are rounded as in a row, so that their order is the same whether they come from memory or not.
    """
    unseen = await search.distances_to(searches.vectors, [chunk for chunk in shares if chunk not in dense])
    distances = {chunk: -score for chunk, score in dense.items()} | dict(unseen)
    near = {chunk: round(similarity_from_distance(value), SIMILARITY_DIGITS) for chunk, value in distances.items()}
    return fuse_scores([(near, limits.dense_weight or 1.0), (shares, limits.lexical_weight or 1.0)])


def _shares(scores: Mapping[str, float], words: SearchWords, number: int) -> Mapping[str, float]:
    """Return the lexical scores of one search as shares of the most that a chunk can score."""
    highest = highest_score(words.searches[number], words.chunks)
    return {chunk: min(1.0, score / highest) for chunk, score in scores.items()}


async def _diversify_order(
    search: ChunkSearch, relevance: Mapping[str, float], mmr_lambda: float, count: int
) -> list[str]:
    distances = await search.distances(list(relevance))
    return diversify(
        relevance,
        lambda first, second: similarity_from_distance(distances[frozenset((first, second))]),
        mmr_lambda,
        count,
    )

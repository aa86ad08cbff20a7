"""Reranking: a model reads the question with each of the best candidates, and orders them (R1-6).

It changes the order and the choice of candidates. Their similarities and the gate's minima stay as they are, because a
score of a reranker never gates (P-5).
"""

from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.query_variants import needs_fallback
from sourcebound.contracts.retrieval.retrieval_bundle import CARRIED, RetrievalBundle, retrieval_request

SCORE_DIGITS: Final = 6


def with_candidates(policy: Policy) -> Policy:
    """Return a policy that retrieves as many candidates as its reranker reads."""
    count = policy.retrieval.rerank_candidates or policy.retrieval.top_k
    return policy.model_copy(update={"retrieval": policy.retrieval.model_copy(update={"top_k": count})})


def rerank(
    bundle: RetrievalBundle, scores: Sequence[float], run: Run, policy: Policy, reranker: str
) -> RetrievalBundle:
    """Order candidates by the scores of a reranker, and keep the policy's `top_k`.

    Args:
        bundle: The candidates that were retrieved under `with_candidates(policy)`.
        scores: The score of each row of `bundle.results`, in order; higher is better.
        run: The run.
        policy: The policy of the run.
        reranker: The name of the reranker.

    Returns:
        The bundle of the policy: new ranks, the score in each row, and the coverage of the candidates that were read.
        Equal scores keep their order. Rows that an earlier run carried follow, also those that are not among the best.
    """
    scored = [
        row.model_copy(update={"rerank_score": round(score, SCORE_DIGITS)})
        for row, score in zip(bundle.results, scores, strict=True)
    ]
    own = sorted((row for row in scored if row.origin is None), key=lambda row: -(row.rerank_score or 0.0))
    top_k = policy.retrieval.top_k
    best, cut = own[:top_k], own[top_k:]
    carried = [row.model_copy(update={"origin": CARRIED}) for row in cut if row.chunk_id in run.carried]
    added = [row for row in scored if row.origin is not None]
    rows = tuple(row.model_copy(update={"rank": rank}) for rank, row in enumerate([*best, *carried, *added]))
    available = len(own) + bundle.retrieval_shortfall
    return bundle.model_copy(
        update={
            **retrieval_request(run, policy),
            "results": rows,
            "reranker": reranker,
            "fallback_used": needs_fallback(run.search_query or run.question, rows[: len(best)], policy),
            "retrieval_shortfall": max(0, min(available, top_k) - len(own)),
        }
    )

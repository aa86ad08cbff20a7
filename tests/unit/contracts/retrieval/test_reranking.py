"""R1-6: a reranker orders the candidates; similarities, gates and added rows stay as they are."""

import pytest
from pydantic import ValidationError

from sourcebound.contracts.policy.schema import Policy, RetrievalPolicy
from sourcebound.contracts.retrieval.reranking import rerank, with_candidates
from sourcebound.contracts.retrieval.retrieval_bundle import (
    CARRIED,
    RetrievalBundle,
    RetrievalRow,
    RetrievalStatus,
    retrieval_request,
)
from support.retrieving import policy_with, run_for

NAME = "onnx:tiny@12345678"
QUESTION = "What oil does the pump take?"


def _policy() -> Policy:
    return policy_with(reranker=NAME, rerank_candidates=5, top_k=2)


def _bundle(policy: Policy, similarities: list[float], shortfall: int = 0, carried: bool = False) -> RetrievalBundle:
    rows = [
        RetrievalRow(
            chunk_id=f"c{number}",
            knowledge_id="pump.md",
            rank=number,
            similarity_score=similarity,
            chunk_text="text",
            knowledge_type_effective="document",
            origin=CARRIED if carried and number == len(similarities) - 1 else None,
        )
        for number, similarity in enumerate(similarities)
    ]
    run = run_for(QUESTION, policy)
    return RetrievalBundle(
        **retrieval_request(run, with_candidates(policy)),
        retrieval_status=RetrievalStatus.SUCCESS,
        index_version="i",
        embedding_model="m",
        results=tuple(rows),
        retrieval_shortfall=shortfall,
        question_coverage=0.7,
    )


def _rerank(policy: Policy, bundle: RetrievalBundle, scores: list[float]) -> RetrievalBundle:
    return rerank(bundle, scores, run_for(QUESTION, policy), policy, NAME)


@pytest.mark.contract("R1-6")
@pytest.mark.contract("P-5")
def test_candidates_have_the_order_of_their_scores_and_keep_their_similarities() -> None:
    policy = _policy()
    found = _rerank(policy, _bundle(policy, [0.9, 0.8, 0.7, 0.6]), [0.1, -2.0, 7.1234567, 0.1])
    assert [(row.chunk_id, row.rank, row.similarity_score, row.rerank_score) for row in found.results] == [
        ("c2", 0, 0.7, 7.123457),
        ("c0", 1, 0.9, 0.1),
    ]
    assert (found.reranker, found.top_k, found.question_coverage) == (NAME, 2, 0.7)
    assert found.policy_sha256 == policy.sha256 != with_candidates(policy).sha256


@pytest.mark.contract("R1-6")
@pytest.mark.contract("CP-6")
def test_carried_evidence_stays_whether_it_is_among_the_candidates_or_not() -> None:
    policy = _policy()
    bundle = _bundle(policy, [0.9, 0.8, 0.7, 0.1], carried=True)
    run = run_for(QUESTION, policy).model_copy(update={"carried": ("c2", "c3")})
    found = rerank(bundle, [1.0, 2.0, 0.5, 9.0], run, policy, NAME)
    assert [(row.chunk_id, row.rank, row.origin) for row in found.results] == [
        ("c1", 0, None),
        ("c0", 1, None),
        ("c2", 2, CARRIED),
        ("c3", 3, CARRIED),
    ]


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(("similarities", "fallback"), [([0.19, 0.18, 0.3], True), ([0.25, 0.18, 0.3], False)])
def test_a_fallback_is_decided_by_the_candidates_and_not_by_carried_rows(
    similarities: list[float], fallback: bool
) -> None:
    policy = policy_with("QA_CONTRACT_V1", reranker=NAME, rerank_candidates=5, top_k=2, mmr_lambda=None)
    assert _rerank(policy, _bundle(policy, similarities, carried=True), [0.0, 0.0, 9.0]).fallback_used == fallback


@pytest.mark.contract("R1-8")
@pytest.mark.parametrize(
    ("found", "missing", "expected"),
    [(4, 1, 0), (1, 0, 0), (1, 1, 1), (1, 4, 1), (0, 3, 2)],
)
def test_the_shortfall_is_that_of_the_rows_that_are_kept(found: int, missing: int, expected: int) -> None:
    policy = _policy()
    bundle = _bundle(policy, [0.5] * found, shortfall=missing)
    assert _rerank(policy, bundle, [0.0] * found).retrieval_shortfall == expected


@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"reranker": NAME}, "belong together"),
        ({"rerank_candidates": 30}, "belong together"),
        ({"reranker": NAME, "rerank_candidates": 3}, "at least top_k"),
        ({"reranker": NAME, "rerank_candidates": 30, "mmr_lambda": 0.7}, "without them"),
        ({"reranker": NAME, "rerank_candidates": 30, "neighbours": 1}, "without them"),
    ],
)
def test_a_policy_names_the_reranker_and_how_many_candidates_it_reads(values: dict[str, object], message: str) -> None:
    retrieval = policy_with().retrieval.model_dump()
    with pytest.raises(ValidationError, match=message):
        RetrievalPolicy.model_validate(retrieval | values)


def test_a_policy_without_a_reranker_has_the_digest_that_it_had() -> None:
    assert "reranker" not in policy_with().model_dump(mode="json")["retrieval"]
    assert "rerank_score" not in _bundle(_policy(), [0.5]).to_json()["results"][0]

"""R1-6 over PostgreSQL: the cross-encoder of the settings orders the candidates of a policy that names it."""

from pathlib import Path

import pytest

from sourcebound.contracts.policy.schema import Policy
from sourcebound.errors import ConfigurationError
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.models.onnx.reranker import OnnxReranker
from sourcebound.wiring import open_services
from support.onnx_files import write_cross_encoder
from support.processes.databases import settings_for
from support.retrieving import policy_with, retrieve

CANDIDATES = 20
TOP_K = 4


def _policy(name: str) -> Policy:
    return policy_with(reranker=name, rerank_candidates=CANDIDATES, top_k=TOP_K, mmr_lambda=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "seals", {"seal": 1.0, "bearing": -1.0})


@pytest.mark.contract("R1-6")
async def test_the_best_candidates_are_those_that_the_reranker_prefers(
    library: str, minilm: MiniLmEmbedder, folder: Path
) -> None:
    name = OnnxReranker(folder).name
    async with open_services(settings_for(library, reranker=f"onnx:{folder}")) as services:
        services._embedders["minilm"] = minilm
        candidates = (await retrieve(services, policy=policy_with(top_k=CANDIDATES))).results
        bundle = await retrieve(services, policy=_policy(name))
    count = {row.chunk_id: row.chunk_text.split().count("seal") for row in candidates}
    assert bundle.reranker == name
    assert [row.rank for row in bundle.results] == list(range(TOP_K))
    scores = [row.rerank_score or 0.0 for row in bundle.results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 1
    assert {row.chunk_id for row in bundle.results} <= count.keys()
    assert [row.chunk_id for row in bundle.results] != [row.chunk_id for row in candidates[:TOP_K]]
    similarities = {row.chunk_id: row.similarity_score for row in candidates}
    assert [row.similarity_score for row in bundle.results] == [similarities[row.chunk_id] for row in bundle.results]


async def test_a_policy_whose_reranker_is_not_set_retrieves_nothing(library: str, minilm: MiniLmEmbedder) -> None:
    async with open_services(settings_for(library)) as services:
        services._embedders["minilm"] = minilm
        with pytest.raises(ConfigurationError, match="no reranker is set") as error:
            await retrieve(services, policy=_policy("onnx:seals@00000000"))
    assert error.value.failure_code == "RERANKER_MISMATCH"

"""Rerankers from a folder: tiny cross-encoders that the test makes, read as any exported one (R1-6)."""

from pathlib import Path

import pytest

from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.rerankers import check_reranker, open_reranker
from support.onnx_files import write_cross_encoder

WEIGHTS = {"oil": 2.0, "pump": -1.0, "charge": 0.5}


@pytest.mark.contract("R1-6")
async def test_a_passage_is_scored_by_its_own_words_and_not_by_those_of_the_question(tmp_path: Path) -> None:
    reranker = await open_reranker(f"onnx:{write_cross_encoder(tmp_path / 'tiny', WEIGHTS)}")
    assert reranker is not None
    assert await reranker.score("pump pump", ["oil charge", "pump", "bolt"]) == [2.5, -1.0, 0.0]
    assert reranker.name.startswith("onnx:tiny@")
    assert check_reranker(reranker, reranker.name) is reranker


async def test_a_pair_that_is_too_long_is_cut_where_it_is_longer(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "short", WEIGHTS)
    (folder / "config.json").write_text('{"max_position_embeddings": 7}', "utf-8")
    reranker = await open_reranker(f"onnx:{folder}")
    assert reranker is not None
    assert await reranker.score("pump", ["oil oil oil oil"]) == [6.0]
    assert await reranker.score("pump " * 900, ["oil oil oil oil"]) == [4.0]


async def test_a_model_with_several_scores_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not give one score") as error:
        await open_reranker(f"onnx:{write_cross_encoder(tmp_path / 'labels', WEIGHTS, scores=3)}")
    assert error.value.failure_code == "RERANKER_CORRUPT"


async def test_a_reranker_that_is_missing_unknown_or_another_one_says_what_to_do(tmp_path: Path) -> None:
    assert await open_reranker(None) is None
    with pytest.raises(ModelError, match=r"has no model\.onnx") as missing:
        await open_reranker(f"onnx:{tmp_path}")
    assert missing.value.failure_code == "RERANKER_MISSING"
    with pytest.raises(ConfigurationError, match="no reranker called 'cohere'") as unknown:
        await open_reranker("cohere")
    assert unknown.value.failure_code == "RERANKER_UNKNOWN"
    with pytest.raises(ConfigurationError, match="no reranker is set") as none:
        check_reranker(None, "onnx:tiny@00000000")
    assert none.value.failure_code == "RERANKER_MISMATCH"
    reranker = await open_reranker(f"onnx:{write_cross_encoder(tmp_path / 'tiny', WEIGHTS)}")
    with pytest.raises(ConfigurationError, match="the reranker here is onnx:tiny@"):
        check_reranker(reranker, "onnx:tiny@00000000")

"""Embedders from a folder: a tiny model of two languages that the test makes, read as any exported one."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from sourcebound.contracts.ports import Embedder
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.embedders.by_name import describe_embedder, open_embedder, resolve_embedder
from sourcebound.settings import Settings
from support.onnx_files import token_input, write_network, write_tokenizer

VOCABULARY = ["query:", "filter", "filtro", "oil", "olio", "pump", "pompa"]
VECTORS = np.array(
    [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 9, 0, 0, 0], *np.repeat(np.eye(5)[2:], 2, axis=0) * 9],
    np.float32,
)
"""Words of the same meaning have the same vector."""
Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    def make(**files: dict[str, object]) -> Path:
        path = tmp_path / "two-languages"
        (path / "1_Pooling").mkdir(parents=True)
        write_tokenizer(path, VOCABULARY, ["query:"])
        states = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "tokens", 5])
        node = helper.make_node("Gather", ["words", "input_ids"], ["last_hidden_state"])
        inputs = [token_input("input_ids"), token_input("attention_mask")]
        write_network(
            path, helper.make_graph([node], "tiny", inputs, [states], [numpy_helper.from_array(VECTORS, "words")])
        )
        for name, content in files.items():
            (path / f"{name.replace('__', '/')}.json").write_text(json.dumps(content), "utf-8")
        return path

    return make


async def _open(path: Path) -> Embedder:
    embedder = await open_embedder(f"onnx:{path}", Settings())
    assert embedder is not None
    return embedder


def _dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


@pytest.mark.contract("R1-5")
async def test_a_question_finds_a_document_of_another_language_by_a_multilingual_model(folder: Folder) -> None:
    embedder = await _open(folder())
    oil, pump = await embedder.embed_documents(["filtro olio", "pompa"])
    question = await embedder.embed_query("oil filter")
    assert _dot(question, oil) == pytest.approx(1, abs=1e-6)
    assert _dot(question, pump) < 0.2
    assert math.hypot(*question) == pytest.approx(1, abs=1e-6)
    assert (embedder.dimensions, embedder.max_tokens, embedder.count_tokens("oil " * 900)) == (5, 510, 900)


async def test_its_name_has_the_digest_of_the_model_so_that_an_index_knows_it(folder: Folder) -> None:
    path = folder()
    name = (await _open(path)).name
    assert name == (await _open(path)).name
    assert name.startswith("onnx:two-languages@")
    (path / "tokenizer.json").write_text((path / "tokenizer.json").read_text("utf-8") + "\n", "utf-8")
    assert (await _open(path)).name != name


async def test_the_folders_prefixes_pooling_and_longest_text_are_obeyed(folder: Folder) -> None:
    path = folder(
        config_sentence_transformers={"prompts": {"query": "query: "}},
        sentence_bert_config={"max_seq_length": 4},
        **{"1_Pooling__config": {"pooling_mode_cls_token": False}},
    )
    embedder = await _open(path)
    (document,) = await embedder.embed_documents(["oil"])
    assert document[1] == 0 < (await embedder.embed_query("oil"))[1]
    assert embedder.max_tokens == 2
    assert await embedder.embed_documents(["oil pump filter"]) == await embedder.embed_documents(["oil pump"])
    (path / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}', "utf-8")
    assert await (await _open(path)).embed_documents(["oil"]) == [[1, 0, 0, 0, 0]]


async def test_a_folder_without_a_model_and_a_broken_one_say_what_to_do(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no model") as missing:
        await _open(tmp_path)
    assert missing.value.failure_code == "EMBEDDER_MISSING"
    path = folder()
    (path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match="not a model that can be opened") as broken:
        await _open(path)
    assert broken.value.failure_code == "EMBEDDER_CORRUPT"
    with pytest.raises(ConfigurationError):
        resolve_embedder("onnx:")


def test_a_relative_folder_is_kept_as_an_absolute_one(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder()
    monkeypatch.chdir(path.parent)
    assert resolve_embedder(f"onnx:{path.name}") == f"onnx:{path}"
    assert describe_embedder(f"onnx:{path.name}") == f"onnx: the model in {path} on this machine."

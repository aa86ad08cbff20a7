"""Which chunks the reader of sentences gets: as few as answer (R4-9)."""

from collections.abc import Mapping, Sequence

import pytest

from sourcebound.contracts.extractive.features import Reading
from sourcebound.contracts.extractive.question import Question, read_question
from sourcebound.contracts.extractive.reading import LIKELY_ODDS, compare, describe, only_quoted
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.prompt.build import EvidencePart

QUESTION = "Which grease does the main bearing of the winch need?"
BEST = "The main bearing of the winch needs the grease NLGI 2."
NEXT = "The main bearing of the winch needs no oil at all."
THIRD = "The bearing of the winch is checked every month."
FOURTH = "The winch was painted in the yard."


class Reader:
    """Gives each sentence the odds of its text, and keeps the texts of the chunks of each call."""

    def __init__(self, odds: Mapping[str, int]) -> None:
        self._odds = odds
        self.calls: list[list[str]] = []

    def __call__(
        self, question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]
    ) -> list[list[Reading]]:
        self.calls.append([part.text for part, _ in chunks])
        return [[Reading(self._odds.get(each.text, -100), 0) for each in sentences] for _, sentences in chunks]


def read(reader: Reader, *texts: str) -> list[str]:
    evidence = [EvidencePart(f"C{number}", "winch.txt", text) for number, text in enumerate(texts)]
    question = read_question(QUESTION)
    found = compare(question, evidence, describe(question, read_evidence(evidence)), reader)
    return [sentence.text for sentence, _ in found]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("likely", [BEST, NEXT])
def test_two_chunks_are_read_if_a_sentence_of_them_is_likely(likely: str) -> None:
    reader = Reader({likely: LIKELY_ODDS})
    assert read(reader, FOURTH, THIRD, NEXT, BEST) == [BEST, NEXT]
    assert reader.calls == [[BEST, NEXT]]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("odds", [LIKELY_ODDS - 1, 0, -1])
def test_a_third_chunk_is_read_if_none_of_theirs_is_likely_and_no_fourth(odds: int) -> None:
    reader = Reader({BEST: odds, NEXT: odds})
    assert read(reader, FOURTH, THIRD, NEXT, BEST) == [BEST, NEXT, THIRD]
    assert reader.calls == [[BEST, NEXT], [THIRD]]


def test_nothing_more_is_read_where_there_are_no_more_chunks() -> None:
    reader = Reader({})
    assert read(reader, NEXT, BEST) == [BEST, NEXT]
    assert reader.calls == [[BEST, NEXT]]
    assert read(reader) == []
    assert reader.calls == [[BEST, NEXT]]


def test_what_may_not_be_quoted_does_not_choose_its_chunk_and_is_not_read() -> None:
    asking = "Which grease does the main bearing of the winch need, and how much?"
    reader = Reader({})
    assert read(reader, asking, FOURTH, THIRD, f"{BEST} {asking}") == [BEST, THIRD, FOURTH]
    assert reader.calls == [[f"{BEST} {asking}", THIRD], [FOURTH]]


def test_without_a_reader_what_may_not_be_quoted_is_left_out_too() -> None:
    question = read_question(QUESTION)
    evidence = [EvidencePart("C0", "winch.txt", f"{QUESTION} {BEST}")]
    described = describe(question, read_evidence(evidence))
    assert [sentence.text for sentence, _ in described] == [QUESTION, BEST]
    assert [sentence.text for sentence, _ in only_quoted(described)] == [BEST]

"""R1-5: what a word weighs, and which words a question can afford to read."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.lexical import (
    MOST_POSTINGS,
    UNITS,
    QuestionWord,
    bm25_term,
    inverse_frequency,
    words_to_read,
)

WORDS = st.lists(
    st.builds(QuestionWord, st.text("abc", min_size=1, max_size=3), st.just(1), st.integers(0, 50)),
    unique_by=lambda word: word.lexeme,
)


@pytest.mark.contract("R1-5")
def test_a_rare_word_outweighs_a_common_one_and_none_weighs_nothing() -> None:
    weights = [inverse_frequency(holding, 100) for holding in (1, 10, 50, 100)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(log(1 + 99.5 / 1.5))
    assert weights[-1] > 0


@pytest.mark.contract("R1-5")
def test_a_term_is_the_formula_in_billionths() -> None:
    assert bm25_term(2.0, 3, 120, 100.0) == round(UNITS * 2.0 * 3 * 2.5 / (3 + 1.5 * (0.4 + 0.6 * 1.2)))
    assert bm25_term(1.0, 1, 100, 100.0) == UNITS


@given(st.integers(1, 254), st.integers(1, 300), st.floats(1, 300))
def test_more_occurrences_add_and_more_length_takes_away(frequency: int, length: int, mean: float) -> None:
    score = bm25_term(3.0, frequency, length, mean)
    assert 0 < score < 3 * 2.5 * UNITS
    assert bm25_term(3.0, frequency + 1, length, mean) > score > bm25_term(3.0, frequency, length + 9, mean)


@given(words=WORDS, most=st.integers(0, 120))
def test_the_rarest_words_are_read_within_the_limit(words: list[QuestionWord], most: int) -> None:
    read = words_to_read(words, most)
    held = sorted((word for word in words if word.chunks), key=lambda word: (word.chunks, word.lexeme))
    assert read == held[: len(read)]
    assert bool(read) == bool(held)
    assert len(read) <= 1 or sum(word.chunks for word in read) <= most
    if len(read) < len(held):
        assert sum(word.chunks for word in held[: len(read) + 1]) > most
    assert read == words_to_read(words[::-1], most)


def test_a_question_of_common_words_reads_a_bounded_number_of_postings() -> None:
    words = [QuestionWord(f"w{number}", number, 9_000) for number in range(1, 12)]
    assert sum(word.chunks for word in words_to_read(words)) <= MOST_POSTINGS

"""R1-5: what a word weighs, and which words a question can afford to read."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.retrieval.bm25 import (
    MAX_POSTINGS,
    UNITS,
    QuestionWord,
    bm25_term,
    damping,
    inverse_frequency,
    word_weight,
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
def test_a_term_is_the_formula_in_millionths() -> None:
    weight, damped = word_weight(7, 100), damping(100.0)
    expected = inverse_frequency(7, 100) * 3 * 2.5 / (3 + 1.5 * (0.4 + 0.6 * 1.2))
    assert bm25_term(weight, 3, 120, damped) == round(UNITS * expected)
    assert bm25_term(2.5 * UNITS, 1, 100, damped) == UNITS


@given(st.integers(1, 254), st.integers(1, 300), st.floats(1, 300))
def test_more_occurrences_add_and_more_length_takes_away(frequency: int, length: int, mean: float) -> None:
    weight, damped = 7.5 * UNITS, damping(mean)
    score = bm25_term(weight, frequency, length, damped)
    assert 0 < score < weight
    assert bm25_term(weight, frequency + 1, length, damped) > score > bm25_term(weight, frequency, length + 9, damped)


def test_the_largest_term_fits_the_integer_that_the_database_adds_up() -> None:
    assert word_weight(1, 10**9) < 2**31


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
    assert sum(word.chunks for word in words_to_read(words)) <= MAX_POSTINGS

"""R1-5: scores from packed postings are the sums of the contract's terms, whichever way they are added up."""

import tracemalloc
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.retrieval.bm25 import UNITS, bm25_term, damping
from sourcebound.store.search.bm25 import CHUNK_NO, POSTING, best_chunks, find_matched_words, word_terms

Posting = tuple[int, int, int]
NUMBERS = st.one_of(st.integers(1, 40), st.sampled_from([1, 70_000, 2**31 - 1]))
WORDS = st.lists(
    st.tuples(
        st.floats(1, 30).map(lambda weight: weight * UNITS),
        st.dictionaries(NUMBERS, st.tuples(st.integers(1, 300), st.integers(1, 255)), max_size=30),
    ),
    max_size=6,
)
MEAN = 77.5


def _pack(postings: Iterable[Posting]) -> bytes:
    return np.array(list(postings), POSTING).tobytes()


def _numbers(numbers: Iterable[int]) -> bytes:
    return np.array(sorted(numbers), CHUNK_NO).tobytes()


@pytest.mark.contract("R1-5")
@given(
    words=WORDS,
    limit=st.integers(1, 12),
    removed=st.sets(NUMBERS, max_size=8),
    allowed=st.none() | st.sets(NUMBERS, max_size=20),
)
def test_the_best_chunks_are_those_of_the_contracts_sums(
    words: list[tuple[float, dict[int, tuple[int, int]]]], limit: int, removed: set[int], allowed: set[int] | None
) -> None:
    terms, scores = [], Counter[int]()
    for weight, holding in words:
        halves = [list(holding.items())[::2], list(holding.items())[1::2]]
        terms += [
            word_terms(weight, _pack((number, *place) for number, place in half), damping(MEAN)) for half in halves
        ]
        for number, (length, frequency) in holding.items():
            scores[number] += bm25_term(weight, frequency, length, damping(MEAN))
    kept = {
        number: score
        for number, score in scores.items()
        if number not in removed and (allowed is None or number in allowed)
    }
    last = sorted(kept.values(), reverse=True)[:limit][-1:] or [0]
    expected = {number: score for number, score in kept.items() if score >= last[0]}
    found = best_chunks(
        terms,
        limit,
        removed=_numbers(removed),
        allowed=None if allowed is None else _numbers(allowed),
    )
    assert dict(found) == expected
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_numbers_far_apart_take_no_more_room_than_their_count() -> None:
    far = [word_terms(UNITS, _pack([(1, 10, 1), (2**31 - 1, 10, 2)]), damping(10.0))]
    tracemalloc.start()
    try:
        assert list(best_chunks(far, 5)) == [2**31 - 1, 1]
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.contract("P-5")
@given(words=st.lists(st.sets(NUMBERS, max_size=20), max_size=6), chunks=st.sets(NUMBERS, max_size=12))
def test_each_chunk_holds_the_words_that_have_a_posting_in_it(words: list[set[int]], chunks: set[int]) -> None:
    postings = {str(place): numbers for place, numbers in enumerate(words)}
    terms = {
        word: word_terms(UNITS, _pack((number, 10, 1) for number in numbers), damping(MEAN))
        for word, numbers in postings.items()
    }
    expected = {chunk: {word for word, numbers in postings.items() if chunk in numbers} for chunk in chunks}
    assert find_matched_words(sorted(chunks), terms) == expected

"""The conditions for building and using a vector index, and its measured recall."""

from math import hypot, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.corpus.vector_index import (
    EXACT_CHUNKS,
    GROWTH,
    MIN_RECALL,
    NOISE,
    SEARCH_WIDTHS,
    TARGET_RECALL,
    Recall,
    VectorIndex,
    count_true_neighbours,
    needs_index,
    perturb,
)
from sourcebound.store.search.vector_index import LEAST_MEMORY, MOST_MEMORY, build_memory

DISTANCES = st.lists(st.floats(0, 2, width=16), min_size=1, max_size=8)


def _index(recall: float = 1.0, chunks: int = EXACT_CHUNKS) -> VectorIndex:
    return VectorIndex(name="chunks_vectors_1_1", ef_search=100, recall=recall, chunks=chunks)


@pytest.mark.parametrize(
    ("found", "exact", "count"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], 3),
        ([0.3, 0.1, 0.2], [0.2, 0.3, 0.1], 3),
        ([0.1, 0.2, 0.4], [0.1, 0.2, 0.3], 2),
        ([0.4, 0.5, 0.6], [0.1, 0.2, 0.3], 0),
        ([0.1, 0.3], [0.1, 0.2, 0.3], 2),
        ([], [0.1], 0),
        ([0.1], [], 0),
        # Three chunks with one text share the last place; any of them will do, and none counts twice.
        ([0.1, 0.3, 0.3, 0.3], [0.1, 0.3], 2),
        # The same distance, added up in another order.
        ([0.1 + 0.2], [0.3], 1),
        ([0.3001], [0.3], 0),
    ],
)
def test_neighbours_are_told_by_distance(found: list[float], exact: list[float], count: int) -> None:
    assert count_true_neighbours(found, exact) == count


@given(DISTANCES, DISTANCES)
def test_no_more_is_found_than_was_sought(found: list[float], exact: list[float]) -> None:
    assert 0 <= count_true_neighbours(found, exact) <= len(exact)
    assert count_true_neighbours(exact, exact) == len(exact)


def test_the_share_of_nothing_is_whole() -> None:
    assert Recall(100, 99, 100).value == 0.99
    assert Recall(100, 0, 0).value == 1.0


def test_a_collection_is_indexed_once_it_has_outgrown_the_exact_search() -> None:
    assert not needs_index(EXACT_CHUNKS, None)
    assert needs_index(EXACT_CHUNKS + 1, None)


def test_an_index_is_measured_again_when_its_collection_has_grown_by_half() -> None:
    assert GROWTH == 1.5
    assert not needs_index(150_000, _index(chunks=100_000))
    assert needs_index(150_001, _index(chunks=100_000))
    assert not needs_index(10, _index(chunks=100_000))


def test_so_is_one_that_was_made_before_it_was_needed() -> None:
    assert needs_index(301, _index(chunks=200))
    assert needs_index(1, _index(chunks=0))


@pytest.mark.contract("R1-5")
def test_an_index_that_finds_too_little_is_not_fit() -> None:
    assert _index(MIN_RECALL).is_fit
    assert not _index(MIN_RECALL - 0.001).is_fit


def test_a_width_is_chosen_for_more_than_the_least_and_tried_from_the_cheapest() -> None:
    assert MIN_RECALL < TARGET_RECALL < 1
    assert list(SEARCH_WIDTHS) == sorted(SEARCH_WIDTHS)
    assert 0 < SEARCH_WIDTHS[0] <= SEARCH_WIDTHS[-1] <= 1000


@given(st.integers(0, 2**64), st.integers(16, 384))
def test_a_moved_vector_is_a_unit_vector_and_always_the_same(seed: int, dimensions: int) -> None:
    vector = [1.0] + [0.0] * (dimensions - 1)
    moved = perturb(vector, str(seed))
    assert hypot(*moved) == pytest.approx(1)
    assert perturb(vector, str(seed)) == moved
    assert perturb(vector, f"{seed}'") != moved


def test_it_is_moved_as_far_as_a_question_lies_from_its_answer() -> None:
    vector = perturb([1.0] + [0.0] * 383, "start")
    cosines = [
        sum(a * b for a, b in zip(vector, perturb(vector, f"chunk-{number}"), strict=True)) for number in range(400)
    ]
    assert sum(cosines) / len(cosines) == pytest.approx(1 / sqrt(1 + NOISE**2), abs=0.01)
    assert pytest.approx(1 / sqrt(5)) == 1 / sqrt(1 + NOISE**2)
    assert max(cosines) - min(cosines) < 0.4


def test_a_build_takes_the_memory_that_its_graph_needs_within_bounds() -> None:
    assert build_memory(1, 384) == LEAST_MEMORY
    assert build_memory(400_000, 384) == 400_000 * (768 + 1024)
    assert build_memory(10**8, 384) == MOST_MEMORY

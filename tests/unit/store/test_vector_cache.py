"""Vectors in memory: the nearest are all among what they name, and no more is kept than may be."""

import struct
from math import hypot
from random import Random

import numpy as np
import pytest

from sourcebound.contracts.corpus.vector_index import DISTANCE_TOLERANCE
from sourcebound.store.search.bm25 import POSTING, Terms
from sourcebound.store.search.vector_cache import CollectionVectors, VectorCache
from sourcebound.store.search.vector_codec import pack_vector
from sourcebound.store.search.visible import Place, VisibleCache, VisibleChunks

DIMENSIONS = 8
SIZE = 100


def packed(vectors: list[list[float]]) -> bytes:
    """Chunk 10 × n of document n for the n-th vector, as PostgreSQL packs it."""
    form = f">iqhh{DIMENSIONS}f"
    return b"".join(struct.pack(form, 10 * n, n, DIMENSIONS, 0, *vector) for n, vector in enumerate(vectors))


def kept_of(vectors: list[list[float]]) -> CollectionVectors:
    return CollectionVectors(packed(vectors), DIMENSIONS, {10 * n: f"chunk-{n}" for n in range(len(vectors))})


def drawn(count: int, seed: int = 1) -> list[list[float]]:
    draw = Random(seed)
    return [[draw.gauss() for _ in range(DIMENSIONS)] for _ in range(count)]


def cosine(first: list[float], second: list[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True)) / hypot(*first) / hypot(*second)


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("documents", [None, list(range(0, 300, 3))])
def test_the_nearest_are_those_of_the_greatest_cosine(documents: list[int] | None) -> None:
    stored, (asked,) = drawn(300), drawn(1, seed=2)
    allowed = range(300) if documents is None else documents
    best = sorted(allowed, key=lambda n: -cosine(stored[n], asked))[:12]
    found = kept_of(stored).near(pack_vector(asked), 12, documents)
    assert found.chunk_nos == [10 * n for n in best]
    assert found.distances == pytest.approx([1 - cosine(stored[n], asked) for n in best], abs=1e-6)
    assert found.ties == []


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize(
    ("closeness", "limit", "tied", "ordered"),
    [
        ([0.9, 0.8, 0.7], 3, [], [0, 10, 20]),
        ([0.9, 0.8, 0.8 - 1e-6, 0.7], 4, [10, 20], [0, 20, 10, 30]),
        ([0.9, 0.9, 0.8, 0.7, 0.7], 5, [0, 10, 30, 40], [10, 0, 20, 40, 30]),
        ([0.9, 0.8, 0.8], 2, [10, 20], [0, 20, 10]),
        ([0.9, 0.8, 0.8 - DISTANCE_TOLERANCE / 2, 0.7], 2, [10, 20], [0, 20, 10]),
        ([0.9, 0.8, 0.8 - 1.5 * DISTANCE_TOLERANCE, 0.7], 4, [], [0, 10, 20, 30]),
        ([0.9, 0.8, 0.7], 2, [], [0, 10]),
    ],
)
def test_the_order_is_open_where_rounding_could_change_it(
    closeness: list[float], limit: int, tied: list[int], ordered: list[int]
) -> None:
    rest = [0.0] * (DIMENSIONS - 2)
    stored = [[value, (1 - value**2) ** 0.5, *rest] for value in closeness]
    near = kept_of(stored).near(pack_vector([1.0, 0.0, *rest]), limit, None)
    assert sorted(near.tied) == tied
    assert near.ordered(sorted(tied, reverse=True)) == ordered


@pytest.mark.contract("R1-8")
def test_equals_of_the_last_are_named_too_and_a_few_are_named_all() -> None:
    vector = [1.0] + [0.0] * (DIMENSIONS - 1)
    twice = [2 * value for value in vector]
    kept = kept_of([vector, twice, vector, [-value for value in vector]])
    assert sorted(kept.near(pack_vector(vector), 2, None).chunk_nos) == [0, 10, 20]
    assert sorted(kept.near(pack_vector(vector), 9, None).chunk_nos) == [0, 10, 20, 30]
    assert kept.near(pack_vector(vector), 2, []).chunk_nos == []


def test_a_vector_of_no_length_is_near_to_nothing() -> None:
    kept = kept_of([[0.0] * DIMENSIONS, [-1.0] * DIMENSIONS])
    assert kept.near(pack_vector([1.0] * DIMENSIONS), 2, None).chunk_nos == [10]


WHOLE: list[Place] = [(number, None) for number in range(4)]
"""Collections, as callers without labels see them."""


def test_a_state_is_wanted_when_it_is_searched_again() -> None:
    cache = VectorCache(SIZE)
    assert not cache.wants(WHOLE[1], "a", SIZE)
    assert not cache.wants(WHOLE[1], "b", SIZE)
    assert not cache.wants(WHOLE[1], "a", SIZE)
    assert cache.wants(WHOLE[1], "a", SIZE)
    assert not cache.wants(WHOLE[2], "a", SIZE + 1)
    assert not cache.wants(WHOLE[2], "a", SIZE + 1)


def test_another_state_is_not_found() -> None:
    cache, vectors = VectorCache(SIZE), CollectionVectors(b"", DIMENSIONS, {})
    cache.keep(WHOLE[1], "a", vectors, SIZE)
    assert cache.find(WHOLE[1], "a") is vectors
    assert cache.find(WHOLE[1], "b") is None
    assert cache.find(WHOLE[2], "a") is None
    assert cache.latest(WHOLE[1]) is vectors
    assert not cache.wants(WHOLE[1], "b", SIZE)
    assert cache.find(WHOLE[1], "a") is None
    assert cache.latest(WHOLE[1]) is None


def test_what_was_searched_last_is_kept() -> None:
    cache, vectors = VectorCache(SIZE), CollectionVectors(b"", DIMENSIONS, {})
    for collection in (1, 2, 3):
        cache.keep(WHOLE[collection], "a", vectors, 40)
        cache.find(WHOLE[1], "a")
    assert [cache.find(WHOLE[collection], "a") for collection in (1, 2, 3)] == [vectors, None, vectors]


def test_callers_with_other_labels_share_nothing() -> None:
    cache, vectors = VectorCache(SIZE), CollectionVectors(b"", DIMENSIONS, {})
    cache.keep((1, None), "a", vectors, SIZE)
    assert cache.find((1, ()), "a") is None
    assert cache.latest((1, ("qa",))) is None
    assert not cache.wants((1, ("qa",)), "a", SIZE)
    assert cache.find((1, None), "a") is vectors


def test_visible_chunks_are_found_at_their_place_and_in_their_state_only() -> None:
    cache, chunks = VisibleCache(max_bytes=8), VisibleChunks(packed=b"\0\0\0\1", length=7)
    cache.keep((1, ()), "a", chunks)
    assert cache.find((1, ()), "a") is chunks
    assert cache.find((1, ()), "b") is None
    assert cache.find((1, ("qa",)), "a") is None
    assert cache.find((2, ()), "a") is None
    for number in (2, 3):
        cache.keep((number, ()), "a", chunks)
    assert [cache.find((number, ()), "a") for number in (1, 2, 3)] == [None, chunks, chunks]


def test_a_word_is_counted_in_visible_chunks_only() -> None:
    seen = VisibleChunks(np.array([2, 5], ">i4").tobytes())
    postings = np.array([(1, 9, 1), (2, 8, 3), (7, 6, 1)], POSTING).tobytes()
    own = np.array([(2, 8, 3)], POSTING).tobytes()
    word = {"lexeme": "valve", "chunks": 3}
    assert seen.restrict_word(word, postings) == {"lexeme": "valve", "chunks": 1, "packed": own}
    assert VisibleChunks(b"").restrict_word(word, postings) == {"lexeme": "valve", "chunks": 0, "packed": None}
    assert seen.restrict_word(word, None) == {"lexeme": "valve", "chunks": 0, "packed": None}


def test_words_take_no_more_room_than_the_vectors() -> None:
    kept = kept_of([[1.0] * DIMENSIONS] * 4)
    room = 4 * 4 * DIMENSIONS
    half, rest = (Terms(np.zeros(count, np.int64), np.zeros(count)) for count in (room // 32, room // 32 + 1))
    kept.keep_terms(1, half)
    kept.keep_terms(2, rest)
    kept.keep_terms(3, half)
    assert [kept.find_terms(lexeme_id) for lexeme_id in (1, 2, 3)] == [half, None, half]


@pytest.mark.contract("P-5")
def test_the_distances_of_given_chunks_are_their_own() -> None:
    vectors = drawn(20)
    kept = kept_of([*vectors, [0.0] * DIMENSIONS])
    wanted = drawn(1, seed=2)[0]
    found = kept.distances(pack_vector(wanted), ["chunk-3", "chunk-17", "chunk-20"])
    assert found == {f"chunk-{n}": pytest.approx(1 - cosine(vectors[n], wanted), abs=1e-6) for n in (3, 17)}

"""Vectors in memory: the nearest are all among what they name, and no more is kept than may be."""

import struct
from math import hypot
from random import Random

import numpy as np
import pytest

from sourcebound.contracts.corpus.vector_index import DISTANCE_TOLERANCE
from sourcebound.store.search.bm25 import POSTING, Terms
from sourcebound.store.search.vector_cache import CollectionVectors, SharedVectors, VectorCache, vector_bytes
from sourcebound.store.search.vector_codec import pack_vector
from sourcebound.store.search.visible import (
    MAX_PLACES,
    Place,
    VisibleCache,
    VisibleChunks,
    digest_documents,
    digest_labels,
)

DIMENSIONS = 8
SIZE = 100


def packed(vectors: list[list[float]]) -> bytes:
    """Chunk 10 × n of document n for the n-th vector, as PostgreSQL packs it."""
    form = f">iqhh{DIMENSIONS}f"
    return b"".join(struct.pack(form, 10 * n, n, DIMENSIONS, 0, *vector) for n, vector in enumerate(vectors))


def shared_of(vectors: list[list[float]], owner: Place = (1, None)) -> SharedVectors:
    shared = SharedVectors(DIMENSIONS, owner)
    shared.add(packed(vectors), {10 * n: f"chunk-{n}" for n in range(len(vectors))})
    return shared


def kept_of(vectors: list[list[float]], documents: list[int] | None = None) -> CollectionVectors:
    return CollectionVectors(shared_of(vectors), documents)


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
    cache, vectors = VectorCache(SIZE), kept_of([])
    cache.keep(WHOLE[1], "a", vectors)
    assert cache.find(WHOLE[1], "a") is vectors
    assert cache.find(WHOLE[1], "b") is None
    assert cache.find(WHOLE[2], "a") is None
    assert cache.latest(WHOLE[1]) is vectors
    assert not cache.wants(WHOLE[1], "b", SIZE)
    assert cache.find(WHOLE[1], "a") is None
    assert cache.latest(WHOLE[1]) is None


def test_what_was_searched_last_is_kept() -> None:
    cache = VectorCache(2 * vector_bytes(DIMENSIONS, 3))
    kept = {collection: kept_of(drawn(3)) for collection in (1, 2, 3)}
    for collection in (1, 2, 3):
        cache.keep(WHOLE[collection], "a", kept[collection])
        cache.find(WHOLE[1], "a")
    assert [cache.find(WHOLE[collection], "a") for collection in (1, 2, 3)] == [kept[1], None, kept[3]]


PARTS: list[list[int]] = [[number, number + 1, number + 2] for number in range(200)]
"""Documents of 200 callers, each of whom sees others."""


@pytest.mark.contract("R6-7")
def test_callers_who_see_other_documents_share_no_place() -> None:
    cache, vectors = VectorCache(SIZE), kept_of([])
    part: Place = (1, digest_documents([3, 5]))
    cache.keep(WHOLE[1], "a", vectors)
    assert cache.find(part, "a") is None
    assert cache.latest(part) is None
    assert not cache.wants(part, "a", SIZE)
    assert cache.find(WHOLE[1], "a") is vectors
    assert digest_documents([5, 3]) == part[1]
    assert len({part[1], digest_documents([3]), digest_documents([]), digest_labels([]), digest_labels(["qa"])}) == 5


@pytest.mark.contract("R6-7")
def test_a_part_finds_what_it_would_find_alone() -> None:
    stored, asked = drawn(300), [pack_vector(vector) for vector in drawn(5, seed=2)]
    shared = shared_of(stored[:100])
    first = CollectionVectors(shared, [7, 3, 99])
    shared.add(packed(stored), {10 * n: f"chunk-{n}" for n in range(300)})  # documents that are held stay unchanged
    many = list(range(1, 300, 2))
    for documents, part in (([3, 7, 99], first), (many, CollectionVectors(shared, many))):
        for vector in asked:
            assert part.near(vector, 2, None) == kept_of(stored).near(vector, 2, documents)
            assert part.near(vector, 2, [3, 8]) == kept_of(stored).near(vector, 2, [3])
    assert CollectionVectors(shared).near(asked[0], 9, None) == kept_of(stored).near(asked[0], 9, None)
    assert len(shared.chunk_nos) == 300
    assert CollectionVectors(shared, []).near(asked[0], 9, None).chunk_nos == []


def test_places_of_one_collection_hold_each_vector_once() -> None:
    """Each of the parts is as large as a hundredth of the room, and there are twice as many."""
    stored = drawn(len(PARTS) + 2)
    cache = VectorCache(100 * vector_bytes(DIMENSIONS, 3))
    for part in PARTS:
        place = (1, digest_documents(part))
        shared = cache.open_shared((1, None), "a", part, len(part), DIMENSIONS)
        missing = shared.find_missing(part)
        rows = [struct.pack(f">iqhh{DIMENSIONS}f", 10 * n, n, DIMENSIONS, 0, *stored[n]) for n in missing]
        shared.add(b"".join(rows), {10 * n: f"chunk-{n}" for n in missing})
        cache.keep(place, "a", CollectionVectors(shared, part))
    kept = [cache.find((1, digest_documents(part)), "a") for part in PARTS]
    assert {id(each.shared) for each in kept if each} == {id(shared)}
    assert None not in kept
    assert shared.size == vector_bytes(DIMENSIONS, len(stored))
    assert cache.size < vector_bytes(DIMENSIONS, len(stored)) + 200 * vector_bytes(3, 1) + 1


def test_only_places_of_one_owner_and_state_share_vectors() -> None:
    cache, walled = VectorCache(SIZE), (1, digest_labels(["qa"]))
    shared = shared_of(drawn(2))
    cache.keep((1, digest_documents([0, 1])), "a", CollectionVectors(shared, [0, 1]))
    assert cache.open_shared((1, None), "a", [1], 1, DIMENSIONS) is shared
    assert cache.open_shared((1, None), "a", [1, 2, 3], 3, DIMENSIONS) is not shared  # no room for two others
    assert cache.open_shared((1, None), "a", [0, 1, 7], 2, DIMENSIONS) is shared  # document 7 has no chunk
    for owner, state in ((walled, "a"), ((2, None), "a"), ((1, None), "b")):
        assert cache.open_shared(owner, state, [1], 1, DIMENSIONS) is not shared


def test_vectors_that_are_held_need_no_room_again() -> None:
    cache = VectorCache(vector_bytes(DIMENSIONS, 4) + 12)
    shared = shared_of(drawn(3))
    cache.keep((1, digest_documents([0, 1, 2])), "a", CollectionVectors(shared, [0, 1, 2]))
    assert cache.open_shared((1, None), "a", [1, 2, 3], 3, DIMENSIONS) is shared
    assert cache.open_shared((1, None), "a", [2, 3, 4], 3, DIMENSIONS) is not shared


def test_no_more_places_are_remembered_than_may_be_and_none_of_an_earlier_state() -> None:
    cache = VectorCache(SIZE)
    places = [(1, digest_documents([number])) for number in range(MAX_PLACES + 1)]
    for place in places:
        cache.wants(place, "a", 1)
        cache.visible.keep(place, "a", VisibleChunks(b""))
    assert [cache.wants(place, "a", 1) for place in (places[1], places[-1], places[0])] == [True, True, False]
    assert cache.visible.find(places[0], "a") is None
    assert cache.visible.find(places[1], "a") is not None
    cache.wants(places[5], "b", 1)
    cache.visible.keep(places[5], "b", VisibleChunks(b""))
    assert not cache.wants(places[-1], "a", 1)
    assert cache.visible.find(places[-1], "a") is None


def test_visible_chunks_are_found_at_their_place_and_in_their_state_only() -> None:
    cache, chunks = VisibleCache(max_bytes=8), VisibleChunks(packed=b"\0\0\0\1", length=7)
    cache.keep((1, b"part"), "a", chunks)
    assert cache.find((1, b"part"), "a") is chunks
    assert cache.find((1, b"part"), "b") is None
    assert cache.find((1, None), "a") is None
    assert cache.find((2, b"part"), "a") is None
    for number in (2, 3):
        cache.keep((number, b"part"), "a", chunks)
    assert [cache.find((number, b"part"), "a") for number in (1, 2, 3)] == [None, chunks, chunks]


def test_a_word_is_counted_in_visible_chunks_only() -> None:
    seen = VisibleChunks(np.array([2, 5], ">i4").tobytes())
    postings = np.array([(1, 9, 1), (2, 8, 3), (7, 6, 1)], POSTING).tobytes()
    own = np.array([(2, 8, 3)], POSTING).tobytes()
    word = {"lexeme": "valve", "chunks": 3}
    assert seen.restrict_word(word, postings) == {"lexeme": "valve", "chunks": 1, "packed": own}
    assert VisibleChunks(b"").restrict_word(word, postings) == {"lexeme": "valve", "chunks": 0, "packed": None}
    assert seen.restrict_word(word, None) == {"lexeme": "valve", "chunks": 0, "packed": None}


def test_words_of_all_parts_take_no_more_room_than_the_vectors() -> None:
    shared = shared_of([[1.0] * DIMENSIONS] * 4)
    kept, part = CollectionVectors(shared), CollectionVectors(shared, [1, 2])
    room = 4 * 4 * DIMENSIONS
    half, rest = (Terms(np.zeros(count, np.int64), np.zeros(count)) for count in (room // 32, room // 32 + 1))
    kept.keep_terms(1, half)
    kept.keep_terms(2, rest)
    part.keep_terms(1, rest)
    part.keep_terms(3, half)
    assert [kept.find_terms(lexeme_id) for lexeme_id in (1, 2, 3)] == [half, None, None]
    assert [part.find_terms(lexeme_id) for lexeme_id in (1, 2, 3)] == [None, None, half]
    part.forget_terms()
    part.keep_terms(4, half)  # by a search that had begun before
    assert part.find_terms(4) is None
    kept.keep_terms(4, half)
    assert kept.find_terms(4) is half


@pytest.mark.contract("P-5")
def test_the_distances_of_given_chunks_are_their_own() -> None:
    vectors = drawn(20)
    kept = kept_of([*vectors, [0.0] * DIMENSIONS])
    wanted = drawn(1, seed=2)[0]
    found = kept.distances(pack_vector(wanted), ["chunk-3", "chunk-17", "chunk-20"])
    assert found == {f"chunk-{n}": pytest.approx(1 - cosine(vectors[n], wanted), abs=1e-6) for n in (3, 17)}

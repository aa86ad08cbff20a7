"""A cache of the vectors of small collections. The nearest chunks are found in memory and ordered by the database.

A database compares ten thousand vectors in some eight milliseconds, NumPy in one. An entry is one state of a collection
under a unique name, so that a search never sees another state than its own transaction does.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.corpus.vector_index import DISTANCE_TOLERANCE
from sourcebound.store.search.bm25 import Terms
from sourcebound.store.search.vector_codec import PackedVector
from sourcebound.store.search.visible import Place, VisibleCache

FLOAT_BYTES: Final = 4
HEADER_BYTES: Final = 4
"""The bytes of a packed vector before its numbers."""
MAX_BYTES: Final = 128 << 20
"""The maximum size of all cached vectors of a process. The database compares those of larger collections.

The cached terms of words take at most as much again.
"""


def vector_bytes(dimensions: int, chunks: int) -> int:
    """Return the size of a collection's vectors in bytes."""
    return FLOAT_BYTES * dimensions * chunks


class NearestChunks(NamedTuple):
    """The chunks nearest to a vector, nearest first."""

    chunk_nos: list[int]
    distances: list[float]
    """Cosine distances, subject to rounding."""
    ties: list[slice]
    """Positions of chunks that differ by no more than rounding. The database may order them differently."""

    @property
    def tied(self) -> list[int]:
        """The numbers of all tied chunks."""
        return [chunk_no for tie in self.ties for chunk_no in self.chunk_nos[tie]]

    def ordered(self, tied: Sequence[int]) -> list[int]:
        """Return the chunks in their order, with tied chunks in the order of `tied`."""
        chunk_nos, positions = [*self.chunk_nos], {chunk_no: place for place, chunk_no in enumerate(tied)}
        for tie in self.ties:
            chunk_nos[tie] = sorted(chunk_nos[tie], key=positions.__getitem__)
        return chunk_nos


class CollectionVectors:
    """The vectors of one collection in one state, and the cached terms of its words in that state.

    Args:
        packed: Chunk number, document and vector of each chunk, in the format of the query `packed_vectors`.
        dimensions: The length of each vector.
        chunk_ids: The id of every chunk, by its number.
    """

    def __init__(self, packed: bytes, dimensions: int, chunk_ids: Mapping[int, str]) -> None:
        self.chunk_ids = chunk_ids
        self._free_bytes = vector_bytes(dimensions, len(chunk_ids))
        self._terms: dict[int | None, Terms] = {}
        row_format = [
            ("chunk_no", ">i4"),
            ("document_id", ">i8"),
            ("header", ">i2", 2),
            ("vector", ">f4", dimensions),
        ]
        rows: NDArray[Any] = np.frombuffer(packed, np.dtype(row_format))
        vectors = rows["vector"].astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1)
        is_nonzero = lengths > 0  # a vector of length zero is near to nothing
        self._directions = vectors[is_nonzero] / lengths[is_nonzero, np.newaxis]
        self._chunk_nos = rows["chunk_no"][is_nonzero].astype(np.int32)
        self._document_ids = rows["document_id"][is_nonzero].astype(np.int64)

    def find_terms(self, lexeme_id: int | None) -> Terms | None:
        """Return the cached terms of a word in this state, or None."""
        return self._terms.get(lexeme_id)

    def keep_terms(self, lexeme_id: int | None, terms: Terms) -> None:
        """Cache the terms of a word, as long as all words take no more memory than the vectors."""
        if lexeme_id not in self._terms and terms.size <= self._free_bytes:
            self._free_bytes -= terms.size
            self._terms[lexeme_id] = terms

    def near(self, vector: PackedVector, limit: int, documents: list[int] | None) -> NearestChunks:
        """Return the nearest chunks, with those that tie with the last of them within rounding.

        Args:
            vector: The vector to search for.
            limit: The number of chunks wanted.
            documents: The documents to search; all when None.
        """
        direction = _direction(vector)
        # Not `@`: BLAS would run it on its own threads, which then spin ten times as long waiting for more work.
        closeness = np.vecdot(self._directions, direction)
        chunk_nos = self._chunk_nos
        if documents is not None:
            allowed = np.isin(self._document_ids, documents)
            closeness, chunk_nos = closeness[allowed], chunk_nos[allowed]
        least = np.partition(closeness, -limit)[-limit] - DISTANCE_TOLERANCE if len(closeness) > limit else -np.inf
        near = np.flatnonzero(closeness >= least)
        near = near[np.argsort(-closeness[near], kind="stable")]
        distances = 1 - closeness[near]
        ends = [*(np.flatnonzero(distances[1:] - distances[:-1] > DISTANCE_TOLERANCE) + 1).tolist(), len(near)]
        ties = [slice(start, end) for start, end in pairwise([0, *ends]) if end - start > 1]
        return NearestChunks(chunk_nos[near].tolist(), distances.tolist(), ties)

    def distances(self, vector: PackedVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine distance of each of these chunks, up to rounding. A vector of length zero has none."""
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in self._rows]
        closeness = np.vecdot(self._directions[[self._rows[chunk_id] for chunk_id in known]], _direction(vector))
        return dict(zip(known, (1 - closeness).tolist(), strict=True))

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each chunk among the directions."""
        return {self.chunk_ids[chunk_no]: row for row, chunk_no in enumerate(self._chunk_nos.tolist())}


def _direction(vector: PackedVector) -> NDArray[np.float32]:
    """Return the unit vector of a packed one."""
    direction = np.frombuffer(vector, ">f4", offset=HEADER_BYTES).astype(np.float32)
    direction /= np.linalg.norm(direction) or 1
    return direction


class VectorCache:
    """The cache of a process: the most recently searched places, each from its second search in one state on.

    A place is a collection as callers with the same labels see it.

    Args:
        max_bytes: The maximum size of all vectors together.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._states: OrderedDict[Place, str] = OrderedDict()
        self._entries: dict[Place, tuple[CollectionVectors, int]] = {}
        self.visible = VisibleCache()
        """The chunks at each place from which documents are hidden."""

    def find(self, place: Place, state: str) -> CollectionVectors | None:
        """Return the vectors at a place in that state, or None if they are not cached."""
        if self._states.get(place) != state or place not in self._entries:
            return None
        self._states.move_to_end(place)
        return self._entries[place][0]

    def latest(self, place: Place) -> CollectionVectors | None:
        """Return the cached vectors at a place in any state, or None."""
        entry = self._entries.get(place)
        return entry[0] if entry else None

    def wants(self, place: Place, state: str, size: int) -> bool:
        """Tell whether to cache the vectors at a place: they fit, and it was searched in this state before.

        Args:
            place: The place.
            state: The name of the state of its collection.
            size: The size of its vectors in bytes.
        """
        if self._states.get(place) == state:
            return size <= self._max_bytes
        self._forget(place)
        self._states[place] = state
        return False

    def keep(self, place: Place, state: str, vectors: CollectionVectors, size: int) -> None:
        """Cache vectors, and evict the least recently searched places if the cache is too large."""
        self._forget(place)
        self._states[place], self._entries[place] = state, (vectors, size)
        for other in list(self._states)[:-1]:
            if sum(entry for _, entry in self._entries.values()) > self._max_bytes:
                self._forget(other)

    def _forget(self, place: Place) -> None:
        self._states.pop(place, None)
        self._entries.pop(place, None)

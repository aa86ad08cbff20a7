"""The vectors of small collections, in memory: the nearest chunks are found there, and ordered by the database.

A database compares ten thousand vectors in some eight milliseconds, NumPy in one. What is kept is one state of a
collection, by a name that no other state bears, so that a search never sees another one than its own transaction.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.corpus.vector_index import SAME
from sourcebound.store.search.bm25 import Terms
from sourcebound.store.search.vector_codec import PackedVector

FLOAT_BYTES: Final = 4
HEADER_BYTES: Final = 4
"""Of a packed vector, before its numbers."""
MOST_BYTES: Final = 128 << 20
"""Of all the vectors that a process keeps; those of a collection that is larger are compared by the database.

What is kept of words takes as much again at most.
"""


def vector_bytes(dimensions: int, chunks: int) -> int:
    """The room that the vectors of a collection take."""
    return FLOAT_BYTES * dimensions * chunks


class Near(NamedTuple):
    """The chunks that are near to a vector, nearest first."""

    chunk_nos: list[int]
    distances: list[float]
    """By cosine, but for rounding."""
    ties: list[slice]
    """Places of those that are as near as each other but for rounding: the database may order them otherwise."""

    @property
    def tied(self) -> list[int]:
        """The numbers of all of those."""
        return [chunk_no for tie in self.ties for chunk_no in self.chunk_nos[tie]]

    def ordered(self, tied: Sequence[int]) -> list[int]:
        """The chunks in their order, the tied ones in the order in which they are given."""
        chunk_nos, places = [*self.chunk_nos], {chunk_no: place for place, chunk_no in enumerate(tied)}
        for tie in self.ties:
            chunk_nos[tie] = sorted(chunk_nos[tie], key=places.__getitem__)
        return chunk_nos


class Vectors:
    """The vectors of one collection in one state, and what its words are worth in that state.

    Args:
        packed: Chunk number, document and vector of each chunk, as the query `packed_vectors` packs them.
        dimensions: Of each vector.
        chunk_ids: The id of every chunk, by its number.
    """

    def __init__(self, packed: bytes, dimensions: int, chunk_ids: Mapping[int, str]) -> None:
        self.chunk_ids = chunk_ids
        self._room = vector_bytes(dimensions, len(chunk_ids))
        self._terms: dict[int | None, Terms] = {}
        form = [
            ("chunk_no", ">i4"),
            ("document_id", ">i8"),
            ("header", ">i2", 2),
            ("vector", ">f4", dimensions),
        ]
        rows: NDArray[Any] = np.frombuffer(packed, np.dtype(form))
        vectors = rows["vector"].astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1)
        pointing = lengths > 0  # a vector of no length is near to nothing
        self._directions = vectors[pointing] / lengths[pointing, np.newaxis]
        self._chunk_nos = rows["chunk_no"][pointing].astype(np.int32)
        self._document_ids = rows["document_id"][pointing].astype(np.int64)

    def find_terms(self, lexeme_id: int | None) -> Terms | None:
        """What a word adds to scores in this state, if it is kept."""
        return self._terms.get(lexeme_id)

    def keep_terms(self, lexeme_id: int | None, terms: Terms) -> None:
        """Keeps what a word adds to scores, as long as all words take no more room than the vectors."""
        if lexeme_id not in self._terms and terms.size <= self._room:
            self._room -= terms.size
            self._terms[lexeme_id] = terms

    def near(self, vector: PackedVector, limit: int, documents: list[int] | None) -> Near:
        """The nearest chunks, and those that are as near as the last of them but for rounding.

        Args:
            vector: The one that they are to be near to.
            limit: How many are wanted.
            documents: Those that may be searched; all when None.
        """
        direction = np.frombuffer(vector, ">f4", offset=HEADER_BYTES).astype(np.float32)
        direction /= np.linalg.norm(direction) or 1
        # Not `@`: BLAS sends it to threads of its own, which then burn ten times as long waiting for more.
        closeness = np.vecdot(self._directions, direction)
        chunk_nos = self._chunk_nos
        if documents is not None:
            allowed = np.isin(self._document_ids, documents)
            closeness, chunk_nos = closeness[allowed], chunk_nos[allowed]
        least = np.partition(closeness, -limit)[-limit] - SAME if len(closeness) > limit else -np.inf
        near = np.flatnonzero(closeness >= least)
        near = near[np.argsort(-closeness[near], kind="stable")]
        distances = 1 - closeness[near]
        ends = [*(np.flatnonzero(distances[1:] - distances[:-1] > SAME) + 1).tolist(), len(near)]
        ties = [slice(start, end) for start, end in pairwise([0, *ends]) if end - start > 1]
        return Near(chunk_nos[near].tolist(), distances.tolist(), ties)


class VectorCache:
    """What a process keeps: the collections that were searched last, each from its second search in one state on.

    Args:
        most_bytes: Of all vectors together.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._states: OrderedDict[int, str] = OrderedDict()
        self._kept: dict[int, tuple[Vectors, int]] = {}

    def find(self, collection_id: int, state: str) -> Vectors | None:
        """The vectors of a collection in that state, if they are kept."""
        if self._states.get(collection_id) != state or collection_id not in self._kept:
            return None
        self._states.move_to_end(collection_id)
        return self._kept[collection_id][0]

    def latest(self, collection_id: int) -> Vectors | None:
        """The vectors of a collection in whichever state they are kept."""
        kept = self._kept.get(collection_id)
        return kept[0] if kept else None

    def wants(self, collection_id: int, state: str, size: int) -> bool:
        """Whether a collection's vectors should be kept: they fit, and it was searched in this state before.

        Args:
            collection_id: The collection.
            state: The state that it is in.
            size: Bytes of its vectors.
        """
        if self._states.get(collection_id) == state:
            return size <= self._most_bytes
        self._forget(collection_id)
        self._states[collection_id] = state
        return False

    def keep(self, collection_id: int, state: str, vectors: Vectors, size: int) -> None:
        """Keeps vectors, in place of those that were not searched for longest where they would be too many."""
        self._forget(collection_id)
        self._states[collection_id], self._kept[collection_id] = state, (vectors, size)
        for other in list(self._states)[:-1]:
            if sum(kept for _, kept in self._kept.values()) > self._most_bytes:
                self._forget(other)

    def _forget(self, collection_id: int) -> None:
        self._states.pop(collection_id, None)
        self._kept.pop(collection_id, None)

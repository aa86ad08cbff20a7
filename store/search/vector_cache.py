"""A cache of the vectors of small collections. The nearest chunks are found in memory and ordered by the database.

A database compares ten thousand vectors in some eight milliseconds, NumPy in one. An entry is one state of a collection
under a unique name, so that a search never sees another state than its own transaction does.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.corpus.vector_index import DISTANCE_TOLERANCE
from sourcebound.store.search.bm25 import Terms
from sourcebound.store.search.vector_codec import PackedVector
from sourcebound.store.search.visible import MAX_PLACES, Place, VisibleCache

FLOAT_BYTES: Final = 4
HEADER_BYTES: Final = 4
"""The bytes of a packed vector before its numbers."""
COPY_COST: Final = 3
"""The work of copying a vector and comparing the copy, against comparing it where it is."""
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


class SharedVectors:
    """The vectors of documents of one collection in one state. Each document is held once for all callers.

    Documents are added when the first caller who sees them searches. Rows stay where they are.

    Args:
        dimensions: The length of each vector.
        owner: The place all of whose documents they may hold.
    """

    def __init__(self, dimensions: int, owner: Place) -> None:
        self.owner = owner
        self._row_format = [
            ("chunk_no", ">i4"),
            ("document_id", ">i8"),
            ("header", ">i2", 2),
            ("vector", ">f4", dimensions),
        ]
        self._dimensions = dimensions
        self._known: set[int] = set()
        self.directions = np.zeros((0, dimensions), np.float32)
        self.chunk_nos = np.zeros(0, np.int32)
        self.document_ids = np.zeros(0, np.int64)
        self.chunk_ids: dict[int, str] = {}
        """The id of every chunk, by its number."""
        self.rows: dict[str, int] = {}
        """The row of every chunk among the directions, by its id."""
        self.term_bytes = 0
        """The size of the cached terms of all parts."""

    @property
    def size(self) -> int:
        """The size of the vectors in bytes."""
        return vector_bytes(self._dimensions, len(self.chunk_ids))

    def find_missing(self, documents: Sequence[int]) -> list[int]:
        """Return those of the documents whose vectors are not held."""
        return [document_id for document_id in documents if document_id not in self._known]

    def count_held(self, documents: Sequence[int]) -> int:
        """Return the number of vectors of these documents that are held."""
        return int(np.isin(self.document_ids, documents).sum())

    def add(self, packed: bytes, chunk_ids: Mapping[int, str]) -> None:
        """Add the vectors of documents, each with all of its chunks. Those that are held stay unchanged.

        Args:
            packed: Chunk number, document and vector of each chunk, in the format of the query `packed_vectors`.
            chunk_ids: The id of every chunk, by its number.
        """
        rows: NDArray[Any] = np.frombuffer(packed, np.dtype(self._row_format))
        rows = rows[~np.isin(rows["document_id"], np.fromiter(self._known, np.int64))]
        self._known.update(rows["document_id"].tolist())
        self.chunk_ids.update(chunk_ids)
        vectors = rows["vector"].astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1)
        is_nonzero = lengths > 0  # a vector of length zero is near to nothing
        added = rows["chunk_no"][is_nonzero].astype(np.int32)
        first = len(self.chunk_nos)
        self.rows.update({chunk_ids[chunk_no]: row for row, chunk_no in enumerate(added.tolist(), start=first)})
        directions = vectors[is_nonzero] / lengths[is_nonzero, np.newaxis]
        self.directions = np.concatenate([self.directions, directions]) if first else directions
        self.chunk_nos = np.concatenate([self.chunk_nos, added])
        self.document_ids = np.concatenate([self.document_ids, rows["document_id"][is_nonzero].astype(np.int64)])


class CollectionVectors:
    """The vectors of the part of a collection that a caller sees, and the cached terms of its words in that part.

    Args:
        shared: The vectors of the collection in one state.
        documents: The documents of the part, all of which are held; None for the whole collection.
    """

    def __init__(self, shared: SharedVectors, documents: Sequence[int] | None = None) -> None:
        self.shared = shared
        self._rows: NDArray[np.int32] | None = None
        if documents is not None:
            self._rows = np.flatnonzero(np.isin(shared.document_ids, documents)).astype(np.int32)
        self._terms: dict[int | None, Terms] = {}
        self._is_forgotten = False

    @property
    def chunk_ids(self) -> Mapping[int, str]:
        """The id of every chunk by its number. Chunks of other parts may be among them."""
        return self.shared.chunk_ids

    @property
    def own_size(self) -> int:
        """The size in bytes of what the part does not share, without the terms."""
        return 0 if self._rows is None else self._rows.nbytes

    def find_terms(self, lexeme_id: int | None) -> Terms | None:
        """Return the cached terms of a word in this state, or None."""
        return self._terms.get(lexeme_id)

    def keep_terms(self, lexeme_id: int | None, terms: Terms) -> None:
        """Cache the terms of a word, as long as the words of all parts take no more memory than the vectors."""
        if self._is_forgotten or lexeme_id in self._terms:
            return
        if self.shared.term_bytes + terms.size <= self.shared.size:
            self.shared.term_bytes += terms.size
            self._terms[lexeme_id] = terms

    def forget_terms(self) -> None:
        """Leave the memory of the terms to other parts. A search that goes on with this part caches no more."""
        self._is_forgotten = True
        self.shared.term_bytes -= sum(terms.size for terms in self._terms.values())
        self._terms.clear()

    def near(self, vector: PackedVector, limit: int, documents: list[int] | None) -> NearestChunks:
        """Return the nearest chunks, with those that tie with the last of them within rounding.

        Args:
            vector: The vector to search for.
            limit: The number of chunks wanted.
            documents: The documents to search; all of the part when None.
        """
        closeness = self._compare(_direction(vector))
        chunk_nos, document_ids = self.shared.chunk_nos, self.shared.document_ids
        if self._rows is not None:
            chunk_nos, document_ids = chunk_nos[self._rows], document_ids[self._rows]
        if documents is not None:
            allowed = np.isin(document_ids, documents)
            closeness, chunk_nos = closeness[allowed], chunk_nos[allowed]
        least = np.partition(closeness, -limit)[-limit] - DISTANCE_TOLERANCE if len(closeness) > limit else -np.inf
        near = np.flatnonzero(closeness >= least)
        near = near[np.argsort(-closeness[near], kind="stable")]
        distances = 1 - closeness[near]
        ends = [*(np.flatnonzero(distances[1:] - distances[:-1] > DISTANCE_TOLERANCE) + 1).tolist(), len(near)]
        ties = [slice(start, end) for start, end in pairwise([0, *ends]) if end - start > 1]
        return NearestChunks(chunk_nos[near].tolist(), distances.tolist(), ties)

    def _compare(self, direction: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each vector of the part."""
        directions, rows = self.shared.directions, self._rows
        # Not `@`: BLAS would run it on its own threads, which then spin ten times as long waiting for more work.
        if rows is not None and len(rows) * COPY_COST < len(directions):
            directions, rows = directions[rows], None
        closeness: NDArray[np.float32] = np.vecdot(directions, direction)
        return closeness if rows is None else closeness[rows]

    def distances(self, vector: PackedVector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine distance of each of these chunks, up to rounding. A vector of length zero has none."""
        rows = self.shared.rows
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in rows]
        closeness = np.vecdot(self.shared.directions[[rows[chunk_id] for chunk_id in known]], _direction(vector))
        return dict(zip(known, (1 - closeness).tolist(), strict=True))


def _direction(vector: PackedVector) -> NDArray[np.float32]:
    """Return the unit vector of a packed one."""
    direction = np.frombuffer(vector, ">f4", offset=HEADER_BYTES).astype(np.float32)
    direction /= np.linalg.norm(direction) or 1
    return direction


class VectorCache:
    """The cache of a process: the most recently searched places, each from its second search in one state on.

    Places of one collection share the vectors of the documents that they have in common.

    Args:
        max_bytes: The maximum size of all vectors together.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._states: OrderedDict[Place, str] = OrderedDict()
        self._entries: dict[Place, CollectionVectors] = {}
        self.visible = VisibleCache()
        """The chunks at each place from which documents are hidden."""

    def find(self, place: Place, state: str) -> CollectionVectors | None:
        """Return the vectors at a place in that state, or None if they are not cached."""
        if self._states.get(place) != state or place not in self._entries:
            return None
        self._states.move_to_end(place)
        return self._entries[place]

    def latest(self, place: Place) -> CollectionVectors | None:
        """Return the cached vectors at a place in any state, or None."""
        return self._entries.get(place)

    def wants(self, place: Place, state: str, size: int) -> bool:
        """Tell whether to cache the vectors at a place: they fit, and it was searched in this state before.

        Args:
            place: The place.
            state: The name of the state of its collection. All places in its other states are forgotten.
            size: The size of its vectors in bytes.
        """
        if self._states.get(place) == state:
            return size <= self._max_bytes
        for other in [key for key, known in self._states.items() if key[0] == place[0] and known != state]:
            self._forget(other)
        self._states[place] = state
        if len(self._states) > MAX_PLACES:
            self._forget(next(iter(self._states)))
        return False

    def open_shared(
        self, owner: Place, state: str, documents: Sequence[int] | None, chunks: int, dimensions: int
    ) -> SharedVectors:
        """Return the vectors that places share in one state, or new ones if those have no room for these documents.

        Args:
            owner: The place that holds all that is shared: the whole collection.
            state: The name of the state of the collection.
            documents: The documents of the place that will share them; None for all.
            chunks: The number of their chunks.
            dimensions: The length of each vector.
        """
        for place, entry in reversed(self._entries.items()):
            shared = entry.shared
            if shared.owner == owner and self._states[place] == state:
                if documents is None:
                    return shared
                added = chunks - shared.count_held(documents)
                if added == 0 or shared.size + vector_bytes(dimensions, added) <= self._max_bytes:
                    return shared
        return SharedVectors(dimensions, owner)

    def keep(self, place: Place, state: str, vectors: CollectionVectors) -> None:
        """Cache vectors, and evict the least recently searched places if the cache is too large."""
        self._forget(place)
        self._states[place], self._entries[place] = state, vectors
        for other in list(self._states)[:-1]:
            if self.size > self._max_bytes:
                self._forget(other)

    @property
    def size(self) -> int:
        """The size of all vectors in bytes, those that places share counted once."""
        shared = {id(entry.shared): entry.shared.size for entry in self._entries.values()}
        return sum(shared.values()) + sum(entry.own_size for entry in self._entries.values())

    def _forget(self, place: Place) -> None:
        self._states.pop(place, None)
        if entry := self._entries.pop(place, None):
            entry.forget_terms()

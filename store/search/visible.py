"""The part of a collection that a caller with labels sees: the statistics of its words say nothing of the rest (R6-7).

Counts and postings are stored for whole collections. Where documents are hidden from a caller, postings of other chunks
are left out before anything is counted, ranked or measured.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from sourcebound.store.connection.database import Row
from sourcebound.store.search.bm25 import CHUNK_NO, POSTING

MAX_BYTES: Final = 32 << 20
"""The maximum size of all remembered chunk numbers of a process."""
MAX_PLACES: Final = 1024
"""The most places that a process remembers, whatever their size."""
Place = tuple[int, bytes | None]
"""A collection, and the digest of the part of it that a caller sees; None for all of it.

What a process remembers of a collection, it remembers by place. Callers who see the same documents share it, however
their labels differ, and nothing reaches a caller who sees others.
"""


def digest_documents(document_ids: Sequence[int]) -> bytes:
    """Return the digest of a part of a collection: the documents that a caller sees, in any order."""
    return hashlib.sha256(b"documents" + np.sort(np.asarray(document_ids, ">i8")).tobytes()).digest()


def digest_labels(labels: Iterable[str]) -> bytes:
    """Return the digest of a part of a collection that row-level security alone chooses, by the caller's labels."""
    return hashlib.sha256("\n".join(["labels", *sorted(labels)]).encode()).digest()


class VisibleChunks(NamedTuple):
    """The chunks of a collection that a caller sees."""

    packed: bytes
    """Their numbers, as the database packs them."""
    length: int = 0
    """Their length together, in words."""

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self.packed) // CHUNK_NO.itemsize

    def restrict_word(self, word: Row, postings: bytes | None) -> Row:
        """Return the row of a word with the postings and the number of those of these chunks that hold it.

        Args:
            word: The row.
            postings: The packed postings of the word in all chunks; None if no chunk holds it.
        """
        found = np.frombuffer(postings or b"", POSTING)
        own = found[np.isin(found["chunk_no"], np.frombuffer(self.packed, CHUNK_NO))]
        return {**word, "packed": own.tobytes() if len(own) else None, "chunks": len(own)}


class VisibleCache:
    """The most recently searched parts of collections, each in one state.

    Args:
        max_bytes: The maximum size of all of them together.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Place, tuple[str, VisibleChunks]] = OrderedDict()

    def find(self, place: Place, state: str) -> VisibleChunks | None:
        """Return the chunks at a place in that state of its collection, or None."""
        known, chunks = self._entries.get(place, (None, None))
        if known != state:
            return None
        self._entries.move_to_end(place)
        return chunks

    def keep(self, place: Place, state: str, chunks: VisibleChunks) -> None:
        """Remember chunks. Forget those of other states, and the least recently searched ones if they are too many."""
        for other in [key for key, (known, _) in self._entries.items() if key[0] == place[0] and known != state]:
            del self._entries[other]
        self._entries[place] = (state, chunks)
        self._entries.move_to_end(place)
        while len(self._entries) > MAX_PLACES or self._size() > self._max_bytes:
            self._entries.popitem(last=False)

    def _size(self) -> int:
        return sum(len(chunks.packed) for _, chunks in self._entries.values())

"""The part of a collection that a caller with labels sees: the statistics of its words say nothing of the rest (R6-7).

Counts and postings are stored for whole collections. Where documents are hidden from a caller, postings of other chunks
are left out before anything is counted, ranked or measured.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np

from sourcebound.store.connection.database import Row
from sourcebound.store.search.bm25 import CHUNK_NO, POSTING

MAX_BYTES: Final = 32 << 20
"""The maximum size of all remembered chunk numbers of a process."""
Place = tuple[int, tuple[str, ...] | None]
"""A collection, and the labels of the callers who see the same part of it; None for all of it.

What a process remembers of a collection, it remembers by place, so that nothing reaches callers with other labels.
"""


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
        """Remember chunks, and forget the least recently searched ones if they are too many."""
        self._entries[place] = (state, chunks)
        self._entries.move_to_end(place)
        while sum(len(each.packed) for _, each in self._entries.values()) > self._max_bytes:
            self._entries.popitem(last=False)

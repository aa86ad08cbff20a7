"""Decides between exact and approximate vector search, and measures recall (R1-5, R1-8).

Evidence that is not retrieved leads to a wrong refusal, so recall is a matter of correctness: an index is measured
against exact search before it is used, and its search width is chosen accordingly.
"""

from collections.abc import Sequence
from math import hypot
from random import Random
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract

EXACT_CHUNKS: Final = 20_000
"""Up to this number of vectors, exact search takes some ten milliseconds, or the vectors fit in memory. An index would
only lose neighbours."""
NEIGHBOURS: Final = 8
"""The number of nearest chunks over which recall is measured: those that a prompt can hold."""
TARGET_RECALL: Final = 0.985
"""The recall for which a search width is chosen. Real questions reach more, because the measured vectors lie farther
off."""
MIN_RECALL: Final = 0.98
"""The minimum recall. An index below it is not used."""
SEARCH_WIDTHS: Final = (100, 150, 200, 300, 400, 600, 800, 1000)
"""The search widths (`hnsw.ef_search`) to choose from, in the order of their cost; 1000 is the maximum."""
NOISE: Final = 2.0
"""The noise of `perturb`, relative to the vector: at 2 an index finds slightly less than for real questions."""
GROWTH: Final = 1.5
"""The growth after which an index is measured again: the same width finds less in a larger collection."""
MAX_DIMENSIONS: Final = 4000
"""Longer vectors cannot be indexed in half precision."""
DISTANCE_TOLERANCE: Final = 1e-5
"""Distances that differ by less are equal, because chunks with the same text are neighbours of one rank."""


class VectorIndex(Contract):
    """The approximate index over the vectors of one collection."""

    name: str
    """The name that selects this index among several."""
    ef_search: int
    """The number of candidates that a search keeps while it traverses the graph."""
    recall: float
    """The measured share of the true nearest chunks."""
    chunks: int
    """The number of chunks at the time of measurement."""

    @property
    def is_fit(self) -> bool:
        """Whether the recall is high enough for use."""
        return self.recall >= MIN_RECALL


class Recall(NamedTuple):
    """The recall of a search width."""

    ef_search: int
    found: int
    sought: int

    @property
    def value(self) -> float:
        """The share; 1 if nothing was sought."""
        return self.found / self.sought if self.sought else 1.0


def needs_index(chunks: int, index: VectorIndex | None) -> bool:
    """Whether a collection of this size needs an index, or a new measurement of its index."""
    return chunks > (EXACT_CHUNKS if index is None else GROWTH * index.chunks)


def count_true_neighbours(found: Sequence[float], exact: Sequence[float]) -> int:
    """Count the true nearest neighbours that were found, by distance, so that ties are interchangeable.

    Args:
        found: Distances of the results, in any order.
        exact: Distances of the true nearest neighbours, in any order.
    """
    if not exact:
        return 0
    farthest = max(exact)
    return min(len(exact), sum(1 for distance in found if distance <= farthest + DISTANCE_TOLERANCE))


def perturb(vector: Sequence[float], seed: str) -> list[float]:
    """Move a vector at random by the distance between a question and the chunk that answers it.

    An index finds the neighbours of its own vectors far better than those of questions, which lie between them. A
    measurement on its own vectors alone would overstate the recall.

    Args:
        vector: A unit vector.
        seed: The seed of the random direction; equal seeds give equal results.
    """
    random = Random(seed)
    noise = [random.gauss() for _ in vector]
    scale = NOISE / hypot(*noise)
    moved = [value + scale * part for value, part in zip(vector, noise, strict=True)]
    length = hypot(*moved)
    return [value / length for value in moved]

"""When all vectors are compared and when an approximate index is asked, and how good it must be (contract R1-5, R1-8).

Evidence that was never retrieved is a wrong refusal, so recall is a matter of correctness: an index is measured against
the exact answer before it is used, and searched as widely as that takes.
"""

from collections.abc import Sequence
from math import hypot
from random import Random
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract

EXACT_CHUNKS: Final = 20_000
"""So many vectors are compared in some ten milliseconds, or kept in memory; an index would only lose neighbours."""
NEIGHBOURS: Final = 8
"""Recall is measured over so many nearest chunks: those that a prompt can hold."""
WANTED_RECALL: Final = 0.985
"""What a search width is chosen for. Real questions are found more: the places that are measured lie farther off."""
LEAST_RECALL: Final = 0.98
"""Below this an index is not fit."""
WIDTHS: Final = (100, 150, 200, 300, 400, 600, 800, 1000)
"""The search widths (`hnsw.ef_search`) to choose from, in the order of their cost; 1000 is the most there is."""
DISTURBANCE: Final = 2.0
"""Noise, over the vector itself, in `perturb`: at 2 an index finds a little less than it does for real questions."""
GROWTH: Final = 1.5
"""An index is measured again when its collection has grown so much: the same width finds less in a larger one."""
MOST_DIMENSIONS: Final = 4000
"""Longer vectors cannot be indexed in half precision."""
SAME: Final = 1e-5
"""Distances that differ by less are equal: chunks with the same text are neighbours of one rank."""


class VectorIndex(Contract):
    """The approximate index over the vectors of one collection."""

    name: str
    """By which a search asks this index and no other that may stand beside it."""
    ef_search: int
    """How many candidates a search keeps while it walks the graph."""
    recall: float
    """Share of the true nearest chunks that it found when it was measured."""
    chunks: int
    """Chunks of the collection when it was measured."""

    @property
    def is_fit(self) -> bool:
        """Whether it finds enough to be asked at all."""
        return self.recall >= LEAST_RECALL


class Recall(NamedTuple):
    """How many of the true nearest neighbours a search width found."""

    ef_search: int
    found: int
    sought: int

    @property
    def value(self) -> float:
        """The share; 1 of nothing."""
        return self.found / self.sought if self.sought else 1.0


def wants_index(chunks: int, index: VectorIndex | None) -> bool:
    """Whether a collection of so many chunks is to be indexed, or its index measured again."""
    return chunks > (EXACT_CHUNKS if index is None else GROWTH * index.chunks)


def count_found(found: Sequence[float], exact: Sequence[float]) -> int:
    """How many of the true nearest neighbours were found, told by distance, so that equals stand for each other.

    Args:
        found: Distances of what was found, in any order.
        exact: Distances of the true nearest neighbours, in any order.
    """
    if not exact:
        return 0
    farthest = max(exact)
    return min(len(exact), sum(1 for distance in found if distance <= farthest + SAME))


def perturb(vector: Sequence[float], seed: str) -> list[float]:
    """A vector moved at random, as far from its place as a question lies from the chunk that answers it.

    An index finds the neighbours of its own vectors far better than those of questions, which lie between them:
    measured on its own vectors alone it would look fit where it is not.

    Args:
        vector: A unit vector.
        seed: The same seed moves it to the same place.
    """
    draw = Random(seed)
    noise = [draw.gauss() for _ in vector]
    scale = DISTURBANCE / hypot(*noise)
    moved = [value + scale * part for value, part in zip(vector, noise, strict=True)]
    length = hypot(*moved)
    return [value / length for value in moved]

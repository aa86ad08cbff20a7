"""BM25 over packed postings: the sums of contracts/lexical.py, for all chunks of a question's words at once.

A database adds up some two million postings a second, NumPy fifty times as many; so the database keeps them packed, and
hands them over as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.lexical import Damping

POSTING: Final = np.dtype([("chunk_no", ">i4"), ("length", ">u2"), ("frequency", ">u2")])
CHUNK_NO: Final = np.dtype(">i4")
SPARSE: Final = 4
"""Numbers of chunks that are spread wider than this, to a posting, are sorted and not counted."""


def best_chunks(
    packed: Sequence[tuple[float, bytes]],
    damped: Damping,
    limit: int,
    *,
    removed: bytes = b"",
    allowed: bytes | None = None,
) -> Mapping[int, int]:
    """The chunks that score best.

    Args:
        packed: Weight and packed postings of each word, in any order and number of pieces.
        damped: Of the collection.
        limit: How many are wanted; all that score as the last of them does are there too.
        removed: Packed numbers of chunks that are gone.
        allowed: Packed numbers of the chunks that pass the filters; None where all do.

    Returns:
        Scores in units by chunk number, best first.
    """
    postings = np.frombuffer(b"".join(piece for _, piece in packed), POSTING)
    weights = np.repeat([weight for weight, _ in packed], [len(piece) // POSTING.itemsize for _, piece in packed])
    frequency = postings["frequency"].astype(np.float64)
    terms = np.rint(weights * frequency / (frequency + damped.least + damped.per_word * postings["length"]))
    numbers, scores = _add_up(postings["chunk_no"].astype(np.int64), terms)
    kept = ~np.isin(numbers, np.frombuffer(removed, CHUNK_NO)) if removed else np.ones(len(numbers), dtype=bool)
    if allowed is not None:
        kept &= np.isin(numbers, np.frombuffer(allowed, CHUNK_NO))
    numbers, scores = numbers[kept], scores[kept]
    if len(scores) > limit:
        enough = scores >= np.partition(scores, -limit)[-limit]
        numbers, scores = numbers[enough], scores[enough]
    order = np.argsort(-scores, kind="stable")
    return dict(zip(numbers[order].tolist(), scores[order].astype(np.int64).tolist(), strict=True))


def _add_up(numbers: NDArray[np.int64], terms: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The chunks and the sum of each; whole numbers below 2**53, so that no order of adding changes them."""
    if not len(numbers):
        return numbers, terms
    first = numbers.min()
    if numbers.max() - first > SPARSE * len(numbers):
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct, np.bincount(places, weights=terms)
    sums = np.bincount(numbers - first, weights=terms)
    there = np.zeros(len(sums), dtype=bool)
    there[numbers - first] = True
    places = np.flatnonzero(there)
    return places + first, sums[places]

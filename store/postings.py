"""BM25 over packed postings: the sums of contracts/lexical.py, for all chunks of a question's words at once.

A database adds up some two million postings a second, NumPy fifty times as many; so the database keeps them packed, and
hands them over as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.lexical import Damping

POSTING: Final = np.dtype([("chunk_no", ">i4"), ("length", ">u2"), ("frequency", ">u2")])
CHUNK_NO: Final = np.dtype(">i4")
SPARSE: Final = 4
"""Numbers of chunks that are spread wider than this, to a posting, are sorted and not counted."""


class Terms(NamedTuple):
    """What one word adds to the scores of the chunks that hold it."""

    chunk_nos: NDArray[np.int64]
    units: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.chunk_nos.nbytes + self.units.nbytes


def word_terms(weight: float, packed: bytes, damped: Damping) -> Terms:
    """The terms of a word.

    Args:
        weight: The word's.
        packed: Its postings, in any order.
        damped: Of the collection.
    """
    postings = np.frombuffer(packed, POSTING)
    frequency = postings["frequency"].astype(np.float64)
    units = np.rint(weight * frequency / (frequency + damped.least + damped.per_word * postings["length"]))
    return Terms(postings["chunk_no"].astype(np.int64), units)


def best_chunks(
    words: Sequence[Terms], limit: int, *, removed: bytes = b"", allowed: bytes | None = None
) -> Mapping[int, int]:
    """The chunks that score best.

    Args:
        words: The terms of each word, in any order.
        limit: How many are wanted; all that score as the last of them does are there too.
        removed: Packed numbers of chunks that are gone.
        allowed: Packed numbers of the chunks that pass the filters; None where all do.

    Returns:
        Scores in units by chunk number, best first.
    """
    if not words:
        return {}
    numbers, scores = _add_up(words)
    if removed:
        there = ~np.isin(numbers, np.frombuffer(removed, CHUNK_NO))
        numbers, scores = numbers[there], scores[there]
    if allowed is not None:
        passing = np.isin(numbers, np.frombuffer(allowed, CHUNK_NO))
        numbers, scores = numbers[passing], scores[passing]
    if len(scores) > limit:
        enough = scores >= np.partition(scores, -limit)[-limit]
        numbers, scores = numbers[enough], scores[enough]
    order = np.argsort(-scores, kind="stable")
    return dict(zip(numbers[order].tolist(), scores[order].astype(np.int64).tolist(), strict=True))


def holders(chunk_nos: Sequence[int], words: Mapping[str, Terms]) -> dict[int, set[str]]:
    """Which of some words each of some chunks holds.

    Args:
        chunk_nos: The chunks.
        words: Words and their terms.
    """
    held: dict[int, set[str]] = {chunk_no: set() for chunk_no in chunk_nos}
    if not words:
        return held
    names, numbers = [*words], np.concatenate([terms.chunk_nos for terms in words.values()])
    places = np.flatnonzero(np.isin(numbers, np.array(chunk_nos, np.int64)))
    ends = np.cumsum([len(terms.chunk_nos) for terms in words.values()])
    for word, chunk_no in zip(np.searchsorted(ends, places, side="right"), numbers[places].tolist(), strict=True):
        held[chunk_no].add(names[word])
    return held


def _add_up(words: Sequence[Terms]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The chunks and the sum of each; whole numbers below 2**53, so that no order of adding changes them."""
    numbers = np.concatenate([word.chunk_nos for word in words])
    if not len(numbers):
        return numbers, np.zeros(0)
    first, last = int(numbers.min()), int(numbers.max())
    if last - first > SPARSE * len(numbers):
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct, np.bincount(places, weights=np.concatenate([word.units for word in words]))
    sums, there = np.zeros(last - first + 1), np.zeros(last - first + 1, dtype=bool)
    for word in words:  # which has one posting of a chunk at most
        sums[word.chunk_nos - first] += word.units
    there[numbers - first] = True
    distinct = np.flatnonzero(there)
    return distinct + first, sums[distinct]

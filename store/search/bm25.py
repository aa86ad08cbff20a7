"""BM25 over packed postings: the sums of contracts/retrieval/bm25.py, for all chunks of a question's words at once.

A database adds up some two million postings a second, NumPy fifty times as many; so the database keeps them packed, and
hands them over as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.retrieval.bm25 import Damping

POSTING: Final = np.dtype([("chunk_no", ">i4"), ("length", ">u2"), ("frequency", ">u2")])
CHUNK_NO: Final = np.dtype(">i4")
SPARSE: Final = 4
"""Numbers of chunks that are spread wider than this, to a posting, are sorted and not counted."""


class Terms(NamedTuple):
    """What one word adds to the scores of the chunks that hold it."""

    chunk_nos: NDArray[np.int64]
    """In ascending order."""
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
    chunk_nos = postings["chunk_no"].astype(np.int64)
    if (chunk_nos[1:] < chunk_nos[:-1]).any():
        order = np.argsort(chunk_nos, kind="stable")
        return Terms(chunk_nos[order], units[order])
    return Terms(chunk_nos, units)


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
    wanted = np.array(chunk_nos, np.int64)
    for word, terms in words.items():
        if not len(terms.chunk_nos):
            continue
        places = terms.chunk_nos.searchsorted(wanted)
        there = terms.chunk_nos.take(places, mode="clip") == wanted
        for chunk_no in wanted[there].tolist():
            held[chunk_no].add(word)
    return held


def _add_up(words: Sequence[Terms]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The chunks and the sum of each; whole numbers below 2**53, so that no order of adding changes them."""
    words = [word for word in words if len(word.chunk_nos)]
    if not words:
        return np.zeros(0, np.int64), np.zeros(0)
    first, last = (int(edge(word.chunk_nos[place] for word in words)) for edge, place in ((min, 0), (max, -1)))
    if last - first > SPARSE * sum(len(word.chunk_nos) for word in words):
        numbers = np.concatenate([word.chunk_nos for word in words])
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct, np.bincount(places, weights=np.concatenate([word.units for word in words]))
    sums, there = np.zeros(last - first + 1), np.zeros(last - first + 1, dtype=bool)
    for word in words:  # which has one posting of a chunk at most
        places = word.chunk_nos - first
        sums[places] += word.units
        there[places] = True
    distinct = np.flatnonzero(there)
    return distinct + first, sums[distinct]

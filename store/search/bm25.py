"""BM25 over packed postings: the sums of contracts/retrieval/bm25.py, for all chunks that hold a question's words.

A database adds up some two million postings a second, NumPy fifty times as many. Therefore the database stores the
postings packed and returns them unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcebound.contracts.retrieval.bm25 import Damping, QuestionWord
from sourcebound.store.connection.database import Row

POSTING: Final = np.dtype([("chunk_no", ">i4"), ("length", ">u2"), ("frequency", ">u2")])
CHUNK_NO: Final = np.dtype(">i4")
SPARSE: Final = 4
"""The widest range of chunk numbers per posting for which scores are added up in an array of that range.

Wider ranges are sorted instead.
"""


class Terms(NamedTuple):
    """The amounts that one word adds to the scores of the chunks that hold it."""

    chunk_nos: NDArray[np.int64]
    """In ascending order."""
    units: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.chunk_nos.nbytes + self.units.nbytes


class SearchWords(NamedTuple):
    """The content words of each search of a question, and the statistics of the collection that was searched."""

    searches: Sequence[Sequence[QuestionWord]]
    chunks: int
    mean_length: float
    removed: int
    """The number of removed chunks that postings still name."""
    documents_digest: str
    """The state of the collection that is searched; empty if the collection was removed."""

    def frequencies(self, search: int) -> dict[str, int]:
        """Return the number of chunks that hold each word of a search."""
        return {word.lexeme: word.chunks for word in self.searches[search]}


def split_by_search(rows: Iterable[Row], searches: int) -> list[list[QuestionWord]]:
    """Return the words of each search from rows of the query `question_words`."""
    words: list[list[QuestionWord]] = [[] for _ in range(searches)]
    for row in rows:
        if row["lexeme"] is not None:
            words[row["number"] - 1].append(QuestionWord(row["lexeme"], row["lexeme_id"], row["chunks"]))
    return words


def word_terms(weight: float, packed: bytes, damped: Damping) -> Terms:
    """Compute the terms of a word.

    Args:
        weight: The weight of the word.
        packed: Its postings, in any order.
        damped: The damping of the collection.
    """
    postings = np.frombuffer(packed, POSTING)
    frequency = postings["frequency"].astype(np.float64)
    units = np.rint(weight * frequency / (frequency + damped.constant + damped.per_word * postings["length"]))
    chunk_nos = postings["chunk_no"].astype(np.int64)
    if (chunk_nos[1:] < chunk_nos[:-1]).any():
        order = np.argsort(chunk_nos, kind="stable")
        return Terms(chunk_nos[order], units[order])
    return Terms(chunk_nos, units)


def best_chunks(
    words: Sequence[Terms], limit: int, *, removed: bytes = b"", allowed: bytes | None = None
) -> Mapping[int, int]:
    """Return the chunks with the best scores.

    Args:
        words: The terms of each word, in any order.
        limit: The number of chunks wanted. Chunks that tie with the last one are included.
        removed: Packed numbers of the chunks that were removed.
        allowed: Packed numbers of the chunks that pass the filters; None if all do.

    Returns:
        Scores in units by chunk number, best first.
    """
    if not words:
        return {}
    numbers, scores = _add_up(words)
    if removed:
        present = ~np.isin(numbers, np.frombuffer(removed, CHUNK_NO))
        numbers, scores = numbers[present], scores[present]
    if allowed is not None:
        passing = np.isin(numbers, np.frombuffer(allowed, CHUNK_NO))
        numbers, scores = numbers[passing], scores[passing]
    if len(scores) > limit:
        enough = scores >= np.partition(scores, -limit)[-limit]
        numbers, scores = numbers[enough], scores[enough]
    order = np.argsort(-scores, kind="stable")
    return dict(zip(numbers[order].tolist(), scores[order].astype(np.int64).tolist(), strict=True))


def find_matched_words(chunk_nos: Sequence[int], words: Mapping[str, Terms]) -> dict[int, set[str]]:
    """Return, for each chunk, those of the words that it holds.

    Args:
        chunk_nos: The numbers of the chunks.
        words: The terms of each word.
    """
    words_by_chunk: dict[int, set[str]] = {chunk_no: set() for chunk_no in chunk_nos}
    wanted = np.array(chunk_nos, np.int64)
    for word, terms in words.items():
        if not len(terms.chunk_nos):
            continue
        positions = terms.chunk_nos.searchsorted(wanted)
        present = terms.chunk_nos.take(positions, mode="clip") == wanted
        for chunk_no in wanted[present].tolist():
            words_by_chunk[chunk_no].add(word)
    return words_by_chunk


def _add_up(words: Sequence[Terms]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the chunks and the sum of each. The sums are whole numbers below 2**53, so the order does not matter."""
    words = [word for word in words if len(word.chunk_nos)]
    if not words:
        return np.zeros(0, np.int64), np.zeros(0)
    first, last = (int(edge(word.chunk_nos[position] for word in words)) for edge, position in ((min, 0), (max, -1)))
    if last - first > SPARSE * sum(len(word.chunk_nos) for word in words):
        numbers = np.concatenate([word.chunk_nos for word in words])
        distinct, positions = np.unique(numbers, return_inverse=True)
        return distinct, np.bincount(positions, weights=np.concatenate([word.units for word in words]))
    sums, present = np.zeros(last - first + 1), np.zeros(last - first + 1, dtype=bool)
    for word in words:  # a word has at most one posting for each chunk
        positions = word.chunk_nos - first
        sums[positions] += word.units
        present[positions] = True
    distinct = np.flatnonzero(present)
    return distinct + first, sums[distinct]

"""The lexical list: BM25 over the chunks of a collection (R1-5).

The weight of a word depends on the whole collection that the caller sees, not on filters: a filter restricts the
candidates only. Scores are summed in whole millionths, so that neither the order of addition nor the query plan changes
them, and chunks with the same word counts are equal.
"""

from collections.abc import Sequence
from math import log
from typing import Final, NamedTuple

K1: Final = 1.5
"""The saturation of repeated words (BM25 `k1`)."""
B: Final = 0.6
"""The length normalization (BM25 `b`). Both were chosen on three sets of questions with judged documents."""
UNITS: Final = 10**6
"""Units of a score: millionths."""
MAX_POSTINGS: Final = 2_000_000
"""The most postings that a question reads, rarest words first, so that common words in millions of chunks do not take a
second. The skipped words are those that distinguish chunks the least."""


class QuestionWord(NamedTuple):
    """A content word (lexeme) of a question."""

    lexeme: str
    lexeme_id: int | None
    """None if no chunk of the collection holds it."""
    chunks: int
    """The number of chunks in the collection that hold it."""


class Damping(NamedTuple):
    """The length damping of a word's occurrences, as a function of the chunk's length."""

    constant: float
    """The damping of a chunk without words."""
    per_word: float
    """The damping for each word of the chunk."""


def inverse_frequency(holding: int, chunks: int) -> float:
    """Return the weight of a word: `ln(1 + (n - df + 0.5) / (df + 0.5))`, which is above 0 for every word.

    Args:
        holding: The number of chunks that hold the word (df).
        chunks: The number of chunks in the collection (n).
    """
    return log(1 + (chunks - holding + 0.5) / (holding + 0.5))


def word_weight(holding: int, chunks: int) -> float:
    """Return the most that a word can add to a score, in units: `inverse_frequency × (k1 + 1)`."""
    return UNITS * (K1 + 1) * inverse_frequency(holding, chunks)


def highest_score(words: Sequence[QuestionWord], chunks: int) -> float:
    """Return the most that a chunk can score for a question, in units. A word that no chunk holds counts as one in one.

    Args:
        words: Every content word of the question.
        chunks: The number of chunks in the collection.
    """
    return sum(word_weight(max(word.chunks, 1), chunks) for word in words)


def damping(mean_length: float) -> Damping:
    """Return `k1 (1 - b + b × length / mean_length)` as a function of the length.

    Args:
        mean_length: The mean length of the collection's chunks, in words.
    """
    return Damping(K1 * (1 - B), K1 * B / mean_length if mean_length else 0.0)


def bm25_term(weight: float, frequency: int, length: int, damped: Damping) -> int:
    """Return the contribution of one question word to the score of a chunk, in units.

    store/search/bm25.py computes this for all postings at once, with the same order of operations.

    Args:
        weight: The word's `word_weight`.
        frequency: The occurrences of the word in the chunk, with title and headings.
        length: The number of words of the chunk, counted in the same way.
        damped: The damping of the collection.
    """
    return round(weight * frequency / (frequency + damped.constant + damped.per_word * length))


def words_to_read(words: Sequence[QuestionWord], most: int = MAX_POSTINGS) -> list[QuestionWord]:
    """Return the words whose postings a question reads: the rarest ones with at most `most` postings together.

    Args:
        words: Every content word of the question, in any order.
        most: The limit; the rarest word is read even if it alone exceeds the limit.

    Returns:
        The words, rarest first, without those that no chunk holds.
    """
    occurring = sorted((word for word in words if word.chunks), key=lambda word: (word.chunks, word.lexeme))
    selection: list[QuestionWord] = []
    read = 0
    for word in occurring:
        read += word.chunks
        if selection and read > most:
            break
        selection.append(word)
    return selection

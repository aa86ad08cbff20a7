"""The lexical list: BM25 over the chunks of a collection (contract R1-5).

What a word weighs is a matter of the whole collection, whatever the filters are: a filter restricts the candidates and
says nothing about words. The sum over a chunk's words is taken in whole millionths, so that no order of adding up and
no plan of the database changes it, and chunks that hold the same words equally often are equal.
"""

from collections.abc import Sequence
from math import log
from typing import Final, NamedTuple

K1: Final = 1.5
"""How much a word's further occurrences in a chunk add."""
B: Final = 0.6
"""How much a chunk's length takes away. Both were chosen on three sets of questions with judged documents."""
UNITS: Final = 10**6
"""Scores are counted in millionths."""
MOST_POSTINGS: Final = 2_000_000
"""Postings that a question reads at most, rarest words first, so that common words asked of millions of chunks cannot
take a second. The words left out are those that tell chunks apart the least."""


class QuestionWord(NamedTuple):
    """A content word (lexeme) of a question."""

    lexeme: str
    lexeme_id: int | None
    """None where no chunk of the collection holds it."""
    chunks: int
    """Chunks of the collection that hold it."""


class Damping(NamedTuple):
    """What a word's occurrences are set against, as a function of the chunk's length."""

    least: float
    per_word: float
    """For each word of the chunk."""


def inverse_frequency(holding: int, chunks: int) -> float:
    """What a word weighs: `ln(1 + (n - df + 0.5) / (df + 0.5))`, which is above 0 for every word.

    Args:
        holding: Chunks of the collection that hold the word (df).
        chunks: Chunks of the collection (n).
    """
    return log(1 + (chunks - holding + 0.5) / (holding + 0.5))


def word_weight(holding: int, chunks: int) -> float:
    """The most that a word can add to a score, in units: `inverse_frequency × (k1 + 1)`."""
    return UNITS * (K1 + 1) * inverse_frequency(holding, chunks)


def damping(mean_length: float) -> Damping:
    """`k1 (1 - b + b × length / mean_length)` as a function of the length.

    Args:
        mean_length: The mean length of the collection's chunks, in words.
    """
    return Damping(K1 * (1 - B), K1 * B / mean_length if mean_length else 0.0)


def bm25_term(weight: float, frequency: int, length: int, damped: Damping) -> int:
    """What one word of the question adds to the score of a chunk, in units.

    store/search/bm25.py computes the same of all postings at once, in the same order of operations.

    Args:
        weight: The word's `word_weight`.
        frequency: How often it stands in the chunk, its title and headings included.
        length: Words of the chunk, counted likewise.
        damped: Of the collection.
    """
    return round(weight * frequency / (frequency + damped.least + damped.per_word * length))


def words_to_read(words: Sequence[QuestionWord], most: int = MOST_POSTINGS) -> list[QuestionWord]:
    """The words whose postings a question reads: the rarest that together have no more than `most`.

    Args:
        words: Every content word of the question, in any order.
        most: The limit; the rarest word is read even where it alone is over it.

    Returns:
        The words, rarest first; words that no chunk holds are left out.
    """
    held = sorted((word for word in words if word.chunks), key=lambda word: (word.chunks, word.lexeme))
    chosen: list[QuestionWord] = []
    read = 0
    for word in held:
        read += word.chunks
        if chosen and read > most:
            break
        chosen.append(word)
    return chosen

"""A cited chunk as the verifier reads it: its words, its sentences, and the positions of each stem (R5-17)."""

from bisect import bisect_right
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.text.sentences import split_sentences
from sourcebound.contracts.validation.support.word_lists import NEGATIONS
from sourcebound.contracts.validation.support.words import Word, read_words

CACHED_CHUNKS: Final = 512
"""The size of the cache of read chunks, because popular chunks, retries and replays read the same text again."""

OCCURRENCES: Final = 24
"""The most positions of a stem that are kept, so that text that repeats itself takes no longer than other text."""
SCOPE: Final = 3
"""The number of words that a negation is about."""
FAMILY: Final = 5
"""The number of first letters that words of one family share."""


class Sentence(NamedTuple):
    """A sentence of a chunk."""

    start: int
    end: int
    words: tuple[Word, ...]
    stems: frozenset[str]
    """The stems of its content words."""


class Passage(NamedTuple):
    """A chunk that has been read."""

    words: tuple[Word, ...]
    sentences: tuple[Sentence, ...]
    stems: frozenset[str]
    positions: dict[str, tuple[int, ...]]
    """The first positions of each content stem among the chunk's words."""
    negated: frozenset[str]
    """Its stems that are under a negation somewhere."""
    plain: frozenset[str]
    """Its stems that are without one somewhere."""
    beginnings: frozenset[str]
    """The first letters of its long stems, for words of one family: `regul` of regulate and regulator."""


@lru_cache(maxsize=CACHED_CHUNKS)
def read_passage(text: str) -> Passage:
    """Read a chunk.

    Args:
        text: The chunk's text, as in the prompt.

    Returns:
        Its words and sentences, with positions.
    """
    words = read_words(text)
    positions: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        if word.weight:
            positions.setdefault(word.stem, []).append(index)
    negated = negated_places(words)
    return Passage(
        words,
        tuple(_read_sentences(text, words)),
        frozenset(positions),
        {stem: tuple(places[:OCCURRENCES]) for stem, places in positions.items()},
        frozenset(words[place].stem for place in negated),
        frozenset(word.stem for place, word in enumerate(words) if word.weight and place not in negated),
        frozenset(stem[:FAMILY] for stem in positions if len(stem) >= FAMILY),
    )


def negated_places(words: tuple[Word, ...]) -> frozenset[int]:
    """Return the positions of the content words that closely follow a negation: `not` in `is not yet known`."""
    return frozenset(
        place
        for start, word in enumerate(words)
        if word.form in NEGATIONS
        for place in range(start + 1, min(start + 1 + SCOPE, len(words)))
        if words[place].weight
    )


def _read_sentences(text: str, words: tuple[Word, ...]) -> list[Sentence]:
    """Cut a chunk at its sentences and at its line breaks, because a table's row is a sentence of its own."""
    starts = [word.start for word in words]
    sentences: list[Sentence] = []
    offset = 0
    for line in text.split("\n"):
        for start, end in split_sentences(line) if line.strip() else ():
            first, last = bisect_right(starts, offset + start - 1), bisect_right(starts, offset + end - 1)
            if first < last:
                part = words[first:last]
                stems = frozenset(word.stem for word in part if word.weight)
                sentences.append(Sentence(offset + start, offset + end, part, stems))
        offset += len(line) + 1
    return sentences

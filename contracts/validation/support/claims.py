"""A statement as the verifier reads it, and the sentences of the evidence that are closest to it (R5-17)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.passages import Passage, Sentence
from sourcebound.contracts.validation.support.word_lists import FRAME
from sourcebound.contracts.validation.support.words import Word, read_words

WIDEST: Final = 3
"""The most consecutive sentences that a statement is compared with."""
ENOUGH: Final = 900
"""The share of a wider window's weight, in thousandths, with which a narrower window is preferred."""
QUOTED_WORDS: Final = 3
"""The fewest words of a quotation."""
BOUNDARY: Final = re.compile(r"(?:[.!?;:…|]\W*|\n\s*\n)$")
END: Final = re.compile(r"[.!?;:…|]\W*$")
ROW: Final = re.compile(r"[|;\t]")
"""A separator of the cells of a row."""
CACHED_CLAIMS: Final = 64
"""The size of the cache of read statements: each is read for a quotation, for its features and as an answer."""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+\s+)?")


class Claim(NamedTuple):
    """A statement that has been read."""

    text: str
    """The statement without list marker and without the words that only name its source."""
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    """The content words in order."""
    weights: dict[str, int]
    """The weight of each content stem."""
    total: int


class Window(NamedTuple):
    """Consecutive sentences of one chunk."""

    passage: int
    """The index of the chunk among the cited chunks."""
    sentences: tuple[Sentence, ...]
    covered: int
    """The weight of the claim's words that the sentences hold."""

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the sentences in order."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def stems(self) -> frozenset[str]:
        """The content stems of the sentences."""
        return frozenset().union(*(sentence.stems for sentence in self.sentences))


EMPTY: Final = Window(-1, (), 0)


@lru_cache(maxsize=CACHED_CLAIMS)
def read_claim(text: str) -> Claim:
    """Read a statement. Numbers of list items and words such as "The passage states that" do not count."""
    bare = FRAME.sub(" ", LIST_MARKER.sub("", text.replace("*", " "))).strip()
    words = read_words(bare)
    content = tuple(word for word in words if word.weight)
    weights = {word.stem: word.weight for word in content}
    return Claim(bare, words, content, weights, sum(weights.values()))


def share(part: int, whole: int) -> int:
    """Return a share in thousandths; 0 of nothing is 0."""
    return part * 1000 // whole if whole else 0


def weigh(claim: Claim, stems: frozenset[str]) -> int:
    """Return the weight of the claim's stems that are among `stems`."""
    return sum(weight for stem, weight in claim.weights.items() if stem in stems)


def best_windows(claim: Claim, passages: Sequence[Passage]) -> list[Window]:
    """Return the window of one, of two and of three sentences that holds most of a claim, the first of equals.

    A chunk with fewer sentences takes part with all of them in every width.
    """
    best = [EMPTY] * WIDEST
    for index, passage in enumerate(passages):
        sentences = passage.sentences
        held = [sentence.stems & claim.weights.keys() for sentence in sentences]
        for start in range(len(sentences)):
            stems: frozenset[str] = frozenset()
            for width in range(min(WIDEST, len(sentences) - start)):
                stems |= held[start + width]
                covered = sum(map(claim.weights.__getitem__, stems))
                if covered > best[width].covered:
                    best[width] = Window(index, sentences[start : start + width + 1], covered)
    for width in range(1, WIDEST):
        if best[width].covered < best[width - 1].covered:
            best[width] = best[width - 1]
    return best


def choose_window(windows: Sequence[Window]) -> Window:
    """Return the narrowest window that holds about as much as the widest."""
    widest = windows[-1]
    return next(window for window in windows if window.covered * 1000 >= widest.covered * ENOUGH)


def find_quotation(claim: Claim, chunks: Sequence[str], passages: Sequence[Passage]) -> Window | None:
    """Find the whole sentences of a chunk that a claim repeats word for word.

    A line that is only a piece of a sentence does not count, because a piece can say the opposite.

    Args:
        claim: The claim.
        chunks: The texts of the chunks.
        passages: The same chunks, read.
    """
    forms = [word.form for word in claim.words]
    if len(forms) < QUOTED_WORDS:
        return None
    for index, (text, passage) in enumerate(zip(chunks, passages, strict=True)):
        sentences = passage.sentences
        for first in range(len(sentences)):
            position, last = 0, first
            while last < len(sentences) and position < len(forms):
                words = [word.form for word in sentences[last].words]
                if forms[position : position + len(words)] != words:
                    break
                position, last = position + len(words), last + 1
            if position == len(forms) and _is_whole(text, sentences[first].start, sentences[last - 1].end):
                return Window(index, sentences[first:last], claim.total)
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a part of a chunk begins and ends where a sentence, a paragraph or a row of a table does."""
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    begins = not before or BOUNDARY.search(before) is not None or not text[start].islower()
    row = text[text.rfind("\n", 0, end) + 1 : end]
    ends = (
        not after or after.startswith("\n\n") or END.search(text[start:end]) is not None or ROW.search(row) is not None
    )
    return begins and ends

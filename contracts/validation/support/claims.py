"""A statement as the verifier reads it, and the sentences of the evidence that are closest to it (R5-17)."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.passages import Passage, Sentence
from sourcebound.contracts.validation.support.word_lists import FRAME
from sourcebound.contracts.validation.support.words import Word, read_words

WIDEST: Final = 3
"""The most consecutive sentences that a statement is compared with."""
ENOUGH: Final = 900
"""The share of a wider window's weight, in thousandths, with which a narrower window is preferred."""
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

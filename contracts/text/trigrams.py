"""How much of a text stands in another already, in word trigrams (contract R2-S4).

A dozen chunks hold some thousand trigrams, and few of them stand in two chunks; so hashes, which are lighter, tell of
most pairs that they need not be counted. What they tell is a bound, whatever hashes collide: the verdict is that of the
ratio.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

WORD: Final = re.compile(r"\w+")
BETWEEN_WORDS: Final = {code: " " for code in range(128) if not WORD.fullmatch(chr(code))}
"""Of a text in ASCII, which this takes apart in a third of the time."""
Trigram = tuple[str, ...]


@dataclass(frozen=True)
class TrigramSet:
    """The trigrams of a text by their hashes."""

    text: str
    hashes: frozenset[int]
    repeats: int
    """How many more trigrams the text has, said again or of a hash that another has."""

    @cached_property
    def trigrams(self) -> frozenset[Trigram]:
        """The trigrams themselves, where a pair has to be counted."""
        return word_trigrams(self.text)


def is_near_duplicate(first: TrigramSet, second: TrigramSet, threshold: float) -> bool:
    """Whether the overlap ratio of two texts is at or over a threshold.

    Different trigrams of one text that share a hash are among its repeats, so no ratio is above this bound.
    """
    fewest, repeats = min(len(first.hashes), len(second.hashes)), min(first.repeats, second.repeats)
    can_tell = fewest and repeats / fewest < threshold
    if can_tell and (len(first.hashes & second.hashes) + repeats) / fewest < threshold:
        return False
    return overlap_ratio(first.trigrams, second.trigrams) >= threshold


class NearDuplicateFilter:
    """Texts of which none overlaps one that was added before it.

    Args:
        threshold: The overlap ratio from which on two texts overlap.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._texts: list[TrigramSet] = []
        self._hashes: set[int] = set()
        self._fewest = sys.maxsize

    def add(self, text: str) -> bool:
        """Adds a text; False where it overlaps one of them, and is not added."""
        shingles = trigram_set(text)
        if self._may_overlap(shingles) and any(
            is_near_duplicate(shingles, other, self._threshold) for other in self._texts
        ):
            return False
        self._texts.append(shingles)
        self._hashes |= shingles.hashes
        self._fewest = min(self._fewest, len(shingles.hashes))
        return True

    def _may_overlap(self, shingles: TrigramSet) -> bool:
        """What all of them have in common with it is no less than what one has: the bound of `overlaps`, over all."""
        fewest = min(self._fewest, len(shingles.hashes))
        shared = len(shingles.hashes & self._hashes) + shingles.repeats
        return not fewest or shared / fewest >= self._threshold


def trigram_set(text: str) -> TrigramSet:
    """A text, to be compared with others."""
    words = _words(text)
    hashes = frozenset(map(hash, _trigrams(words)))
    return TrigramSet(text, hashes, max(len(words) - 2, min(len(words), 1)) - len(hashes))


def overlap_ratio(first: frozenset[Trigram], second: frozenset[Trigram]) -> float:
    """`|A ∩ B| / min(|A|, |B|)`, 0 where either is empty (R2-S4)."""
    if not first or not second:
        return 0.0
    return len(first & second) / min(len(first), len(second))


def word_trigrams(text: str) -> frozenset[Trigram]:
    """The word trigrams of a text, case folded; a shorter text is one tuple of its words."""
    return frozenset(_trigrams(_words(text)))


def _words(text: str) -> list[str]:
    folded = text.casefold()
    return folded.translate(BETWEEN_WORDS).split() if folded.isascii() else WORD.findall(folded)


def _trigrams(words: list[str]) -> Iterable[Trigram]:
    if len(words) < 3:
        return [tuple(words)] if words else []
    return zip(words, words[1:], words[2:], strict=False)

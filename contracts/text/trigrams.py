"""Near-duplicate detection by word trigrams (R2-S4).

A dozen chunks hold some thousand trigrams, and few of them occur in two chunks. Comparing hashes, which is cheaper,
excludes most pairs. The hashes give an upper bound even if some collide; the exact ratio decides.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

WORD: Final = re.compile(r"\w+")
BETWEEN_WORDS: Final = {code: " " for code in range(128) if not WORD.fullmatch(chr(code))}
"""A translation table that splits ASCII text in a third of the time."""
Trigram = tuple[str, ...]


@dataclass(frozen=True)
class TrigramSet:
    """The trigrams of a text by their hashes."""

    text: str
    hashes: frozenset[int]
    repeats: int
    """The number of trigrams that are repeated, or whose hash collides."""

    @cached_property
    def trigrams(self) -> frozenset[Trigram]:
        """The trigrams themselves, for an exact comparison."""
        return word_trigrams(self.text)


def is_near_duplicate(first: TrigramSet, second: TrigramSet, threshold: float) -> bool:
    """Whether the overlap ratio of two texts is at or over a threshold.

    Different trigrams of one text that share a hash are among its repeats, so no ratio is above this bound.
    """
    smallest, repeats = min(len(first.hashes), len(second.hashes)), min(first.repeats, second.repeats)
    is_conclusive = smallest and repeats / smallest < threshold
    if is_conclusive and (len(first.hashes & second.hashes) + repeats) / smallest < threshold:
        return False
    return overlap_ratio(first.trigrams, second.trigrams) >= threshold


class NearDuplicateFilter:
    """A set of texts without near-duplicates.

    Args:
        threshold: The overlap ratio from which two texts are near-duplicates.
        adds: Whether the first text holds something that the second lacks, and is therefore no duplicate of it.
    """

    def __init__(self, threshold: float, adds: Callable[[str, str], bool] = lambda _text, _other: False) -> None:
        self._threshold = threshold
        self._adds = adds
        self._texts: list[TrigramSet] = []
        self._hashes: set[int] = set()
        self._smallest = sys.maxsize

    def add(self, text: str) -> bool:
        """Add a text and return True, unless it is a near-duplicate."""
        candidate = trigram_set(text)
        if self._may_overlap(candidate) and any(
            is_near_duplicate(candidate, other, self._threshold) and not self._adds(text, other.text)
            for other in self._texts
        ):
            return False
        self._texts.append(candidate)
        self._hashes |= candidate.hashes
        self._smallest = min(self._smallest, len(candidate.hashes))
        return True

    def _may_overlap(self, candidate: TrigramSet) -> bool:
        """Whether any text may be a near-duplicate: the bound of `is_near_duplicate` over all texts together."""
        smallest = min(self._smallest, len(candidate.hashes))
        shared = len(candidate.hashes & self._hashes) + candidate.repeats
        return not smallest or shared / smallest >= self._threshold


def trigram_set(text: str) -> TrigramSet:
    """Build the trigram set of a text."""
    words = _words(text)
    hashes = frozenset(map(hash, _trigrams(words)))
    return TrigramSet(text, hashes, max(len(words) - 2, min(len(words), 1)) - len(hashes))


def overlap_ratio(first: frozenset[Trigram], second: frozenset[Trigram]) -> float:
    """Return `|A ∩ B| / min(|A|, |B|)`, 0 if either is empty (R2-S4)."""
    if not first or not second:
        return 0.0
    return len(first & second) / min(len(first), len(second))


def word_trigrams(text: str) -> frozenset[Trigram]:
    """Return the case-folded word trigrams of a text. A shorter text is one tuple of its words."""
    return frozenset(_trigrams(_words(text)))


def _words(text: str) -> list[str]:
    folded = text.casefold()
    return folded.translate(BETWEEN_WORDS).split() if folded.isascii() else WORD.findall(folded)


def _trigrams(words: list[str]) -> Iterable[Trigram]:
    if len(words) < 3:
        return [tuple(words)] if words else []
    return zip(words, words[1:], words[2:], strict=False)

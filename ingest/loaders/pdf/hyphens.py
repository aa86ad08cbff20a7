"""The words of a PDF that the ends of lines divide. Pure.

PDFium joins such a line to the next one, with a mark instead of the hyphen. The hyphen may belong to the word
(`user-defined`, `IO-470`) or not (`adminis-tration`), which the words of the whole document tell. An extra hyphen is
harmless, but a missing one would turn `IO-470` into another part number, so in doubt it stays.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.pdf.layout import Line

HYPHEN_MARK: Final = "\x02"
_HYPHENATED: Final = re.compile(rf"(?<!\w)(\w+){HYPHEN_MARK}(\w+)")
_WORD: Final = re.compile(r"\w+")
_COMPOUND: Final = re.compile(r"(?<!\w)\w+-(?=(\w+))")
_PREFIXES: Final = frozenset({"all", "anti", "cross", "ex", "half", "high", "low", "multi", "non", "self", "well"})
"""What a hyphen often follows within a word."""
_MIN_WORDS: Final = 1500
"""The fewest different words of a document that has most of the short words of its language."""
_MAX_SYLLABLES: Final = 6
"""The most letters of the shorter part of a word that is cut at a syllable."""


class _Words(NamedTuple):
    """The words of a document that no line divides, and those with a hyphen, in lower case."""

    plain: frozenset[str]
    compound: frozenset[str]


def join_divided_words(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Replace the marks in the lines of a document: with nothing in a divided word, and else with a hyphen.

    The parts are joined if the page has the joined word elsewhere. They are also joined if the document has it, and
    not with a hyphen, or if it is long and has neither part as a word.

    Args:
        pages: The lines of every page.
    """
    words = _collect([line.text for line in chain.from_iterable(pages)])
    return [list(_join_page(lines, words)) for lines in pages]


def _collect(texts: Sequence[str]) -> _Words:
    whole = [_HYPHENATED.sub(" ", text) for text in texts]
    plain = frozenset(word for text in whole for word in _WORD.findall(text))
    compound = frozenset(f"{match[0]}{match[1]}".lower() for text in whole for match in _COMPOUND.finditer(text))
    return _Words(plain | {word.lower() for word in plain}, compound)


def _join_page(lines: Sequence[Line], words: _Words) -> Iterator[Line]:
    on_page = {word for line in lines for word in _WORD.findall(line.text)}

    def join(match: re.Match[str]) -> str:
        first, second = match.groups()
        is_joined = (first + second).isalpha() and (first + second in on_page or _is_divided(first, second, words))
        return first + second if is_joined else f"{first}-{second}"

    for line in lines:
        if HYPHEN_MARK in line.text:
            line = line._replace(text=_HYPHENATED.sub(join, line.text).replace(HYPHEN_MARK, "-"))
        yield line


def _is_divided(first: str, second: str, words: _Words) -> bool:
    """Check whether the document says that the hyphen between two parts belongs to the end of a line."""
    if not second.islower() or f"{first}-{second}".lower() in words.compound:
        return False
    if (first + second).lower() in words.plain:
        return True
    is_short = min(len(first), len(second)) <= _MAX_SYLLABLES
    has_part = first.lower() in words.plain or second in words.plain or first.lower() in _PREFIXES
    return is_short and not has_part and len(words.plain) >= _MIN_WORDS

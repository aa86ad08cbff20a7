"""The sections of a chunk: which ones its text runs through, and in which one a part of it is (R1-10, R6-2).

A chunk may hold the end of one section and the beginning of the next. A quote is named by the section that it is in,
and not by the one in which its chunk begins.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Protocol

from sourcebound.contracts.retrieval.retrieval_bundle import LaterSection
from sourcebound.contracts.text.sanitize import SanitizationMode, sanitize

VISIBLE: Final = re.compile(r"\S")
MOST_NAMED: Final = 3
"""The most sections that are named one by one. Of more, only the first and the last are named."""


class Sectioned(Protocol):
    """A text with its sections: a candidate or an evidence chunk."""

    @property
    def section(self) -> str | None:
        """The section in which the text begins."""

    @property
    def later_sections(self) -> tuple[LaterSection, ...]:
        """The sections that begin further down, in order."""


def place_sections(
    later: Sequence[LaterSection], stored: str, shown: str, mode: SanitizationMode
) -> tuple[LaterSection, ...]:
    """Convert the places of sections in a stored text to places in its sanitized form.

    Sanitization changes white space and removes hidden characters, so a place is found by the number of visible
    characters before it.

    Args:
        later: The sections, with offsets in the stored text.
        stored: The stored text.
        shown: Its sanitized form, or the beginning of it.
        mode: The mode of the sanitization.

    Returns:
        The sections that begin within the shown text.
    """
    if stored.startswith(shown):
        return tuple(each for each in later if each.start < len(shown))
    return tuple(_place_later(later, stored, shown, mode))


def _place_later(
    later: Sequence[LaterSection], stored: str, shown: str, mode: SanitizationMode
) -> Iterator[LaterSection]:
    for each in later:
        before = sum(1 for _ in VISIBLE.finditer(sanitize(stored[: each.start], mode).text))
        heading = next(islice(VISIBLE.finditer(shown), before, None), None)
        if heading and heading.start():
            yield each.model_copy(update={"start": heading.start()})


def sections_within(text: Sectioned, start: int = 0, end: int | None = None) -> tuple[str, ...]:
    """Return the sections that a part of a text is in, in order, each once.

    Args:
        text: The text.
        start: The offset of the first character of the part.
        end: The offset after its last character; None is the end of the text.
    """
    begun = [each.section for each in text.later_sections if each.start <= start]
    first = begun[-1] if begun else text.section
    further = [each.section for each in text.later_sections if start < each.start and (end is None or each.start < end)]
    return tuple(dict.fromkeys([*([first] if first else []), *further]))


def name_sections(sections: Sequence[str]) -> str | None:
    """Return sections as one text for readers, None if there are none: all of a few, else the first and the last."""
    if len(sections) > MOST_NAMED:
        return f"{sections[0]} … {sections[-1]}"
    return "; ".join(sections) or None

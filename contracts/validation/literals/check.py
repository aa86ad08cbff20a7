"""R5-8, literal grounding: the literals of a statement must occur in a chunk that the same statement cites.

Literals are numbers with their units, dates, times, identifiers, addresses and quotations. The answer and the chunks
are brought to one normal form, so that `1,200`, `1200` and `1.2 thousand` agree. No model takes part.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.validation.literals.dates import MONTHS, read_dates, read_month_dates, read_times
from sourcebound.contracts.validation.literals.identifiers import read_addresses, read_identifiers, read_quotations
from sourcebound.contracts.validation.literals.implied import supported_forms
from sourcebound.contracts.validation.literals.literal import WORD, Literal, LiteralIndex
from sourcebound.contracts.validation.literals.numbers import (
    NUMBER_WORDS,
    ORDINAL_VALUES,
    read_number_words,
    read_numbers,
    read_ordinal_words,
    read_ordinals,
)


class Reader(NamedTuple):
    """A reader of one kind of literal, and what a text must have for the reader to find any."""

    read: Callable[[str], list[Literal]]
    needs_digits: bool
    words: frozenset[str] = frozenset()


READERS: Final = (
    Reader(read_dates, needs_digits=True),
    Reader(read_month_dates, needs_digits=False, words=frozenset(MONTHS)),
    Reader(read_times, needs_digits=True),
    Reader(read_identifiers, needs_digits=True),
    Reader(read_ordinal_words, needs_digits=False, words=frozenset(ORDINAL_VALUES)),
    Reader(read_ordinals, needs_digits=True),
    Reader(read_numbers, needs_digits=True),
    Reader(read_number_words, needs_digits=False, words=frozenset(NUMBER_WORDS)),
)
"""The readers in order. The text that one has read is hidden from the next, so a date's day is not also a number."""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+|step\s+\d+:?)\s+", re.IGNORECASE)
DIGIT: Final = re.compile(r"\d")
QUOTE_MARK: Final = re.compile("[“\"„«‘']")
NAME_BEFORE: Final = re.compile(r"\b([A-Z]\w+)\s$")
CACHED_CHUNKS: Final = 512
"""The size of the cache of read chunks, because popular chunks, retries and replays read the same text again."""
QUESTION: Final = "question"
MASK: Final = "\x1f"
"""Replaces text that has been read. It occurs in no text, because sanitization removes it."""


class LiteralKind(StrEnum):
    """The kind of a literal."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    QUOTATION = "quotation"


class LiteralFinding(Contract):
    """One literal of an answer and the cited chunks that hold it, if any."""

    kind: LiteralKind
    text: str
    segment: int
    """The index of the segment that holds the literal."""
    found_in: tuple[str, ...]
    """The anchors that the segment cites and whose chunk holds the literal; `question` for a name from the question;
    empty if unsupported."""

    @property
    def supported(self) -> bool:
        """Whether a cited chunk, or the question for a name, holds the literal."""
        return bool(self.found_in)

    @property
    def audit_name(self) -> str:
        """The literal's text in the audit record.

        An address or a quotation can be personal, so the record holds a digest of it.
        """
        if self.kind in (LiteralKind.ADDRESS, LiteralKind.QUOTATION):
            return f"{self.kind}:{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"
        return self.text


class CitedChunk(NamedTuple):
    """A cited chunk. Its literals are read only if a statement that cites it has a literal."""

    anchor: str
    text: str

    @property
    def literal_index(self) -> LiteralIndex:
        """The chunk's literals, from a cache if the chunk was read recently."""
        return _read_chunk(self.text)


def read_evidence(anchor: str, text: str) -> CitedChunk:
    """Wrap a chunk for `check_literals`."""
    return CitedChunk(anchor, text)


@lru_cache(maxsize=CACHED_CHUNKS)
def _read_chunk(text: str) -> LiteralIndex:
    return read_literals(text)


def check_literals(text: str, segment: int, cited: tuple[CitedChunk, ...], question: str = "") -> list[LiteralFinding]:
    """Look up every literal of one segment in the chunks that it cites.

    Args:
        text: The segment without its citations.
        segment: The index of the segment.
        cited: The chunks that the segment cites.
        question: The question, for names such as `Windows 10`.

    Returns:
        A finding for each literal, in the order of the text.
    """
    return [
        LiteralFinding(
            kind=LiteralKind(literal.kind),
            text=literal.text.strip(),
            segment=segment,
            found_in=tuple(source.anchor for source in cited if source.literal_index.supports(literal))
            or _find_in_question(literal, text, cited, question),
        )
        for literal in read_literals(text).literals
    ]


def _find_in_question(literal: Literal, text: str, cited: tuple[CitedChunk, ...], question: str) -> tuple[str, ...]:
    """Return `QUESTION` for a bare number in a name from the question, if no cited chunk numbers that name differently.

    For example `Windows 10`, if the question says so and no source mentions another Windows. Quantities (with a unit)
    and identifiers never pass this way, because an answer about the wrong pump must fail.
    """
    name = NAME_BEFORE.search(text[: literal.start])
    if literal.kind != "number" or literal.unit is not None or name is None or not cited:
        return ()
    full_name = f"{name[1]} {literal.text}".casefold()
    numbered_name = re.compile(rf"\b{re.escape(name[1].casefold())} \d")
    if f" {full_name} " not in f" {' '.join(WORD.findall(question.casefold()))} ":
        return ()
    return () if any(numbered_name.search(source.literal_index.plain_words) for source in cited) else (QUESTION,)


def read_literals(text: str) -> LiteralIndex:
    """Read every literal of a text.

    Args:
        text: A segment without citations, or a chunk.

    Returns:
        The literals in order, and the forms that the text supports.
    """
    plain = unicodedata.normalize("NFKC", text.replace("−", "-").replace("*", "")).replace("’", "'")
    list_marker = LIST_MARKER.match(plain)
    remaining = " " * list_marker.end() + plain[list_marker.end() :] if list_marker else plain
    folded = plain.casefold()
    words = frozenset(WORD.findall(folded))
    addresses = read_addresses(remaining)
    literals = [*(read_quotations(remaining) if QUOTE_MARK.search(remaining) else ()), *addresses]
    remaining = _mask(remaining, addresses)
    has_digits = DIGIT.search(remaining) is not None
    for reader in READERS:
        if (reader.needs_digits and has_digits) or not reader.words.isdisjoint(words):
            matches = reader.read(remaining)
            literals.extend(matches)
            remaining = _mask(remaining, matches)
    literals.sort(key=lambda literal: literal.start)
    return LiteralIndex(tuple(literals), supported_forms(literals, words), folded)


def _mask(text: str, matches: list[Literal]) -> str:
    """Replace the literals that have been read, so that every other position stays the same."""
    parts, position = [], 0
    for literal in matches:
        end = literal.start + len(literal.text)
        parts += [text[position : literal.start], MASK * (end - literal.start)]
        position = end
    return "".join(parts) + text[position:] if parts else text

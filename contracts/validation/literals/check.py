"""R5-8, literal grounding: the literals of a statement must occur in a chunk that the same statement cites.

Literals are numbers with their units, dates, times, identifiers, addresses and quotations. The answer and the chunks
are brought to one normal form, so that `1,200`, `1200` and `1.2 thousand` agree. No model takes part.
"""

import hashlib
import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache, partial
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.validation.literals.dates import (
    ALL_MONTHS,
    MONTHS,
    read_any_month_dates,
    read_dates,
    read_month_dates,
    read_times,
)
from sourcebound.contracts.validation.literals.identifiers import read_addresses, read_identifiers, read_quotations
from sourcebound.contracts.validation.literals.implied import add_forms, supported_forms
from sourcebound.contracts.validation.literals.languages import forms_of_language, read_clock_times, read_counted_words
from sourcebound.contracts.validation.literals.literal import WORD, Literal, LiteralIndex
from sourcebound.contracts.validation.literals.numbers import (
    NUMBER_WORDS,
    ORDINAL_VALUES,
    read_number_words,
    read_numbers,
    read_ordinal_words,
    read_ordinals,
)
from sourcebound.contracts.validation.literals.plain_text import plain_text
from sourcebound.contracts.validation.literals.question import is_given, is_given_name
from sourcebound.contracts.validation.literals.scales import scaled_forms
from sourcebound.contracts.validation.versions import SECOND, VERSION


class Reader(NamedTuple):
    """A reader of one kind of literal, and what a text must have for the reader to find any."""

    read: Callable[[str], list[Literal]]
    needs_digits: bool
    words: frozenset[str] = frozenset()


def _readers(version: int) -> tuple[Reader, ...]:
    month_dates, months = (read_any_month_dates, ALL_MONTHS) if version >= SECOND else (read_month_dates, MONTHS)
    return (
        Reader(read_dates, needs_digits=True),
        Reader(month_dates, needs_digits=False, words=frozenset(months)),
        Reader(read_times, needs_digits=True),
        Reader(partial(read_identifiers, version=version), needs_digits=True),
        Reader(read_ordinal_words, needs_digits=False, words=frozenset(ORDINAL_VALUES)),
        Reader(read_ordinals, needs_digits=True),
        Reader(partial(read_numbers, version=version), needs_digits=True),
        Reader(partial(read_number_words, version=version), needs_digits=False, words=frozenset(NUMBER_WORDS)),
    )


READERS: Final = {version: _readers(version) for version in (1, 2)}
"""The readers of each version of the validation contract, in order.

The text that one has read is hidden from the next, so a date's day is not also a number.
"""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+|step\s+\d+:?)\s+", re.IGNORECASE)
DIGIT: Final = re.compile(r"\d")
SOURCE_POINTER: Final = re.compile(
    r"\b(?:passage|excerpt|snippet)s?\s+\d{1,2}(?:\s?(?:,|&|-|–|and|to)\s?\d{1,2})*(?!\w|\.\d)"
    r"|\b(?:two|three|four|five|six|\d)\s+(?:given\s+|provided\s+|retrieved\s+)?(?:passages|excerpts|snippets)\b",
    re.IGNORECASE,
)
"""A number that points to the sources of the prompt, and states nothing."""
QUOTE_MARK: Final = re.compile("[“\"„«‘']")
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

    def literal_index(self, version: int) -> LiteralIndex:
        """Return the chunk's literals, from a cache if the chunk was read recently."""
        return _read_chunk(self.text, version)


def read_evidence(anchor: str, text: str) -> CitedChunk:
    """Wrap a chunk for `check_literals`."""
    return CitedChunk(anchor, text)


@lru_cache(maxsize=CACHED_CHUNKS)
def _read_chunk(text: str, version: int) -> LiteralIndex:
    return read_literals(text, version)


def check_literals(
    text: str,
    segment: int,
    cited: tuple[CitedChunk, ...],
    question: str = "",
    version: int = VERSION,
    *,
    repeats_question: bool = False,
) -> list[LiteralFinding]:
    """Look up every literal of one segment in the chunks that it cites.

    Args:
        text: The segment without its citations.
        segment: The index of the segment.
        cited: The chunks that the segment cites.
        question: The question, whose values may be repeated.
        version: The number of the validation contract.
        repeats_question: Whether the segment states nothing, so that every literal of the question may be in it.

    Returns:
        A finding for each literal, in the order of the text.
    """
    statement = read_literals(text, version, is_source=False)
    if not statement.literals:
        return []
    sources = tuple((source.anchor, source.literal_index(version)) for source in cited)
    return [
        LiteralFinding(
            kind=LiteralKind(literal.kind),
            text=literal.text.strip(),
            segment=segment,
            found_in=tuple(anchor for anchor, source in sources if source.supports(literal))
            or ((QUESTION,) if repeats_question and _read_chunk(question, version).supports(literal) else ())
            or _find_in_question(literal, text, statement, tuple(source for _, source in sources), question),
        )
        for literal in statement.literals
    ]


def _find_in_question(
    literal: Literal, text: str, statement: LiteralIndex, cited: tuple[LiteralIndex, ...], question: str
) -> tuple[str, ...]:
    """Return `QUESTION` for a literal that the question gives and that no cited chunk contradicts."""
    if statement.version >= SECOND:
        given = bool(question) and is_given(literal, statement, cited, _read_chunk(question, statement.version))
    else:
        given = is_given_name(literal, text, cited, question)
    return (QUESTION,) if given else ()


def read_literals(text: str, version: int = VERSION, *, is_source: bool = True) -> LiteralIndex:
    """Read every literal of a text.

    Args:
        text: A segment without citations, or a chunk.
        version: The number of the validation contract.
        is_source: Whether the text supports others, so that the scales in its heads count.

    Returns:
        The literals in order, and the forms that the text supports.
    """
    plain = plain_text(text, version)
    list_marker = LIST_MARKER.match(plain)
    remaining = " " * list_marker.end() + plain[list_marker.end() :] if list_marker else plain
    words = frozenset(WORD.findall(plain.casefold()))
    addresses = read_addresses(remaining)
    quotations = read_quotations(remaining, version) if QUOTE_MARK.search(remaining) else []
    literals = [*quotations, *addresses]
    remaining = _mask(remaining, addresses)
    if version >= SECOND:
        remaining = SOURCE_POINTER.sub(lambda match: MASK * len(match[0]), remaining)
        for read in (read_clock_times, read_counted_words):
            matches = read(remaining)
            literals.extend(matches)
            remaining = _mask(remaining, matches)
    has_digits = DIGIT.search(remaining) is not None
    for reader in READERS[min(version, SECOND)]:
        if (reader.needs_digits and has_digits) or not reader.words.isdisjoint(words):
            matches = reader.read(remaining)
            literals.extend(matches)
            remaining = _mask(remaining, matches)
    literals.sort(key=lambda literal: literal.start)
    forms = supported_forms(literals, words)
    if version >= SECOND and is_source:
        add_forms(forms, words, [*scaled_forms(plain, literals), *forms_of_language(plain)])
    return LiteralIndex(tuple(literals), forms, plain, version)


def _mask(text: str, matches: list[Literal]) -> str:
    """Replace the literals that have been read, so that every other position stays the same."""
    parts, position = [], 0
    for literal in matches:
        end = literal.start + len(literal.text)
        parts += [text[position : literal.start], MASK * (end - literal.start)]
        position = end
    return "".join(parts) + text[position:] if parts else text

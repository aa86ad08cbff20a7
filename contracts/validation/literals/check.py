"""R5-8, literal grounding: what can be checked to the letter is checked to the letter.

Numbers with their units, dates, times, identifiers, addresses and quotations of an answer must occur in a chunk that
the same statement cites. Both sides are brought to one normal form, so that `1,200`, `1200` and `1.2 thousand` agree;
no form is ever guessed from a model.
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
from sourcebound.contracts.validation.literals.literal import WORD, Literal, Reading
from sourcebound.contracts.validation.literals.numbers import (
    NUMBER_WORDS,
    VALUES,
    read_number_words,
    read_numbers,
    read_ordinal_words,
    read_ordinals,
)


class Reader(NamedTuple):
    """A reader of one sort of literal, and what a text must hold for it to find anything."""

    read: Callable[[str], list[Literal]]
    digits: bool
    words: frozenset[str] = frozenset()


READERS: Final = (
    Reader(read_dates, digits=True),
    Reader(read_month_dates, digits=False, words=frozenset(MONTHS)),
    Reader(read_times, digits=True),
    Reader(read_identifiers, digits=True),
    Reader(read_ordinal_words, digits=False, words=frozenset(VALUES)),
    Reader(read_ordinals, digits=True),
    Reader(read_numbers, digits=True),
    Reader(read_number_words, digits=False, words=frozenset(NUMBER_WORDS)),
)
"""In this order: what one has read is hidden from the next, so that a date's day is not a number as well."""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+|step\s+\d+:?)\s+", re.IGNORECASE)
DIGIT: Final = re.compile(r"\d")
QUOTE_MARK: Final = re.compile("[“\"„«‘']")
NAME_BEFORE: Final = re.compile(r"\b([A-Z]\w+)\s$")
CACHED_CHUNKS: Final = 512
"""Popular chunks, further attempts and replays read the same text again and again."""
QUESTION: Final = "question"
READ: Final = "\x1f"
"""Hides what has been read; no text holds it, sanitization takes it out."""


class LiteralKind(StrEnum):
    """What sort of literal it is."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    QUOTATION = "quotation"


class LiteralFinding(Contract):
    """One literal of an answer and where it was found, or that it was not."""

    kind: LiteralKind
    text: str
    segment: int
    """Index of the segment that holds it."""
    found_in: tuple[str, ...]
    """Anchors, among those the segment cites, whose chunk holds it; `question` for a name that the question gives;
    empty when unsupported."""

    @property
    def supported(self) -> bool:
        """Whether a cited chunk holds it."""
        return bool(self.found_in)

    @property
    def audit_name(self) -> str:
        """Its words, as the audit record may keep them.

        An address or a quotation can be personal and is a digest there.
        """
        if self.kind in (LiteralKind.ADDRESS, LiteralKind.QUOTATION):
            return f"{self.kind}:{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"
        return self.text


class EvidenceReading(NamedTuple):
    """A chunk to look literals up in; it is read only when a statement that cites it has one."""

    anchor: str
    text: str

    @property
    def reading(self) -> Reading:
        """The chunk's literals; a chunk that was read lately is not read again."""
        return _read_chunk(self.text)


def read_evidence(anchor: str, text: str) -> EvidenceReading:
    """A chunk for `check_literals`."""
    return EvidenceReading(anchor, text)


@lru_cache(maxsize=CACHED_CHUNKS)
def _read_chunk(text: str) -> Reading:
    return read_literals(text)


def check_literals(
    text: str, segment: int, cited: tuple[EvidenceReading, ...], question: str = ""
) -> list[LiteralFinding]:
    """Looks up every literal of one segment in the chunks that it cites.

    Args:
        text: The segment without its citations.
        segment: Its index.
        cited: The chunks it cites.
        question: The question, for names such as `Windows 10` that it gives.

    Returns:
        A finding for each literal, in order of the text.
    """
    return [
        LiteralFinding(
            kind=LiteralKind(literal.kind),
            text=literal.text.strip(),
            segment=segment,
            found_in=tuple(source.anchor for source in cited if source.reading.supports(literal))
            or _named_in_question(literal, text, cited, question),
        )
        for literal in read_literals(text).literals
    ]


def _named_in_question(
    literal: Literal, text: str, cited: tuple[EvidenceReading, ...], question: str
) -> tuple[str, ...]:
    """Whether a bare number belongs to a name that the question gives and that no cited chunk gives otherwise.

    `Windows 10`, where the question says so and no source speaks of another Windows. Quantities (with a unit) and
    identifiers never pass this way: an answer about the wrong pump must not.
    """
    name = NAME_BEFORE.search(text[: literal.start])
    if literal.kind != "number" or literal.unit is not None or name is None or not cited:
        return ()
    given = f"{name[1]} {literal.text}".casefold()
    other = re.compile(rf"\b{re.escape(name[1].casefold())} \d")
    if f" {given} " not in f" {' '.join(WORD.findall(question.casefold()))} ":
        return ()
    return () if any(other.search(source.reading.squeezed) for source in cited) else (QUESTION,)


def read_literals(text: str) -> Reading:
    """Reads every literal off a text.

    Args:
        text: A segment without citations, or a chunk.

    Returns:
        The literals in order and the forms they support.
    """
    plain = unicodedata.normalize("NFKC", text.replace("−", "-").replace("*", "")).replace("’", "'")
    marker = LIST_MARKER.match(plain)
    left = " " * marker.end() + plain[marker.end() :] if marker else plain
    folded = plain.casefold()
    words = frozenset(WORD.findall(folded))
    addresses = read_addresses(left)
    literals = [*(read_quotations(left) if QUOTE_MARK.search(left) else ()), *addresses]
    left = _mask(left, addresses)
    has_digits = DIGIT.search(left) is not None
    for reader in READERS:
        if (reader.digits and has_digits) or not reader.words.isdisjoint(words):
            found = reader.read(left)
            literals.extend(found)
            left = _mask(left, found)
    literals.sort(key=lambda literal: literal.start)
    return Reading(tuple(literals), supported_forms(literals, words), folded)


def _mask(text: str, found: list[Literal]) -> str:
    """The text with what has been read struck out, so that every position stays where it was."""
    pieces, position = [], 0
    for literal in found:
        end = literal.start + len(literal.text)
        pieces += [text[position : literal.start], READ * (end - literal.start)]
        position = end
    return "".join(pieces) + text[position:] if pieces else text

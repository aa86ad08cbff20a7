"""R5-8: reads every literal of a text: numbers, dates, times, identifiers, addresses, quotations and code.

Answers and chunks go through the same readers, and are brought to one normal form, so that `1,200`, `1200` and `1.2
thousand` agree.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.amounts.cents import cent_forms, with_cents
from sourcebound.contracts.validation.literals.amounts.equal import equal_forms
from sourcebound.contracts.validation.literals.amounts.fractions import percent_forms, read_fraction_words
from sourcebound.contracts.validation.literals.amounts.kelvins import kelvin_forms
from sourcebound.contracts.validation.literals.amounts.languages import (
    forms_of_language,
    language_of_words,
    names_scale,
    read_clock_times,
    read_counted_words,
    without_scale,
)
from sourcebound.contracts.validation.literals.amounts.number_words import NUMBER_WORDS
from sourcebound.contracts.validation.literals.amounts.numbers import (
    ORDINAL_VALUES,
    read_number_words,
    read_numbers,
    read_ordinal_words,
    read_ordinals,
)
from sourcebound.contracts.validation.literals.amounts.rows import numbers_of_rows, row_forms, with_currencies
from sourcebound.contracts.validation.literals.amounts.scales import scaled_forms
from sourcebound.contracts.validation.literals.identifiers import (
    read_addresses,
    read_identifiers,
    read_quotations,
    read_ratings,
)
from sourcebound.contracts.validation.literals.implied import add_forms, supported_forms
from sourcebound.contracts.validation.literals.literal import WORD, Literal, LiteralIndex
from sourcebound.contracts.validation.literals.names import read_code_spans, read_labels
from sourcebound.contracts.validation.literals.plain_text import plain_text
from sourcebound.contracts.validation.literals.spoken import spoken_forms, with_spoken_forms
from sourcebound.contracts.validation.literals.times.dates import (
    ALL_MONTHS,
    MONTHS,
    dated_forms,
    read_any_month_dates,
    read_dates,
    read_month_dates,
    read_times,
)
from sourcebound.contracts.validation.literals.times.durations import duration_forms
from sourcebound.contracts.validation.literals.times.eras import ERA_WORDS, era_forms, read_eras
from sourcebound.contracts.validation.literals.times.named_times import named_time_forms, read_named_times
from sourcebound.contracts.validation.literals.times.short_times import short_time_forms
from sourcebound.contracts.validation.literals.times.spoken_times import read_spoken_times
from sourcebound.contracts.validation.versions import SECOND, VERSION


class Reader(NamedTuple):
    """A reader of one kind of literal, and what a text must have for the reader to find any."""

    read: Callable[[str], list[Literal]]
    needs_digits: bool
    words: frozenset[str] = frozenset()


def _readers(version: int, *, points_group: bool = False) -> tuple[Reader, ...]:
    month_dates, months = (read_any_month_dates, ALL_MONTHS) if version >= SECOND else (read_month_dates, MONTHS)
    eras = (Reader(read_eras, needs_digits=True, words=ERA_WORDS),) if version >= SECOND else ()
    return (
        Reader(partial(read_dates, version=version), needs_digits=True),
        Reader(month_dates, needs_digits=False, words=frozenset(months)),
        Reader(read_times, needs_digits=True),
        *eras,
        Reader(partial(read_identifiers, version=version), needs_digits=True),
        Reader(partial(read_ordinal_words, version=version), needs_digits=False, words=frozenset(ORDINAL_VALUES)),
        Reader(partial(read_ordinals, version=version), needs_digits=True),
        Reader(partial(read_numbers, version=version, points_group=points_group), needs_digits=True),
        Reader(partial(read_number_words, version=version), needs_digits=False, words=frozenset(NUMBER_WORDS)),
    )


READERS: Final = {1: _readers(1), SECOND: _readers(SECOND)}
"""The readers of each version of the validation contract, in order.

The text that one has read is hidden from the next, so a date's day is not also a number.
"""
READERS_WITH_POINT_GROUPS: Final = _readers(SECOND, points_group=True)
"""The readers of languages that group thousands by points."""
LIST_MARKER: Final = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)]+|step\s+\d+:?)\s+", re.IGNORECASE)
DIGIT: Final = re.compile(r"\d")
SOURCE_POINTER: Final = re.compile(
    r"\b(?:passage|excerpt|snippet)s?\s+\d{1,2}(?:\s?(?:,|&|-|–|and|to)\s?\d{1,2})*(?!\w|\.\d)"
    r"|\b(?:two|three|four|five|six|\d)\s+(?:given\s+|provided\s+|retrieved\s+)?(?:passages|excerpts|snippets)\b",
    re.IGNORECASE,
)
"""A number that points to the sources of the prompt, and states nothing."""
POINTER_WORDS: Final = frozenset("passage passages excerpt excerpts snippet snippets".split())
"""A text without one of them has no such number."""
QUOTE_MARK: Final = re.compile("[“\"„«»‘']")
MASK: Final = "\x1f"
"""Replaces text that has been read. It occurs in no text, because sanitization removes it."""


def read_literals(
    text: str, version: int = VERSION, *, is_source: bool = True, scale_is_given: bool = False
) -> LiteralIndex:
    """Read every literal of a text.

    Args:
        text: A segment without citations, or a chunk.
        version: The number of the validation contract.
        is_source: Whether the text supports others, so that the scales in its heads count.
        scale_is_given: Whether a head above a statement names a scale, so that its bare numbers may leave it out.

    Returns:
        The literals in order, and the forms that the text supports.
    """
    plain = plain_text(text, version)
    list_marker = LIST_MARKER.match(plain)
    remaining = " " * list_marker.end() + plain[list_marker.end() :] if list_marker else plain
    words = frozenset(WORD.findall(plain.casefold()))
    addresses = read_addresses(remaining, version)
    quotations = read_quotations(remaining, version) if QUOTE_MARK.search(remaining) else []
    literals = [*quotations, *addresses]
    remaining = _mask(remaining, addresses)
    if version >= SECOND:
        if not POINTER_WORDS.isdisjoint(words):
            remaining = SOURCE_POINTER.sub(lambda match: MASK * len(match[0]), remaining)
        fractions = () if is_source else (read_fraction_words,)
        readers = (read_spoken_times, read_clock_times, *fractions, read_counted_words, read_ratings)
        for read in readers:
            matches = read(remaining)
            literals.extend(matches)
            remaining = _mask(remaining, matches)
    has_digits = DIGIT.search(remaining) is not None
    language = language_of_words(plain) if version >= SECOND else "en"
    for reader in READERS_WITH_POINT_GROUPS if language != "en" else READERS[min(version, SECOND)]:
        if (reader.needs_digits and has_digits) or not reader.words.isdisjoint(words):
            matches = reader.read(remaining)
            literals.extend(matches)
            remaining = _mask(remaining, matches)
    if version >= SECOND:
        literals += [*read_named_times(remaining), *read_labels(remaining), *read_code_spans(plain)]
    literals.sort(key=lambda literal: literal.start)
    if version >= SECOND and is_source:
        literals = with_currencies(plain, literals)
    forms = supported_forms(literals, words)
    if version >= SECOND and is_source:
        add_forms(forms, words, _forms_of_source(plain, words, language, literals))
    elif version >= SECOND:
        literals = with_cents(with_spoken_forms(literals, plain), plain)
        literals = without_scale(literals) if scale_is_given or names_scale(plain) else literals
    return LiteralIndex(tuple(literals), forms, plain, version)


def _forms_of_source(
    plain: str, words: frozenset[str], language: str, literals: list[Literal]
) -> list[tuple[str, str | None]]:
    """Return the forms, with their units, that a source supports besides those of its literals."""
    apart = numbers_of_rows(plain, literals)
    return [
        *row_forms(apart),
        *scaled_forms(plain, [*literals, *apart]),
        *forms_of_language(plain, language),
        *equal_forms(plain, literals),
        *percent_forms(plain, literals),
        *cent_forms(plain, literals),
        *kelvin_forms(plain, literals),
        *era_forms(literals),
        *dated_forms(plain, literals),
        *named_time_forms(plain, literals),
        *short_time_forms(plain, words),
        *duration_forms(plain),
        *spoken_forms(plain, words, literals),
    ]


def _mask(text: str, matches: list[Literal]) -> str:
    """Replace the literals that have been read, so that every other position stays the same."""
    parts, position = [], 0
    for literal in matches:
        end = literal.start + len(literal.text)
        parts += [text[position : literal.start], MASK * (end - literal.start)]
        position = end
    return "".join(parts) + text[position:] if parts else text

"""Literals, their normal forms, and the rule of support (R5-8).

Answers and chunks go through the same readers. A literal of an answer is supported if the chunk has a literal of the
same form, with the same unit if the answer gives a unit.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.literals.amounts.units import (
    ALL_UNITS,
    DEGREES,
    MORE_UNITS,
    NUMBERED_SPELLINGS,
    UNITS,
)
from sourcebound.contracts.validation.versions import SECOND

WHOLE_MORE_UNITS: Final = re.compile(r"(?<![^\W\d_])" + MORE_UNITS.pattern, re.IGNORECASE)
WORD: Final = re.compile(r"\w+")
NO_POINT: Final = re.compile(r"(?:(?!(?<=\d)\.\d)\W)+")
"""What is between words, without a point between digits."""
UNIT_WORD: Final = re.compile(r"[°%$€£¥]?[\w·/³]*")
CURRENCY_RATE: Final = re.compile(r"(?<!\w)(us\$|\$|usd|€|eur|£|gbp|chf)\s?/\s?(day|wk|week|mo|month|yr|year)(?!\w)")
"""A price for a time in the head of a column: `$/mo`; applies to case-folded text."""
PART: Final = "part of another literal"
"""The unit of a number that occurs only inside a date or an identifier of a chunk; it supports a bare number."""

TIMES: Final = {
    "d": frozenset("d daily täglich tag quotidien jour diario día giornaliero giorno".split()),
    "wk": frozenset("wk weekly wöchentlich woche hebdomadaire semaine semanal semana settimanale settimana".split()),
    "mo": frozenset("mo monthly monatlich monat mensuel mensuelle mois mensual mes mensile mese".split()),
    "yr": frozenset("yr annual annually yearly jährlich jahr annuel annuelle an anual año annuale anno".split()),
}
"""How a text names the time of a rate, as a unit or in a word."""
FREE: Final = "free unless the text counts by ordinals"
"""The unit of an ordinal that is checked only against a text that itself counts by ordinals."""

OCCASIONAL: Final = "free unless the text names a frequency"
"""The unit of an adverb of frequency that is checked only against a text that itself names one (the form `f`)."""
LABELLED: Final = "free unless the text tells things of this kind apart so"
"""The unit of a letter after a noun; it is checked only against a text that has another letter after the noun."""
CODE: Final = "code"
"""The unit of a piece of code, all of whose forms must be in a text."""
CENTURY: Final = "century"
"""The unit of a century, which is an ordinal that counts nothing else."""
QUARTER: Final = "quarter"
"""The unit of a quarter that is written in short (`Q4`), which counts nothing else."""


JOINT: Final = re.compile(r"(?P<name>(?=\D*\d)[\w./-]+)-(?P<noun>[^\W\d_]{4,})")
"""A name and a noun with a hyphen between them, as German writes them."""
NOUN_WORD: Final = re.compile(r"[^\W\d_]+")
FIRST: Final = "o1"
"""The form of `first`, which begins a sequence of the writer's own more often than other ordinals."""
PLACES: Final = frozenset("place position rank time one".split())
"""Words after an ordinal that name nothing."""
REACH: Final = 60
"""The most characters after a number in which its noun is."""


def words_after(text: str, position: int) -> list[str]:
    """Return the words after a number up to the next function word or mark, without a plural `s`."""
    words = []
    for match in NOUN_WORD.finditer(text, position, position + REACH):
        if text[position : match.start()].strip(" -") or match[0].casefold() in STOP_WORDS:
            break
        words.append(match[0].casefold().removesuffix("s"))
        position = match.end()
    return words


def noun_after(text: str, position: int) -> str:
    """Return the noun of a number: the last of the words after it."""
    return next(reversed(words_after(text, position)), "")


def lower_case(text: str) -> str:
    """Return the text in lower case, or unchanged if that would move a position."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


class Literal(NamedTuple):
    """A literal of a text: its kind, text, start, normal forms (any of which supports it) and unit."""

    kind: str
    text: str
    start: int
    forms: frozenset[str]
    unit: str | None = None
    ordered: frozenset[str] = frozenset()
    """The words for what an ordinal orders, since the second version: `night` and `shift`."""


class LiteralIndex:
    """All literals of a text, and the text's words, for look-ups.

    Args:
        literals: The literals in the order of the text.
        forms: The supported normal forms, each with the units that it occurs with.
        plain: The text that was read.
        version: The number of the validation contract.
    """

    def __init__(
        self, literals: tuple[Literal, ...], forms: dict[str, set[str | None]], plain: str, version: int
    ) -> None:
        self.literals = literals
        self.forms = forms
        self.plain = plain
        self.version = version

    @cached_property
    def _folded(self) -> str:
        return self.plain.casefold()

    @cached_property
    def plain_words(self) -> str:
        """The words of the text, separated by single spaces."""
        return " ".join(WORD.findall(self._folded))

    @cached_property
    def _spaced(self) -> str:
        """The text with single spaces for all marks, since the second version without points between digits."""
        return NO_POINT.sub(" ", self._folded) if self.version >= SECOND else self.plain_words

    def _spells(self, form: str) -> bool:
        """Return whether the text has an identifier with other marks or blanks between its characters."""
        return re.search(r"\b" + " ?".join(map(re.escape, form)) + r"\b", self._spaced) is not None

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self.plain_words.split())

    @cached_property
    def units(self) -> frozenset[str]:
        """Every unit that the text names, with or without a number."""
        known = ALL_UNITS if self.version >= SECOND else UNITS
        units = {known[word] for word in UNIT_WORD.findall(self._folded) if word in known}
        if self.version >= SECOND:
            units |= {known[match] for rate in CURRENCY_RATE.findall(self._folded) for match in rate}
            units |= {NUMBERED_SPELLINGS[str(match.lastgroup)] for match in WHOLE_MORE_UNITS.finditer(self._folded)}
            units |= {
                f"{known[first]}/{known[second]}" if second in known else known[first]
                for first, second in self._rates()
                if first in known
            }
        return frozenset(units)

    def _rates(self) -> Iterator[tuple[str, str]]:
        """Yield the first two parts of each word with a slash: `mg` and `kg` of `mg/kg` and of `mg/kg/h`."""
        for word in UNIT_WORD.findall(self._folded):
            first, *others = word.split("/")
            if others:
                yield first, others[0]

    def supports(self, literal: Literal) -> bool:
        """Return whether this text supports `literal`, in any of its normal forms and with its unit.

        A number without a unit supports any unit that the chunk names elsewhere, for example in a table's header. A
        number of degrees supports the scale that the chunk names, and each scale if it names none.
        """
        if literal.kind == "quotation" or literal.unit == CODE:
            return all(f" {form} " in f" {self.plain_words} " for form in literal.forms)
        words = literal.ordered if FIRST in literal.forms else frozenset()
        if literal.unit == FREE and not self._counts_by_ordinals(words):
            return True
        if literal.unit == LABELLED:
            is_named = not self.forms.keys().isdisjoint(literal.forms)
            return is_named or not self._tells_apart(literal) or self._marks(literal)
        if literal.unit == OCCASIONAL and "f" not in self.forms:
            return True
        matching_units = [self.forms[form] for form in literal.forms if form in self.forms]
        if not matching_units:
            is_spelled = literal.kind == "identifier" and any(self._spells(form) for form in literal.forms)
            return is_spelled or self._numbers(literal) or self._joins(literal)
        if literal.unit in (None, FREE, OCCASIONAL, CENTURY, QUARTER, "°"):
            return True
        if literal.unit in DEGREES and any("°" in units for units in matching_units):
            return literal.unit in self.units or not DEGREES & self.units
        return any(self._has_unit(str(literal.unit), units) for units in matching_units)

    def _numbers(self, literal: Literal) -> bool:
        """Return whether the text numbers the thing of an ordinal: `Specimen 2` is the second specimen."""
        ordinals = [form.removeprefix("o") for form in literal.forms if form.startswith("o")]
        spaced = f" {self.plain_words} "
        return any(f" {word} {number} " in spaced for number in ordinals for word in literal.ordered)

    def _joins(self, literal: Literal) -> bool:
        """Return whether an identifier joins one of the text and a word of it: `A2-Pellets` of `Pellets (A2)`."""
        joint = JOINT.fullmatch(literal.text) if literal.kind == "identifier" else None
        if joint is None or joint["noun"].casefold() not in self._words:
            return False
        form = NO_POINT.sub("", joint["name"].casefold())
        return form in self.forms or self._spells(form)

    @cached_property
    def _ordered(self) -> list[frozenset[str]] | None:
        """The words of its ordinals, except those of centuries and quarters in short; None if it has no ordinals."""
        if not any(form.startswith("o") and not units <= {CENTURY, QUARTER} for form, units in self.forms.items()):
            return None
        ordinals = (each for each in self.literals if any(form.startswith("o") for form in each.forms))
        return [each.ordered for each in ordinals if each.unit not in (CENTURY, QUARTER)]

    def _counts_by_ordinals(self, words: frozenset[str]) -> bool:
        """Return whether the text orders things by ordinals that may be those of some words: they share one."""
        ordered = self._ordered
        if ordered is None or not words or not ordered or words & PLACES:
            return ordered is not None
        return any(not each or each & words or each & PLACES for each in ordered)

    def _tells_apart(self, literal: Literal) -> bool:
        """Return whether the text has the noun of a label with another letter or number."""
        return next(iter(literal.forms)).rpartition(" ")[0] in self._labelled

    @cached_property
    def _labelled(self) -> frozenset[str]:
        """The forms without their last word: for a label its noun."""
        return frozenset(form.rpartition(" ")[0] for form in self.forms)

    def _marks(self, literal: Literal) -> bool:
        """Return whether the text has the letter of a label some words after its noun: `point de rassemblement A`."""
        noun, _, mark = next(iter(literal.forms)).removeprefix("l").rpartition(" ")
        return re.search(rf"\b(?i:{re.escape(noun)})\w*(?:\s\w+){{1,3}}?\s{mark.upper()}\b", self.plain) is not None

    def _has_unit(self, unit: str, units: set[str | None]) -> bool:
        """Return whether a number that the text has with some units may be given with another.

        A unit of a column's head counts for a bare number, a compound unit also for its first part, and a rate per day,
        week, month or year for its first part if the text names that time (`3 kg daily`).
        """
        if unit in units or (None in units and unit in self.units):
            return True
        if self.version < SECOND:
            return False
        if None in units and any(each.startswith(f"{unit}/") for each in self.units):
            return True
        first, _, second = unit.rpartition("/")
        if first and second in TIMES:
            return self._has_unit(first, units) and not TIMES[second].isdisjoint(self._words | self.units)
        return any(each and each.startswith(f"{unit}/") for each in units)

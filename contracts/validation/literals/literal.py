"""Literals, their normal forms, and the rule of support (R5-8).

Answers and chunks go through the same readers. A literal of an answer is supported if the chunk has a literal of the
same form, with the same unit if the answer gives a unit.
"""

import re
from functools import cached_property
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.units import DEGREES, MORE_UNITS, NUMBERED_SPELLINGS, UNITS
from sourcebound.contracts.validation.versions import SECOND

WHOLE_MORE_UNITS: Final = re.compile(r"(?<![^\W\d_])" + MORE_UNITS.pattern, re.IGNORECASE)
WORD: Final = re.compile(r"\w+")
UNIT_WORD: Final = re.compile(r"[°%$€£¥]?[\w·/³]*")
PART: Final = "part of another literal"
"""The unit of a number that occurs only inside a date or an identifier of a chunk; it supports a bare number."""

FREE: Final = "free unless the text counts by ordinals"
"""The unit of an ordinal that is checked only against a text that itself counts by ordinals."""


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
    def units(self) -> frozenset[str]:
        """Every unit that the text names, with or without a number."""
        units = {UNITS[word] for word in UNIT_WORD.findall(self._folded) if word in UNITS}
        if self.version >= SECOND:
            units |= {NUMBERED_SPELLINGS[str(match.lastgroup)] for match in WHOLE_MORE_UNITS.finditer(self._folded)}
        return frozenset(units)

    def supports(self, literal: Literal) -> bool:
        """Return whether this text supports `literal`, in any of its normal forms and with its unit.

        A number without a unit supports any unit that the chunk names elsewhere, for example in a table's header. A
        number of degrees supports the scale that the chunk names, and each scale if it names none.
        """
        if literal.kind == "quotation":
            return all(f" {form} " in f" {self.plain_words} " for form in literal.forms)
        if literal.unit == FREE and not any(form.startswith("o") for form in self.forms):
            return True
        matching_units = [self.forms[form] for form in literal.forms if form in self.forms]
        if not matching_units:
            return literal.kind == "identifier" and any(
                re.search(r"\b" + " ?".join(map(re.escape, form)) + r"\b", self.plain_words) for form in literal.forms
            )
        if literal.unit in (None, FREE, "°"):
            return True
        if literal.unit in DEGREES and any("°" in units for units in matching_units):
            return literal.unit in self.units or not DEGREES & self.units
        return any(literal.unit in units or (None in units and literal.unit in self.units) for units in matching_units)

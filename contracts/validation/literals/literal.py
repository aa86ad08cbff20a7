"""Literals, their normal forms, and the rule of support (R5-8).

Answers and chunks go through the same readers. A literal of an answer is supported if the chunk has a literal of the
same form, with the same unit if the answer gives a unit.
"""

import re
from functools import cached_property
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.units import UNITS

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
        folded: The text, case folded.
    """

    def __init__(self, literals: tuple[Literal, ...], forms: dict[str, set[str | None]], folded: str) -> None:
        self.literals = literals
        self.forms = forms
        self._folded = folded

    @cached_property
    def plain_words(self) -> str:
        """The words of the text, separated by single spaces."""
        return " ".join(WORD.findall(self._folded))

    @cached_property
    def units(self) -> frozenset[str]:
        """Every unit that the text names, with or without a number."""
        return frozenset(UNITS[word] for word in UNIT_WORD.findall(self._folded) if word in UNITS)

    def supports(self, literal: Literal) -> bool:
        """Return whether this text supports `literal`, in any of its normal forms and with its unit.

        A number without a unit supports any unit that the chunk names elsewhere, for example in a table's header.
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
        if literal.unit in (None, FREE):
            return True
        return any(literal.unit in units or (None in units and literal.unit in self.units) for units in matching_units)

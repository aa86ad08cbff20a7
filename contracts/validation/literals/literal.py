"""Literals and their normal forms: what supports what (R5-8).

Reading is symmetric: an answer and a chunk go through the same readers, and a literal of the answer is supported when
the chunk has a literal of the same form, with the same unit where the answer gives one.
"""

import re
from functools import cached_property
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.units import UNITS

WORD: Final = re.compile(r"\w+")
UNIT_WORD: Final = re.compile(r"[°%$€£¥]?[\w·/³]*")
PART: Final = "part of another literal"
"""Stands for the unit of a number that a chunk holds only inside a date or an identifier: it supports a bare number."""

FREE: Final = "free unless the text counts by ordinals"
"""Stands for the unit of an ordinal that is checked only against a text that counts by ordinals itself."""


def lower_case(text: str) -> str:
    """The text in lower case, or as it is where that would move a position."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


class Literal(NamedTuple):
    """A literal of a text: its kind, its words, its normal forms (any of which supports it) and its unit."""

    kind: str
    text: str
    start: int
    forms: frozenset[str]
    unit: str | None = None


class Reading:
    """All literals of a text, and its plain words for look-ups.

    Args:
        literals: In order of the text.
        forms: Normal forms, each with the units that it was seen with.
        folded: The text, case folded.
    """

    def __init__(self, literals: tuple[Literal, ...], forms: dict[str, set[str | None]], folded: str) -> None:
        self.literals = literals
        self.forms = forms
        self._folded = folded

    @cached_property
    def squeezed(self) -> str:
        """Letters and digits of the text, words apart by one blank."""
        return " ".join(WORD.findall(self._folded))

    @cached_property
    def units(self) -> frozenset[str]:
        """Every unit that the text names, beside a number or not."""
        return frozenset(UNITS[word] for word in UNIT_WORD.findall(self._folded) if word in UNITS)

    def supports(self, literal: Literal) -> bool:
        """Whether this text holds `literal`, in any of its normal forms and with its unit.

        A number whose unit stands elsewhere in the chunk, as in a table's header, counts as having that unit.
        """
        if literal.kind == "quotation":
            return all(f" {form} " in f" {self.squeezed} " for form in literal.forms)
        if literal.unit == FREE and not any(form.startswith("o") for form in self.forms):
            return True
        seen = [self.forms[form] for form in literal.forms if form in self.forms]
        if not seen:
            return literal.kind == "identifier" and any(
                re.search(r"\b" + " ?".join(map(re.escape, form)) + r"\b", self.squeezed) for form in literal.forms
            )
        if literal.unit in (None, FREE):
            return True
        return any(literal.unit in units or (None in units and literal.unit in self.units) for units in seen)

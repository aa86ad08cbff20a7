"""Forms that a chunk supports implicitly: parts of its dates and identifiers, and complete lists (R5-8)."""

from typing import Final

from sourcebound.contracts.validation.literals.identifiers import identifier_parts
from sourcebound.contracts.validation.literals.literal import PART, Literal
from sourcebound.contracts.validation.literals.times.dates import date_parts

WEEKDAYS: Final = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
"""A chunk that names all of them supports "seven days"."""

FRACTION_WORDS: Final = {"half": "n0.5", "halves": "n0.5", "quarter": "n0.25"}


def supported_forms(literals: list[Literal], words: frozenset[str]) -> dict[str, set[str | None]]:
    """Return the supported forms with their units: those of the literals and of the parts of dates and identifiers."""
    forms: dict[str, set[str | None]] = {}
    for literal in literals:
        for form in literal.forms:
            forms.setdefault(form, set()).add(literal.unit)
        for part in _parts(literal):
            forms.setdefault(part, set()).add(PART)
    if "one" in words:
        forms.setdefault("n1", set()).add(None)
    if words >= WEEKDAYS:
        forms.setdefault("n7", set()).add("d")
    return forms


def add_forms(forms: dict[str, set[str | None]], words: frozenset[str], scaled: list[tuple[str, str | None]]) -> None:
    """Add the values of numbers under a scale, and the fractions that the words name."""
    for form, unit in scaled:
        forms.setdefault(form, set()).add(unit)
    for word, form in FRACTION_WORDS.items():
        if word in words:
            forms.setdefault(form, set()).add(None)


def _parts(literal: Literal) -> set[str]:
    if literal.kind == "date":
        return {part for form in literal.forms if form.startswith("d") for part in date_parts(form)}
    return identifier_parts(literal.text) if literal.kind == "identifier" else set()

"""Differences of temperature in kelvins, whose unit also spells a thousand: `0.31 K` (R5-8)."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal

KELVIN: Final = re.compile(r"(-?\d{1,6}(?:[.,]\d{1,6})?)\sK")
HEAD: Final = re.compile(r"[/(\[]\s?K\s?(?=[|)\],\n]|$)")
"""The unit in the head of a column."""


def kelvin_form(literal: Literal) -> str | None:
    """Return the form of a number of kelvins, which no bare number has; None for other literals."""
    match = KELVIN.fullmatch(literal.text.strip(" ."))
    return f"K{Decimal(match[1].replace(',', '.')).normalize():f}" if match else None


def kelvin_forms(plain: str, literals: Iterable[Literal]) -> Iterator[tuple[str, str | None]]:
    """Yield the kelvins of a source: those it writes, and its bare numbers if the head of a column has the unit."""
    is_head = HEAD.search(plain) is not None
    for literal in literals:
        if form := kelvin_form(literal):
            yield form, None
        elif is_head and literal.kind == "number" and literal.unit is None:
            yield from ((f"K{form[1:]}", None) for form in literal.forms if form.startswith("n"))

"""Hundredths of a currency: a source that says `0.31 euros` supports 31 cents, and the other way round (R5-8)."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from sourcebound.contracts.validation.literals.amounts.units import UNITS
from sourcebound.contracts.validation.literals.literal import Literal

CENTS: Final = re.compile(r"[\s-]?(?:cents?|ct|centimes?|céntimos?|centesim[oi]|centavos?)\b", re.IGNORECASE)
PENCE: Final = re.compile(r"\s?(?:pence|p)\b")
NUMBER: Final = re.compile(r"n(\d{1,4}(?:\.\d)?)")
CURRENCIES: Final = ((CENTS, (UNITS["€"], UNITS["$"])), (PENCE, (UNITS["£"],)))


def cent_forms(plain: str, literals: Iterable[Literal]) -> Iterator[tuple[str, str | None]]:
    """Yield the amounts of the currency that are equal to the cents or pence of a source.

    Args:
        plain: The source.
        literals: Its literals.
    """
    for literal in literals:
        form, units = _read(plain, literal)
        yield from ((form, unit) for unit in units)


def with_cents(literals: Iterable[Literal], plain: str) -> list[Literal]:
    """Let a number of cents or pence also be found as a part of its currency.

    Args:
        literals: The literals of a statement.
        plain: The statement.
    """
    read = ((literal, _read(plain, literal)) for literal in literals)
    return [literal._replace(forms=literal.forms | {form}) if units else literal for literal, (form, units) in read]


def _read(plain: str, literal: Literal) -> tuple[str, tuple[str, ...]]:
    """Return the form of a number of hundredths in its currency, and the currencies that it may be of."""
    values = [match for form in literal.forms if (match := NUMBER.fullmatch(form))]
    if literal.kind != "number" or literal.unit is not None or not values:
        return "", ()
    end = literal.start + len(literal.text)
    units = next((units for name, units in CURRENCIES if name.match(plain, end)), ())
    return f"n{(Decimal(values[0][1]) / 100).normalize():f}", units

"""Equal measures: a source that says `48 hours` supports `two days`, and `2150 MHz` supports `2.15 GHz` (R5-8).

A measure of two parts, `3 hours 30 minutes`, is equal to `3.5 hours`. Only units of a fixed ratio are converted, and
only if the value stays short. A month has no fixed number of days, and `5 working days` has no unit of time. The unit
`mw` is not here, because it may be a megawatt or a milliwatt.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import pairwise, product
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal

Form = tuple[str, str | None]

FAMILIES: Final[tuple[Mapping[str, int], ...]] = (
    {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "wk": 604_800_000},
    {"mo": 1, "yr": 12},
    {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9},
    {"mm": 1, "cm": 10, "m": 1_000, "km": 10**6},
    {"mg": 1, "g": 10**3, "kg": 10**6, "t": 10**9},
    {"ml": 1, "l": 1_000},
    {"ma": 1, "a": 1_000},
    {"v": 1, "kv": 1_000},
    {"w": 1, "kw": 1_000},
    {"pa": 1, "kpa": 10**3, "mpa": 10**6},
    {"n": 1, "kn": 1_000},
    {"j": 1, "kj": 1_000},
    {"bp": 1, "pp": 100},
    {"kb": 1, "mb": 10**3, "gb": 10**6, "tb": 10**9},
)
"""Units of one kind, as `UNITS` names them, each with its size in the smallest."""
FAMILY_OF: Final = {unit: family for family in FAMILIES for unit in family}
REPEATED: Final = re.compile(r"\)\s(?P<unit>second|minute|hour|day|week|month|year)s?\b")
"""The unit behind a number in brackets, which contracts repeat: `two (2) weeks`."""
NAMED: Final = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk", "month": "mo", "year": "yr"}
NUMBER: Final = re.compile(r"n(\d{1,7}(?:\.\d{1,4})?)")
RANGE: Final = re.compile(r"\s*(?:-|–|to|and|or)\s*")
JOINED: Final = re.compile(r"\s?(?:(?:and|und|et|y|e)\s)?")
"""What is between the parts of one measure: `3 hours and 30 minutes`."""
SHORT_HOURS: Final = re.compile(r"\d\s?heures?$")
MINUTES: Final = re.compile(r"[0-5]\d")
"""The minutes of `3 heures 30`, which name no unit."""
LEAST: Final = Decimal("0.001")
MOST: Final = Decimal(10**7)


def equal_forms(plain: str, literals: Iterable[Literal]) -> Iterator[Form]:
    """Yield the measures that are equal to those of a source.

    Args:
        plain: The source.
        literals: Its literals, in order.
    """
    numbers = [literal for literal in literals if literal.kind == "number"]
    for literal in numbers:
        repeated = REPEATED.match(plain, literal.start + len(literal.text))
        if unit := literal.unit or (NAMED[repeated["unit"]] if repeated else None):
            yield from _equal(literal, unit)
    for first, last in pairwise(numbers):  # `14-21 days`: the first number has no unit of its own
        between = plain[first.start + len(first.text) : last.start]
        if first.unit is None and last.unit and RANGE.fullmatch(between):
            yield from _equal(first, last.unit)
        elif JOINED.fullmatch(between):
            yield from _equal_sum(first, last)


def _equal_sum(first: Literal, last: Literal) -> Iterator[Form]:
    """Yield the measures equal to a number of hours with its minutes, or of another unit with its smaller one."""
    large, small = str(first.unit), str(last.unit)
    if SHORT_HOURS.search(first.text) and MINUTES.fullmatch(last.text):
        small = "min"
    family = FAMILY_OF.get(large, {})
    if small not in family or family[small] >= family[large]:
        return
    for one, other in product(_values(first), _values(last)):
        if other * family[small] < family[large]:
            yield from _in_units(one * family[large] + other * family[small], family)


def is_equal(one: Literal, other: Literal) -> bool:
    """Return whether two literals are equal measures in different units."""
    units = (one.unit, other.unit)
    if None in units or FAMILY_OF.get(str(one.unit)) is not FAMILY_OF.get(str(other.unit), {}):
        return False
    return any(unit == one.unit and form in one.forms for form, unit in _equal(other, str(other.unit)))


def _equal(literal: Literal, unit: str) -> Iterator[Form]:
    family = FAMILY_OF.get(unit, {})
    for value in _values(literal) if family else ():
        yield from (form for form in _in_units(value * family[unit], family) if form[1] != unit)


def _values(literal: Literal) -> list[Decimal]:
    return [Decimal(match[1]) for form in literal.forms if (match := NUMBER.fullmatch(form))]


def _in_units(smallest: Decimal, family: Mapping[str, int]) -> Iterator[Form]:
    """Yield a measure, given in the smallest unit of its family, in each of the units."""
    for unit, size in family.items():
        equal = smallest / size
        if LEAST <= equal < MOST and equal == round(equal, 3):
            yield f"n{equal.normalize():f}", unit

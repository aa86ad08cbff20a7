"""Equal durations: a source that says `48 hours` supports `two days`, and `7 days` supports `one week` (R5-8).

Only whole numbers of units with a fixed length are the same. A month has no fixed number of days, and `5 working days`
has no unit of time.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from sourcebound.contracts.validation.literals.literal import Literal

Form = tuple[str, str | None]

LONGER: Final = {"s": ("min", 60), "min": ("h", 60), "h": ("d", 24), "d": ("wk", 7), "mo": ("yr", 12)}
"""For each unit the next longer one, and how many make one of it."""
SHORTER: Final = {unit: (shorter, count) for shorter, (unit, count) in LONGER.items()}
REPEATED: Final = re.compile(r"\)\s(?P<unit>second|minute|hour|day|week|month|year)s?\b")
"""The unit behind a number in brackets, which contracts repeat: `two (2) weeks`."""
UNITS: Final = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk", "month": "mo", "year": "yr"}
WHOLE: Final = re.compile(r"n(\d{1,4})")
RANGE: Final = re.compile(r"\s*(?:-|–|to|and|or)\s*")


def duration_forms(plain: str, literals: Iterable[Literal]) -> Iterator[Form]:
    """Yield the equal durations of those in a source.

    Args:
        plain: The source.
        literals: Its literals, in order.
    """
    numbers = [literal for literal in literals if literal.kind == "number"]
    for literal in numbers:
        repeated = REPEATED.match(plain, literal.start + len(literal.text))
        if unit := literal.unit or (UNITS[repeated["unit"]] if repeated else None):
            yield from _equal(literal, unit)
    for first, last in pairwise(numbers):  # `14-21 days`: the first number has no unit of its own
        between = plain[first.start + len(first.text) : last.start]
        if first.unit is None and last.unit and RANGE.fullmatch(between):
            yield from ((form, None) for form, _ in _equal(first, last.unit))


def _equal(literal: Literal, unit: str) -> Iterator[Form]:
    values = [int(match[1]) for form in literal.forms if (match := WHOLE.fullmatch(form))]
    for value in values:
        longer, count = LONGER.get(unit, ("", 0))
        if longer and value and value % count == 0:
            yield f"n{value // count}", longer
        shorter, count = SHORTER.get(unit, ("", 0))
        if shorter:
            yield f"n{value * count}", shorter

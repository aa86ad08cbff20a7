"""Durations of hours and minutes: `1 h 55 min` is `1 hour and 55 minutes` (R5-8)."""

import re
from collections.abc import Iterator
from typing import Final

from sourcebound.contracts.validation.literals.amounts.units import UNITS

HOURS: Final = r"h|hrs?|hours?|stunden?|std\.?|heures?|horas?|or[ae]|uur"
AND: Final = r"(?:,|and|und|et|y|e|en)"
MINUTES: Final = r"min(?:ute[ns]?|utos?|ut[oi]|s)?\.?"
DURATION: Final = re.compile(
    rf"(?<![\w.,:])(?P<hours>\d{{1,3}})\s?(?:{HOURS})\s?(?:{AND}\s)?(?P<minutes>[0-5]?\d)\s?(?:{MINUTES})(?!\w)",
    re.IGNORECASE,
)


def duration_forms(plain: str) -> Iterator[tuple[str, str | None]]:
    """Yield the hours and the minutes of each duration of a source, and both as a short form is read."""
    for match in DURATION.finditer(plain):
        hours, minutes = int(match["hours"]), int(match["minutes"])
        yield f"n{hours}", UNITS["hour"]
        yield f"n{minutes}", UNITS["minute"]
        yield f"t{hours}:{minutes:02}", None

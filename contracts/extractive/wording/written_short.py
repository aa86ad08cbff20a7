"""Abbreviations, and a wish for a unit, in the words of a question (R4-9).

`Max. temp. of the seal, in deg C?` is read as `maximum temperature of the seal?`. An abbreviation that is a word too
counts only with its full stop.
"""

import re
from typing import Final

from sourcebound.contracts.text.questions import without_unit_wish

MEANINGS: Final = {
    "approx": "approximately",
    "avg": "average",
    "cal'd": "calibrated",
    "dept": "department",
    "hrs": "hours",
    "maint": "maintenance",
    "max": "maximum",
    "mins": "minutes",
    "mfr": "manufacturer",
    "qty": "quantity",
    "repl": "replaced",
    "secs": "seconds",
    "temp": "temperature",
    "temps": "temperatures",
    "wks": "weeks",
    "yrs": "years",
}
WITH_STOP: Final = {
    "cal": "calibration",
    "dia": "diameter",
    "min": "minimum",
    "no": "number",
    "nos": "numbers",
    "op": "operating",
    "press": "pressure",
    "vol": "volume",
    "wt": "weight",
}
"""Abbreviations that are words, or units, without their full stop."""
SHORT: Final = re.compile(
    rf"(?<![\w.'-])(?:(?P<plain>{'|'.join(MEANINGS)})\b\.?"
    rf"|(?P<stopped>{'|'.join(WITH_STOP)})\.(?= ?(?-i:[a-z\d])))(?![\w'-])",
    re.IGNORECASE,
)


def write_out(text: str) -> str:
    """Write abbreviations out, and leave a wish for a unit away.

    Args:
        text: A question.
    """
    return without_unit_wish(SHORT.sub(_meaning, text))


def _meaning(match: re.Match[str]) -> str:
    plain, stopped = match["plain"], match["stopped"]
    return MEANINGS[plain.casefold()] if plain else WITH_STOP[stopped.casefold()]

"""Abbreviations, and a wish for a unit, in the words of a question (R4-9).

`Max. temp. of the seal, in deg C?` is read as `maximum temperature of the seal?`. An abbreviation that is a word too
counts only with its full stop.
"""

import re
from typing import Final

from sourcebound.contracts.extractive.patterns import UNIT

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
WISH: Final = re.compile(
    rf"[,;] (?:given |expressed |stated )?in (?:{UNIT}|deg(?:rees?)?\.? (?:c(?:elsius)?|f(?:ahrenheit)?)"
    r"|newton met(?:er|re)s"
    r"|kilograms|grams|(?:milli|kilo)?met(?:er|re)s per second|cubic met(?:er|re)s(?: per hour)?|parts per [mb]illion"
    r"|m[3³]/h|[lu]/min|ppb|ppm|[uµ]m|microns|millibar|hours|minutes|seconds|days)(?=\W*$)",
    re.IGNORECASE,
)


def write_out(text: str) -> str:
    """Write abbreviations out, and leave a wish for a unit away.

    Args:
        text: A question.
    """
    short = SHORT.sub(_meaning, text)
    return WISH.sub("", short) if short.rstrip().endswith("?") else short


def _meaning(match: re.Match[str]) -> str:
    plain, stopped = match["plain"], match["stopped"]
    return MEANINGS[plain.casefold()] if plain else WITH_STOP[stopped.casefold()]

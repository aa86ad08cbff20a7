"""The scale and the unit after a number: `5 kg`, `1.2 million`, `50 mg/kg`, `287 TEUR` (R5-8).

A word after a number is a unit only if `units` has it. The first version of validation knows fewer of them.
"""

import re
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.amounts.units import ALL_UNITS, UNITS, is_prose, read_more_units
from sourcebound.contracts.validation.versions import SECOND

SCALES: Final = {
    "hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "m": 10**6, "billion": 10**9,
    "bn": 10**9, "trillion": 10**12, "lakh": 10**5, "crore": 10**7, "dozen": 12,
}  # fmt: skip
MORE_SCALES: Final = (
    SCALES
    | dict.fromkeys("mio millions millionen millones millón milioni milione".split(), 10**6)
    | dict.fromkeys("mrd milliarden milliarde milliards milliard miliardi miliardo md".split(), 10**9)
    | {"b": 10**9}
    | dict.fromkeys("tsd tausend mila milliers migliaia".split(), 10**3)
)
"""The scales since the second version, with those of German, French, Spanish and Italian."""
LETTERS: Final = ("m", "b")
"""Scales that are units too where no currency stands by them."""
LINK: Final = re.compile(r"\s(?:d'|d[ei]\s)(?=euros?\b|dollars?\b)", re.IGNORECASE)
"""What stands between a scale and its currency: `2 millions d'euros`."""
SPANISH_THOUSANDS: Final = re.compile(r"\s?miles(?=\sde\s)", re.IGNORECASE)
"""Thousands, which are miles in English where no `de` follows."""
MULTIPLES: Final = {"decade": (10, "yr"), "decades": (10, "yr"), "century": (100, "yr"), "centuries": (100, "yr")}
"""Units that are multiples of another unit: three decades are thirty years."""
MONEY_IN_SCALE: Final = re.compile(
    r"\s?(?P<scale>T|k|K|M|Mio\.?\s?|Md|Mrd\.?\s?)(?P<money>€|EUR|CHF|USD|US\$|\$|£|GBP)(?!\w)"
)
"""A currency with its scale in one word: `287 TEUR`, `4 k€`."""
LETTER_SCALES: Final = {"t": 10**3, "k": 10**3, "m": 10**6, "mio": 10**6, "md": 10**9, "mrd": 10**9}
RATE: Final = re.compile(r"\s?(?:/|\b(?:per|pro|par|por)\s)\s?(?P<word>[^\W\d_]+)(?![\w³²])")
"""The second part of a compound unit: `50 mg/kg`, `3 kg per day`."""
TIMES_OF_PRICES: Final = frozenset({"d", "wk", "mo", "yr"})
SUFFIX: Final = re.compile(r"[\s-]?(?P<word>°\s?[CF]\b|[%℃℉$€£¥]|[A-Za-zµμ³²·⋅/.]+[A-Za-z³²0-9]|[A-Za-z])")
ANY_SUFFIX: Final = re.compile(
    r"[\s-]?(?P<word>°\s?[CF]\b|[%℃℉$€£¥]|(?:[^\W\d_]|[³²·⋅/.])+(?:[^\W\d_]|[³²0-9])|[^\W\d_])"
)
"""The word after a number since the second version, in any alphabet."""
BLANK: Final = re.compile(r"[\s-]?")
MILLION: Final = 10**6


class Measure(NamedTuple):
    """The scale factor and the unit after a number, and the position where they end."""

    factor: int
    unit: str | None
    end: int


def read_measure(text: str, position: int, money: bool, version: int) -> Measure:
    """Read the scale and the unit after a number.

    Args:
        text: A text.
        position: The end of the number.
        money: Whether a currency precedes the number. A bare `m` is then a million, and otherwise a metre.
        version: The number of the validation contract.

    Returns:
        The factor 1 and no unit if the text names none.
    """
    return _read_second(text, position, money) if version >= SECOND else _read_first(text, position, money)


def _read_first(text: str, position: int, money: bool) -> Measure:
    factor, end = 1, position
    match = SUFFIX.match(text, position)
    word = _suffix_word(match)
    if match and word in SCALES and (word != "m" or money):
        factor, end = SCALES[word], match.end()
        match = SUFFIX.match(text, end)
        word = _suffix_word(match)
    if match and word in MULTIPLES:
        times, unit = MULTIPLES[word]
        return Measure(factor * times, unit, match.end())
    if match and word in UNITS:
        return Measure(factor, UNITS[word], match.end("word") - (len(match["word"]) - len(match["word"].rstrip("."))))
    return Measure(factor, None, end)


def _read_second(text: str, position: int, money: bool) -> Measure:
    if scaled := MONEY_IN_SCALE.match(text, position):
        factor = LETTER_SCALES[scaled["scale"].strip(" .").casefold()]
        return Measure(factor, ALL_UNITS[scaled["money"].casefold()], scaled.end())
    factor, end = 1, position
    match = ANY_SUFFIX.match(text, position)
    word = _suffix_word(match)
    sign = match is not None and text[match.end() : match.end() + 1] in ("€", "£", "$")
    if thousands := SPANISH_THOUSANDS.match(text, position):
        factor, end = 10**3, thousands.end()
    elif match and word in MORE_SCALES and (word not in LETTERS or money or sign):
        factor, end = MORE_SCALES[word], match.end()
    if factor > 1:
        end += text[end : end + 1] == "."
        link = LINK.match(text, end)
        match = ANY_SUFFIX.match(text, link.end() if link else end)
        word = _suffix_word(match)
    if longer := read_more_units(text, BLANK.match(text, end).end()):  # type: ignore[union-attr]
        return _with_rate(text, Measure(factor, *longer))
    if match and is_prose(match["word"], text, match.end()):
        match = None
    return _read_unit(text, Measure(factor, None, end), match)


def _read_unit(text: str, measure: Measure, match: re.Match[str] | None) -> Measure:
    """Read the unit that a word after a number and its scale names."""
    word = _suffix_word(match)
    if match and word in MULTIPLES:
        times, unit = MULTIPLES[word]
        return Measure(measure.factor * times, unit, match.end())
    if match and measure.factor >= MILLION and word in ("pound", "pounds"):
        return measure._replace(unit="£", end=match.end("word"))
    if match and word in ALL_UNITS:
        end = match.end("word") - (len(match["word"]) - len(match["word"].rstrip(".")))
        return _with_rate(text, Measure(measure.factor, ALL_UNITS[word], end))
    return _read_compound(text, measure, match)


def _read_compound(text: str, measure: Measure, match: re.Match[str] | None) -> Measure:
    """Read the compound unit that a suffix writes in one word: `mg/kg`."""
    first, slash, _ = match["word"].casefold().partition("/") if match else ("", "", "")
    if match is None or not slash or first not in ALL_UNITS:
        return measure
    return _with_rate(text, Measure(measure.factor, ALL_UNITS[first], match.start("word") + len(first)))


def read_time_rate(text: str, position: int) -> tuple[str, int] | None:
    """Return the unit and the end of the time that a price is for: `$20 per month`, `$20/mo`.

    Args:
        text: A text.
        position: The end of the price.
    """
    rate = RATE.match(text, position)
    unit = ALL_UNITS.get(rate["word"].casefold()) if rate else None
    return (unit, rate.end()) if rate and unit in TIMES_OF_PRICES else None


def _with_rate(text: str, measure: Measure) -> Measure:
    """Read on where a second unit makes a compound one; its name joins both with a slash."""
    rate = RATE.match(text, measure.end)
    second = ALL_UNITS.get(rate["word"].casefold()) if rate else None
    return measure._replace(unit=f"{measure.unit}/{second}", end=rate.end()) if rate and second else measure


def _suffix_word(match: re.Match[str] | None) -> str:
    return match["word"].casefold().replace(" ", "").rstrip(".") if match else ""

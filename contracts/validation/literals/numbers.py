"""Numbers as literals: digits and words, with their units, in one normal form (R5-8).

`1,200`, `1 200`, `1.2 thousand` and `twelve hundred` are one number; `5 kg` and `5 m` are not. A unit counts when it
is one that `units` knows; any other word after a number is just a word.

Ordinals as literals: `second`, `2nd` (R5-8).

An ordinal from the second on is a literal like any number. Two sorts are checked only where the chunk counts by
ordinals itself, because writers use them freely otherwise: `first`, and an ordinal that counts the sources' own parts
("the third review").
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.literal import FREE, Literal, lower_case
from sourcebound.contracts.validation.literals.units import UNITS

SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS: Final = {word: value for value, word in enumerate(SMALL)} | {
    word: 10 * value for value, word in enumerate(TENS, 2)
}
SCALES: Final = {
    "hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "m": 10**6, "billion": 10**9,
    "bn": 10**9, "trillion": 10**12, "lakh": 10**5, "crore": 10**7, "dozen": 12,
}  # fmt: skip
MULTIPLES: Final = {"decade": (10, "yr"), "decades": (10, "yr"), "century": (100, "yr"), "centuries": (100, "yr")}
"""Units that are a number of another unit: three decades are thirty years."""
CURRENCY: Final = r"(?:US\$|[$€£¥])"
NUMERAL: Final = (
    r"\d{1,3}(?:[,\u00a0\u202f ’']\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:\.\d+)+"
    r"|(?<!\d,)\d+,\d+(?![,\d])|\d+|\.\d+"
)
DIGIT: Final = re.compile(r"\d")
NUMBER: Final = re.compile(
    rf"(?:(?P<ten>10\s?(?:\^|\*\*)\s?-?\d+)"
    rf"|(?P<numeral>{NUMERAL})(?P<exponent>\s?[x×·*]\s?10\s?(?:\^|\*\*)?\s?[-−]?\d+|[eE][-−+]?\d+(?!\w))?)"
)
LEAD: Final = re.compile(rf"(?P<currency>{CURRENCY}\s?)?(?P<sign>(?<![\w)\]])(?<!\d\s)[-−+±])?$")
"""What may stand before a number and belongs to it."""
LEAD_LENGTH: Final = 6
WORD_NUMBER: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
    rf"(?:[\s-]+(?:{'|'.join([*NUMBER_WORDS, 'hundred', 'thousand', 'million', 'billion', 'dozen'])}))*\b"
)
"""In a text of lower case."""
SUFFIX: Final = re.compile(r"[\s-]?(?P<word>°\s?[CF]\b|[%℃℉$€£¥]|[A-Za-zµμ³²·⋅/.]+[A-Za-z³²0-9]|[A-Za-z])")
SPACING: Final = re.compile(r"[\s'’]")
GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
GROUPED_BY_DOT: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")
LEADING_ZERO: Final = re.compile(r"0\d+")
MAX_EXPONENT_DIGITS: Final = 4
"""A power of ten that is written with more digits, its sign included, is not computed but compared as it is written."""


class _Unit(NamedTuple):
    """What follows a number: the factor that it brings, the unit, and where it ends."""

    factor: int
    unit: str | None
    end: int


def read_numbers(text: str) -> list[Literal]:
    """Every number written in digits, with its scale and unit.

    Args:
        text: A text whose dates, times, identifiers and addresses are masked.

    Returns:
        The numbers; one whose value cannot be computed is compared as it is written.
    """
    found = []
    for match in _matches(text):
        before = text[max(0, match.start() - LEAD_LENGTH) : match.start()]
        if before and (before[-1].isalnum() or before[-1] in "_."):
            continue
        lead = LEAD.search(before)
        sign, currency = (lead["sign"], lead["currency"]) if lead else (None, None)
        start = match.start() - (len(lead[0]) if lead else 0)
        value = _value(match)
        if value is None:
            written = "v" + re.sub(r"\s", "", match[0])
            found.append(Literal("identifier", text[start : match.end()], start, frozenset([written])))
            continue
        unit = _unit(text, match.end(), bool(currency))
        name = UNITS[currency.strip().casefold()] if currency else unit.unit
        form = _form((-value if sign == "-" else value) * unit.factor)
        if LEADING_ZERO.fullmatch(match["numeral"] or ""):
            form = "n" + match["numeral"]
        found.append(Literal("number", text[start : unit.end], start, frozenset([form]), name))
    return found


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Every match of `NUMBER`, found from digit to digit, which is much quicker than trying it at every character."""
    position = 0
    while digit := DIGIT.search(text, position):
        start = digit.start() - (digit.start() > position and text[digit.start() - 1] == ".")
        match = NUMBER.match(text, start) or NUMBER.match(text, digit.start())
        if match is None:
            position = digit.end()
            continue
        yield match
        position = match.end()


def read_number_words(text: str) -> list[Literal]:
    """Every number written in words; a lone "one" is mostly a pronoun and is no literal."""
    found: list[Literal] = []
    for match in WORD_NUMBER.finditer(lower_case(text)):
        words = re.split(r"[\s-]+", match[0])
        unit = _unit(text, match.end(), False)
        if words == ["one"] and unit.unit is None:
            continue
        form = _form(_word_value(words) * unit.factor)
        found.append(Literal("number", text[match.start() : unit.end], match.start(), frozenset([form]), unit.unit))
    return found


def _unit(text: str, position: int, money: bool) -> _Unit:
    """The scale and the unit after a number; a bare `m` is a scale after a currency and the metre elsewhere."""
    factor, end = 1, position
    match = SUFFIX.match(text, position)
    word = _word(match)
    if match and word in SCALES and (word != "m" or money):
        factor, end = SCALES[word], match.end()
        match = SUFFIX.match(text, end)
        word = _word(match)
    if match and word in MULTIPLES:
        times, unit = MULTIPLES[word]
        return _Unit(factor * times, unit, match.end())
    if match and word in UNITS:
        return _Unit(factor, UNITS[word], match.end("word") - (len(match["word"]) - len(match["word"].rstrip("."))))
    return _Unit(factor, None, end)


def _word(match: re.Match[str] | None) -> str:
    return match["word"].casefold().replace(" ", "").rstrip(".") if match else ""


def _value(match: re.Match[str]) -> Decimal | None:
    if match["ten"]:
        return _scaled(Decimal(1), match["ten"])
    compact = match["numeral"]
    if not compact.isdigit():
        compact = SPACING.sub("", compact)
        if GROUPED.fullmatch(compact):
            compact = compact.replace(",", "")
        elif GROUPED_BY_DOT.fullmatch(compact):
            compact = compact.replace(".", "").replace(",", ".")
        else:
            compact = compact.replace(",", ".")
    try:
        return _scaled(Decimal(compact), match["exponent"] or "")
    except InvalidOperation:
        return None


def _scaled(value: Decimal, exponent: str) -> Decimal | None:
    if not exponent:
        return value
    power = re.search(r"[-−]?\d+$", exponent)
    if power and len(power[0]) > MAX_EXPONENT_DIGITS:
        return None
    return value.scaleb(int(power[0].replace("−", "-"))) if power else value


def _form(value: Decimal) -> str:
    return (
        f"n{value:f}"
        if value == value.to_integral_value() and value.as_tuple().exponent == 0
        else f"n{value.normalize() + 0:f}"
    )


def _word_value(words: list[str]) -> Decimal:
    total, current = 0, 0
    for word in words:
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word in ("hundred", "dozen"):
            current = (current or 1) * SCALES[word]
        else:
            total, current = total + (current or 1) * SCALES[word], 0
    return Decimal(total + current)


WORDS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
VALUES: Final = {word: value for value, word in enumerate(WORDS, start=1)}
WORD_ORDINAL: Final = re.compile(rf"\b(?P<word>{'|'.join(WORDS)})\b(?!\s*(?:,|$))")
"""In a text of lower case. Not `Second, …`, which orders the answer's own points."""
DIGIT_ORDINAL: Final = re.compile(r"(?P<number>\d+)(?:st|nd|rd|th)\b")
UNIT_OF_TIME: Final = re.compile(r"(?:\d|\b(?:per|each|every|split))[\s-]*$", re.IGNORECASE)
DENIED: Final = re.compile(r"\bnot\s+(?:the\s+|a\s+)?$", re.IGNORECASE)
PARTS: Final = re.compile(
    r"\s+(?:(?:customer|user|main|key)\s+)?(?:review|reviewer|customer|passage|source|document|step|point|item|reason|example"
    r"|case|paragraph|section|user|person|one)s?\b",
    re.IGNORECASE,
)


def read_ordinal_words(text: str) -> list[Literal]:
    """Every ordinal in words that states something; `5 seconds`, `per second` and `not the first` are none."""
    found = []
    for match in WORD_ORDINAL.finditer(lower_case(text)):
        word = match["word"]
        if word != "second" or not UNIT_OF_TIME.search(text, max(0, match.start() - 12), match.start()):
            found.extend(_ordinal(text, match, VALUES[word]))
    return found


def read_ordinals(text: str) -> list[Literal]:
    """Every ordinal in digits that states something."""
    return [
        literal for match in DIGIT_ORDINAL.finditer(text) for literal in _ordinal(text, match, int(match["number"]))
    ]


def _ordinal(text: str, match: re.Match[str], value: int) -> list[Literal]:
    if DENIED.search(text, max(0, match.start() - 12), match.start()):
        return []
    free = value == 1 or PARTS.match(text, match.end())
    return [
        Literal(
            "number", text[match.start() : match.end()], match.start(), frozenset([f"o{value}"]), FREE if free else None
        )
    ]

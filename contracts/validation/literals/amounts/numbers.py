"""Numbers as literals: digits and words, with their units, in one normal form (R5-8).

`1,200`, `1 200`, `1.2 thousand` and `twelve hundred` are one number; `5 kg` and `5 m` are two. A word after a number is
a unit only if `units` has it.

Ordinals (`second`, `2nd`) are literals too. Two kinds of ordinals are checked only if the chunk itself counts by
ordinals, because writers otherwise use them freely: `first`, and an ordinal that counts the parts of the sources ("the
third review").
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from sourcebound.contracts.validation.literals.amounts.measures import SCALES, read_measure, read_time_rate
from sourcebound.contracts.validation.literals.amounts.number_words import NUMBER_WORDS
from sourcebound.contracts.validation.literals.amounts.units import UNITS
from sourcebound.contracts.validation.literals.literal import FREE, Literal, lower_case, words_after
from sourcebound.contracts.validation.versions import SECOND

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
AFTER_DECIMALS: Final = r"\d|,\s?\d|,\s(?:and|or|und|oder|et|ou|y|e|o)\s\d"
"""What no decimal comma has behind its digits: more of them, or the rest of a list (`1,2, and 3`)."""
ANY_NUMBER: Final = re.compile(
    NUMBER.pattern.replace(
        NUMERAL,
        rf"\d{{1,3}}(?:[\u00a0\u202f ]\d{{3}})+,\d{{1,2}}(?!{AFTER_DECIMALS})|"
        + NUMERAL.replace(r"(?![,\d])", rf"(?!{AFTER_DECIMALS})"),
    )
)
"""The numbers since the second version, which may have blanks between groups and a decimal comma: `1 245,3`. A comma
may follow them."""
LEAD: Final = re.compile(rf"(?P<currency>{CURRENCY}\s?)?(?P<sign>(?<![\w)\]])(?<!\d\s)[-−+±])?$")
"""The currency and sign that may precede a number and belong to it."""
LEAD_LENGTH: Final = 6
SIZES: Final = "hundred thousand million billion dozen"
UNDER_HUNDRED: Final = (
    rf"(?:{'|'.join(NUMBER_WORDS)})(?:-(?:{'|'.join(NUMBER_WORDS)}))?\b(?!\s(?:{SIZES.replace(' ', '|')}))"
)
FIRST_WORD: Final = (
    r"\b(?!ten\s(?:minste|hoogste|laatste|eerste|tweede|derde|opzichte|aanzien|behoeve|gunste|gevolge|einde|tijde|onrechte"
    r"|deel|dele|koste|laste|name|slotte|dienste|noorden|oosten|zuiden|westen)\b)"
    rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
    rf"(?:[\s-]+(?:{'|'.join([*NUMBER_WORDS, *SIZES.split()])}))*\b"
)
"""The Dutch `ten minste` has no number."""
WORD_NUMBERS: Final = {
    1: re.compile(FIRST_WORD),
    SECOND: re.compile(rf"{FIRST_WORD}(?:(?<=hundred)\sand\s{UNDER_HUNDRED})?"),
}
"""Numbers in words by the version of validation: `one hundred and seventy-nine`. They apply to text in lower case."""
SPACING: Final = re.compile(r"[\s'’]")
GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
GROUPED_BY_DOT: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")
AND_A_FRACTION: Final = re.compile(r"[\s-]and[\s-](?:a|one)[\s-](?P<part>half|quarter)\b", re.IGNORECASE)
HALF_MORE: Final = re.compile(
    r"\s(?:y\smedi[oa]|et\sdemie?|e\smezz[oa]|e\smei[oa]|und\seine?n?\shalbe?[nrs]?)\b"
    r"(?!\s(?:horas?|días?|heures?|jours?|or[ae]|giorn[oi]|Stunden?|Tage?)\b)",
    re.IGNORECASE,
)
"""What follows a number with its unit and adds a half of it: `3 días y medio`. Not `3 días y media hora`."""
HALF: Final = Decimal("0.5")
FRACTIONS: Final = {"half": Decimal("0.5"), "quarter": Decimal("0.25")}
POINT_GROUPS: Final = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
COMMA_OF_DECIMALS: Final = re.compile(r"\d{1,3},\d{3}")
LEADING_ZERO: Final = re.compile(r"0\d+")
MAX_EXPONENT_DIGITS: Final = 4
"""The most digits, sign included, of a power of ten that is computed. One with more digits is compared as written."""


def read_numbers(text: str, version: int, *, points_group: bool = False) -> list[Literal]:
    """Read every number in digits, with its scale and unit.

    Args:
        text: A text whose dates, times, identifiers and addresses are masked.
        version: The number of the validation contract.
        points_group: Whether the text may group thousands by points. Then `1.200` has both values.

    Returns:
        The numbers. A number whose value cannot be computed is compared as written.
    """
    literals = []
    for match in _find_numbers(text, ANY_NUMBER if version >= SECOND else NUMBER):
        before = text[max(0, match.start() - LEAD_LENGTH) : match.start()]
        if before and (before[-1].isalnum() or before[-1] in "_."):
            continue
        if version >= SECOND and before.endswith(" min-"):
            continue
        lead = LEAD.search(before)
        sign, currency = (lead["sign"], lead["currency"]) if lead else (None, None)
        start = match.start() - (len(lead[0]) if lead else 0)
        value = _read_value(match)
        grouped = _read_grouped(match) if points_group else None
        if value is None and grouped is None:
            raw_form = "v" + re.sub(r"\s", "", match[0])
            literals.append(Literal("identifier", text[start : match.end()], start, frozenset([raw_form])))
            continue
        unit = read_measure(text, match.end(), bool(currency), version)
        name = UNITS[currency.strip().casefold()] if currency else unit.unit
        rate = read_time_rate(text, unit.end) if currency and version >= SECOND else None
        name, end = (f"{name}/{rate[0]}", rate[1]) if rate else (name, unit.end)
        half = HALF_MORE.match(text, end) if version >= SECOND and unit.unit else None
        more, end = (HALF, half.end()) if half else (Decimal(0), end)
        values = [each + more for each in (value, grouped) if each is not None]
        forms = {_number_form((-each if sign == "-" else each) * unit.factor) for each in values}
        if value is None:
            forms.add("v" + match["numeral"])
        if LEADING_ZERO.fullmatch(match["numeral"] or ""):
            forms = {"n" + match["numeral"]}
        literals.append(Literal("number", text[start:end], start, frozenset(forms), name))
    return literals


def _find_numbers(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield every match of a pattern. Trying only at digits is much faster than trying at every character."""
    position = 0
    while digit := DIGIT.search(text, position):
        start = digit.start() - (digit.start() > position and text[digit.start() - 1] == ".")
        match = pattern.match(text, start) or pattern.match(text, digit.start())
        if match is None:
            position = digit.end()
            continue
        yield match
        position = match.end()


def read_number_words(text: str, version: int) -> list[Literal]:
    """Read every number in words. A lone "one" is not a literal, because it is mostly a pronoun."""
    literals: list[Literal] = []
    for match in WORD_NUMBERS[min(version, SECOND)].finditer(lower_case(text)):
        words = [word for word in re.split(r"[\s-]+", match[0]) if word != "and"]
        fraction = AND_A_FRACTION.match(text, match.end()) if version >= SECOND else None
        unit = read_measure(text, fraction.end() if fraction else match.end(), False, version)
        if words == ["one"] and unit.unit is None and not fraction:
            continue
        part = FRACTIONS[fraction["part"].casefold()] if fraction else Decimal(0)
        form = _number_form((_sum_words(words) + part) * unit.factor)
        literals.append(Literal("number", text[match.start() : unit.end], match.start(), frozenset([form]), unit.unit))
    return literals


def _read_value(match: re.Match[str]) -> Decimal | None:
    if match["ten"]:
        return _scale(Decimal(1), match["ten"])
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
        return _scale(Decimal(compact), match["exponent"] or "")
    except InvalidOperation:
        return None


def _read_grouped(match: re.Match[str]) -> Decimal | None:
    """Return the other value of a number whose points group thousands (`1.200`) or whose comma does not (`9,085`)."""
    whole = match["numeral"] or ""
    if COMMA_OF_DECIMALS.fullmatch(whole) and not match["exponent"]:
        return Decimal(whole.replace(",", "."))
    return Decimal(whole.replace(".", "")) if POINT_GROUPS.fullmatch(whole) and not match["exponent"] else None


def _scale(value: Decimal, exponent: str) -> Decimal | None:
    if not exponent:
        return value
    power = re.search(r"[-−]?\d+$", exponent)
    if power and len(power[0]) > MAX_EXPONENT_DIGITS:
        return None
    return value.scaleb(int(power[0].replace("−", "-"))) if power else value


def _number_form(value: Decimal) -> str:
    return (
        f"n{value:f}"
        if value == value.to_integral_value() and value.as_tuple().exponent == 0
        else f"n{value.normalize() + 0:f}"
    )


def scaled_form(form: str, factor: int) -> str | None:
    """Return the normal form of a number times a factor, None for a form without a value."""
    digits = form.removeprefix("n")
    if not form.startswith("n") or (LEADING_ZERO.fullmatch(digits) and digits.isdigit()):
        return None
    return _number_form(Decimal(digits) * factor)


def _sum_words(words: list[str]) -> Decimal:
    total, current = 0, 0
    for word in words:
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word in ("hundred", "dozen"):
            current = (current or 1) * SCALES[word]
        else:
            total, current = total + (current or 1) * SCALES[word], 0
    return Decimal(total + current)


ORDINAL_WORDS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
ORDINAL_VALUES: Final = {word: value for value, word in enumerate(ORDINAL_WORDS, start=1)}
WORD_ORDINAL: Final = re.compile(rf"\b(?P<word>{'|'.join(ORDINAL_WORDS)})\b(?!\s*(?:,|$))")
"""Applies to text in lower case. It does not match `Second, …`, which orders the answer's own points."""
DIGIT_ORDINAL: Final = re.compile(r"(?<!\d)(?P<number>\d++)(?:st|nd|rd|th)\b")
MAX_ORDINAL_DIGITS: Final = 4000
"""The most digits of an ordinal that are read, because Python converts no more."""
UNIT_OF_TIME: Final = re.compile(r"(?:\d|\b(?:per|each|every|split))[\s-]*$", re.IGNORECASE)
NEGATION_BEFORE: Final = re.compile(r"\bnot\s+(?:the\s+|a\s+)?$", re.IGNORECASE)
SOURCE_PARTS: Final = re.compile(
    r"\s+(?:(?:customer|user|main|key)\s+)?(?:review|reviewer|customer|passage|source|document|step|point|item|reason|example"
    r"|case|paragraph|section|user|person|one)s?\b",
    re.IGNORECASE,
)


INDEFINITE: Final = re.compile(r"\b(?:an?|another)\s+$", re.IGNORECASE)
"""What comes before an ordinal that orders the answer's own points: `a third theory`."""
COUNTS_NOTHING: Final = re.compile(r"\s+(?:is|are|was|were)\b")


def read_ordinal_words(text: str, version: int) -> list[Literal]:
    """Read every ordinal in words that states something, unlike `5 seconds`, `per second` and `not the first`."""
    literals = []
    for match in WORD_ORDINAL.finditer(lower_case(text)):
        word = match["word"]
        if word != "second" or not UNIT_OF_TIME.search(text, max(0, match.start() - 12), match.start()):
            literals.extend(_ordinal_literals(text, match, ORDINAL_VALUES[word], version))
    return literals


def read_ordinals(text: str, version: int) -> list[Literal]:
    """Read every ordinal in digits that states something."""
    return [
        literal
        for match in DIGIT_ORDINAL.finditer(text)
        for literal in _ordinal_literals(text, match, int(match["number"][-MAX_ORDINAL_DIGITS:]), version)
    ]


SEQUENCE: Final = 300
"""The characters before an ordinal in which the one before it is looked for."""


def _goes_on(text: str, match: re.Match[str], value: int) -> bool:
    """Return whether an ordinal goes on with a sequence of the writer's own: `the first …, the second …`."""
    before = ORDINAL_WORDS[value - 2] if 1 < value <= len(ORDINAL_WORDS) else ""
    return (
        bool(before)
        and re.search(rf"\b{before}\b", text[max(0, match.start() - SEQUENCE) : match.start()], re.IGNORECASE)
        is not None
    )


def _ordinal_literals(text: str, match: re.Match[str], value: int, version: int) -> list[Literal]:
    before = max(0, match.start() - 12)
    if NEGATION_BEFORE.search(text, before, match.start()):
        return []
    is_free = value == 1 or SOURCE_PARTS.match(text, match.end()) is not None
    if version >= SECOND:
        is_free = is_free or _goes_on(text, match, value)
        is_free = is_free or INDEFINITE.search(text, before, match.start()) is not None
        is_free = is_free or COUNTS_NOTHING.match(text, match.end()) is not None
    form, unit = frozenset([f"o{value}"]), FREE if is_free else None
    ordered = frozenset(words_after(text, match.end()) if version >= SECOND else ())
    return [Literal("number", text[match.start() : match.end()], match.start(), form, unit, ordered)]

"""Fractions in words: `two thirds`, `zwei Drittel`, `deux tiers` (R5-8). They count the parts, as `2/3` does.

A source that says `half the fee` supports 50 %, and one that says `75 %` supports three quarters.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from sourcebound.contracts.validation.literals.amounts.units import UNITS
from sourcebound.contracts.validation.literals.literal import PART, Literal, lower_case

SMALL: Final = {
    word: value for value, word in enumerate("one two three four five six seven eight nine".split(), start=1)
}
PARTS: Final = {
    name: value for value, name in enumerate("third quarter fifth sixth seventh eighth ninth tenth".split(), start=3)
}
ENGLISH: Final = re.compile(
    rf"(?<!-)\b(?P<count>{'|'.join(SMALL)})(?P<joint>\s|-|\s-\s)(?P<part>{'|'.join(PARTS)})(?P<plural>s?)\b"
    r"(?![\s-]part(?:y|ies)\b)(?P<counts>\s(?:of|majority)\b)?"
)
"""`one third`, `three quarters`, `two-third`; applies to text in lower case, as the next pattern."""
ONE_OF: Final = re.compile(rf"\ban?\s(?P<part>{'|'.join(PARTS)})(?=\sof\b)")
"""`a third of the amount`; a statement that says so may also round."""
FOREIGN_COUNTS: Final = {
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "deux": 2, "trois": 3,
    "quatre": 4, "cinq": 5, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "due": 2, "tre": 3, "quattro": 4, "cinque": 5,
}  # fmt: skip
FOREIGN_PARTS: Final = {
    "drittel": 3, "viertel": 4, "fünftel": 5, "sechstel": 6, "siebtel": 7, "achtel": 8, "neuntel": 9, "zehntel": 10,
    "tiers": 3, "quarts": 4, "cinquièmes": 5, "sixièmes": 6, "huitièmes": 8, "dixièmes": 10,
    "tercios": 3, "cuartos": 4, "quintos": 5, "octavos": 8, "décimos": 10,
    "terzi": 3, "quarti": 4, "quinti": 5, "ottavi": 8, "decimi": 10,
}  # fmt: skip
ONE_PART: Final = {"drittel": 3, "fünftel": 5, "tiers": 3, "tercio": 3, "terzo": 3}
"""One part by its name, which is a fraction before the word for `of`."""
FOREIGN: Final = re.compile(
    rf"\b(?P<count>{'|'.join(FOREIGN_COUNTS)})[\s-]?(?P<part>{'|'.join(FOREIGN_PARTS)})n?\b"
    r"(?!\s(?:vor|nach|stunden?|d['’]heure|d['’]ora|de\shora|de\sbaño|de\sfinale?|di\sfinale)\b)"
    rf"|\b(?:eine?[ms]?|un)\s(?P<one>{'|'.join(ONE_PART)})s?\b"
    r"(?=\s(?:der|des|aller?|von|de|du|del|dei|degli|dell[aeo])\b|\s(?:d|dell)['’])"
)
FOREIGN_MARK: Final = re.compile(
    r"tel|tiers|quarts|i[eè]mes|terci|cuartos|quint|octavos|décimos|terz|quarti|ottavi|decimi"
)
"""A text in lower case without this has no fraction of these languages."""
HALF: Final = re.compile(
    r"\b(?:by|one)\shalf\b|\bhalf\b(?=\s(?:of\s)?(?:the|its|their|this|that|these|those|all|your|our|his|her|as)\b)"
    r"|\b(?:die|der|zur)\shälfte\b|\bla\s(?:moitié|mitad|metà)\b|\bde\shelft\b"
)
"""A half of something, and not `half an hour`; applies to text in lower case."""
HALF_OF_A_WHOLE: Final = re.compile(rf"(?<!first\s)(?<!second\s)(?<!other\s)(?<!last\s)(?:{HALF.pattern})")
"""The same in a statement, where `the first half of the year` is a time."""
HALVED: Final = re.compile(
    r"\bhal(?:f|ve)|\bhalb|\bhälfte|\bmoiti|\bmitad|\bmetà|\bhelft|\bmetade|\bmedi[ao]s?\b|½|\bdemi"
)
"""What in a source means a half."""
FIFTY: Final = "n50"
"""The form of the number that does too: `50 of the 100 units`, `50 per cent`."""
PERCENT: Final = UNITS["%"]
MOST_PARTS: Final = 10
HALF_FORMS: Final = frozenset({"n0.5"})


def is_half_in_words(literal: Literal) -> bool:
    """Return whether a literal is a half in words.

    A source has the value in many forms, so that it is compared by its word (`surroundings`).
    """
    return literal.forms == HALF_FORMS and not any(map(str.isnumeric, literal.text))


def read_fraction_words(text: str) -> list[Literal]:
    """Read every fraction in words that counts its parts, as `plain_text` writes `2/3`."""
    lowered = lower_case(text)
    return [
        Literal("number", text[start:end], start, frozenset([_form(count, part)]))
        for start, end, count, part in sorted({*_english(lowered), *_foreign(lowered), *_halves(lowered)})
        if count < part
    ]


def parts_of_a_source(text: str) -> list[str]:
    """Return the forms of the single parts that a source names: `a third of the amount`."""
    return [_form(1, PARTS[match["part"]]) for match in ONE_OF.finditer(lower_case(text))]


def percent_forms(text: str, literals: Sequence[Literal]) -> Iterator[tuple[str, str | None]]:
    """Yield the percentages that are equal to the fractions of a source, and the fractions equal to its percentages.

    Args:
        text: The plain text of the source.
        literals: Its literals.
    """
    lowered = lower_case(text)
    fractions = {(count, part) for _, _, count, part in (*_english(lowered), *_foreign(lowered)) if count < part}
    fractions |= {(1, PARTS[match["part"]]) for match in ONE_OF.finditer(lowered)}
    fractions |= {(1, 2)} if HALF.search(lowered) else set()
    if HALVED.search(lowered) or any(FIFTY in literal.forms for literal in literals):
        yield _form(1, 2), None
    yield from ((f"n{100 * count // part}", PERCENT) for count, part in fractions if 100 * count % part == 0)
    percentages = {form for literal in literals if literal.unit == PERCENT for form in literal.forms}
    yield from (
        (_form(count, part), PART)
        for part in range(3, MOST_PARTS + 1)
        for count in range(1, part)
        if 100 * count % part == 0 and f"n{100 * count // part}" in percentages
    )


def _form(count: int, part: int) -> str:
    return f"n{round(Decimal(count) / part, 4).normalize():f}"


def _english(lowered: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the start, the end, the count and the name of the parts of each English fraction."""
    for match in ENGLISH.finditer(lowered):
        count = SMALL[match["count"]]
        is_plain = (count > 1) is bool(match["plural"]) and len(match["joint"]) == 1
        if is_plain or ("-" in match["joint"] and match["counts"]):
            yield match.start(), match.end("plural"), count, PARTS[match["part"]]


def _halves(lowered: str) -> Iterator[tuple[int, int, int, int]]:
    yield from ((*match.span(), 1, 2) for match in HALF_OF_A_WHOLE.finditer(lowered))


def _foreign(lowered: str) -> Iterator[tuple[int, int, int, int]]:
    for match in FOREIGN.finditer(lowered) if FOREIGN_MARK.search(lowered) else ():
        if match["one"]:
            yield *match.span(), 1, ONE_PART[match["one"]]
        else:
            yield *match.span(), FOREIGN_COUNTS[match["count"]], FOREIGN_PARTS[match["part"]]

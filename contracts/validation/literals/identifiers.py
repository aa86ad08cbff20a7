"""Identifiers, addresses and quotations as literals (R5-8)."""

import re
from typing import Final

from sourcebound.contracts.validation.literals.amounts.measures import MULTIPLES, SCALES
from sourcebound.contracts.validation.literals.amounts.units import UNITS, is_unit, read_more_units
from sourcebound.contracts.validation.literals.literal import WORD, Literal
from sourcebound.contracts.validation.versions import SECOND

ADDRESS: Final = re.compile(r"\b(?:https?://|www\.)[^\s<>\"'\])}]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
CLOSING: Final = ".,;:!?`*“’”»"
"""What ends the text around an address: ``(`git+https://example.org/fans.git`)``."""
IDENTIFIER: Final = re.compile(r"(?<![\w@/.])[A-Za-z0-9]+(?:[-/._][A-Za-z0-9]+)*(?![\w])")
WITH_DIGIT: Final = re.compile(r"(?<!\S)\S*\d\S*")
DIGIT: Final = re.compile(r"\d")
PLURAL: Final = re.compile(r"[A-Z]\d+s$")
RATING: Final = re.compile(
    r"(?<![\w+-])(?:(?:A{1,3}|B{1,3}|C{1,3}|AB|O)(?:[+-](?![\w+-]))|(?:AAA|BBB|CCC|AA|BB|CC)(?![\w+-]))"
)
MARKS: Final = re.compile(r"[\W_]")
NO_POINT: Final = re.compile(r"(?!(?<=\d)\.\d)[\W_]")
LETTER: Final = re.compile(r"[A-Za-z]")
MEASURE: Final = re.compile(r"\d+(?:[.,/-]\d+)*(?:e[-+]?\d+)?-?(?P<rest>[A-Za-z]*(?:[-/][A-Za-z]+)*)", re.IGNORECASE)
SHORT_RATES: Final = frozenset("/mo /yr /wk /hr".split())
"""Rates that are no part of a name: `$20/mo`."""
AMOUNT: Final = re.compile(r"\d+(?:[.,]\d+)*(?:[bBkKmM]|/[a-zA-Z])")
HOURS: Final = re.compile(r"\d{1,2}[hH]-\d{1,2}[hH]")
"""A range of hours: `9h-12h`."""
ENDINGS: Final = frozenset({"", "s", "st", "nd", "rd", "th", "x", "g", "m", "l", "n"})
QUOTATION: Final = re.compile(r"[“\"„«]([^“”\"„«»\n]{3,400})[”\"“»]|(?<!\w)[‘']([^‘’'\n]{3,400})[’'](?!\w)")
WHOLE_QUOTATION: Final = re.compile(
    r"(?:(?<!\w)[“\"„«]|[“„«])(?P<double>[^“”\"„«»\n]{3,400})[”\"“»]|(?<!\w)[‘'](?P<single>[^‘'\n]{3,400})'(?!\w)"
)
"""A quotation. Marks of inches do not open one."""
GUILLEMET: Final = re.compile("[«»]")
OUTWARD: Final = str.maketrans("»«", "«»")
"""German guillemets point inward: `»Service«`."""
LEFT_OUT: Final = re.compile(r"…|\.\s?\.\s?\.|\[[^\[\]]{0,80}\]")
BEFORE_QUESTION: Final = re.compile(
    r"\b(?:question|query|asked|asking|asks)\b[\s:,]*(?:is|was|of)?[\s:,]*$", re.IGNORECASE
)
"""Words before a quotation of the question. Such a quotation is not from a source."""


def read_addresses(text: str, version: int = 1) -> list[Literal]:
    """Read every URL and e-mail address; the scheme, `www.` and a final slash do not count.

    Since the second version, closing marks of code, emphasis and quotation do not count either.
    """
    if "@" not in text and "www." not in text.casefold() and "://" not in text:
        return []
    literals = []
    for match in ADDRESS.finditer(text):
        address = match[0].rstrip(CLOSING if version >= SECOND else ".,;:!?")
        form = re.sub(r"^(?:https?://)?(?:www\.)?|/$", "", address.casefold())
        literals.append(Literal("address", address, match.start(), frozenset(["a" + form])))
    return literals


def read_identifiers(text: str, version: int = 1) -> list[Literal]:
    """Read every word of letters and digits that is not a measure: part, model, document and registration numbers."""
    return [
        Literal("identifier", match[0], match.start(), _identifier_forms(match[0], version))
        for word in WITH_DIGIT.finditer(text)
        for match in IDENTIFIER.finditer(text, word.start(), word.end())
        if DIGIT.search(match[0])
        and LETTER.search(match[0])
        and not _is_measure(match[0], version)
        and not (version >= SECOND and (match[0] == "min-1" or is_unit(match[0]) or _is_amount(match)))
    ]


def _is_amount(match: re.Match[str]) -> bool:
    """Return whether a number with a letter follows a currency: `$3.6B`, `€4/h`."""
    return match.string[match.start() - 1 : match.start()] in tuple("$€£¥") and AMOUNT.fullmatch(match[0]) is not None


def read_ratings(text: str) -> list[Literal]:
    """Read every rating or grade in letters: `BBB+`, `AAA`, `A-`. Its sign is part of it."""
    return [
        Literal("identifier", match[0], match.start(), frozenset([f"r{match[0]}"])) for match in RATING.finditer(text)
    ]


def _identifier_forms(text: str, version: int) -> frozenset[str]:
    """Return an identifier without its marks, and since the second version also without the `s` of a plural.

    Since then a point between digits counts: `v1.2` is not `v12`.
    """
    form = (NO_POINT if version >= SECOND else MARKS).sub("", text.casefold())
    return frozenset([form, form[:-1]] if version >= SECOND and PLURAL.search(text) else [form])


def identifier_parts(text: str) -> set[str]:
    """Return the forms of the numbers inside a chunk's identifier, which support the same number in an answer."""
    numbers = {f"n{number.lstrip('0') or '0'}" for number in re.findall(r"\d+", text)}
    return numbers | {f"v{version}" for version in re.findall(r"\d+(?:\.\d+){2,}", text)}


def read_quotations(text: str, version: int) -> list[Literal]:
    """Read every quotation of three words or more, except, in the first version, a quotation of the question."""
    literals = []
    if version >= SECOND:
        first = GUILLEMET.search(text)
        text = text.translate(OUTWARD) if first and first[0] == "»" else text
        return [literal for match in WHOLE_QUOTATION.finditer(text) for literal in _fragments(match)]
    for match in QUOTATION.finditer(text):
        words = WORD.findall((match[1] or match[2]).casefold())
        if len(words) >= 3 and not BEFORE_QUESTION.search(text, max(0, match.start() - 40), match.start()):
            literals.append(Literal("quotation", match[0], match.start(), frozenset([" ".join(words)])))
    return literals


def _fragments(match: re.Match[str]) -> list[Literal]:
    """Return a quotation by its unbroken parts. What is left out or put in brackets is the writer's."""
    parts = [" ".join(WORD.findall(part.casefold())) for part in LEFT_OUT.split(match["double"] or match["single"])]
    count = sum(len(part.split()) for part in parts)
    return [Literal("quotation", match[0], match.start(), frozenset(filter(None, parts)))] if count >= 3 else []


def _is_measure(token: str, version: int) -> bool:
    """Return whether a token is a number with its unit or ending (`5kg`, `20th`, `1990s`, `24-hour`) and not a name."""
    match = MEASURE.fullmatch(token)
    if not match:
        return version >= SECOND and HOURS.fullmatch(token) is not None
    rest = match["rest"].casefold()
    if version >= SECOND and (rest in SHORT_RATES or (len(rest) > 2 and rest[0] == "/" and is_unit(rest[1:]))):
        return True
    longer = read_more_units(match["rest"], 0) if version >= SECOND else None
    if longer and longer[1] == len(rest):
        return True
    return rest in ENDINGS or rest in UNITS or rest in SCALES or rest in MULTIPLES or len(rest) > 3

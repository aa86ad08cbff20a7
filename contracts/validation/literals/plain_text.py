"""The plain text that the readers of literals see (R5-8).

The first contract of validation folds every compatibility form, so that `10⁶` reads 106. From the second on, marks are
read as what they are: powers, footnote marks, fractions and signs.
"""

import re
import unicodedata
from decimal import Decimal
from typing import Final

from sourcebound.contracts.validation.literals.times.dates import ALL_MONTHS
from sourcebound.contracts.validation.versions import SECOND

RAISED: Final = "\u00b2\u00b3\u00b9\u2070\u2074-\u2079"
LOWERED: Final = "\u2080-\u2089\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3251-\u325f\u32b1-\u32bf"
VULGAR: Final = "\u00bc-\u00be\u2150-\u215e\u2189"
SMALL_SIGN: Final = re.compile(f"[{RAISED}{LOWERED}{VULGAR}]")
"""A text without one of these has no small digits and no vulgar fraction."""
SMALL_DIGITS: Final = re.compile(f"(?:⁻|⁺)?[{RAISED}]+|[{LOWERED}]")
"""A run of superscript digits, or one lowered, circled or bracketed number."""
SUPERSCRIPT: Final = re.compile(
    r"<sup>\s?(?P<html>[-−+]?\d{1,4})\s?</sup>|\s?:sup:`(?P<role>[-−+]?\d{1,4})`", re.IGNORECASE
)
"""Raised digits of HTML and of reStructuredText."""
SUPERSCRIPTS: Final = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
POWER_BASE: Final = re.compile(r"(?<![\w.,])(?:[\d.,]+\s?[x×·*]\s?)?(?:10|2)$")
WORD_BEFORE: Final = re.compile(r"[^\W\d_]+$")
SYMBOL_LETTERS: Final = 2
"""The most letters of a unit or a chemical symbol, which a superscript belongs to (`cm²`, `Ca²⁺`)."""
LONGEST_BASE: Final = 12
VULGAR_FRACTION: Final = re.compile(f"(?:(?<![\\d.,])(\\d{{1,9}})[ \u2009\u202f-]?)?([{VULGAR}])")
SLASHED: Final = re.compile(r"\d\s?[/⁄]\s?\d")
"""A text without this has no fraction."""
FRACTION: Final = re.compile(
    r"(?<![\w/.,])(?:(\d{1,3})[ -])?([1-9]\d?)\s?[/⁄]\s?(2|3|4|5|6|8|16|32|64)(?![\w/⁄]|[.,]\d)"
)
SIGN: Final = re.compile(r"[‒–—](?<![^\s(\[|:=,;<>≤≥~≈/].)(?<!\d\s.)(?=[.\d])")
"""A dash directly before a number, which is not the dash of a range."""
RANGE: Final = re.compile(r"-(?<=[°%℃℉'\"”′″].)(?=[.\d])")
"""A hyphen of a range after a unit, which is not a sign: `60°-75°F`."""
WORD_SIGN: Final = re.compile(r"(?<!\d\s)\b(?:minus|negative)\s(?=[.\d])", re.IGNORECASE)
WORD_SIGN_END: Final = re.compile(r"[sSſeE]\s[.\d]")
"""A text without this has no sign in words."""
DOUBLED_QUOTE: Final = re.compile(r"''(?:(?<!\w'')(?P<opening>(?=\w)))?")
"""Two single quotation marks for a double one, which is opening directly before a word."""
ASTERISKS: Final = re.compile(r"\*+")
HYPHENS: Final = {"−": "-", "‐": "-", "\u2011": "-", "º": "°"}


MONTH: Final = "|".join(sorted(ALL_MONTHS, key=len, reverse=True))
DATE_OF_ONE_WORD: Final = re.compile(
    rf"(?<![\w/.-])(\d{{1,2}})[-/.]({MONTH})[-/.]((?:19|20)\d\d)(?![\w-])",
    re.IGNORECASE,
)
"""A date as logs and forms write it: `19-Jun-2027`."""


def plain_text(text: str, version: int) -> str:
    """Fold a text for the readers of literals.

    Args:
        text: A segment without its citations, or a chunk.
        version: The number of the validation contract.

    Returns:
        The text in its compatibility form, without emphasis. Positions may differ from those of `text`.
    """
    if version < SECOND:
        return unicodedata.normalize("NFKC", text.replace("−", "-").replace("*", "")).replace("’", "'")
    marked = text
    for hyphen, plain in HYPHENS.items():
        marked = marked.replace(hyphen, plain)
    if "*" in marked:
        marked = ASTERISKS.sub(_emphasis, marked)
    marked = SUPERSCRIPT.sub(lambda match: (match["html"] or match["role"]).translate(SUPERSCRIPTS), marked)
    if SMALL_SIGN.search(marked):
        marked = SMALL_DIGITS.sub(_small_digits, VULGAR_FRACTION.sub(_vulgar_fraction, marked))
    marked = DATE_OF_ONE_WORD.sub(r"\1 \2 \3", marked)
    marked = marked.replace("+/-", "±")
    marked = RANGE.sub("–", SIGN.sub("-", marked)).replace("``", "“")
    if "''" in marked:
        marked = DOUBLED_QUOTE.sub(lambda match: "“" if match["opening"] is not None else "”", marked)
    if SLASHED.search(marked):
        marked = FRACTION.sub(_fraction, marked)
    if WORD_SIGN_END.search(marked):
        marked = WORD_SIGN.sub("-", marked)
    return unicodedata.normalize("NFKC", marked).replace("’", "'")


def _emphasis(match: re.Match[str]) -> str:
    """Drop an emphasis mark. Between two digits it is a multiplication or a power, and stays."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    return match[0] if before.isdigit() and after.isdigit() else ""


def _small_digits(match: re.Match[str]) -> str:
    """Return a power with `^`, an exponent of a unit in digits, and a blank for the mark of a footnote."""
    before = match.string[max(0, match.start() - LONGEST_BASE) : match.start()]
    digits = unicodedata.normalize("NFKC", match[0]).replace("−", "-")
    if digits[-1].isdigit() and POWER_BASE.search(before):
        return f"^{digits}" if match[0][0] in "⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹" else f" {digits}"
    word = WORD_BEFORE.search(before)
    if word and (len(word[0]) <= SYMBOL_LETTERS or not digits[0].isdigit() or match[0][0] in "₀₁₂₃₄₅₆₇₈₉"):
        return digits
    is_prefix = not before[-1:].isalnum() and match.string[match.end() : match.end() + 1].isalpha()
    return digits if is_prefix or (match[0][0] > "₉" and not before[-1:].isalnum()) else " "


def _vulgar_fraction(match: re.Match[str]) -> str:
    return _decimal(int(match[1] or 0) + Decimal(unicodedata.numeric(match[2])))


def _fraction(match: re.Match[str]) -> str:
    upper, lower = int(match[2]), int(match[3])
    return _decimal(int(match[1] or 0) + Decimal(upper) / lower) if upper < lower else match[0]


def _decimal(value: Decimal) -> str:
    """Return a fraction's value with four digits after the point at most, in which thirds agree too."""
    return f"{value.quantize(Decimal('0.0001')).normalize():f}"

"""Times of day and parts of a year that a source writes in short: `1308 EST`, `Q4`, `FY2022` (R5-8).

A source that has one of them supports the long form too, and the other way round: `1:08 p.m.`, `the fourth quarter`.
"""

import re
from collections.abc import Iterator, Set
from typing import Final

from sourcebound.contracts.validation.literals.literal import QUARTER

Form = tuple[str, str | None]

HOUR_AND_MINUTE: Final = r"(?:[01]\d|2[0-3])[0-5]\d"
ZONE: Final = (
    r"(?:Z|UTC|GMT|[ECMPA][SD]T|AK[SD]T|HST|CES?T|EES?T|WES?T|BST|IST|JST|AES?T"
    r"|(?i:local|(?:eastern|central|mountain|pacific|atlantic|alaska|hawaii)(?:\s+(?:standard|daylight))?\s+time))\b"
)
CLOCK: Final = re.compile(
    rf"(?<![\w.,:/+-])(?:(?P<zoned>{HOUR_AND_MINUTE})(?=\s?{ZONE})"
    rf"|(?<=\bat )(?P<at>0\d[0-5]\d(?![\w:/]|[.,]\d)|{HOUR_AND_MINUTE}(?=\s?(?:hours|hrs|h)\b)))"
)
"""Four digits are a time before a time zone, and after `at` with a leading zero or before `hours`."""
OPEN: Final = re.compile(rf"(?<![\w.,:/+-])({HOUR_AND_MINUTE})\s?(?:-|–|to)\s?({HOUR_AND_MINUTE})(?![\w:/]|[.,]\d)")
"""Two of them are times in a text about hours."""
OF_HOURS: Final = frozenset("hours utc gmt zulu opening open".split())
FOUR_DIGITS: Final = re.compile(r"(?<!\d)[0-2]\d[0-5]\d(?!\d)")
"""A text without this has no such time."""
QUARTERS: Final = {word: number for number, word in enumerate("first second third fourth".split(), start=1)}
QUARTER_WORD: Final = re.compile(
    rf"\b(?:(?P<word>{'|'.join(QUARTERS)})|(?P<digit>[1-4])(?:st|nd|rd|th))[\s-]quarters?\b"
)
HALF_WORD: Final = re.compile(r"\b(?:(?P<word>first|second)|(?P<digit>[12])(?:st|nd))[\s-]half\b")
SHORT_QUARTER: Final = re.compile(
    r"(?<![\w.-])(?:q(?P<after>[1-4])|(?P<before>[1-4])q)(?:\s?['’]?(?:\d{4}|\d{2}))?(?!\w)"
)
"""Applies to text in lower case: `q4`, `4q22`, `q4 2022`."""
SHORT_QUARTER_MARK: Final = re.compile(r"q[1-4]|[1-4]q")
FISCAL_YEAR: Final = re.compile(r"\bfiscal(?:\s+year)?\s+(?P<year>20\d\d|19\d\d)\b")
MINUTES: Final = re.compile(r"[:=|][ ]?[\"'`(]?(?P<number>\d{1,4})m(?![\w.])")
"""A value that may be minutes: `5m` after a colon."""
OF_TIME: Final = re.compile(
    r"(?i:time|timeout|interval|delay|duration|period|wait)s?"
    r"(?:[\"'`]?[ ]?[:=|]|[ ]?[;|](?:[^\n]*[;|])?[ ]?(?i:default|value|setting|minimum|maximum|min|max):)\Z"
)
"""The name of a value that is a time: `timeout: 5m`, `timeout; Default: 5m`. Elsewhere `5m` is five metres."""
LONGEST_NAME: Final = 160
NAMED: Final = {"noon": "t12:00", "midday": "t12:00", "midnight": "t0:00"}
"""Times of day with a name."""


def short_time_forms(text: str, words: Set[str]) -> Iterator[Form]:
    """Yield the times of day, minutes, quarters and fiscal years that a statement may give in another form.

    Args:
        text: The source.
        words: Its words, case folded.
    """
    if FOUR_DIGITS.search(text):
        for match in CLOCK.finditer(text):
            digits = match["zoned"] or match["at"]
            yield f"t{int(digits[:2])}:{digits[2:]}", None
        for match in OPEN.finditer(text) if not words.isdisjoint(OF_HOURS) else ():
            yield from ((f"t{int(digits[:2])}:{digits[2:]}", None) for digits in match.groups())
    for match in MINUTES.finditer(text):
        if OF_TIME.search(text, max(0, match.start() - LONGEST_NAME), match.start() + 1):
            yield f"n{match['number']}", "min"
    yield from ((form, None) for name, form in NAMED.items() if name in words)
    yield from _parts_of_a_year(text.casefold(), words)


def _parts_of_a_year(lowered: str, words: Set[str]) -> Iterator[Form]:
    if not words.isdisjoint(("quarter", "quarters")):
        for match in QUARTER_WORD.finditer(lowered):
            yield f"q{match['digit'] or QUARTERS[match['word']]}", None
    if "half" in words:
        for match in HALF_WORD.finditer(lowered):
            yield f"h{match['digit'] or QUARTERS[match['word']]}", None
    if SHORT_QUARTER_MARK.search(lowered):
        for match in SHORT_QUARTER.finditer(lowered):
            number = match["after"] or match["before"]
            yield from ((f"q{number}", None), (f"o{number}", QUARTER))
    if "fiscal" in words:
        for match in FISCAL_YEAR.finditer(lowered):
            yield from ((f"fy{match['year']}", None), (f"fy{match['year'][2:]}", None))

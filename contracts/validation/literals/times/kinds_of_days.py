"""Kinds of days: `15 working days` is not supported by `15 calendar days` (R5-8).

Working days are also called business days, and calendar days natural days.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex

WORKING: Final = "working"
CALENDAR: Final = "calendar"
KINDS: Final = re.compile(
    rf"(?P<{WORKING}>(?:business|working|week|work)[\s-]?days?|(?:werk|arbeits)tagen?|werkdagen?|jours?\souvr(?:able|é)s?"
    r"|días?\s(?:hábil(?:es)?|laborables?)|giorn[oi]\s(?:lavorativ[oi]|ferial[ei])|dias?\s(?:úteis|útil))\b"
    rf"|(?P<{CALENDAR}>(?:calendar|natural)[\s-]days?|kalendertagen?|kalenderdagen?|jours?\scalendaires?"
    r"|días?\snaturale?s?|giorn[oi]\s(?:di\scalendario|naturali)|dias?\scorridos)\b",
    re.IGNORECASE,
)
MARKS: Final = re.compile(
    r"day|tag|dag|ouvr|calend|hábil|laborab|natural|lavorativ|ferial|úte|útil|corrido", re.IGNORECASE
)
"""A text without one of these has no such word."""
BETWEEN: Final = re.compile(r"\)?[\s-]?(?:(?:full|clear|consecutive|whole|volle[nr]?)\s)?", re.IGNORECASE)
"""What may stand between a number and the kind of days that it counts."""
DAY: Final = "d"
"""The unit of days of no kind."""


class Days(NamedTuple):
    """A number of days of a kind."""

    text: str
    forms: frozenset[str]
    kind: str


def wrong_days(statement: LiteralIndex, cited: Sequence[LiteralIndex]) -> Iterator[str]:
    """Yield every number of days of a statement that its chunks have of the other kind, or of none.

    Args:
        statement: The literals of the statement.
        cited: The literals of the cited chunks.
    """
    for said in read_days(statement):
        kinds = {days.kind for source in cited for days in read_days(source) if days.forms & said.forms}
        knows_none = not any(KINDS.search(source.plain) for source in cited)
        if (kinds and said.kind not in kinds) or (knows_none and _has_without_kind(said, cited)):
            yield said.text


@lru_cache(maxsize=512)
def read_days(index: LiteralIndex) -> tuple[Days, ...]:
    """Return the numbers of days of a kind that a text has."""
    return tuple(_read(index)) if MARKS.search(index.plain) else ()


def _read(index: LiteralIndex) -> Iterator[Days]:
    numbers = [literal for literal in index.literals if literal.kind == "number"]
    starts = [number.start for number in numbers]
    for match in KINDS.finditer(index.plain):
        before = bisect_left(starts, match.start()) - 1
        if before >= 0 and _counts(numbers[before], match):
            text = index.plain[numbers[before].start : match.end()]
            yield Days(text, numbers[before].forms, str(match.lastgroup))


def _has_without_kind(days: Days, cited: Sequence[LiteralIndex]) -> bool:
    return any(DAY in source.forms.get(form, ()) for source in cited for form in days.forms)


def _counts(number: Literal, days: re.Match[str]) -> bool:
    """Return whether a number stands before a kind of days, or ends within its words, as `15 jours` does."""
    end = number.start + len(number.text)
    return end >= days.start() or bool(BETWEEN.fullmatch(days.string, end, days.start()))

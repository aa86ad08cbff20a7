"""Bounds that a statement turns round (R5-17).

`The dose is at least 10 mg` is not supported by chunks in which 10 mg is only ever an upper bound: `<= 10 mg/day`. A
chunk that has the number without a bound, or with the same one, supports the statement. English words and signs.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final

from sourcebound.contracts.validation.literals.amounts.number_words import NUMBER_WORDS

LEAST_WORDS: Final = (
    r"at\s+(?:the\s+)?(?:very\s+)?least|(?:no|not|never)\s+(?:be\s+)?(?:less|fewer|lower|shorter|smaller|below)(?:\s+than)?"
    r"|(?:a\s+|the\s+)?minimum(?:\s+of)?|>\s?=|≥|⩾|&gt;="
)
MOST_WORDS: Final = (
    r"at\s+(?:the\s+)?(?:very\s+)?most|(?:no|not|never)\s+(?:be\s+)?(?:more|greater|higher|longer|larger|later|above|over)"
    r"(?:\s+than)?|(?:no|not|never)\s+(?:to\s+)?exceed(?:s|ing)?|up\s+to|(?:a\s+|the\s+)?maximum(?:\s+of)?|<\s?=|≤|⩽|&lt;="
)
NUMERAL: Final = rf"(?:\d+(?:[.,]\d+)*|\b(?:{'|'.join(NUMBER_WORDS)})\b)"
BOUNDED: Final = re.compile(
    rf"(?:(?P<least>{LEAST_WORDS})|(?P<most>{MOST_WORDS}))?[\s*_(]{{0,4}}(?P<number>{NUMERAL})"
    r"(?P<after>(?:\s?[^\s.;,]{1,12}){0,2}?[\s,]{1,4}(?:or\s+(?P<up>more|longer|greater|higher|above|over|later|older)"
    r"|or\s+(?P<down>less|fewer|lower|below|under|shorter|earlier|younger)"
    rf"|at\s+(?:the\s+)?(?:(?P<least_after>least)|(?P<most_after>most))(?!\s+{NUMERAL}))\b)?",
    re.IGNORECASE,
)
MARK: Final = re.compile(rf"{LEAST_WORDS}|{MOST_WORDS}|\bor\s+(?:more|less|longer|fewer)\b", re.IGNORECASE)
"""Most texts have none of these, and need no further look."""


class Bound(StrEnum):
    """The side on which a number limits a quantity."""

    LEAST = "least"
    MOST = "most"
    NONE = "none"


def turns_bound(statement: str, chunks: Iterable[str]) -> bool:
    """Return whether a statement has a number as the least that its chunks have as the most, or the other way round.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
    """
    if not MARK.search(statement):
        return False
    sources = [bounds_of(chunk) for chunk in chunks]
    for number, bounds in bounds_of(statement).items():
        held = frozenset[Bound]().union(*(source.get(number, frozenset()) for source in sources))
        for bound, other in ((Bound.LEAST, Bound.MOST), (Bound.MOST, Bound.LEAST)):
            if bounds == {bound} and held == {other}:
                return True
    return False


@lru_cache(maxsize=512)
def bounds_of(text: str) -> dict[str, frozenset[Bound]]:
    """Return what each number of a text limits, in all its places."""
    found: dict[str, frozenset[Bound]] = {}
    for match in BOUNDED.finditer(text):
        is_least = match["least"] or match["up"] or match["least_after"]
        is_most = match["most"] or match["down"] or match["most_after"]
        bound = Bound.NONE if bool(is_least) is bool(is_most) else Bound.LEAST if is_least else Bound.MOST
        word = match["number"].casefold()
        number = str(NUMBER_WORDS.get(word, word.replace(",", "")))
        found[number] = found.get(number, frozenset()) | {bound}
    return found

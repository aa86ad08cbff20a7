"""Bounds that a statement turns round (R5-17).

`The dose is at least 10 mg` is not supported by chunks in which 10 mg is only ever an upper bound: `<= 10 mg/day`, and
`more than four weeks` not by `less than four weeks`. A chunk that has the number without a bound, or with the same one,
supports the statement. English words and signs.
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
MORE_WORDS: Final = r"(?:more|greater|longer|higher|later|older)\s+than|over|above|exceed(?:s|ed|ing)"
LESS_WORDS: Final = r"(?:less|fewer|lower|shorter|smaller|earlier|younger)\s+than|under|below"
TURNED: Final = re.compile(
    r"\b(?:not|no|never|without|cannot|\w+n['’]t|if|when|unless|until|avoid\w*|prevent\w*|otherwise|than\s+(?:if|when))\b",
    re.IGNORECASE,
)
"""What may turn `more than` into `at most`: a denial or a condition."""
NUMERAL: Final = rf"(?:\d+(?:[.,]\d+)*|\b(?:{'|'.join(NUMBER_WORDS)})\b)"
BOUNDED: Final = re.compile(
    rf"(?:(?P<least>{LEAST_WORDS})|(?P<most>{MOST_WORDS})|\b(?P<more>{MORE_WORDS})|\b(?P<less>{LESS_WORDS}))?[\s*_(]{{0,4}}(?P<number>{NUMERAL})"
    r"(?P<after>(?:\s?[^\s.;,]{1,12}){0,2}?[\s,]{1,4}(?:or\s+(?P<up>more|longer|greater|higher|above|over|later|older)"
    r"|or\s+(?P<down>less|fewer|lower|below|under|shorter|earlier|younger)"
    rf"|at\s+(?:the\s+)?(?:(?P<least_after>least)|(?P<most_after>most))(?!\s+{NUMERAL}))\b)?",
    re.IGNORECASE,
)
MARK: Final = re.compile(
    rf"{LEAST_WORDS}|{MOST_WORDS}|\b(?:{MORE_WORDS}|{LESS_WORDS})\b|\bor\s+(?:more|less|longer|greater|higher|above|over"
    r"|later|older|fewer|lower|below|under|shorter|earlier|younger)\b",
    re.IGNORECASE,
)
"""Most texts have none of these, and need no further look."""
LATER: Final = re.compile(r"\blater\b", re.IGNORECASE)
BEFORE: Final = re.compile(r"\s?(?:[^\W\d_]+\s){0,3}(?:before|prior|ahead|in\sadvance)\b", re.IGNORECASE)
"""What turns the latest time into the least: `no later than 14 days before the start`."""


class Bound(StrEnum):
    """The side on which a number limits a quantity."""

    LEAST = "least"
    MOST = "most"
    MORE = "more"
    LESS = "less"
    NONE = "none"


OPPOSITES: Final = (
    (Bound.LEAST, Bound.MOST),
    (Bound.MOST, Bound.LEAST),
    (Bound.MORE, Bound.LESS),
    (Bound.LESS, Bound.MORE),
)
"""`More than 10` is not compared with `at most 10`: both are often said of one limit."""


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
        if any(bounds == {bound} and held == {other} for bound, other in OPPOSITES):
            return True
    return False


@lru_cache(maxsize=512)
def bounds_of(text: str) -> dict[str, frozenset[Bound]]:
    """Return what each number of a text limits, in all its places."""
    found: dict[str, frozenset[Bound]] = {}
    is_turned = TURNED.search(text) is not None
    for match in BOUNDED.finditer(text):
        bound = _read_bound(match, is_turned=is_turned)
        word = match["number"].casefold()
        number = str(NUMBER_WORDS.get(word, word.replace(",", "")))
        found[number] = found.get(number, frozenset()) | {bound}
    return found


def _read_bound(match: re.Match[str], *, is_turned: bool) -> Bound:
    is_least = match["least"] or match["up"] or match["least_after"]
    is_most = match["most"] or match["down"] or match["most_after"]
    if match["most"] and LATER.search(match["most"]) and BEFORE.match(match.string, match.end("number")):
        return Bound.LEAST
    if is_least or is_most:
        return Bound.NONE if is_least and is_most else Bound.LEAST if is_least else Bound.MOST
    if is_turned or not (match["more"] or match["less"]):
        return Bound.NONE
    return Bound.MORE if match["more"] else Bound.LESS

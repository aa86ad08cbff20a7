"""Ordinals as literals: `second`, `2nd` (R5-8).

An ordinal from the second on is a literal like any number. Two sorts are checked only where the chunk counts by
ordinals itself, because writers use them freely otherwise: `first`, and an ordinal that counts the sources' own parts
("the third review").
"""

import re
from typing import Final

from sourcebound.contracts.literal_forms import FREE, Literal, lower_case

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

"""Statements that say of all what their chunks say of some (R5-17).

`All newborns contracted the disease` is not supported by a chunk that says so of about half of them, and nowhere has a
word such as `all`, `each` or `always`. English words.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from sourcebound.contracts.languages.english import language_of_text
from sourcebound.contracts.languages.function_words import ENGLISH
from sourcebound.contracts.validation.support.word_lists import NUMBERS

COUNT: Final = rf"(?:\d+|{'|'.join(sorted(NUMBERS))})"
TIME: Final = r"(?:hour|day|night|week|month|quarter|year|morning|evening|time)"
UNIVERSAL: Final = re.compile(
    r"\b(?:all|every|always|entire|everywhere|invariably|universally|(?:of )?any (?:kind|sort|type)|without exception"
    r"|throughout (?=the|its|their|his|her|this|a))\b",
    re.IGNORECASE,
)
NO_UNIVERSAL: Final = re.compile(
    r"\b(?:above|after|first of|at|not|that|nearly|almost|more or less) (?:all|every|always)\b"
    r"|\b(?:these|those|they|which|who|you|we|it)(?: (?:are|is|were|was))? all\b|\bin all\b(?! (?:cases|other))"
    r"|\b(?:most|least|best|worst|\w{3,}est)\b[^.;]{0,60}?\bof all\b"
    r"|\ball[\s-](?:kinds?|sorts?|over|time|terrain)\b"
    rf"|\ball (?:of|told|together|right|at once|along|day|night|the (?:same|more|way)|{COUNT})\b"
    rf"|\bevery (?:{COUNT}|other|second|third|few|half|{TIME})\b|\bevery\s*(?=\||$)"
    rf"|\bthroughout (?:the )?{TIME}\b",
    re.IGNORECASE,
)
"""The same words where they count, order or say how often."""
SUPPORTS: Final = re.compile(
    r"\b(?:all|every\w*|each|any\w*|always|never|entire(?:ly)?|throughout|whole|wholly|invariably|universal(?:ly)?"
    r"|whatever|whichever|whenever|wherever|regardless|overall|complete(?:ly)?|fully|continuous(?:ly)?|constant(?:ly)?"
    r"|permanent(?:ly)?)\b",
    re.IGNORECASE,
)
"""What a chunk says of all with. A chunk that has one of them anywhere supports any of the others."""
NOUN: Final = re.compile(r"(?:every|all) (?:the |its |their |your |our )?(?P<noun>[a-z]{3,}?)s?\b", re.IGNORECASE)
PART: Final = re.compile(
    rf"\b(?:of|some|many|most|several|few|fewer|certain|various|selected|these|those|such|other|{COUNT})\s(?:the\s)?$",
    re.IGNORECASE,
)
"""What stands before a noun in the plural that does not mean all of its kind."""
BEFORE: Final = 20
"""The most characters of it."""
MAX_NOUNS: Final = 10
"""The most nouns of a statement that are looked for."""


def widens(statement: str, chunks: Iterable[str], question: str) -> bool:
    """Return whether a statement has a word for all, and neither its chunks nor the question have one.

    A chunk with the noun after `a`, or in the plural without a number, says it of all too: `Migrations must be tested`.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
        question: The question; a word that it has may be repeated.
    """
    said = NO_UNIVERSAL.sub(" ", statement)
    if not UNIVERSAL.search(said) or SUPPORTS.search(question):
        return False
    texts = [statement, *chunks]
    if any(language_of_text(text) != ENGLISH for text in texts) or any(map(SUPPORTS.search, texts[1:])):
        return False
    nouns = {match["noun"].casefold() for match in islice(NOUN.finditer(said), MAX_NOUNS)}
    return not any(_names_kind(text, noun) for text in texts[1:] for noun in nouns)


def _names_kind(text: str, noun: str) -> bool:
    """Return whether a text says something of all things of a kind: `a visitor must`, `visitors must`."""
    if re.search(rf"\ban? (?:\w+ )?{noun}\b", text, re.IGNORECASE):
        return True
    plurals = re.finditer(rf"\b{noun}s\b", text, re.IGNORECASE)
    return any(not PART.search(text, max(0, match.start() - BEFORE), match.start()) for match in plurals)

"""Sentences that leave out what the one before says: `Model A is not waterproof. Model B is.` (R5-17).

The rules of the contrary compare words, so they need the words that such a sentence leaves out.
"""

import re
from typing import Final

from sourcebound.contracts.text.content_words import TOKEN

AUXILIARY: Final = "is|are|was|were|does|do|did|can|could|may|must|will|would|should|has|have|had"
ELLIPSIS: Final = re.compile(
    rf"(?:^|(?<=[.;:!?\n,]))\s*(?P<other>[^.;:,!?\n|]{{2,60}}?)\s(?:{AUXILIARY})(?:\snot|n['’]t|not)\s"
    rf"(?P<left_out>[^.;:!?\n|]{{2,120}}?)(?:[.;,]\s+(?:but\s)?|\sbut\s)"
    rf"(?P<subject>[^.;:,!?\n|]{{2,60}}?)\s(?:{AUXILIARY})(?=\s*(?:[.;!?\n]|$))",
    re.IGNORECASE,
)
DENIAL: Final = re.compile(r"n['’]t\b|not\b", re.IGNORECASE)
"""A text without this denies nothing that the next sentence could affirm."""
ARTICLE: Final = re.compile(r"^(?:(?:the|an?|only|however)\s)+|\sones?$")
"""Words at the ends of a subject by which no thing is named."""


def complete(chunk: str, statement: str) -> str:
    """Return a chunk with the words that its sentences leave out of things that a statement names.

    Nothing is added if the statement also names the thing of which these words are denied.

    Args:
        chunk: The text of a chunk.
        statement: A statement that cites it, without citations.
    """
    if not DENIAL.search(chunk):
        return chunk
    words = f" {_words(statement)} "
    parts, position = [], 0
    for match in ELLIPSIS.finditer(chunk):
        subject, other = _name(match["subject"]), _name(match["other"])
        if subject and other and f" {subject} " in words and f" {other} " not in words:
            parts += [chunk[position : match.end()], f" {match['left_out']}"]
            position = match.end()
    return "".join([*parts, chunk[position:]])


def _words(text: str) -> str:
    return " ".join(match[0].casefold() for match in TOKEN.finditer(text))


def _name(text: str) -> str:
    """Return the words of a subject that name it; none if it denies."""
    words = _words(text)
    return "" if {"not", "no", "never", "nor", "neither"}.intersection(words.split()) else ARTICLE.sub("", words)

"""A query of keywords as a question: `student discount percentage` asks `what percentage student discount` (R4-9)."""

import re
from typing import Final

from sourcebound.contracts.extractive.patterns import ASKS, AUXILIARY, one_of

ASKED_FOR: Final = re.compile(
    r"\b(?P<noun>"
    + one_of(
        "prices? pricing costs? fees? salary percentage population dates? deadline year duration temperature pressure "
        "torque speed weight height depth length width voltage capacity"
    )
    + r")(?:\W*$|\s(?=(?:of|for|per)\b))",
    re.IGNORECASE,
)
"""The noun that names what is asked for: the last one, or one before `of`."""
VERB: Final = re.compile(rf"\b{AUXILIARY}\b", re.IGNORECASE)


def ask_keywords(text: str) -> str:
    """Return a query of keywords with what it asks for in front; a question, or one that names no kind, as it is."""
    found = ASKED_FOR.search(text)
    if not found or ASKS.search(text) or VERB.search(text):
        return text
    before = text[: found.start()].strip()
    return f"what {found['noun']} {text[found.end() :]} {before}".strip()

"""The words of a text that carry meaning, without function words and common English endings."""

import re
from functools import lru_cache
from typing import Final

TOKEN: Final = re.compile(r"[^\W_]+(?:[-./·][^\W_]+)*")
IDENTIFIER: Final = re.compile(r"(?=.*[^\W\d_])(?=.*\d)\w+")
PART: Final = re.compile(r"[^\W_]+")
CACHED_TOKENS: Final = 1 << 15
STOP_WORDS: Final = frozenset(
    """
    a about after all also am an and any are as at be been before being between both but by can could did do does
    doing down during each for from further had has have having he her here hers him his how i if in into is it
    its itself just may me might more most must my no nor not of off on once only or other our out over own per
    same shall she should so some such than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with would you your
    much many long often take takes taken give gives given tell please say says find list name explain describe
    mean means
    """.split()
)
SUFFIX: Final = re.compile(r"(?:ations?|ings?|edly|ies|ied|ed|es|ly|s|e|y)$")


def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words that carry meaning; a name such as `HP-200` is one word."""
    return frozenset().union(*(_content_of(match[0]) for match in TOKEN.finditer(text.casefold())))


@lru_cache(CACHED_TOKENS)
def _content_of(token: str) -> frozenset[str]:
    parts = PART.findall(token)
    if IDENTIFIER.fullmatch("".join(parts)):
        return frozenset(["".join(parts)])
    return frozenset(stem(part) for part in parts if part not in STOP_WORDS) - {""}


def stem(word: str) -> str:
    """Cut the common English endings off a word; short words and words with digits stay whole."""
    if len(word) <= 3 or any(character.isdigit() for character in word):
        return word
    root = SUFFIX.sub("", word)
    root = root[:-1] if len(root) > 3 and root[-1] == root[-2] else root
    return root if len(root) >= 3 else word

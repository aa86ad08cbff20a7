"""Words of a question that may be mistyped, and what they may have been meant to be (R1-4).

A slip of the keyboard is one letter too many, one too few, a wrong one, or two that changed places. The first letter is
rarely wrong, and short words have too many neighbours to guess from.
"""

import re
from collections.abc import Mapping
from string import ascii_lowercase
from typing import Final

TOKEN: Final = re.compile(r"\S+")
LETTERS: Final = re.compile(r"[^\W\d_]+")
EDGES: Final = "\"'()[]{}<>.,;:!?¿¡…"
QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
SHORTEST, LONGEST = 4, 30
"""The letters of the shortest and of the longest word that may be mistyped. The slips of a word grow with the square of
its length."""
SURE: Final = 5
"""The letters from which any slip is believed. A shorter word may be a question word, or have two letters that changed
places."""
ASKING: Final = frozenset("what when where which whose whom does many much often long".split())
MOST_WORDS: Final = 8
"""The most words of a question that are looked up."""


def doubtful_words(question: str) -> list[str]:
    """Return the words of a question that may be mistyped, in lower case and in order.

    A name, a word in quotation marks, an abbreviation, and a token that is not made of letters alone (an id, a number)
    are as they were meant. A word is a name if it begins with a capital letter within the question. A very long word is
    not looked up.

    Args:
        question: A question or a search query.
    """
    plain = QUOTED.sub(" ", question)
    tokens = [match[0].strip(EDGES) for match in TOKEN.finditer(plain)]
    words = [
        token.lower()
        for place, token in enumerate(tokens)
        if SHORTEST <= len(token) <= LONGEST
        and LETTERS.fullmatch(token)
        and (token.islower() or (not place and token.istitle()))
    ]
    return list(dict.fromkeys(words))[:MOST_WORDS]


def slips(word: str) -> dict[str, bool]:
    """Return the words at one slip from a word, all with its first letter, and whether two letters changed places.

    Args:
        word: A word in lower case.
    """
    letters = ascii_lowercase + "".join(sorted({*word} - {*ascii_lowercase}))
    found: dict[str, bool] = {}
    for place in range(1, len(word) + 1):
        before, letter, after = word[:place], word[place : place + 1], word[place + 1 :]
        found |= {before + other + letter + after: False for other in letters}
        if letter:
            found |= {before + other + after: False for other in letters} | {before + after: False}
    for place in range(1, len(word) - 1):
        found[word[:place] + word[place + 1] + word[place] + word[place + 2 :]] = True
    found.pop(word, None)
    return found


def best_spelling(word: str, known: Mapping[str, int]) -> str | None:
    """Return the known word that a word was most likely meant to be; None if none is at one slip from it.

    Two letters that changed places come before any other slip, then the more frequent word, and then the shorter form.

    Args:
        word: A word in lower case.
        known: How often each known word is used.
    """
    near = slips(word)
    believed = (other for other in near if len(word) >= SURE or near[other] or other in ASKING)
    choices = [other for other in believed if known.get(other)]
    return min(choices, key=lambda other: (not near[other], -known[other], len(other), other), default=None)


def respell(question: str, spellings: Mapping[str, str]) -> str:
    """Return a question with other spellings of some of its words.

    Args:
        question: The question.
        spellings: The spelling of each of these words, in lower case.
    """
    if not spellings:
        return question
    quoted = [match.span() for match in QUOTED.finditer(question)]

    def replace(match: re.Match[str]) -> str:
        inside = any(start <= match.start() < end for start, end in quoted)
        token = match[0]
        core = token.strip(EDGES)
        return token if inside or core.lower() not in spellings else token.replace(core, spellings[core.lower()])

    return TOKEN.sub(replace, question)

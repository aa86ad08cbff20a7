"""Names that a statement has in the place of another (R5-17).

`Oilfields in Saudi Arabia and Iraq` is not supported by a chunk that says `oilfields in Saudi Arabia and Kuwait` and
nowhere `Iraq`. The words next to the two names must be the same on both sides, or both names end their sentences. A
name is here a word within a sentence with a capital letter, or several, an acronym for another one, and in English a
rare word: `streptolysin O` for `listeriolysin O`. German is not read, because it writes each noun so.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.languages.english import NOUNS_IN_CAPITALS, language_of_text
from sourcebound.contracts.languages.function_words import ENGLISH
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.literals.surroundings import common_run
from sourcebound.contracts.validation.support.words import weight_of

WORD: Final = re.compile(r"[^\W_]+(?:[-’'][^\W_]+)*")
END: Final = re.compile(r"[.!?:;|\n]\s|\n")
"""A mark between two words that are not compared as neighbours."""
CAPITAL: Final = re.compile(r"[A-ZÀ-Ý][a-zà-ÿ]+(?:[-’'][A-Za-zÀ-ÿ]+)*")
ACRONYM: Final = re.compile(r"[A-Z][A-Z0-9]{1,9}s?")
TERM: Final = re.compile(r"[a-z]{5,}")
RAREST: Final = 80
"""The weight from which such an English word names something, in tenths of a natural logarithm."""
FAMILY: Final = 4
"""The first letters by which a word of a name is known."""
REACH: Final = 4
"""The most words on each side that are compared."""
MIN_SHARED: Final = 4
"""The least number of shared words."""
MIN_CONTENT: Final = 2
"""The least number of content words among them."""
MAX_NAMES: Final = 200
"""The most names of a text that are compared."""


class Name(NamedTuple):
    """A name of a text, its words in lower case, and the nearest words before and after it in its sentence."""

    words: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_acronym: bool = False


def replaces_name(statement: str, chunks: Iterable[str], known: Iterable[str]) -> bool:
    """Return whether a statement has a new name where its chunks have another one.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
        known: The question, and the titles of the chunks.
    """
    texts = list(chunks)
    names = read_names(statement)
    if not names:
        return False
    beginnings = {word[:FAMILY] for text in (*texts, *known) for word in WORD.findall(text.casefold())}
    new = [name for name in names if any(word[:FAMILY] not in beginnings for word in name.words)]
    return any(_is_in_place_of(name, other) for name in new for text in texts for other in read_names(text))


def _is_in_place_of(name: Name, other: Name) -> bool:
    words, others = set(name.words), set(other.words)
    if words <= others or others <= words or name.is_acronym != other.is_acronym:
        return False
    before, after = common_run(name.before, other.before), common_run(name.after, other.after)
    if not before or not (after or name.after == other.after == ()):
        return False
    shared = [*before, *after]
    return len(shared) >= MIN_SHARED and sum(word not in STOP_WORDS for word in shared) >= MIN_CONTENT


@lru_cache(maxsize=256)
def read_names(text: str) -> tuple[Name, ...]:
    """Return the names within the sentences of a text; none of German, and at most `MAX_NAMES`."""
    language = language_of_text(text)
    if language in NOUNS_IN_CAPITALS:
        return ()
    names: list[Name] = []
    for sentence in END.split(text):
        words = WORD.findall(sentence)
        lower = tuple(word.casefold() for word in words)
        start = 1
        while start < len(words) and len(names) < MAX_NAMES:
            end = start
            while end < len(words) and CAPITAL.fullmatch(words[end]):
                end += 1
            is_acronym = ACRONYM.fullmatch(words[start]) is not None
            if end > start or is_acronym or (language == ENGLISH and _is_term(words[start])):
                names.append(_name_at(lower, start, max(end, start + 1))._replace(is_acronym=is_acronym))
            start = end + 1
    return tuple(names)


def _is_term(word: str) -> bool:
    return TERM.fullmatch(word) is not None and weight_of(word) >= RAREST


def _name_at(words: tuple[str, ...], start: int, end: int) -> Name:
    return Name(words[start:end], words[max(0, start - REACH) : start][::-1], words[end : end + REACH])

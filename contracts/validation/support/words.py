"""The words of a statement or a chunk, with their stems and how rare each is (R5-17)."""

import json
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from sourcebound.contracts.text.content_words import IDENTIFIER, PART, STOP_WORDS, TOKEN
from sourcebound.contracts.validation.support.word_lists import NUMBERS, root_of

RARITY_FILE: Final = "rarity_v1.json"
SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;\n\"“(\[•*-])\s*$")
CONTRACTED: Final = frozenset(["ca", "wo", "sha", "ll", "ve", "re"])
"""What contractions leave of auxiliary verbs."""
CACHED_WORDS: Final = 1 << 15


class Word(NamedTuple):
    """A word of a text."""

    form: str
    """The word, case folded."""
    stem: str
    weight: int
    """How rare the word is, in tenths of a natural logarithm; 0 for a function word."""
    is_name: bool
    """Whether it is capitalized within a sentence."""
    is_number: bool
    start: int
    """The word's position in the text, in characters."""

    @property
    def is_content(self) -> bool:
        """Whether the word carries meaning by itself."""
        return self.weight > 0


class _Entry(NamedTuple):
    stem: str
    weight: int
    is_number: bool


@cache
def read_rarity() -> tuple[dict[str, int], int]:
    """Return the weight of each stem in the frozen table, and the weight of a stem that is not in it."""
    table = json.loads((files(__package__) / RARITY_FILE).read_bytes())
    return {word: int(weight) for weight, words in table["stems"].items() for word in words.split()}, table["unknown"]


def read_words(text: str) -> tuple[Word, ...]:
    """Read the words of a text in order.

    Args:
        text: A statement without citations, or a chunk.

    Returns:
        Every word, function words included. A name such as `HP-200` is one word, and `isn't` is `is` and `not`.
    """
    words: list[Word] = []
    for match in TOKEN.finditer(text):
        token, start = match[0], match.start()
        if token.isalnum() and token not in ("t", "T"):
            words.append(_new_word(text, token, start))
            continue
        parts = PART.findall(token)
        if len(parts) > 1 and IDENTIFIER.fullmatch("".join(parts)):
            parts = ["".join(parts)]
        if token in ("t", "T") and text[start - 1 : start] in ("'", "’") and words and words[-1].form[1:].endswith("n"):
            words[-1] = _new_word(text, words[-1].form.removesuffix("n"), words[-1].start)
            parts = ["not"]
        words.extend(_new_word(text, part, start) for part in parts)
    return tuple(words)


def _new_word(text: str, part: str, start: int) -> Word:
    form = part.casefold()
    root, weight, is_number = _look_up(form)
    is_name = (
        weight > 0
        and part[0].isupper()
        and (not part[1:].islower() or not SENTENCE_START.search(text, max(0, start - 3), start))
    )
    return Word(form, root, weight, is_name, is_number, start)


@lru_cache(CACHED_WORDS)
def _look_up(form: str) -> _Entry:
    is_number = form[0].isdigit() or form in NUMBERS
    root = root_of(form)
    if form in STOP_WORDS or form in CONTRACTED or (len(form) == 1 and not is_number):
        return _Entry(root, 0, is_number)
    weights, unknown = read_rarity()
    return _Entry(root, weights.get(root, unknown), is_number)


def weight_of(form: str) -> int:
    """Return how rare a word in lower case is, in tenths of a natural logarithm; 0 for a function word."""
    return _look_up(form).weight


def is_common_word(form: str) -> bool:
    """Whether the frozen table of English words has a word in some form."""
    return root_of(form) in read_rarity()[0]

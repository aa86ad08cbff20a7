"""Names in a question that nothing in the evidence has: another company, another product (R4-9).

`What was the net income of Walmart?` is not answered from the report of another company.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from sourcebound.contracts.extractive.features import holds
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.text.spelling import SURE, slips
from sourcebound.contracts.validation.literals.implied import WEEKDAYS
from sourcebound.contracts.validation.literals.times.dates import ALL_MONTHS
from sourcebound.contracts.validation.support.words import Word

LEAST_LETTERS: Final = 5
"""The least letters of a name that longer words may have in them: `GalaxyS10`, `Best Buy` for `BestBuy`."""
FAMILY: Final = 4
"""The first letters that a longer name shares with words of its family: `Turkish`, `Turkey`."""
LONGEST_ACRONYM: Final = 6
NO_LETTERS: Final = re.compile(r"[^\w]|_")


def has_foreign_name(question: Question, sentences: Sequence[Sentence]) -> bool:
    """Return whether the evidence has no word of a name in the question, and no other spelling of one.

    Args:
        question: A question. Only English tells names by their capital letters, unless it has them everywhere.
        sentences: All sentences of the evidence. They hold the names of their documents.
    """
    names = list(_read_names(question)) if question.is_english and not _is_capitalized(question) else []
    if not names:
        return False
    evidence = _Evidence(sentences)
    return any(not any(evidence.has(word, question.text) for word in name) for name in names)


def _read_names(question: Question) -> Iterator[list[Word]]:
    """Yield the words of each name: those next to each other."""
    for is_name, words in groupby(question.words, key=lambda word: word.is_name):
        if is_name:
            yield list(words)


def _is_capitalized(question: Question) -> bool:
    """Return whether a question is in capitals, or has them in its function words too: `What Is It`."""
    small = [question.text[word.start] for word in question.words[1:] if not word.weight and word.form != "i"]
    return question.text.isupper() or any(map(str.isupper, small))


class _Evidence:
    """The words of the evidence in lower case without accents."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._stems = frozenset(_fold(stem) for each in sentences for stem in each.stems | each.title)
        self._letters = " ".join(NO_LETTERS.sub("", _fold(each.text)) for each in sentences)
        self._initials = " ".join(map(_initials, sentences))

    def has(self, word: Word, question: str) -> bool:
        """Return whether the evidence has a word of a question, another spelling of it, or its letters as initials."""
        form, stem = _fold(word.form), _fold(word.stem)
        if any(map(str.isdigit, form)) or form in ALL_MONTHS or form in WEEKDAYS or holds(self._stems, stem):
            return True
        is_long = len(form) >= LEAST_LETTERS
        if is_long and (form in self._letters or any(each.startswith(form[:FAMILY]) for each in self._stems)):
            return True
        if len(form) >= SURE and not self._stems.isdisjoint(slips(stem)):
            return True
        is_acronym = len(form) <= LONGEST_ACRONYM and question[word.start : word.start + len(form)].isupper()
        return is_acronym and form in self._initials


def _initials(sentence: Sentence) -> str:
    return "".join(word.form[0] for word in sentence.words if word.weight)


def _fold(text: str) -> str:
    """Return a word in lower case without accents."""
    return "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))

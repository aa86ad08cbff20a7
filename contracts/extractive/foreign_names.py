"""Names in a question that nothing in the evidence has: another company, another product (R4-9).

`What was the net income of Walmart?` is not answered from the report of another company.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from sourcebound.contracts.extractive.features import holds
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.languages.stems import fold
from sourcebound.contracts.text.spelling import SURE, slips
from sourcebound.contracts.validation.literals.amounts.units import is_unit
from sourcebound.contracts.validation.literals.times.named_times import SHORT
from sourcebound.contracts.validation.support.words import Word

LEAST_WEIGHT: Final = 68
"""The least weight of a name. Months, days, nations and offices are more frequent, and have many other forms."""
LEAST_LETTERS: Final = 5
"""The least letters of a name that longer words may have in them: `GalaxyS10`, `Best Buy` for `BestBuy`."""
FAMILY: Final = 4
"""The first letters that a longer name shares with words of its family: `Turkish`, `Turkey`."""
SALUTATIONS: Final = frozenset("hi hello hey dear thanks".split())
NO_LETTERS: Final = re.compile(r"[^\w]|_")


def has_foreign_name(question: Question, sentences: Sequence[Sentence]) -> bool:
    """Return whether the evidence has no word of a name in the question, and no other spelling of one.

    Words in capitals are read as abbreviations, which the evidence may write out.

    Args:
        question: A question. Only English tells names by their capital letters, unless it has them everywhere.
        sentences: All sentences of the evidence. They hold the names of their documents.
    """
    names = list(_read_names(question)) if question.is_english and not _is_capitalized(question) else []
    if not names:
        return False
    evidence = _Evidence(sentences)
    return any(not evidence.has_name(name) for name in names)


def _read_names(question: Question) -> Iterator[list[Word]]:
    """Yield the words of each name: those next to each other, and not after `Hi`. One of them is rare."""
    greeted = {word.start for before, word in pairwise(question.words) if before.form in SALUTATIONS}
    for is_name, group in groupby(question.words, key=lambda word: word.is_name and word.start not in greeted):
        words = list(group)
        is_short = any(question.text[word.start : word.start + len(word.form)].isupper() for word in words)
        if is_name and not is_short and max(word.weight for word in words) >= LEAST_WEIGHT:
            yield words


def _is_capitalized(question: Question) -> bool:
    """Return whether a question has capitals in its function words too: `What Is It`."""
    small = [question.text[word.start] for word in question.words[1:] if not word.weight and word.form != "i"]
    return any(map(str.isupper, small))


class _Evidence:
    """The words of the evidence in lower case without accents."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._stems = frozenset(fold(stem) for each in sentences for stem in each.stems | each.title)
        self._letters = " ".join(NO_LETTERS.sub("", fold(each.text)) for each in sentences)

    def has_name(self, words: Sequence[Word]) -> bool:
        """Return whether the evidence has a word of a name, or all of them as one word or as initials."""
        forms = [fold(word.form) for word in words]
        joined, initials = "".join(forms), "".join(form[0] for form in forms)
        is_joined = len(joined) >= FAMILY and joined in self._letters
        return is_joined or (len(initials) > 1 and initials in self._stems) or any(map(self._has, words))

    def _has(self, word: Word) -> bool:
        form, stem = fold(word.form), fold(word.stem)
        if any(map(str.isdigit, form)) or form in SHORT or is_unit(form):
            return True
        if holds(self._stems, stem) or (len(form) >= SURE and not self._stems.isdisjoint(slips(stem))):
            return True
        is_long, begins = len(form) >= LEAST_LETTERS, len(form) >= FAMILY
        return (is_long and form in self._letters) or (
            begins and any(each.startswith(form[:FAMILY]) for each in self._stems)
        )

"""The clauses of a text, each with the words that it denies (R5-17)."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.support.claims import read_claim
from sourcebound.contracts.validation.support.function_words import FUNCTION_WORDS, language_of
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.polarity.word_lists import (
    CONTINUED,
    DETERMINERS,
    POLARITY,
    WITHOUT,
    PolarityWords,
)
from sourcebound.contracts.validation.support.words import Word

SCOPE: Final = 3
"""The most content words that a denial is about."""
BREAK: Final = re.compile(r"[;:()\[\]|\n–—\"“”„»«!?]|\.\s|\.$")
"""Marks between two words that end a clause."""
STOP: Final = ","
LIMIT: Final = "<"
PRONOUNS: Final = frozenset(["one", "any", "anything"])
"""Words that say nothing of what is denied: `no one`, `not any`."""


class Clause(NamedTuple):
    """A clause of a sentence."""

    words: tuple[Word, ...]
    """Its content words in order."""
    denied: tuple[tuple[Word, ...], ...]
    """For each of its denials the words that it is about, the closest first. A denial of a number is only a limit."""
    is_denied: bool
    """Whether it has any denial."""
    signs: frozenset[str]
    """Other words that can turn or limit it."""
    is_relative: bool
    """Whether it is a condition or describes a thing."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of its content words."""
        return frozenset(word.stem for word in self.words)


class _Open:
    """A clause that is being read.

    Args:
        is_relative: Whether it is a condition or describes a thing.
    """

    def __init__(self, is_relative: bool = False) -> None:
        self.words: list[Word] = []
        self.marks: list[str | int] = []
        """In order: a denial, a limit, an end of what a denial is about, or the index of a content word."""
        self.signs: set[str] = set()
        self.is_denied = False
        self.is_relative = is_relative

    def close(self, listed: PolarityWords, is_german: bool) -> Clause:
        """Return the clause."""
        scopes = [
            tuple(self.words[place] for place in scope)
            for at, mark in enumerate(self.marks)
            if isinstance(mark, str) and mark not in (STOP, LIMIT) and not self._begins_with_condition()
            if (scope := self._scope(at, mark, listed, is_german))
        ]
        kept = dict.fromkeys(
            scope for scope in scopes if scope[0].form not in PRONOUNS and not any(word.is_number for word in scope)
        )
        signs = frozenset(self.signs)
        return Clause(tuple(self.words), tuple(kept), self.is_denied, signs, self.is_relative)

    def _begins_with_condition(self) -> bool:
        """Whether the clause says what holds without a thing."""
        first = next((mark for mark in self.marks if isinstance(mark, int) or mark in WITHOUT), None)
        return isinstance(first, str)

    def _scope(self, at: int, denial: str, listed: PolarityWords, is_german: bool) -> list[int]:
        """Return the places of the words that a denial is about; none for a limit or a condition."""
        before = [mark for mark in self.marks[:at] if isinstance(mark, int)]
        if denial in CONTINUED or LIMIT in self.marks[at + 1 :]:
            return []
        if denial.startswith(listed.bans) and before:
            return before[-SCOPE:]
        if denial in DETERMINERS:
            return [mark for mark in self.marks[at + 1 :] if isinstance(mark, int)]
        after = list[int]()
        for mark in self.marks[at + 1 :]:
            if isinstance(mark, int):
                after.append(mark)
            if len(after) == SCOPE or (mark == STOP and after):
                break
        return after or (before[-SCOPE:][::-1] if is_german else [])


Sentences = tuple[tuple[Clause, ...], ...]


@lru_cache(maxsize=512)
def read_chunk_clauses(text: str) -> Sentences:
    """Return the clauses of each sentence of a chunk, from a cache if it was read recently."""
    passage = read_passage(text)
    language = language_of([word.form for word in passage.words])
    return tuple(tuple(_read(text, sentence.words, language)) for sentence in passage.sentences)


def read_statement_clauses(statement: str) -> list[Clause]:
    """Return the clauses of a statement."""
    claim = read_claim(statement)
    return _read(claim.text, claim.words, language_of([word.form for word in claim.words]))


def _read(text: str, words: tuple[Word, ...], language: str) -> list[Clause]:
    """Cut words at the marks and words that join clauses. What has no content word belongs to the clause before."""
    listed = POLARITY[language]
    plain = FUNCTION_WORDS.get(language, frozenset()) - STOP_WORDS
    clauses: list[Clause] = []
    clause, end = _Open(), 0

    def close(is_relative: bool = False) -> None:
        nonlocal clause
        if any(word.form not in listed.signs for word in clause.words):
            clauses.append(clause.close(listed, language == "de"))
            clause = _Open(is_relative)
            return
        if clauses and (clause.is_denied or clause.signs):
            last = clauses[-1]
            clauses[-1] = last._replace(is_denied=last.is_denied or clause.is_denied, signs=last.signs | clause.signs)
        clause = _Open(clause.is_relative or is_relative)

    for place, word in enumerate(words):
        gap, form = text[end : word.start], word.form
        if place and BREAK.search(gap):
            close()
            clause.is_relative = False
        elif place and (form in listed.reasons or ("," in gap and form in listed.ands)):
            close()
        elif form in listed.relatives and clause.words:
            close(is_relative=True)
        elif not place:
            clause.is_relative = form in listed.relatives
        elif "," in gap:
            clause.marks.append(STOP)
        end = word.start + len(form)
        _add(clause, word, listed, is_content=word.weight > 0 and form not in plain, follows=text[end : end + 1])
    close()
    return clauses


def _add(clause: _Open, word: Word, listed: PolarityWords, is_content: bool, follows: str) -> None:
    form = word.form
    is_ban = form.startswith(listed.bans)
    if is_ban or (form in listed.denials and (form != "n" or follows in ("'", "’"))):
        clause.marks.append(form)
        clause.is_denied = True
    elif form in listed.ands or form in listed.prepositions:
        clause.marks.append(STOP)
    if form in listed.limits or form in listed.exceptions:
        clause.marks.append(LIMIT)
    if form in listed.exceptions or form in listed.signs or form.startswith(listed.beginnings):
        clause.signs.add(form[:5])
    if is_content and not is_ban and form not in listed.denials:
        clause.marks.append(len(clause.words))
        clause.words.append(word)

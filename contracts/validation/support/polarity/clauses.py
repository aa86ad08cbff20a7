"""The clauses of a text, each with the words that it denies (R5-17)."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from sourcebound.contracts.languages.function_words import FUNCTION_WORDS, language_of
from sourcebound.contracts.text.content_words import STOP_WORDS, TOKEN
from sourcebound.contracts.validation.support.claims import read_claim
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.polarity.word_lists import (
    AFFIRMING,
    BOUNDS,
    CONCORD,
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
PRONOUNS: Final = frozenset(["one", "any", "anything"])
"""Words that say nothing of what is denied: `no one`, `not any`."""
LEADING: Final = frozenset("as to da um comme pour como para poiché per".split())
"""Further words that begin a reason or an aim at the beginning of a sentence. It ends at the first comma."""
MAX_WORDS: Final = 60
"""The most content words of a clause. A longer one is cut."""
MAX_DENIALS: Final = 4
"""The most denials of a clause. With more, what they are about is not read."""
CACHED_CHUNKS: Final = 64
DUTIES: Final = frozenset("need needs needed require requires required necessary obliged obligatory mandatory".split())
"""Words for a duty, which a denial takes away from what follows: `you do not need to tap Save`."""


class Clause(NamedTuple):
    """A clause of a sentence."""

    words: tuple[Word, ...]
    """Its content words in order."""
    denied: tuple[tuple[Word, ...], ...]
    """For each of its denials the words that it is about. A denial of a number is only a limit."""
    denials: int
    """The number of its denials. Words that make one denial together count as one: `ne … pas`."""
    signs: frozenset[str]
    """Other words that can turn or limit it."""
    is_limited: bool
    """Whether it has a word of an exception."""
    is_relative: bool
    """Whether it is a condition or describes a thing."""
    bounds: frozenset[str]
    """The words that bound a number in it: `over 23 kg`."""
    is_elliptic: bool
    """Whether it affirms of a thing what is said before: `Members can.`"""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of its content words."""
        return frozenset(word.stem for word in self.words)


class _Denial(NamedTuple):
    """A word that denies."""

    form: str
    at: int
    """The number of content words before it."""


class _Open:
    """A clause that is being read.

    Args:
        is_relative: Whether it is a condition or describes a thing.
    """

    def __init__(self, is_relative: bool = False) -> None:
        self.words: list[Word] = []
        self.denials: list[_Denial] = []
        self.limits = 0
        """How many of its first denials are limits."""
        self.stops: list[int] = []
        """The numbers of content words before the places where what a denial is about ends."""
        self.signs: set[str] = set()
        self.is_limited = False
        self.is_relative = is_relative
        self.bounds: set[str] = set()
        self.last = ""
        """Its last word."""

    @property
    def may_restrict(self) -> bool:
        """Whether a French `que` makes its denials a limit: `ne reprend le travail que 48 heures après`."""
        return bool(self.denials) and all(denial.form in ("ne", "n") for denial in self.denials)

    @property
    def denies_next(self) -> bool:
        """Whether a denial is directly before what comes next."""
        return bool(self.denials) and self.denials[-1].at == len(self.words)

    def denies(self, form: str) -> bool:
        """Return whether a word is a duty that the denial before it takes away."""
        return form in DUTIES and self.denies_next

    def close(self, language: str) -> Clause:
        """Return the clause."""
        return Clause(
            tuple(self.words),
            tuple(self._scopes(language)),
            self._count(language),
            frozenset(self.signs),
            self.is_limited,
            self.is_relative,
            frozenset(self.bounds if any(word.is_number for word in self.words) else ()),
            self.last in AFFIRMING and not self.denials,
        )

    def _count(self, language: str) -> int:
        bans = POLARITY[language].bans
        forms = [denial.form for denial in self.denials if denial.form not in CONTINUED]
        if language not in CONCORD:
            return len(forms)
        alone = sum(form in WITHOUT or form.startswith(bans) for form in forms)
        return alone + (alone < len(forms))

    def _scopes(self, language: str) -> Iterator[tuple[Word, ...]]:
        """Yield the words that each denial is about; none for a limit, a condition, a number or a pronoun."""
        is_condition = any(denial.form in WITHOUT and not denial.at for denial in self.denials)
        if is_condition or len(self.denials) > MAX_DENIALS:
            return
        for denial in self.denials[self.limits :]:
            scope = () if denial.form in CONTINUED else self._scope(denial, language)
            if scope and scope[0].form not in PRONOUNS and not any(word.is_number for word in scope):
                yield tuple(scope)

    def _scope(self, denial: _Denial, language: str) -> Sequence[Word]:
        before, after = self.words[: denial.at], self.words[denial.at :]
        if denial.form.startswith(POLARITY[language].bans) and before:
            return before[-SCOPE:]
        if denial.form in DETERMINERS:
            return after
        stop = next((stop for stop in self.stops if stop > denial.at), len(self.words))
        return after[: min(SCOPE, stop - denial.at)] or (before[-SCOPE:][::-1] if language == "de" else ())


Sentences = tuple[tuple[Clause, ...], ...]


@lru_cache(maxsize=CACHED_CHUNKS)
def read_chunk_clauses(text: str) -> Sentences:
    """Return the clauses of each sentence of a chunk, from a cache if it was read recently."""
    passage = read_passage(text)
    language = language_of([word.form for word in passage.words], POLARITY)
    return tuple(tuple(_read(text, sentence.words, language)) for sentence in passage.sentences)


def read_statement_clauses(statement: str) -> list[Clause]:
    """Return the clauses of a statement, and once more those after a reason or an aim that it begins with.

    The reason stays in the whole as well: `To clean the seal, use acetone` says what acetone is used for.
    """
    claim = read_claim(statement)
    language = language_of([word.form for word in claim.words], POLARITY)
    parts = [claim.words, _after_reason(claim.text, claim.words, language)]
    return [clause for words in parts for clause in _read(claim.text, words, language, denies_duties=True)]


def _after_reason(text: str, words: tuple[Word, ...], language: str) -> tuple[Word, ...]:
    """Return the words after the first comma of a text that begins with a reason or an aim; otherwise none."""
    if not words or words[0].form not in POLARITY[language].reasons | LEADING:
        return ()
    gaps = ((number, text[_end_of(text, one) : two.start]) for number, (one, two) in enumerate(pairwise(words), 1))
    return next((words[number:] for number, gap in gaps if "," in gap), ())


def _read(text: str, words: tuple[Word, ...], language: str, *, denies_duties: bool = False) -> list[Clause]:
    """Cut words at the marks and words that join clauses. What has no content word belongs to the clause before.

    Args:
        text: The text of the words.
        words: The words of a sentence.
        language: Their language.
        denies_duties: Whether `need not` denies what follows, as in a statement. A source may just say how it is.
    """
    listed = POLARITY[language]
    plain = FUNCTION_WORDS.get(language, frozenset()) - STOP_WORDS
    clauses: list[Clause] = []
    clause = _Open(is_relative=bool(words) and words[0].form in listed.relatives)
    end = words[0].start if words else 0

    def close(is_relative: bool = False) -> None:
        nonlocal clause
        if any(word.form not in listed.signs for word in clause.words):
            clauses.append(clause.close(language))
            clause = _Open(is_relative)
            return
        if clauses:
            last, rest = clauses[-1], clause.close(language)
            clauses[-1] = last._replace(
                denials=last.denials + rest.denials,
                signs=last.signs | rest.signs,
                is_limited=last.is_limited or rest.is_limited,
            )
        clause = _Open(clause.is_relative or is_relative)

    for word in words:
        gap, form = text[end : word.start], word.form
        if BREAK.search(gap):
            close()
            clause.is_relative = False
        elif form in listed.reasons or ("," in gap and form in listed.ands):
            close()
        elif form in listed.relatives and clause.words and not (form == "que" and clause.may_restrict):
            close(is_relative=True)
        elif len(clause.words) == MAX_WORDS:
            close(clause.is_relative)
        elif "," in gap:
            clause.stops.append(len(clause.words))
        end = _end_of(text, word)
        is_content = word.weight > 0 and form not in plain and not (denies_duties and clause.denies(form))
        _add(clause, word, listed, is_content=is_content, follows=text[end : end + 1])
    close()
    return clauses


def _end_of(text: str, word: Word) -> int:
    """Return where a word ends in its text, where it may be shorter than its folded form."""
    match = TOKEN.match(text, word.start)
    return match.end() if match else word.start


def _add(clause: _Open, word: Word, listed: PolarityWords, is_content: bool, follows: str) -> None:
    form = word.form
    clause.last = form
    clause.bounds |= BOUNDS & {form}
    is_ban = form.startswith(listed.bans)
    if is_ban or (form in listed.denials and (form != "n" or follows in ("'", "’"))):
        clause.denials.append(_Denial(form, len(clause.words)))
    elif form in listed.ands or form in listed.prepositions:
        clause.stops.append(len(clause.words))
    if (form in listed.limits and (form != "just" or clause.denies_next)) or form in listed.exceptions:
        clause.limits = len(clause.denials)
    if form in listed.exceptions:
        clause.is_limited = True
    if form in listed.exceptions or form in listed.signs or form.startswith(listed.beginnings):
        clause.signs.add(form[:5])
    if is_content and not is_ban and form not in listed.denials:
        clause.words.append(word)

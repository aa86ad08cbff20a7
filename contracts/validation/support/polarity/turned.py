"""Statements that say in other words what their chunks deny (R5-17).

`You may mix in the lighter oil` is not supported by `the lighter oil must not be mixed with it`. The module `reversals`
needs the same words in the same order. This rule compares clauses by their content words: a word that a sentence denies
must be said without a denial, most of the clause must be in that sentence, and no other clause of the cited chunks may
say it as the statement does. It looks only for a denial that the statement lacks, because a text can deny in too many
ways for a list: by a heading, a mark in a table, or a word such as `illegal`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.claims import share
from sourcebound.contracts.validation.support.passages import FAMILY, read_passage
from sourcebound.contracts.validation.support.polarity.clauses import Clause, read_chunk_clauses, read_statement_clauses
from sourcebound.contracts.validation.support.polarity.word_lists import SYNONYMS
from sourcebound.contracts.validation.support.reversals import without_particle
from sourcebound.contracts.validation.support.words import Word

MIN_SHARED: Final = 2
"""The least number of words of a clause that the sentence must hold."""
MIN_DROPPED: Final = 600
"""The least share of a clause that the sentence must hold, in thousandths."""
NEAR: Final = 200
"""How much less of the clause another clause may hold to count as saying it."""
ENDING: Final = 2
"""The most last letters in which a word of one family differs from the shorter one."""
MAX_CLAUSES: Final = 40
"""The most clauses of a statement that are compared."""
MAX_SENTENCES: Final = 1000
"""The most sentences of the cited chunks that are compared: the first with words of the statement."""
MAX_FAMILY: Final = 20
"""The most words of a statement that are compared with a word because they begin alike."""
DENYING_LABEL: Final = re.compile(
    r"[\s*+•\d.)-]*(?:not|no|never|forbidden|prohibited|nicht|keine?|verboten|pas|interdits?|non|prohibid[oa]s?|vietat[oi]|niet"
    r"|verboden)\b[^:.|\n]{0,40}:",
    re.IGNORECASE,
)
"""A label that denies what follows: `**Not allowed:** ordinary fouls`."""
GROUPS: Final = {stem: number for number, line in enumerate(SYNONYMS) for stem in line.split()}


class _Held(NamedTuple):
    """A sentence of the cited chunks."""

    clauses: tuple[Clause, ...]
    found: tuple[frozenset[str], ...]
    """For each clause the stems of the statement that it holds."""
    whole: frozenset[str]
    """The stems of the statement that the sentence holds."""

    @property
    def is_simple(self) -> bool:
        """Whether the sentence denies once and makes no exception, so that it is clear what it denies."""
        return sum(clause.denials for clause in self.clauses) == 1 and not any(
            clause.is_limited for clause in self.clauses
        )


class Finder:
    """The words of a statement, also in another form or by a synonym.

    Args:
        clauses: The clauses of the statement.
    """

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self._stems = frozenset(word.stem for clause in clauses for word in clause.words)
        self._alike: dict[str, list[str]] = {}
        for stem in sorted(self._stems):
            for key in {stem[:FAMILY], f"={GROUPS.get(stem, stem)}"}:
                self._alike.setdefault(key, []).append(stem)
        self._found: dict[str, frozenset[str]] = {}

    def find(self, words: Iterable[Word]) -> frozenset[str]:
        """Return the stems of the statement that words have, also in another form or by a synonym."""
        return frozenset().union(*(self._find_one(word.stem) for word in words))

    def _find_one(self, stem: str) -> frozenset[str]:
        if stem not in self._found:
            keys = (stem[:FAMILY], f"={GROUPS.get(stem, stem)}")
            alike = {own for key in keys for own in self._alike.get(key, ())[:MAX_FAMILY] if _is_same(own, stem)}
            self._found[stem] = frozenset(alike | (self._stems & {stem}))
        return self._found[stem]


class _Evidence(Finder):
    """The sentences of the cited chunks that hold words of a statement.

    Args:
        clauses: The clauses of the statement.
        chunks: The texts of the chunks.
    """

    def __init__(self, clauses: Sequence[Clause], chunks: Iterable[str]) -> None:
        super().__init__(clauses)
        self.sentences = list(islice(filter(lambda held: held.whole, self._hold(chunks)), MAX_SENTENCES))

    def _hold(self, chunks: Iterable[str]) -> Iterator[_Held]:
        for chunk in chunks:
            for clauses in read_chunk_clauses(chunk):
                found = tuple(self.find(clause.words) for clause in clauses)
                yield _Held(clauses, found, frozenset().union(*found))


def turns(statement: str, chunks: Iterable[str]) -> bool:
    """Return whether a clause of a statement says what its chunks deny.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
    """
    chunks = tuple(chunks)
    if _is_quoted(statement, chunks) or DENYING_LABEL.match(statement):
        return False
    bare = without_particle(statement)
    clauses = read_statement_clauses(bare)[:MAX_CLAUSES]
    said = [clause for clause in clauses if not clause.denials and not clause.is_relative]
    evidence = _Evidence(said, chunks)
    return any(_drops(clause, evidence) for clause in said)


def _is_quoted(statement: str, chunks: Sequence[str]) -> bool:
    """Whether a statement is a whole sentence or row of a chunk, word for word."""
    parts = ((chunk, part) for chunk in chunks for part in read_passage(chunk).sentences)
    return any(statement.strip() == chunk[part.start : part.end].strip() for chunk, part in parts)


def _drops(said: Clause, evidence: _Evidence) -> bool:
    """Whether a clause lacks the denial of the sentence that holds it."""
    best, head, lacked = 0, frozenset[str](), frozenset[str]()
    for held in evidence.sentences:
        covered = weigh(said.words, held.whole)
        if covered < max(MIN_DROPPED, best + 1) or len(held.whole & said.stems) < MIN_SHARED or not held.is_simple:
            continue
        for number, (clause, found) in enumerate(zip(held.clauses, held.found, strict=True)):
            scope = _dropped(said, clause, found, evidence)
            if scope and not _goes_on(held, number, said):
                best, head, lacked = covered, evidence.find(scope[:1]), said.stems - found
    return best > 0 and not any(
        _affirms(held, lacked)
        or (
            weigh(said.words, held.whole) >= best - NEAR
            and any(_says_plainly(clause, head, evidence) for clause in held.clauses)
        )
        for held in evidence.sentences
    )


def _dropped(said: Clause, clause: Clause, found: frozenset[str], evidence: _Evidence) -> tuple[Word, ...]:
    """Return words that a clause of the evidence denies and the statement says, if both clauses are comparable."""
    if not clause.denied or clause.is_relative or not said.signs <= clause.signs:
        return ()
    if not clause.bounds <= said.bounds:
        return ()
    if len(found & said.stems) < MIN_SHARED and not _says_all(said, clause.words, evidence):
        return ()
    return next((scope for scope in clause.denied if _says_all(said, scope, evidence)), ())


def _goes_on(held: _Held, number: int, said: Clause) -> bool:
    """Whether a sentence says after a denial what the statement says: `not stored as text but as a hash`."""
    rest = zip(held.clauses[number + 1 :], held.found[number + 1 :], strict=True)
    return any(
        not clause.denials and not clause.is_relative and (found - held.found[number]) & said.stems
        for clause, found in rest
    )


def _affirms(held: _Held, stems: frozenset[str]) -> bool:
    """Whether a sentence such as `Members can.` affirms what is said before, of a thing with one of the stems."""
    return any(clause.is_elliptic and found & stems for clause, found in zip(held.clauses, held.found, strict=True))


def _says_all(said: Clause, words: Iterable[Word], evidence: _Evidence) -> bool:
    return all(evidence.find([word]) & said.stems for word in words)


def _says_plainly(clause: Clause, stems: frozenset[str], evidence: _Evidence) -> bool:
    """Whether a clause has one of the stems without a denial."""
    denied = {word for scope in clause.denied for word in scope}
    return bool(evidence.find(word for word in clause.words if word not in denied) & stems)


def weigh(words: Iterable[Word], found: frozenset[str]) -> int:
    """Return the share of the words' weight that is found, in thousandths."""
    weights = {word.stem: word.weight for word in words}
    return share(sum(weight for stem, weight in weights.items() if stem in found), sum(weights.values()))


def _is_same(one: str, other: str) -> bool:
    """Whether two stems are the same, of one family, or synonyms."""
    if one == other or (one in GROUPS and GROUPS[one] == GROUPS.get(other)):
        return True
    shorter = min(len(one), len(other))
    if shorter < FAMILY or one.endswith("less") is not other.endswith("less"):
        return False
    return one[: max(FAMILY, shorter - ENDING)] == other[: max(FAMILY, shorter - ENDING)]

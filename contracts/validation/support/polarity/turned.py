"""Statements that say in other words the contrary of their chunks (R5-17).

`You may mix in the lighter oil` is not supported by `the lighter oil must not be mixed with it`. The module `reversals`
needs the same words in the same order. This rule compares clauses by their content words: a denied word must be held
without a denial on the other side, most of the clause must be in the same sentence, and no other clause of the cited
chunks may say it as the statement does.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sourcebound.contracts.validation.support.claims import share
from sourcebound.contracts.validation.support.passages import FAMILY
from sourcebound.contracts.validation.support.polarity.clauses import Clause, read_chunk_clauses, read_statement_clauses
from sourcebound.contracts.validation.support.polarity.word_lists import SYNONYMS
from sourcebound.contracts.validation.support.reversals import PARTICLE
from sourcebound.contracts.validation.support.words import Word

MIN_SHARED: Final = 2
"""The least number of words of a clause that the sentence must hold."""
MIN_DROPPED: Final = 600
"""The least share of a clause that a sentence with the denial must hold, in thousandths."""
MIN_ADDED: Final = 500
"""The same share for a denial that only the statement has."""
MIN_DENIED: Final = 600
"""The least share of the words that the statement denies."""
NEAR: Final = 200
"""How much less of the clause another clause may hold to count as saying it."""
ENDING: Final = 2
"""The most last letters in which a word of one family differs from the shorter one."""
GROUPS: Final = {stem: number for number, line in enumerate(SYNONYMS) for stem in line.split()}


class _Evidence:
    """The clauses of the cited chunks, by the words of a statement that they hold.

    Args:
        clauses: The clauses of the statement.
        chunks: The texts of the chunks.
    """

    def __init__(self, clauses: Sequence[Clause], chunks: Iterable[str]) -> None:
        self._own: dict[str, list[str]] = {}
        for stem in sorted({word.stem for clause in clauses for word in clause.words}):
            for key in {stem, stem[:FAMILY], f"={GROUPS.get(stem, stem)}"}:
                self._own.setdefault(key, []).append(stem)
        self._found: dict[str, frozenset[str]] = {}
        self.sentences = [
            [(clause, self.find(clause.words)) for clause in sentence]
            for chunk in chunks
            for sentence in read_chunk_clauses(chunk)
        ]

    def find(self, words: Iterable[Word]) -> frozenset[str]:
        """Return the stems of the statement that words have, also in another form or by a synonym."""
        return frozenset().union(*(self._find_one(word.stem) for word in words))

    def _find_one(self, stem: str) -> frozenset[str]:
        if stem not in self._found:
            close = {*self._own.get(stem[:FAMILY], ()), *self._own.get(f"={GROUPS.get(stem, stem)}", ())}
            self._found[stem] = frozenset(own for own in close if _is_same(own, stem))
        return self._found[stem]


def turns(statement: str, chunks: Iterable[str]) -> bool:
    """Return whether a clause of a statement says the contrary of its chunks.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
    """
    bare = PARTICLE.sub(" ", statement, count=1) if PARTICLE.match(statement) else statement
    clauses = read_statement_clauses(bare)
    evidence = _Evidence(clauses, chunks)
    return any(
        _adds(clause, evidence) if clause.is_denied else _drops(clause, evidence)
        for clause in clauses
        if not clause.is_relative
    )


def _drops(said: Clause, evidence: _Evidence) -> bool:
    """Whether a clause lacks the denial of the sentence that holds it."""
    best, kept, head = 0, None, frozenset[str]()
    for sentence in evidence.sentences:
        whole = frozenset().union(*(found for _, found in sentence))
        covered = _weigh(said.words, whole)
        if covered < max(MIN_DROPPED, best + 1) or len(whole & said.stems) < MIN_SHARED:
            continue
        for clause, found in sentence:
            scope = _dropped(said, clause, found, evidence)
            if scope:
                best, kept, head = covered, clause, evidence.find(scope[:1])
    return kept is not None and not any(
        _weigh(said.words, frozenset().union(*(found for _, found in sentence))) >= best - NEAR
        and any(clause is not kept and _says_plainly(clause, head, evidence) for clause, _ in sentence)
        for sentence in evidence.sentences
    )


def _dropped(said: Clause, clause: Clause, found: frozenset[str], evidence: _Evidence) -> tuple[Word, ...]:
    """Return words that a clause of the evidence denies and the statement says, if both clauses are comparable."""
    if not clause.denied or clause.is_relative or not said.signs <= clause.signs:
        return ()
    if len(found & said.stems) < MIN_SHARED and not _says_all(said, clause.words, evidence):
        return ()
    return next((scope for scope in clause.denied if _says_all(said, scope, evidence)), ())


def _says_all(said: Clause, words: Iterable[Word], evidence: _Evidence) -> bool:
    return all(evidence.find([word]) & said.stems for word in words)


def _says_plainly(clause: Clause, stems: frozenset[str], evidence: _Evidence) -> bool:
    """Whether a clause has one of the stems without a denial."""
    denied = {word for scope in clause.denied for word in scope}
    return bool(evidence.find(word for word in clause.words if word not in denied) & stems)


def _adds(said: Clause, evidence: _Evidence) -> bool:
    """Whether a clause has a denial that the sentence which holds it lacks."""
    return any(_adds_denial(said, scope, evidence) for scope in said.denied)


def _adds_denial(said: Clause, scope: tuple[Word, ...], evidence: _Evidence) -> bool:
    best = 0
    for sentence in evidence.sentences:
        whole = frozenset().union(*(found for _, found in sentence))
        covered = _weigh(said.words, whole)
        if (
            covered >= max(MIN_ADDED, best + 1)
            and len(whole & said.stems) >= MIN_SHARED
            and any(scope[0].stem in found and _weigh(scope, found) >= MIN_DENIED for _, found in sentence)
        ):
            best = covered
    return best > 0 and not any(
        (clause.is_denied or not clause.signs <= said.signs)
        and (_weigh(scope, found) >= MIN_ADDED or _weigh(said.words, found) >= best - NEAR)
        for sentence in evidence.sentences
        for clause, found in sentence
    )


def _weigh(words: Iterable[Word], found: frozenset[str]) -> int:
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

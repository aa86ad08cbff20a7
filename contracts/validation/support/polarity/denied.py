"""Statements that deny what their chunks say (R5-17).

`It does not work inside a notebook` is not supported by `it works inside a notebook`. All words that the statement
denies must be in a sentence of prose that holds much of the clause, and that denies, limits and asks nothing. A text
can deny in too many ways for a list, so the rule gives way if any sentence with the first of these words does.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.polarity.clauses import Clause, read_chunk_clauses, read_statement_clauses
from sourcebound.contracts.validation.support.polarity.turned import MAX_CLAUSES, MIN_SHARED, Finder, weigh
from sourcebound.contracts.validation.support.polarity.word_lists import BOUNDS
from sourcebound.contracts.validation.support.reversals import without_particle

MIN_SAID: Final = 400
"""The least share of a clause that the sentence must hold, in thousandths."""
NO_PROSE: Final = re.compile(r"[|?✗✘×☐☒]|: \S.*; ")
"""Marks of rows, questions and crosses, which may deny without a word."""
CONDITION: Final = re.compile(r"\b(?:if|wenn|falls|ob|si|se|whether)\s+(?:not|nicht|non|no|pas)\b", re.IGNORECASE)
AS_LONG_AS: Final = re.compile(
    r"\b(?:as long as|so long as|solange|tant qu|hasta que|mientras|finch[éè]|fino a quando|zolang|enquanto)\b"
    r"[^.;:]{0,200}\b(?:not|nicht|kein\w*|pas|no|non|niet|geen|não)\b",
    re.IGNORECASE,
)
"""A denial that says until when: `as long as it has not been received`."""
BEYOND: Final = BOUNDS.union(
    "later earlier until else other another different longer anymore später früher bis andere anderen anderer sonst "
    "jusqu autre autres ailleurs hasta otro otra otros otras altro altra altri altre".split()
)
"""Words that say of what is beyond a limit, or of other things, what follows from what is said of a thing."""
WORD: Final = re.compile(r"[^\W\d_]+")
WRAPPED: Final = re.compile(r"[^.!?:;\s]\s*\n\s*[^\W\d_A-ZÀ-Ý]")
"""The end of a line within a sentence."""


class _Said(NamedTuple):
    """A sentence of the cited chunks, over the lines that it goes on in."""

    found: frozenset[str]
    """The stems of the statement that it holds."""
    is_plain: bool
    """Whether it is prose that denies, limits and asks nothing."""


def denies(statement: str, chunks: Iterable[str]) -> bool:
    """Return whether a clause of a statement denies what its chunks say.

    Args:
        statement: A statement without citations.
        chunks: The texts of the chunks that it cites.
    """
    bare = without_particle(statement)
    if CONDITION.search(bare) or AS_LONG_AS.search(bare) or not BEYOND.isdisjoint(WORD.findall(bare.casefold())):
        return False
    clauses = [clause for clause in _joined(read_statement_clauses(bare)[:MAX_CLAUSES]) if _is_plain_denial(clause)]
    if not clauses:
        return False
    finder = Finder(clauses)
    said = [each for chunk in chunks for each in _read(chunk, finder)]
    return any(_is_said(clause, finder, said) for clause in clauses)


def _joined(clauses: Sequence[Clause]) -> Iterator[Clause]:
    """Yield clauses, with that of one word after the clause before: `reinstated, but not retroactively`."""
    last: Clause | None = None
    for clause in clauses:
        yield clause._replace(words=last.words + clause.words) if last and len(clause.stems) < MIN_SHARED else clause
        last = clause


def _is_plain_denial(clause: Clause) -> bool:
    return clause.denials == 1 and bool(clause.denied) and not clause.is_relative


def _is_said(clause: Clause, finder: Finder, said: Sequence[_Said]) -> bool:
    """Whether a sentence says all that a clause denies, and none of its first word may deny it."""
    scope = [finder.find([word]) for word in clause.denied[0]]
    about = [each for each in said if each.found & scope[0]]
    return all(each.is_plain for each in about) and any(
        all(each.found & stems for stems in scope)
        and len(each.found & clause.stems) >= MIN_SHARED
        and weigh(clause.words, each.found) >= MIN_SAID
        for each in about
    )


def _read(chunk: str, finder: Finder) -> Iterator[_Said]:
    found, is_plain, last = frozenset[str](), True, -1
    for sentence, clauses in zip(read_passage(chunk).sentences, read_chunk_clauses(chunk), strict=True):
        if last >= 0 and not WRAPPED.match(chunk, last - 1, sentence.start + 1):
            yield _Said(found, is_plain)
            found, is_plain = frozenset[str](), True
        found |= finder.find(word for clause in clauses for word in clause.words)
        is_plain &= not NO_PROSE.search(chunk, sentence.start, sentence.end)
        is_plain &= not any(clause.denials or clause.signs or clause.is_limited for clause in clauses)
        last = sentence.end
    if last >= 0:
        yield _Said(found, is_plain)

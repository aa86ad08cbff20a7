"""The edits between a statement and its closest sentences: a negation, an opposite, a name (R5-17)."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.claims import Claim, Window, share
from sourcebound.contracts.validation.support.word_lists import (
    COMPARISONS,
    NEGATIONS,
    QUANTIFIERS,
    has_opposite,
)
from sourcebound.contracts.validation.support.words import Word

LONGEST: Final = 220
"""The most words of a statement, and of its closest sentences, that are aligned."""
LEAST_RUN: Final = 3
"""The number of words from which equal words count as a run."""


class Edit(NamedTuple):
    """Words of the statement that replace words of the evidence; either side may be empty."""

    added: tuple[Word, ...]
    removed: tuple[Word, ...]
    is_inside_copy: bool
    """Whether equal runs are directly before and after it."""

    @property
    def is_exchange(self) -> bool:
        """Whether one word replaces one, or two replace two."""
        return 0 < len(self.added) == len(self.removed) <= 2

    @property
    def has_content(self) -> bool:
        """Whether either side has a content word."""
        return any(word.weight for word in self.added + self.removed)


class Alignment(NamedTuple):
    """The equal runs of a statement and its evidence, and the edits between them."""

    runs: tuple[int, ...]
    edits: tuple[Edit, ...]


def align(claim: Claim, window: Window) -> Alignment:
    """Align a statement with a window. A window may hold more before the first and after the last equal word."""
    theirs = window.words[:LONGEST]
    matcher = SequenceMatcher(None, [w.stem for w in theirs], [w.stem for w in claim.words[:LONGEST]], autojunk=False)
    codes = matcher.get_opcodes()
    runs = tuple(end - start for tag, _, _, start, end in codes if tag == "equal")
    edits = []
    for index, (tag, first, last, start, end) in enumerate(codes):
        if tag == "equal":
            continue
        before = codes[index - 1] if index else None
        after = codes[index + 1] if index + 1 < len(codes) else None
        is_outside = before is None or after is None
        removed = () if is_outside and last - first > end - start + 2 else theirs[first:last]
        inside = all(code is not None and code[4] - code[3] >= LEAST_RUN for code in (before, after))
        edits.append(Edit(claim.words[start:end], removed, inside))
    return Alignment(runs, tuple(edits))


def edit_features(claim: Claim, window: Window) -> dict[str, int]:
    """Return how a statement differs from its closest sentences.

    Args:
        claim: The statement.
        window: The closest sentences.

    Returns:
        Counts of changed words by kind, and shares of equal runs in thousandths.
    """
    alignment = align(claim, window)
    edits, length = alignment.edits, min(len(claim.words), LONGEST)
    here, there = frozenset(claim.weights), window.stems
    return {
        "equal_share": share(sum(alignment.runs), length),
        "run_share": share(sum(run for run in alignment.runs if run >= LEAST_RUN), length),
        "longest_run": min(max(alignment.runs, default=0), 30),
        "longest_share": share(max(alignment.runs, default=0), length),
        "negation_added": _surplus((edit.added, edit.removed) for edit in edits),
        "negation_removed": _surplus((edit.removed, edit.added) for edit in edits),
        "negation_in_copy": _changed([edit for edit in edits if edit.is_inside_copy], NEGATIONS),
        "quantifier_changed": _changed(edits, QUANTIFIERS),
        "comparison_changed": _changed(edits, COMPARISONS),
        "opposites": min(sum(_opposites(edit, here, there) for edit in edits), 5),
        "opposites_anywhere": opposites_anywhere(here, there),
        "exchanged_names": min(sum(_exchanges(edit, "is_name") for edit in edits), 5),
        "exchanged_numbers": min(sum(_exchanges(edit, "is_number") for edit in edits), 5),
        "exchanged_words": min(sum(edit.is_exchange and _exchanges(edit, "is_content") for edit in edits), 5),
        "exchanged_function_words": min(sum(edit.is_exchange and not edit.has_content for edit in edits), 5),
        "number_replaced": sum(_replaces(edit, here, there, "is_number") for edit in edits),
        "content_replaced": min(sum(_replaces(edit, here, there, "is_content") for edit in edits), 10),
        "replaced_in_copy": sum(edit.is_inside_copy and _replaces(edit, here, there, "is_content") for edit in edits),
        "content_added": min(sum(_is_addition(edit) for edit in edits), 10),
        "added_in_copy": sum(edit.is_inside_copy and _is_addition(edit) for edit in edits),
    }


def _count(words: Iterable[Word], listed: frozenset[str]) -> int:
    return sum(word.form in listed for word in words)


def _changed(edits: Sequence[Edit], listed: frozenset[str]) -> int:
    """Count the edits whose two sides hold a different number of the listed words."""
    return min(sum(_count(edit.added, listed) != _count(edit.removed, listed) for edit in edits), 5)


def _surplus(sides: Iterable[tuple[tuple[Word, ...], tuple[Word, ...]]]) -> int:
    """Count the edits whose first side holds more negations than the second."""
    return min(sum(_count(first, NEGATIONS) > _count(second, NEGATIONS) for first, second in sides), 3)


def _exchanges(edit: Edit, kind: str) -> bool:
    """Whether both sides have words of a kind, and not the same."""
    added, removed = ({word.stem for word in side if getattr(word, kind)} for side in (edit.added, edit.removed))
    return bool(added and removed) and added != removed


def _opposites(edit: Edit, here: frozenset[str], there: frozenset[str]) -> bool:
    """Whether an edit replaces a word by its opposite. A word that both texts hold was moved, not replaced."""
    added = {word.stem for word in edit.added if word.stem not in there}
    removed = {word.stem for word in edit.removed if word.stem not in here}
    return any(has_opposite(stem, removed) for stem in added)


def opposites_anywhere(here: frozenset[str], there: frozenset[str]) -> int:
    """Count the stems that only one text holds and whose opposites only the other holds, up to three."""
    only_here, only_there = here - there, there - here
    return min(sum(has_opposite(stem, only_there) for stem in only_here), 3)


def _replaces(edit: Edit, here: frozenset[str], there: frozenset[str], kind: str) -> bool:
    """Whether an edit has a new word of a kind where the evidence has another of this kind."""
    return any(getattr(word, kind) and word.stem not in there for word in edit.added) and any(
        getattr(word, kind) and word.stem not in here for word in edit.removed
    )


def _is_addition(edit: Edit) -> bool:
    return any(word.weight for word in edit.added) and not any(word.weight for word in edit.removed)

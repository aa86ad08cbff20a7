"""Degenerate answers: loops, echoes and fillers, which say nothing although they cite a source (contract R5-16)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.content_words import content_words
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.answer_reading import Statement

WORD: Final = re.compile(r"[^\W_]+")
ECHOED_WORDS: Final = 7
"""The number of consecutive words of the prompt's instructions that an answer may not repeat."""
SHORT: Final = 3
"""A statement with fewer words is a label, such as the cell of a table: it may occur twice."""
SAYS_NOTHING: Final = "says nothing beyond the question"
ABOUT_THE_ANSWER: Final = content_words(
    "answer answers question questions evidence source sources citation context passage information prompt text"
)
"""Words that speak of the answer itself, and not of the subject."""
NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "without", "cannot", "yes"})
POLAR: Final = re.compile(
    r"\s*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|should|shall|will|would)\b",
    re.IGNORECASE,
)
"""The beginning of a question that is answered by stating what it asks."""


class Degeneracy(NamedTuple):
    """A statement that says nothing."""

    statement: int
    """Its number, from 0."""
    reason: str
    text: str
    introduces: bool
    """Whether it is a label, a lead-in or an item, which may say nothing where another statement does."""


class _Sources:
    """The words of the evidence chunks, split when they are needed: few answers repeat a statement or the prompt.

    Args:
        bundle: The evidence.
    """

    def __init__(self, bundle: AnswerBundle) -> None:
        self._texts = {chunk.anchor: chunk.sanitized_text for chunk in bundle.selected_evidence}
        self._words: dict[str, list[str]] = {}

    def most(self, words: tuple[str, ...], anchors: Iterable[str]) -> int:
        """Return how often one of these chunks says the words one after the other."""
        return max((_count(words, self._words_of(anchor)) for anchor in anchors if anchor in self._texts), default=0)

    def say(self, run: str) -> bool:
        """Tell whether a chunk says a run of words, separated by blanks."""
        return any(f" {run} " in f" {' '.join(self._words_of(anchor))} " for anchor in self._texts)

    def _words_of(self, anchor: str) -> list[str]:
        if anchor not in self._words:
            self._words[anchor] = _words(self._texts[anchor])
        return self._words[anchor]


def find_degenerate(statements: Sequence[Statement], bundle: AnswerBundle, template: str) -> list[Degeneracy]:
    """Find the statements that say nothing (R5-16).

    Args:
        statements: The statements of the answer.
        bundle: The evidence and the question.
        template: The name of the prompt's template.

    Returns:
        At most one finding for each statement.
    """
    sources, instructions = _Sources(bundle), _instructions(template)
    counts, findings = Counter[tuple[str, ...]](), []
    says_something = False
    for number, statement in enumerate(statements):
        if not statement.needs_citation:
            says_something |= statement.kind is SegmentKind.CODE
            continue
        text = CITATION.sub("", statement.text).strip()
        words = tuple(_words(text))
        counts[words] += 1
        is_repeated = counts[words] > 1 and len(words) >= SHORT
        if is_repeated and sources.most(words, statement.anchors) < counts[words]:
            reason = "repeats an earlier statement"
        else:
            reason = _judge(words, sources, bundle.user_question, instructions)
        if reason:
            introduces = len(words) < SHORT or text.endswith((":", "：")) or statement.kind is SegmentKind.LIST_ITEM
            findings.append(Degeneracy(number, reason, text[:80], introduces))
        says_something |= not reason
    return [found for found in findings if not (says_something and found.introduces and found.reason == SAYS_NOTHING)]


def _judge(words: tuple[str, ...], sources: _Sources, question: str, instructions: frozenset[str]) -> str:
    """Return why a statement says nothing; empty if it says something."""
    if words == tuple(_words(question)):
        return "is the question"
    if any(run in instructions and not sources.say(run) for run in _runs(words)):
        return "repeats the instructions of the prompt"
    return SAYS_NOTHING if _is_nothing_new(words, question) else ""


def says_nothing(text: str, question: str) -> bool:
    """Return whether a statement has no content word beyond its question, which asks for more than yes or no (R5-16).

    Args:
        text: The statement without citations.
        question: The question as it was asked.
    """
    return _is_nothing_new(_words(text), question)


def _is_nothing_new(words: Sequence[str], question: str) -> bool:
    return not (POLAR.match(question) or (_content(words) - ABOUT_THE_ANSWER) - content_words(question))


def _content(words: Sequence[str]) -> frozenset[str]:
    return content_words(" ".join(words)) | (NEGATIONS & {*words})


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _runs(words: Sequence[str]) -> Iterator[str]:
    """Yield every run of consecutive words that is long enough to be an echo."""
    for start in range(len(words) - ECHOED_WORDS + 1):
        yield " ".join(words[start : start + ECHOED_WORDS])


def _count(words: tuple[str, ...], source: Sequence[str]) -> int:
    """Count how often a source says these words one after the other."""
    size = len(words)
    return sum(tuple(source[start : start + size]) == words for start in range(len(source) - size + 1))


@lru_cache(maxsize=32)
def _instructions(template: str) -> frozenset[str]:
    """Return the runs of words in a prompt template."""
    return frozenset(_runs(_words(read_template(template))))

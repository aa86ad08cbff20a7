"""Query variants and document hints: a policy's rules as data (contract R1-4, R1-7).

A variant serves retrieval alone; the prompt's question stays the user's own words (R3-4).
"""

import re
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.policy.schema import DocumentHint, ExpansionRule, Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow

WORD: Final = re.compile(r"\w+")
LEAST_LETTERS: Final = 3
"""Letters of a word that can tell a document by its name."""


def query_variants(question: str, rules: Sequence[ExpansionRule]) -> tuple[str, ...]:
    """The searches of a question: itself, and itself with each term that a rule adds and it lacks (R1-4).

    Args:
        question: The user's question.
        rules: The policy's expansion rules.

    Returns:
        The question first, each variant once.
    """
    terms = [term for rule in rules if mentions(question, rule.when) for term in rule.add]
    added = [f"{question} {term}" for term in terms if not mentions(question, term)]
    return tuple(dict.fromkeys([question, *added]))


def mentions(text: str, phrase: str) -> bool:
    """Whether a text holds the words of a phrase one after another, whatever their case."""
    words, wanted = _words(text), _words(phrase)
    return bool(wanted) and any(
        words[start : start + len(wanted)] == wanted for start in range(len(words) - len(wanted) + 1)
    )


def is_named_by(question: str, names: Sequence[str], hints: Sequence[DocumentHint]) -> bool:
    """Whether a question points at a document by its name (R1-7).

    Args:
        question: The question.
        names: What the document is called: title, reference, knowledge id.
        hints: The policy's hints: words of a question and the document that they point at.

    Returns:
        True if a word of at least three letters or digits stands in both the question and a name and is no everyday
        word of questions, or if a hint says so.
    """
    asked = {word for word in _words(question) if len(word) >= LEAST_LETTERS} - EVERYDAY
    if any(asked & {*_words(name)} for name in names):
        return True
    return any(mentions(question, hint.when) and any(mentions(name, hint.document) for name in names) for hint in hints)


def needs_fallback(question: str, rows: Sequence[RetrievalRow], policy: Policy) -> bool:
    """Whether the rows of a question count although none reaches the policy's `min_similarity` (R1-7).

    Args:
        question: The question.
        rows: What was found.
        policy: The policy of the run.

    Returns:
        True if the policy has a fallback, no row reaches `min_similarity`, the best row reaches
        `fallback_min_similarity`, and the question names its document.
    """
    lowest = policy.retrieval.fallback_min_similarity
    best = max(rows, key=lambda row: (row.similarity_score, -row.rank), default=None)
    if lowest is None or best is None or not lowest <= best.similarity_score < policy.selection.min_similarity:
        return False
    page = "" if best.page_number is None else f", p. {best.page_number}"
    names = [best.knowledge_id, best.title or "", (best.source_reference or "").removesuffix(page)]
    return is_named_by(question, names, policy.retrieval.document_hints or ())


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold().replace("_", " "))


EVERYDAY: Final = frozenset(
    "about after all and any are before been can could describe did does during each explain find for from give "
    "had has have how into is its list many may more most much must need not often only other our out over own "
    "per please require required requirements should show some such tell than that the their them then there "
    "these they this those under use used using very was were what when where which who whom whose why will with "
    "within without would you your document documents file files page pages pdf doc docx html txt manual guide "
    "guideline guidelines".split()
)
"""Words that say nothing about which document is meant."""

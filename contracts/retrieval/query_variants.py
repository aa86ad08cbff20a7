"""Query variants and document hints: a policy's rules as data (R1-4, R1-7).

A variant serves retrieval only. The prompt keeps the user's own words (R3-4).
"""

import re
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.policy.schema import DocumentHint, ExpansionRule, Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow

WORD: Final = re.compile(r"\w+")
FISCAL_YEAR: Final = re.compile(r"\bF\.?Y\.?[ ’']{0,2}(\d{4}|\d{2})\b", re.IGNORECASE)
YEAR_DIGITS: Final = 4
MIN_LETTERS: Final = 3
"""The minimum length of a word that can identify a document by name."""


def query_variants(question: str, rules: Sequence[ExpansionRule]) -> tuple[str, ...]:
    """Return the search queries of a question: itself, and itself with each missing term of a rule (R1-4).

    Args:
        question: The user's question.
        rules: The policy's expansion rules.

    Returns:
        The question first, each variant once.
    """
    terms = [term for rule in rules if mentions(question, rule.when) for term in rule.add]
    added = [f"{question} {term}" for term in terms if not mentions(question, term)]
    return tuple(dict.fromkeys([question, *added]))


def with_plain_years(text: str) -> str:
    """Return a text whose fiscal years are written as plain years, as the words of documents are: `FY22` is `2022`.

    Args:
        text: A search query.
    """
    return FISCAL_YEAR.sub(lambda match: match[1] if len(match[1]) == YEAR_DIGITS else f"20{match[1]}", text)


def mentions(text: str, phrase: str) -> bool:
    """Whether a text holds the words of a phrase in sequence, in any case."""
    words, phrase_words = _words(text), _words(phrase)
    return bool(phrase_words) and any(
        words[start : start + len(phrase_words)] == phrase_words for start in range(len(words) - len(phrase_words) + 1)
    )


def is_named_by(question: str, names: Sequence[str], hints: Sequence[DocumentHint]) -> bool:
    """Whether a question names a document (R1-7).

    Args:
        question: The question.
        names: The names of the document: title, reference, knowledge id.
        hints: The policy's hints: words of a question and the document that they indicate.

    Returns:
        True if the question and a name share a word of at least three letters or digits that is not an everyday word,
        or if a hint matches.
    """
    question_words = {word for word in _words(question) if len(word) >= MIN_LETTERS} - EVERYDAY_WORDS
    if any(question_words & {*_words(name)} for name in names):
        return True
    return any(mentions(question, hint.when) and any(mentions(name, hint.document) for name in names) for hint in hints)


def needs_fallback(question: str, rows: Sequence[RetrievalRow], policy: Policy) -> bool:
    """Whether the rows of a question are accepted although none reaches the policy's `min_similarity` (R1-7).

    Args:
        question: The question.
        rows: The retrieved rows.
        policy: The policy of the run.

    Returns:
        True if the policy has a fallback, no row reaches `min_similarity`, the best row reaches
        `fallback_min_similarity`, and the question names its document.
    """
    minimum = policy.retrieval.fallback_min_similarity
    best = max(rows, key=lambda row: (row.similarity_score, -row.rank), default=None)
    if minimum is None or best is None or not minimum <= best.similarity_score < policy.selection.min_similarity:
        return False
    page = "" if best.page_number is None else f", p. {best.page_number}"
    names = [best.knowledge_id, best.title or "", (best.source_reference or "").removesuffix(page)]
    return is_named_by(question, names, policy.retrieval.document_hints or ())


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold().replace("_", " "))


EVERYDAY_WORDS: Final = frozenset(
    "about after all and any are before been can could describe did does during each explain find for from give "
    "had has have how into is its list many may more most much must need not often only other our out over own "
    "per please require required requirements should show some such tell than that the their them then there "
    "these they this those under use used using very was were what when where which who whom whose why will with "
    "within without would you your document documents file files page pages pdf doc docx html txt manual guide "
    "guideline guidelines".split()
)
"""Everyday words, which do not identify a document."""

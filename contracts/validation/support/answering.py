"""The features of a question, an answer and its evidence, all whole numbers (R5-18).

An answer can repeat its evidence exactly and still not answer, because the evidence is about another thing. What
the question asks for must be near what the answer quotes, and of the kind that it asks for.
"""

from collections.abc import Sequence

from sourcebound.contracts.validation.literals.check import check_literals, read_evidence
from sourcebound.contracts.validation.support.candidates import ASKS_NAME, ASKS_NUMBER
from sourcebound.contracts.validation.support.claims import Claim, best_windows, read_claim, share, weigh
from sourcebound.contracts.validation.support.edits import opposites_anywhere
from sourcebound.contracts.validation.support.passages import FAMILY, Passage, read_passage
from sourcebound.contracts.validation.support.relations import relation_features
from sourcebound.contracts.validation.support.word_lists import NEGATIONS
from sourcebound.contracts.validation.support.words import Word


def answering_features(answer: str, question: str, chunks: Sequence[str]) -> dict[str, int]:
    """Compute the features of an answer to a question.

    Args:
        answer: The answer without citations.
        question: The question.
        chunks: The texts of the chunks that the answer cites.

    Returns:
        Shares in thousandths, counts, and 0 or 1 for a property.
    """
    asked, said = read_claim(question), read_claim(answer)
    passages = [read_passage(chunk) for chunk in chunks]
    near, *_, far = best_windows(said, passages)
    own = frozenset(said.weights)
    held = frozenset().union(*(passage.stems for passage in passages))
    cited = tuple(read_evidence(f"C{index}", chunk) for index, chunk in enumerate(chunks))
    relations = relation_features(asked, passages, near)
    return {
        "asked_near": share(weigh(asked, own | near.stems), asked.total) if asked.total else 1000,
        "asked_around": share(weigh(asked, own | far.stems), asked.total) if asked.total else 1000,
        "asked_in_chunks": share(weigh(asked, own | held), asked.total) if asked.total else 1000,
        "asked_missing_rarest": _rarest(asked, own | held, passages),
        "asked_names_missing": min(sum(word.is_name and word.stem not in held for word in asked.content), 3),
        "asked_literals_missing": min(
            sum(not finding.supported for finding in check_literals(asked.text, 0, cited)), 3
        ),
        "asked_agreement": relations["agreement_mean"],
        "asked_agreement_least": relations["agreement_least"],
        "asked_opposites": opposites_anywhere(frozenset(asked.weights), near.stems | own),
        "asked_negation": int(_negated(asked.words) and not _negated(near.words + said.words)),
        "kind_missing": int(_lacks_kind(question, said, frozenset(asked.weights))),
    }


def _rarest(asked: Claim, held: frozenset[str], passages: Sequence[Passage]) -> int:
    """Return the weight of the question's rarest word that is not held, and whose family no passage holds."""
    families = frozenset().union(*(passage.beginnings for passage in passages))
    return max(
        (
            weight
            for stem, weight in asked.weights.items()
            if stem not in held and (len(stem) < FAMILY or stem[:FAMILY] not in families)
        ),
        default=0,
    )


def _lacks_kind(question: str, said: Claim, asked: frozenset[str]) -> bool:
    """Whether the question asks for a number or a name, and the answer has none that the question does not have."""
    new = [word for word in said.content if word.stem not in asked]
    return bool(
        (ASKS_NUMBER.search(question) and not any(word.is_number for word in new))
        or (ASKS_NAME.search(question) and not any(word.is_name for word in new))
    )


def _negated(words: Sequence[Word]) -> bool:
    return any(word.form in NEGATIONS for word in words)

"""The features of a statement and its evidence, all whole numbers: the input of the verifier's weights (R5-17)."""

import re
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.text.content_words import content_words
from sourcebound.contracts.validation.literals.check import check_literals, read_evidence
from sourcebound.contracts.validation.support.claims import (
    Claim,
    Window,
    best_windows,
    choose_window,
    read_claim,
    share,
    weigh,
)
from sourcebound.contracts.validation.support.edits import edit_features
from sourcebound.contracts.validation.support.passages import FAMILY, Passage, read_passage
from sourcebound.contracts.validation.support.relations import relation_features
from sourcebound.contracts.validation.support.word_lists import NEGATIONS, OPENERS

END: Final = re.compile(r"[.!?…;:)\]\"”'’|}%]\s*$")
FOUND: Final = 300
"""The weight of found words above which more of them say no more."""
LONGEST_LOOP: Final = 30
"""The most words of a phrase that is looked for directly after itself."""
Features = dict[str, int]


def support_features(statement: str, previous: str, question: str, chunks: Sequence[str]) -> tuple[Features, Window]:
    """Compute the features of a statement.

    Args:
        statement: The statement without citations.
        previous: The statement before it; empty for the first.
        question: The question; empty if there is no question.
        chunks: The texts of the chunks that the statement cites.

    Returns:
        The features by name, and the closest sentences of the evidence.
    """
    claim = read_claim(statement)
    passages = [read_passage(chunk) for chunk in chunks]
    windows = best_windows(claim, passages)
    window = choose_window(windows)
    features = {
        "covered_chunk": share(max((weigh(claim, passage.stems) for passage in passages), default=0), claim.total),
        "covered_1": share(windows[0].covered, claim.total),
        "covered_2": share(windows[1].covered, claim.total),
        "covered_3": share(windows[2].covered, claim.total),
        **_missing(claim, passages, window, content_words(f"{question} {previous}")),
        **_literals(claim, chunks, question, window),
        **_form(claim, statement, content_words(question)),
        **edit_features(claim, window),
        **relation_features(claim, passages, window),
        "negations_differ": _negations(claim.words) != _negations(window.words),
    }
    return {name: int(value) for name, value in features.items()}, window


def _missing(claim: Claim, passages: Sequence[Passage], window: Window, known: frozenset[str]) -> Features:
    """Describe the words that no chunk holds, without those of the question or the statement before."""
    held = frozenset().union(*(passage.stems for passage in passages))
    families = frozenset().union(*(passage.beginnings for passage in passages))
    missing = [word for word in claim.content if word.stem not in held]
    strange = [word for word in missing if len(word.stem) < FAMILY or word.stem[:FAMILY] not in families]
    new = [word for word in strange if word.stem not in known]
    lost = sum({word.stem: word.weight for word in strange}.values())
    told = {stem: weight for stem, weight in claim.weights.items() if stem not in known}
    return {
        "found": min(weigh(claim, held), FOUND),
        "found_new": min(sum(weight for stem, weight in told.items() if stem in held), FOUND),
        "covered": share(weigh(claim, held), claim.total),
        "covered_families": share(claim.total - lost, claim.total),
        "missing_rarest": max((word.weight for word in strange), default=0),
        "missing_new_rarest": max((word.weight for word in new), default=0),
        "missing_new_weight": min(sum(word.weight for word in new), 600),
        "missing_names_window": min(sum(word.is_name and word.stem not in window.stems for word in claim.content), 5),
    }


def _literals(claim: Claim, chunks: Sequence[str], question: str, window: Window) -> Features:
    cited = tuple(read_evidence(f"C{index}", chunk) for index, chunk in enumerate(chunks))
    findings = check_literals(claim.text, 0, cited, question)
    numbers = [word.stem for word in claim.content if word.is_number]
    return {
        "literals_missing": min(sum(not finding.supported for finding in findings), 3),
        "numbers_outside": min(sum(number not in window.stems for number in numbers), 3),
    }


def _form(claim: Claim, statement: str, asked: frozenset[str]) -> Features:
    forms = [word.form for word in claim.words]
    triples = list(zip(forms, forms[1:], forms[2:], strict=False))
    new = {stem: weight for stem, weight in claim.weights.items() if stem not in asked}
    return {
        "asked_share": share(claim.total - sum(new.values()), claim.total),
        "repeated": share(len(triples) - len(set(triples)), len(triples)),
        "looped": min(_looped(forms), 30),
        "no_end": not END.search(statement),
        "cut_short": bool(forms) and forms[-1] in OPENERS,
    }


def _negations(words: Sequence[object]) -> int:
    return sum(getattr(word, "form", "") in NEGATIONS for word in words) % 2


def _looped(forms: Sequence[str]) -> int:
    """Return the length of the longest phrase of three words or more that directly follows itself, in words."""
    longest = 0
    for width in range(3, min(len(forms) // 2, LONGEST_LOOP) + 1):
        run = 0
        for first, second in zip(forms, forms[width:], strict=False):
            run = run + 1 if first == second else 0
            if run >= width:
                longest = max(longest, run)
    return longest

"""Ranks the sentences of a prompt's evidence by its question, for the extractive generator (R4-9).

A sentence scores by the rare words of the question that it holds. Words around it (its heading, its document's name,
the neighbouring sentences) count less. Only the prompt is used.
"""

import re
from collections.abc import Sequence
from math import log
from typing import Final, NamedTuple

from sourcebound.contracts.prompt.build import PromptParts
from sourcebound.contracts.text.blocks import MAX_HEADING_WORDS, STATEMENT_END
from sourcebound.contracts.text.citations import find_citations, find_look_alikes
from sourcebound.contracts.text.content_words import IDENTIFIER, content_words
from sourcebound.contracts.text.segments import Segment, SegmentKind, segment
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.leaks import LEAK_PATTERNS
from sourcebound.contracts.validation.refusals import find_refusal

MAX_SENTENCES: Final = 3
CONTEXT_WEIGHT: Final = 0.4
"""The weight of a question word that is around a sentence, not in it."""
ANSWERED_WEIGHT: Final = 0.6
"""The weight of a question word that a chosen sentence holds already."""
MIN_RELEVANCE: Final = 0.43
"""The share of the question's weight that the best sentence must reach. Otherwise the answer is the refusal."""
MIN_OWN: Final = 0.15
"""The share that the sentence itself must hold, without its surroundings."""
FOLLOW_UP: Final = 0.5
"""The share of the best score that a further sentence must reach."""
MIN_NEW: Final = 0.1
"""The share of the question's weight that a further sentence must add."""
HEADING_LINE: Final = re.compile(r"(?P<number>\d+(?P<parts>(?:\.\d+)+)? )?[^\W\d_a-z][^\d:;|=\n]*")
"""A line in plain text that may be a heading, with the number of its section; never a table row, which contains
headers or values."""


class Sentence(NamedTuple):
    """A sentence of the evidence with its surroundings."""

    text: str
    anchor: str
    position: int
    words: frozenset[str]
    context: frozenset[str]
    is_heading: bool
    """Whether it only names the following text. A heading counts for word rarity, and is never chosen."""


def best_sentences(prompt: PromptParts) -> list[Sentence]:
    """Return the sentences that answer the question, best first.

    Args:
        prompt: The parts of a prompt.

    Returns:
        At most `MAX_SENTENCES`; none if nothing is relevant enough.
    """
    question = content_words(prompt.search_query or prompt.question)
    sentences = [
        sentence for part in prompt.evidence for sentence in _read_sentences(part.anchor, part.source, part.text)
    ]
    weights = _word_weights(question, sentences)
    total = sum(weights.values())
    sentences = [each for each in sentences if _is_about_identifiers(question, each) and not each.is_heading]
    if not sentences or not total:
        return []
    selection: list[Sentence] = []
    covered: set[str] = set()
    context_covered: set[str] = set()
    best = 0.0
    while len(selection) < MAX_SENTENCES:
        remaining = [sentence for sentence in sentences if sentence not in selection]
        ranked = sorted(remaining, key=lambda s: (-round(_score(s, weights, covered), 9), s.position))
        if not ranked:
            break
        candidate, own_weight = ranked[0], _sum_weights(ranked[0].words & question, weights)
        score = _score(candidate, weights, set())
        new_words = candidate.words & question - covered - context_covered
        if not selection and (score < MIN_RELEVANCE * total or own_weight < MIN_OWN * total):
            return []
        if selection and (score < FOLLOW_UP * best or _sum_weights(frozenset(new_words), weights) < MIN_NEW * total):
            break
        best = best or score
        selection.append(candidate)
        covered |= candidate.words & question
        context_covered |= candidate.context & question
    return selection


def _is_about_identifiers(question: frozenset[str], sentence: Sentence) -> bool:
    """Whether a sentence concerns an identifier that the question names; True if the question names none."""
    identifiers = {word for word in question if IDENTIFIER.fullmatch(word)}
    return not identifiers or bool(identifiers & (sentence.words | sentence.context))


def _word_weights(question: frozenset[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    count = len(sentences)
    frequency = {word: sum(word in sentence.words for sentence in sentences) for word in question}
    return {word: log(1 + (count - n + 0.5) / (n + 0.5)) for word, n in sorted(frequency.items())}


def _score(sentence: Sentence, weights: dict[str, float], covered: set[str]) -> float:
    """Score a sentence by the question's words in and around it; words that were already answered count less."""
    own_weight = sum(
        weights[word] * (ANSWERED_WEIGHT if word in covered else 1.0)
        for word in sorted(sentence.words & weights.keys())
    )
    surroundings = (sentence.context - sentence.words) & weights.keys()
    return own_weight + CONTEXT_WEIGHT * sum(
        weights[word] * (ANSWERED_WEIGHT if word in covered else 1.0) for word in sorted(surroundings)
    )


def _sum_weights(words: frozenset[str], weights: dict[str, float]) -> float:
    return sum(weights[word] for word in sorted(words))


def _read_sentences(anchor: str, source: str, text: str) -> list[Sentence]:
    pieces = [piece for piece in segment(text) if piece.text.strip()]
    results = []
    for index, piece in enumerate(pieces):
        quoted = " ".join(piece.text.split())
        if piece.kind is SegmentKind.HEADING or not is_quotable(quoted, anchor):
            continue
        surroundings = " ".join(part.text for part in pieces[max(0, index - 2) : index])
        context = content_words(f"{source} {pieces[0].text} {surroundings}")
        position, is_heading = int(anchor[1:]) * 1000 + index, _is_heading(text, pieces, index)
        results.append(Sentence(quoted, anchor, position, content_words(quoted), context, is_heading))
    return results


def _is_heading(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether an unmarked segment is a heading: `10.2 Oil level`."""
    piece, following = pieces[index], pieces[index + 1 : index + 2]
    line = HEADING_LINE.fullmatch(piece.text)
    if not (line and following) or piece.kind is not SegmentKind.SENTENCE or STATEMENT_END.search(piece.text):
        return False
    if len(piece.text.split()) > MAX_HEADING_WORDS:
        return False
    if line["parts"]:
        return True
    is_separate = "\n\n" in text[piece.end : following[0].start]
    if line["number"]:
        below = HEADING_LINE.fullmatch(following[0].text)
        return is_separate or bool(below and below["parts"])
    return is_separate and not any(map(str.isalpha, text[: piece.start]))


def is_quotable(sentence: str, anchor: str) -> bool:
    """Whether a sentence of the evidence, with its citation, is exactly one cited statement."""
    if sentence.startswith("\\") or sentence.rstrip().endswith(":") or len(sentence.split()) < 3:
        return False
    if find_citations(sentence) or find_look_alikes(sentence) or find_refusal(sentence):
        return False
    if any(pattern.search(sentence) for _, _, pattern in LEAK_PATTERNS):
        return False
    statements = read_statements(f"{sentence} [{anchor}]")
    return len(statements) == 1 and bool(statements[0].anchors)

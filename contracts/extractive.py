"""Ranking the sentences of a prompt's evidence against its question: the whole mind of the extractive generator (R4-9).

A sentence is worth the rare words of the question that it holds; words that stand only around it (its heading, its
document's name, the sentences beside it) count for less. Nothing outside the prompt is looked at.
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
from sourcebound.contracts.validation.leaks import FORBIDDEN_SHAPES
from sourcebound.contracts.validation.refusals import refusal_pattern

MAX_SENTENCES: Final = 3
CONTEXT_WEIGHT: Final = 0.4
"""What a question word is worth when it stands around a sentence and not in it."""
ANSWERED_WEIGHT: Final = 0.6
"""What a question word is worth once a chosen sentence holds it."""
MIN_RELEVANCE: Final = 0.43
"""Share of the question's weight that the best sentence must reach; under it the answer is the refusal."""
MIN_OWN: Final = 0.15
"""Share that the sentence itself must hold, its surroundings left out."""
FOLLOW_UP: Final = 0.5
"""Share of the best sentence's score that a further sentence must reach."""
MIN_NEW: Final = 0.1
"""Share of the question's weight that a further sentence must newly hold."""
HEADING_LINE: Final = re.compile(r"(?P<number>\d+(?P<parts>(?:\.\d+)+)? )?[^\W\d_a-z][^\d:;|=\n]*")
"""A line in plain text that may be a heading, with the number of its section; never a row of a table, which has its
headers or its values with it."""


class Sentence(NamedTuple):
    """A sentence of the evidence and what stands around it."""

    text: str
    anchor: str
    position: int
    words: frozenset[str]
    context: frozenset[str]
    is_heading: bool
    """It only names what follows: it counts for how rare a word is, and is never chosen."""


def best_sentences(prompt: PromptParts) -> list[Sentence]:
    """The sentences that answer the question, best first.

    Args:
        prompt: A prompt taken apart.

    Returns:
        Up to `MAX_SENTENCES`; none where nothing is relevant enough.
    """
    question = content_words(prompt.search_query or prompt.question)
    sentences = [sentence for part in prompt.evidence for sentence in _sentences(part.anchor, part.source, part.text)]
    weights = _weights(question, sentences)
    total = sum(weights.values())
    sentences = [each for each in sentences if _names_the_same(question, each) and not each.is_heading]
    if not sentences or not total:
        return []
    chosen: list[Sentence] = []
    covered: set[str] = set()
    context_covered: set[str] = set()
    best = 0.0
    while len(chosen) < MAX_SENTENCES:
        left = [sentence for sentence in sentences if sentence not in chosen]
        ranked = sorted(left, key=lambda s: (-round(_score(s, weights, covered), 9), s.position))
        if not ranked:
            break
        candidate, own = ranked[0], _weigh(ranked[0].words & question, weights)
        score = _score(candidate, weights, set())
        new = candidate.words & question - covered - context_covered
        if not chosen and (score < MIN_RELEVANCE * total or own < MIN_OWN * total):
            return []
        if chosen and (score < FOLLOW_UP * best or _weigh(frozenset(new), weights) < MIN_NEW * total):
            break
        best = best or score
        chosen.append(candidate)
        covered |= candidate.words & question
        context_covered |= candidate.context & question
    return chosen


def _names_the_same(question: frozenset[str], sentence: Sentence) -> bool:
    """Whether a sentence stands under one of the identifiers that the question names; any does where it names none."""
    named = {word for word in question if IDENTIFIER.fullmatch(word)}
    return not named or bool(named & (sentence.words | sentence.context))


def _weights(question: frozenset[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    count = len(sentences)
    held = {word: sum(word in sentence.words for sentence in sentences) for word in question}
    return {word: log(1 + (count - n + 0.5) / (n + 0.5)) for word, n in sorted(held.items())}


def _score(sentence: Sentence, weights: dict[str, float], covered: set[str]) -> float:
    """Weight of the question's words in and around a sentence; words that were already answered count half."""
    own = sum(
        weights[word] * (ANSWERED_WEIGHT if word in covered else 1.0)
        for word in sorted(sentence.words & weights.keys())
    )
    around = (sentence.context - sentence.words) & weights.keys()
    return own + CONTEXT_WEIGHT * sum(
        weights[word] * (ANSWERED_WEIGHT if word in covered else 1.0) for word in sorted(around)
    )


def _weigh(words: frozenset[str], weights: dict[str, float]) -> float:
    return sum(weights[word] for word in sorted(words))


def _sentences(anchor: str, source: str, text: str) -> list[Sentence]:
    pieces = [piece for piece in segment(text) if piece.text.strip()]
    found = []
    for index, piece in enumerate(pieces):
        quoted = " ".join(piece.text.split())
        if piece.kind is SegmentKind.HEADING or not quotable(quoted, anchor):
            continue
        around = " ".join(part.text for part in pieces[max(0, index - 2) : index])
        context = content_words(f"{source} {pieces[0].text} {around}")
        position, is_heading = int(anchor[1:]) * 1000 + index, _is_heading(text, pieces, index)
        found.append(Sentence(quoted, anchor, position, content_words(quoted), context, is_heading))
    return found


def _is_heading(text: str, pieces: Sequence[Segment], index: int) -> bool:
    """Whether a piece that is not marked as a heading only names what follows: `10.2 Oil level`."""
    piece, following = pieces[index], pieces[index + 1 : index + 2]
    line = HEADING_LINE.fullmatch(piece.text)
    if not (line and following) or piece.kind is not SegmentKind.SENTENCE or STATEMENT_END.search(piece.text):
        return False
    if len(piece.text.split()) > MAX_HEADING_WORDS:
        return False
    if line["parts"]:
        return True
    stands_apart = "\n\n" in text[piece.end : following[0].start]
    if line["number"]:
        below = HEADING_LINE.fullmatch(following[0].text)
        return stands_apart or bool(below and below["parts"])
    return stands_apart and not any(map(str.isalpha, text[: piece.start]))


def quotable(sentence: str, anchor: str) -> bool:
    """Whether a sentence of the evidence, with its citation, would stand as one cited statement of an answer."""
    if sentence.startswith("\\") or sentence.rstrip().endswith(":") or len(sentence.split()) < 3:
        return False
    if find_citations(sentence) or find_look_alikes(sentence) or refusal_pattern(sentence):
        return False
    if any(pattern.search(sentence) for _, _, pattern in FORBIDDEN_SHAPES):
        return False
    statements = read_statements(f"{sentence} [{anchor}]")
    return len(statements) == 1 and bool(statements[0].anchors)

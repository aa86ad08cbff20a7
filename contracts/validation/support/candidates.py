"""The sentences of the shown evidence that could answer a question, and how far an answer is ahead of the rest (R5-18).

An answer repeats its evidence and is wrong anyway, if another sentence answers. So every sentence that the prompt
showed is read for the question's words, and the sentences of the answer compete with all others. Logarithms and
exponentials are of decimal numbers, which every machine computes alike.
"""

import re
from collections.abc import Collection, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.claims import Claim, read_claim, share
from sourcebound.contracts.validation.support.passages import FAMILY, Passage, Sentence, read_passage
from sourcebound.contracts.validation.support.weights import Linear
from sourcebound.contracts.validation.support.words import read_words

ASKS_NUMBER: Final = re.compile(
    r"\b(?:when|how (?:many|much|old|long|far|often|large|big|tall|high|deep)"
    r"|(?:what|which) (?:year|date|day|number|percent\w*|age|century))\b",
    re.IGNORECASE,
)
ASKS_NAME: Final = re.compile(
    r"\b(?:who|whom|whose|where"
    r"|(?:what|which) (?:\w+ )?(?:name|person|country|city|state|company|team|organi[sz]ation))\b",
    re.IGNORECASE,
)
FAMILY_SHARE: Final = 700
"""What another word of a word's family counts, in thousandths."""
BEFORE: Final = 2
"""The sentences before a sentence that say what it is about."""
HUNDREDTH: Final = 10_000
"""A hundredth of a logit, in millionths."""
FARTHEST: Final = 800
"""The difference of two scores from which a greater one counts no more, in hundredths of a logit."""
WHOLE: Final = 1_000_000
EXACT: Final = Context(prec=28)
FEATURES: Final = ("own", "own_local", "around_local", "kind", "kind_missing", "nothing_new", "rank")
Features = dict[str, int]


class Shown(NamedTuple):
    """A chunk as the prompt shows it."""

    text: str
    title: str
    """The words that name it: its document and its section."""


class Place(NamedTuple):
    """A part of a chunk: the chunk's index, and offsets in its text."""

    chunk: int
    start: int
    end: int

    def overlaps(self, other: "Place") -> bool:
        """Whether both have a character in common."""
        return self.chunk == other.chunk and self.start < other.end and other.start < self.end


class Candidate(NamedTuple):
    """A sentence of the shown evidence."""

    place: Place
    features: Features


def read_candidates(question: str, shown: Sequence[Shown]) -> list[Candidate]:
    """Describe every sentence of the shown evidence by the question's words.

    Args:
        question: The question.
        shown: The chunks of the prompt, in its order.

    Returns:
        The sentences in order. Shares are in thousandths; *local* weights follow the rarity of a word among these
        sentences, the others its rarity in the language.
    """
    asked = read_claim(question)
    passages = [read_passage(chunk.text) for chunk in shown]
    count = sum(len(passage.sentences) for passage in passages)
    local = {
        stem: _rarity(count, sum(stem in sentence.stems for passage in passages for sentence in passage.sentences))
        for stem in asked.weights
    }
    total = sum(local.values())
    kinds = bool(ASKS_NUMBER.search(question)), bool(ASKS_NAME.search(question))
    candidates = []
    for index, passage in enumerate(passages):
        title = frozenset(word.stem for word in read_words(shown[index].title) if word.weight)
        for place, sentence in enumerate(passage.sentences):
            near = title.union(*(each.stems for each in passage.sentences[max(0, place - BEFORE) : place]))
            held = {stem: _held(stem, sentence, passage) for stem in asked.weights}
            around = {stem: 1000 if stem in near else part for stem, part in held.items()}
            has = _has_kind(asked, sentence, *kinds)
            features = {
                "own": _covered(held, asked.weights, asked.total),
                "own_local": _covered(held, local, total),
                "around_local": _covered(around, local, total),
                "kind": 1000 * has,
                "kind_missing": 1000 * (any(kinds) and not has),
                "nothing_new": 1000 * (sentence.stems <= asked.weights.keys()),
                "rank": 1000 // (1 + index),
            }
            candidates.append(Candidate(Place(index, sentence.start, sentence.end), features))
    return candidates


def best_features(candidates: Sequence[Candidate], said: Collection[Place], weights: Linear) -> Features:
    """Return the features of the best sentence of an answer, and how far it is ahead of what the answer does not say.

    The sentences next to those of the answer do not compete, because they are about the same thing.

    Args:
        candidates: The sentences of the shown evidence.
        said: The places of the evidence that the answer says.
        weights: The weights that order the sentences.

    Returns:
        The features of a sentence, and `share`: its part of all likelihood, in thousandths. All are 0 if the answer
        says no sentence.
    """
    scores = [weights.sum(features) for _, features in candidates]
    own = [index for index, each in enumerate(candidates) if any(map(each.place.overlaps, said))]
    if not own:
        return dict.fromkeys((*FEATURES, "share"), 0)
    near = {
        index
        for each in own
        for index in (each - 1, each, each + 1)
        if 0 <= index < len(candidates) and candidates[index].place.chunk == candidates[each].place.chunk
    }
    best = max(own, key=scores.__getitem__)
    likely = [_likelihood((score - scores[best]) // HUNDREDTH) for score in scores]
    mine = sum(likely[index] for index in own)
    others = sum(each for index, each in enumerate(likely) if index not in near)
    return {**candidates[best].features, "share": share(mine, mine + others)}


def _has_kind(asked: Claim, sentence: Sentence, needs_number: bool, needs_name: bool) -> bool:
    """Whether a sentence has a number or a name that is asked for, beyond those of the question."""
    if not (needs_number or needs_name):
        return False
    new = [word for word in sentence.words if word.weight and word.stem not in asked.weights]
    return any((needs_number and word.is_number) or (needs_name and word.is_name) for word in new)


def _held(stem: str, sentence: Sentence, passage: Passage) -> int:
    """Return how far a sentence holds a stem: wholly, by another word of its family, or not at all."""
    if stem in sentence.stems:
        return 1000
    family = stem[:FAMILY]
    is_near = family in passage.beginnings and any(each.startswith(family) for each in sentence.stems)
    return FAMILY_SHARE * is_near


def _covered(held: dict[str, int], weights: dict[str, int], total: int) -> int:
    return share(sum(weights[stem] * part for stem, part in held.items()), 1000 * total)


@lru_cache(1 << 14)
def _rarity(count: int, held: int) -> int:
    """Return the weight of a stem that some of the sentences hold, in hundredths of a natural logarithm.

    A stem that none holds weighs as one that a single sentence holds, so that one absent word does not decide.
    """
    quotient = EXACT.divide(Decimal(2 * (count + 1)), Decimal(2 * max(1, held) + 1))
    return round(EXACT.multiply(EXACT.ln(quotient), Decimal(100)))


@lru_cache(2 * FARTHEST + 1)
def _exponential(hundredths: int) -> int:
    return round(EXACT.multiply(EXACT.exp(EXACT.divide(Decimal(hundredths), Decimal(100))), Decimal(WHOLE)))


def _likelihood(hundredths: int) -> int:
    """Return how likely a sentence is to answer against one whose score is less by so many hundredths of a logit."""
    return _exponential(min(max(hundredths, -FARTHEST), FARTHEST))

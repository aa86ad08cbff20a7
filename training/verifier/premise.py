"""The evidence that the cross-encoder reads with a statement: the few sentences that hold most of it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.validation.support.claims import Claim, read_claim
from sourcebound.contracts.validation.support.passages import Passage, Sentence, read_passage
from sourcebound.contracts.validation.support.words import Word

MAX_WORDS: Final = 64
"""The most words of evidence that are read."""
MAX_SENTENCES: Final = 4
REPEATED: Final = 4
"""A word of the claim that a chosen sentence holds already counts for one in so many."""


class PremisePart(NamedTuple):
    """Consecutive words of one cited chunk: the chunk's index, and offsets in its text."""

    chunk: int
    start: int
    end: int


def choose_premise(claim: Claim, passages: Sequence[Passage]) -> tuple[PremisePart, ...]:
    """Choose the sentences that hold most of a claim, at most `MAX_WORDS` words, in the order of the chunks.

    Args:
        claim: The claim.
        passages: The chunks that it cites, read.

    Returns:
        The parts; empty if no sentence shares a content word with the claim. A sentence that is too long is cut to
        the words that hold most of the claim.
    """
    candidates = [
        (index, sentence, sentence.stems & claim.weights.keys())
        for index, passage in enumerate(passages)
        for sentence in passage.sentences
    ]
    candidates = [candidate for candidate in candidates if candidate[2]]
    chosen: list[PremisePart] = []
    held: frozenset[str] = frozenset()
    room = MAX_WORDS
    while candidates and room > 0 and len(chosen) < MAX_SENTENCES:
        best = max(range(len(candidates)), key=lambda place: _gain(claim, candidates[place][2], held))
        index, sentence, stems = candidates.pop(best)
        if chosen and (len(sentence.words) > room or not stems - held):
            continue
        words = sentence.words if len(sentence.words) <= room else _cut(claim, sentence, room)
        room -= len(words)
        held |= stems
        chosen.append(_part(index, sentence, words))
    return tuple(sorted(chosen))


def _gain(claim: Claim, stems: frozenset[str], held: frozenset[str]) -> int:
    return sum(claim.weights[stem] * (1 if stem in held else REPEATED) for stem in stems)


def _cut(claim: Claim, sentence: Sentence, room: int) -> tuple[Word, ...]:
    """Return the consecutive words of a long sentence that hold most of the claim."""
    words = sentence.words
    counts: dict[str, int] = {}
    total = best = first = 0
    for place, word in enumerate(words):
        weight = claim.weights.get(word.stem, 0)
        if weight:
            counts[word.stem] = counts.get(word.stem, 0) + 1
            total += weight if counts[word.stem] == 1 else 0
        gone = words[place - room] if place >= room else None
        if gone and gone.stem in claim.weights:
            counts[gone.stem] -= 1
            total -= claim.weights[gone.stem] if not counts[gone.stem] else 0
        if total > best:
            best, first = total, max(0, place - room + 1)
    return words[first : first + room]


def _part(index: int, sentence: Sentence, words: tuple[Word, ...]) -> PremisePart:
    if len(words) == len(sentence.words):
        return PremisePart(index, sentence.start, sentence.end)
    return PremisePart(index, words[0].start, words[-1].start + len(words[-1].form))


def read_premise(claim: Claim, chunks: Sequence[str]) -> tuple[str, tuple[PremisePart, ...]]:
    """Return the text that is read with a claim, and its parts (`choose_premise`).

    Args:
        claim: The claim.
        chunks: The texts of the chunks that it cites.
    """
    parts = choose_premise(claim, [read_passage(chunk) for chunk in chunks])
    return " ".join(chunks[part.chunk][part.start : part.end] for part in parts), parts


def read_answer(answer: str, question: str, chunks: Sequence[str]) -> str:
    """Return the text that is read with a question: the answer, and the sentences around it.

    Args:
        answer: The answer without citations.
        question: The question.
        chunks: The texts of the chunks that the answer cites.
    """
    parts = choose_premise(read_claim(f"{question} {answer}"), [read_passage(chunk) for chunk in chunks])
    around = (chunks[part.chunk][part.start : part.end] for part in parts)
    return " ".join([answer, "|", *(sentence for sentence in around if sentence not in answer)])

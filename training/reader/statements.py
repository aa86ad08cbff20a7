"""Chooses the sentences of a passage that a statement is read with: those that hold most of its words.

A statement is read in place of a question, and "none" means that nothing supports it.
"""

from typing import Final

from tokenizers import Tokenizer

from sourcebound.contracts.validation.support.claims import read_claim
from sourcebound.contracts.validation.support.passages import read_passage

HELD_AGAIN: Final = 1 / 3
"""What a word counts that a chosen sentence already has."""
MOST_WITH_BEFORE: Final = 4
"""Up to so many sentences, the one before each is read too, for what its pronouns mean."""
Span = tuple[int, int]


def choose_sentences(tokenizer: Tokenizer, statement: str, text: str, room: int) -> list[Span]:
    """Return the places of the chosen sentences in order, together at most `room` word-pieces."""
    claim = read_claim(statement)
    sentences = read_passage(text).sentences
    own = [{stem: claim.weights[stem] for stem in each.stems & claim.weights.keys()} for each in sentences]
    sizes = [len(tokenizer.encode(text[each.start : each.end], add_special_tokens=False).ids) for each in sentences]
    chosen, covered, used, left = list[int](), set[str](), 0, set(range(len(sentences)))

    def worth(place: int) -> tuple[float, int]:
        added = sum(weight * (HELD_AGAIN if stem in covered else 1) for stem, weight in own[place].items())
        return added, -place

    while left:
        best = max(left, key=worth)
        if not own[best] or (chosen and used + sizes[best] > room):
            break
        before = best - 1
        left.discard(best)
        chosen.append(best)
        used += sizes[best]
        covered |= own[best].keys()
        if before in left and used + sizes[before] <= room and len(chosen) < MOST_WITH_BEFORE:
            left.discard(before)
            chosen.append(before)
            used += sizes[before]
            covered |= own[before].keys()
    return [(sentences[place].start, sentences[place].end) for place in sorted(chosen)]


def leave_out(text: str, spans: list[Span]) -> str:
    """Return a passage without the sentences that support a statement."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start].rstrip() + " " + text[end:].lstrip()
    return text

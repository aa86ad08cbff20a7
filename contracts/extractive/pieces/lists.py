"""The lists of an extractive answer: whole, with the notes between their steps and what denies their items (R4-9)."""

import re
from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.extractive.pieces.quotes import is_quotable
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.text.segments import SegmentKind

MOST_ITEMS: Final = 40
"""The most items of a list: more than a chunk of the usual size has, because a part of a list reads as the whole."""
NEGATES: Final = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n['’]t|avoid\w*|prohibit\w*|forb[ai]d\w*|except\w*|exclu\w*|"
    r"unless|unsupported|incompatible|unsuitable|nicht|kein\w*|nie|niemals|verboten|außer|ohne|pas|jamais|aucun\w*|"
    r"interdit\w*|sauf|sans|nunca|jamás|sin|prohibido\w*|não|non|mai|vietat\w*|niet|geen|nooit|inte|aldrig|ikke|aldri)\b",
    re.IGNORECASE,
)
"""What makes the items below a lead-in or a heading say the opposite of what they say alone."""
STEP: Final = re.compile(r"\(?(\d{1,3})[.)]")


def read_list(sentences: Sequence[Sentence], best: Sentence) -> list[Sentence]:
    """Return the list that a sentence leads in, or is an item of, with its lead-in; a long one from the item on.

    A numbered list goes on after a note between its steps, and the note is quoted with it.

    Args:
        sentences: The sentences of the prompt, in order.
        best: An item, or a lead-in.
    """
    within = [each for each in sentences if each.chunk == best.chunk]
    number = best.block + best.leads
    items = _steps_after(within, _steps_before(within, [each for each in within if each.block == number]))
    items = [each for each in items if each.is_quotable or each.is_listable or each == best]
    lead = [each for each in within if items and each.leads and each.block == items[0].block - 1][-1:]
    place = items.index(best) if best in items else 0
    start = 0 if place < MOST_ITEMS else place
    return [*lead, *items[start : start + MOST_ITEMS]]


def _steps_after(within: Sequence[Sentence], items: list[Sentence]) -> list[Sentence]:
    """Add the notes and the steps after a list that go on with its numbers."""
    while (last := _step(items, -1)) and (note := _note(within[items[-1].place + 1 :])):
        block = _block(within, note[-1].place + 1)
        if _step(block, 0) != last + 1:
            break
        items = [*items, *note, *block]
    return items


def _steps_before(within: Sequence[Sentence], items: list[Sentence]) -> list[Sentence]:
    while (first := _step(items, 0)) > 1 and (note := _note(within[: items[0].place][::-1])[::-1]):
        block = _block(within, note[0].place - 1)
        if _step(block, -1) != first - 1:
            break
        items = [*block, *note, *items]
    return items


def _note(following: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences up to the next list; none if there is a heading, a table or code, or what is not quoted."""
    note = list[Sentence]()
    for each in following:
        if each.kind is SegmentKind.LIST_ITEM:
            return note
        if each.kind is not SegmentKind.SENTENCE or each.is_heading or not (each.is_quotable or each.is_listable):
            return []
        note.append(each)
    return []


def _block(within: Sequence[Sentence], place: int) -> list[Sentence]:
    return [each for each in within if each.block == within[place].block]


def _step(items: Sequence[Sentence], which: int) -> int:
    """Return the number of the first or the last step of a list, its nested lists left out; 0 without numbers."""
    outermost = min((each.indent for each in items), default=0)
    steps = [int(match[1]) for each in items if each.indent == outermost and (match := STEP.match(each.text))]
    return steps[which] if steps else 0


def with_denials(chosen: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the chosen sentences, each item below what denies it: `Do not use:`.

    Args:
        chosen: The sentences of an answer.
        sentences: All sentences of its prompt, in order.

    Returns:
        The sentences; without the items whose lead-in denies them and cannot be quoted.
    """
    places = {(each.chunk, each.place): each for each in sentences}
    said: dict[tuple[int, int], Sentence] = {}
    for each in chosen:
        above, lead = list[Sentence](), each.lead
        while lead is not None:
            above.append(places[each.chunk, lead])
            lead = above[-1].lead
        denials = [_as_lead(one) for one in reversed(above) if NEGATES.search(one.text)]
        if all(is_quotable(one.text.rstrip(" :"), is_item=True) for one in denials):
            for one in (*denials, each):
                said.setdefault((one.chunk, one.place), one)
    return list(said.values())


def _as_lead(sentence: Sentence) -> Sentence:
    """Return a lead-in, or a heading without its mark, which would make it a heading of the answer."""
    return sentence._replace(text=sentence.text.strip("# ")) if sentence.is_heading else sentence

"""Counterfactual documents: a document whose values are others, with the answer that is then right.

The copy of a document says other values at the places of an item's facts. An answer from the documents says the new
values. An answer from memory, from another edition or from nowhere says the old ones.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from sourcebound.evals.golden.items import GoldenItem
from sourcebound.evals.golden.perturb.draws import Draws

NUMBER: Final = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w,]|\.\d|-\d)")
WORDS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SPELT: Final = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b", re.IGNORECASE)
LEAST: Final = 2
MOST: Final = 5
"""By how much a value grows."""


class Change(NamedTuple):
    """A fact, and what the changed document says in its place."""

    old: str
    new: str


def counter(item: GoldenItem, draws: Draws) -> tuple[GoldenItem, tuple[Change, ...]] | None:
    """Return an item with other values in its facts.

    Args:
        item: An item that must be answered.
        draws: Chooses the values.

    Returns:
        The item, which forbids the old values, and the changes of the documents; None if no fact has a value.
    """
    changes = []
    facts = []
    for number, spellings in enumerate(item.facts):
        new = tuple(change_value(spelling, draws, str(number)) for spelling in spellings)
        if any(changed is None for changed in new):
            return None
        changes += [Change(old, str(changed)) for old, changed in zip(spellings, new, strict=True)]
        facts.append(tuple(map(str, new)))
    if not changes:
        return None
    forbidden = (*item.forbidden, *(change.old for change in changes))
    return item.model_copy(update={"facts": tuple(facts), "forbidden": forbidden}), tuple(changes)


def change_value(text: str, draws: Draws, name: str) -> str | None:
    """Return a text with another value for its number, of the same form; None if it has not one.

    Args:
        text: A fact, such as `24 hours` or `ten years`.
        draws: Chooses the value.
        name: The name of the fact among those of the item.
    """
    step = LEAST + draws.number(f"value {name}", MOST - LEAST + 1)
    if len(NUMBER.findall(text)) > 1:
        return None
    if match := NUMBER.search(text):
        whole, dot, decimals = match[0].partition(".")
        return f"{text[: match.start()]}{int(whole) + step}{dot}{decimals}{text[match.end() :]}"
    match = SPELT.search(text)
    if match and (place := WORDS.index(match[0].casefold()) + step) < len(WORDS):
        word = WORDS[place].capitalize() if match[0][0].isupper() else WORDS[place]
        return f"{text[: match.start()]}{word}{text[match.end() :]}"
    return None


def apply(text: str, changes: Iterable[Change]) -> str | None:
    """Return the text of a document with the changes; None if one of them does not fit.

    A change fits if the document says the old value exactly once, and nowhere the new one.
    """
    for change in changes:
        pattern = re.compile(rf"(?<![\w.,]){re.escape(change.old)}(?![\w]|[.,]\d)")
        if len(pattern.findall(text)) != 1 or re.search(rf"(?<![\w.,]){re.escape(change.new)}(?!\w)", text):
            return None
        text = pattern.sub(change.new.replace("\\", r"\\"), text)
    return text

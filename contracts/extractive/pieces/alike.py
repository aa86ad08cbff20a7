"""Sentences that say that two things are alike, where the question asks how they differ (R4-9)."""

from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.extractive.patterns import pattern
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence

ASKS_DIFFERENCE: Final = pattern(r"\bdiffer(?:s|ed|ent|ences?)?\b|\bdistinguish(?:es)?\b|\bapart from\b")
ALIKE: Final = pattern(r"\b(?:similar(?:ly)?|alike|the same|identical|equivalent|comparable|resembles?)\b")
CONTRAST: Final = pattern(
    r"\b(?:but|instead|however|whereas|while|unlike|except|although|though|only|than|rather|contrast|other hand"
    r"|differ(?:s|ed|ent|ences?)?|not|no|without)\b"
)
NEAR: Final = 2
"""How many sentences below one of likeness may say the difference."""


def with_difference(question: Question, sentences: Sequence[Sentence], chosen: list[Sentence]) -> list[Sentence]:
    """Return the chosen sentences, with the one below that says how two things differ if they only say the likeness.

    Args:
        question: The question.
        sentences: The sentences of the prompt.
        chosen: Those that were chosen to answer it.

    Returns:
        None if the question asks for a difference, and neither they nor the sentences below say one.
    """
    if not ASKS_DIFFERENCE.search(question.text) or not all(map(_says_only_likeness, chosen)):
        return chosen
    last = chosen[-1]
    below = [
        each
        for each in sentences
        if (each.chunk, each.block) == (last.chunk, last.block) and last.place < each.place <= last.place + NEAR
    ]
    found = [each for each in below if each.is_quotable and CONTRAST.search(each.text)]
    return [*chosen, found[0]] if found else []


def _says_only_likeness(sentence: Sentence) -> bool:
    return bool(ALIKE.search(sentence.text)) and not CONTRAST.search(sentence.text)

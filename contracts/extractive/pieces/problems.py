"""Answers below a sentence that repeats the question, such as those of an FAQ or of an error message (R4-9)."""

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Final

from sourcebound.contracts.extractive.patterns import PROCEDURAL
from sourcebound.contracts.extractive.question import Asked, Form, Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.text.segments import SegmentKind

LABELS: Final = {
    Form.STEPS: re.compile(
        r"\W*(?:solutions?|fix(?:es)?|workarounds?|resolutions?|remed(?:y|ies)|answer|to (?:fix|solve|resolve|do) )\b",
        re.IGNORECASE,
    ),
    Form.REASON: re.compile(
        r"\W*(?:(?:possible |root )?causes?|reasons?|answer|this (?:happens|occurs|is because))\b", re.IGNORECASE
    ),
}
"""The beginning of the paragraph that answers a question of each form."""
ASKING: Final = re.compile(r"\W*(?:FAQ[ -]?\w{1,4}\W|Q\d{0,3}[:.)]|Question\b[^:]{0,10}:)")
"""A question of a list of questions, which may be in the form of a statement: `(FAQ 7) It does not start.`"""
SEVERAL: Final = frozenset({Form.STEPS, Form.REASON, Form.EXPLANATION})
MOST: Final = 3
"""The most sentences of such a paragraph."""


def is_echo(question: Question, sentence: Sentence) -> bool:
    """Return whether a sentence asks, or has no content word beyond a question that asks for more than yes or no."""
    if ASKING.match(sentence.text):
        return True
    if question.asked is Asked.YES_NO or sentence.leads or PROCEDURAL.match(sentence.text):
        return False
    return all(word.stem in question.weights for word in sentence.words if word.weight)


def read_below(question: Question, sentences: Sequence[Sentence], echo: Sentence) -> list[Sentence]:
    """Return the paragraph below a sentence that answers the question which it gives back.

    Args:
        question: The question.
        sentences: The sentences of the prompt, in order.
        echo: The sentence that gives it back.

    Returns:
        One sentence, or up to three if the question asks how or why; none before the next heading or question.
    """
    following = (each for each in sentences if each.chunk == echo.chunk and each.place > echo.place)
    rest = dropwhile(lambda each: each.block == echo.block and each.text.endswith("?"), following)
    below = list(takewhile(lambda each: not (each.is_heading or each.text.endswith("?")), rest))
    below = [each for each in below if each.is_quotable and each.kind is SegmentKind.SENTENCE]
    label = LABELS.get(question.form)
    first = next((each for each in below if label and label.match(each.text)), None) or next(iter(below), None)
    if first is None or is_echo(question, first):
        return []
    paragraph = [each for each in below if each.block == first.block and each.place >= first.place]
    return paragraph[: MOST if question.form in SEVERAL else 1]

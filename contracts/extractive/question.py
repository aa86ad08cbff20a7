"""Questions as the extractive generator reads them: words, identifiers, the kind and the form of the answer (R4-9)."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.extractive import patterns
from sourcebound.contracts.extractive.labels import Labels, read_labels
from sourcebound.contracts.extractive.vocabulary.question_words import read_kind
from sourcebound.contracts.languages.function_words import ENGLISH, FUNCTION_WORDS, language_of
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.support.words import Word, read_words


class Asked(StrEnum):
    """The kind of thing that a question asks for."""

    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    COUNT = "count"
    MONEY = "money"
    CONTACT = "contact"
    """A telephone number or an address on the net."""
    DURATION = "duration"
    FREQUENCY = "frequency"
    MEASURE = "measure"
    REASON = "reason"
    DEFINITION = "definition"
    NAME = "name"
    CODE = "code"
    """A name in a program or on a command line."""
    YES_NO = "yes_no"
    OTHER = "other"


class Form(StrEnum):
    """The form of an answer."""

    SENTENCE = "sentence"
    STEPS = "steps"
    """A procedure: the paragraph or the list of the best sentence."""
    LIST = "list"
    """Several things: the list of the best sentence, or further sentences."""
    REASON = "reason"
    """The best sentence, with the one that goes on from it."""
    EXPLANATION = "explanation"
    """How something is or works: the best sentence, with what follows it in its paragraph."""
    SIDES = "sides"
    """A comparison: the best sentence for each side."""
    PARTS = "parts"
    """Two questions in one: the best sentence for each."""


ASKED: Final = (
    (Asked.MONEY, patterns.MONEY),
    (Asked.CONTACT, patterns.CONTACT),
    (Asked.FREQUENCY, patterns.FREQUENCY),
    (Asked.DURATION, patterns.DURATION),
    (Asked.COUNT, patterns.COUNT),
    (Asked.TIME, patterns.TIME),
    (Asked.MEASURE, patterns.MEASURE),
    (Asked.PERSON, patterns.PERSON),
    (Asked.PLACE, patterns.PLACE),
    (Asked.REASON, patterns.REASON),
    (Asked.NAME, patterns.NAME),
    (Asked.CODE, patterns.CODE),
    (Asked.DEFINITION, patterns.DEFINITION),
    (Asked.YES_NO, patterns.YES_NO),
)
"""The kinds. If two begin at the same place, the first of them counts."""
SAYING_NOTHING: Final = frozenset("according regarding concerning exactly actually normally usually".split())
"""Words that a question has and that no answer needs."""
OTHER_PART: Final = 3
"""What the words of another part weigh less."""
IDENTIFIER: Final = re.compile(r"(?:[^\W\d_]+[-./])*[^\W\d_]+[-./]?\d[\w./-]*")
"""A word that may be an identifier: letters, then digits. Not `1700s`, `5mm` or `2nd`."""


class Question(NamedTuple):
    """A question that has been read."""

    text: str
    words: tuple[Word, ...]
    weights: dict[str, int]
    """The weight of each content stem, in tenths of a natural logarithm."""
    names: frozenset[str]
    """The stems that are written as names."""
    identifiers: frozenset[str]
    """The words that may be identifiers, as stems."""
    asked: Asked
    form: Form
    language: str
    """The language of its function words; empty without any. The embedder and most patterns know English only."""
    labels: Labels
    """The labels that it names, such as `revision C`."""

    @property
    def is_english(self) -> bool:
        """Whether it is in English for sure."""
        return self.language == ENGLISH

    @property
    def total(self) -> int:
        """The weight of all words."""
        return sum(self.weights.values())


@lru_cache(maxsize=64)
def read_question(text: str) -> Question:
    """Read a question.

    Args:
        text: The question, or the search query of a follow-up.

    Returns:
        Its words and what they ask for.
    """
    words = read_words(text)
    language = language_of([word.form for word in words])
    function_words = FUNCTION_WORDS.get(language, frozenset())
    if function_words:
        words = tuple(word._replace(weight=0, is_name=False) if word.form in function_words else word for word in words)
    words = tuple(word._replace(weight=0) if word.form in SAYING_NOTHING else word for word in words)
    asked = Asked(read_kind(text) or Asked.OTHER) if function_words else _read_asked(text)
    return Question(
        text,
        words,
        {word.stem: word.weight for word in words if word.weight},
        frozenset(word.stem for word in words if word.is_name),
        frozenset(stem for match in IDENTIFIER.finditer(text) for stem in [read_identifier(match[0])] if stem),
        asked,
        _read_form(text, asked),
        language if function_words or any(word.form in STOP_WORDS for word in words) else "",
        read_labels(text),
    )


def read_parts(question: Question) -> list[Question]:
    """Return the questions that a question consists of. The words of the others weigh a third in each."""
    pieces = [piece for piece in _split(question.text) if read_question(piece).weights]
    if len(pieces) < 2:
        return [question]
    parts = [read_question(piece) for piece in pieces]
    return [
        part._replace(
            weights={stem: weight // OTHER_PART for stem, weight in question.weights.items()} | part.weights,
            names=question.names,
            identifiers=part.identifiers or question.identifiers,
        )
        for part in parts
    ]


def _split(text: str) -> list[str]:
    """Return the questions in a text. What asks nothing belongs to the question after it: `On the HP-200, how …`."""
    cuts = [match.span() for match in patterns.PARTS.finditer(text)]
    if cuts and not patterns.ASKS.search(text, 0, cuts[0][0]):
        del cuts[0]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return [piece for piece in pieces if piece.strip()]


def _read_asked(text: str) -> Asked:
    """Return the kind that the first question word asks for; of several kinds, the first of the list."""
    found = [(match.start(), number) for number, (_, pattern) in enumerate(ASKED) if (match := pattern.search(text))]
    return ASKED[min(found)[1]][0] if found else Asked.OTHER


def _read_form(text: str, asked: Asked) -> Form:
    if patterns.COMPARED.search(text):
        return Form.SIDES
    if patterns.STEPS.search(text):
        return Form.STEPS
    if patterns.EACH.search(text):
        return Form.SIDES
    if patterns.LISTED.search(text):
        return Form.LIST
    if len(_split(text)) > 1:
        return Form.PARTS
    if asked is Asked.OTHER and patterns.EXPLAINED.search(text):
        return Form.EXPLANATION
    return Form.REASON if asked is Asked.REASON else Form.SENTENCE


def read_identifier(token: str) -> str:
    """Return an identifier as a stem: `hp200` for `HP-200`."""
    return re.sub(r"[^\w]", "", token).casefold()


def shape_of(stem: str) -> str:
    """Return the shape of an identifier: its letters, and one mark for each digit (`hp999`)."""
    return re.sub(r"\d", "9", stem)

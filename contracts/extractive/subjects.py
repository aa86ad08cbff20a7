"""Tells which thing a sentence is about: the pump that a question names, or another one of its shape (R4-9)."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.answer_types import asking_stems, find_type
from sourcebound.contracts.extractive.features import holds
from sourcebound.contracts.extractive.labels import has_labels
from sourcebound.contracts.extractive.patterns import AUXILIARY
from sourcebound.contracts.extractive.question import Asked, Question, read_identifier, shape_of
from sourcebound.contracts.extractive.sentences import Field, Sentence
from sourcebound.contracts.extractive.vocabulary.columns import COLUMNS
from sourcebound.contracts.text.content_words import STOP_WORDS
from sourcebound.contracts.validation.literals.amounts.numbers import ORDINAL_VALUES
from sourcebound.contracts.validation.support.word_lists import root_of
from sourcebound.contracts.validation.support.words import Word, read_words

PART: Final = re.compile(
    rf"\bhow \w+ {AUXILIARY} (?:the|an?|each|every) (?P<part>(?:[\w'-]+ ){{1,3}}?)(?:of|for|in|on) "
    r"(?:(?:the|an?|each|every) )?(?P<whole>[\w./-]+)",
    re.IGNORECASE,
)
IDENTIFIER: Final = re.compile(r"[^\W\d_]+\d\w*")
YEAR: Final = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
OF_YEAR: Final = re.compile(
    r"\b(?:in|of|for|during|years?|ended|fy|fiscal) ?((?:1[5-9]|20)\d\d)(?![\ds])"
    r"(?! ?(?:[-–/]|,|and|or|to|until|till|through) ?(?:1[5-9]|20)\d\d)",
    re.IGNORECASE,
)
"""A year that a question asks about; not `since 2012`, `in the 1990s`, or one of several: `in 2010 and 2012`."""


WHO_DOES: Final = re.compile(
    r"\W*(?:[^?]*, )?who (?:(?:may|can|must|should|will|has to|is allowed to) )?(?P<verb>[a-z]+)", re.IGNORECASE
)
"""The verb of who does something: `who may release`."""
NO_SUBJECT: Final = frozenset(
    """
    is are was were be been has have had may must can will should to not if when after before once until by who never no
    none without someone anyone
    """.split()
) | {"nobody", "somebody", "anybody"}
"""Words after which a verb is not what a subject at the beginning does."""
PASSIVE: Final = re.compile(
    r"\w+(?:ed|en|wn|lt|nt|ght|de)\b(?: \w+){0,2}? by "
    r"(?!\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\w+ing\b|[ap]\.?m)",
    re.IGNORECASE,
)
"""A participle with who does it: `released by quality assurance`, and not `released by Friday`."""
LONGEST_SUBJECT: Final = 6
"""The most words of that subject."""
ORDINAL: Final = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")
ORDERED: Final = 2
"""The words after an ordinal that may be what it orders: `second referendum`, `second public referendum`."""


class Subjects(NamedTuple):
    """The identifiers that a question names, and the others of their shapes in the evidence."""

    named: frozenset[str]
    others: frozenset[str]


def read_subjects(question: Question, sentences: Sequence[Sentence]) -> Subjects:
    """Return the identifiers that decide what a sentence is about.

    A word counts as an identifier only if the evidence has others of its shape: `HP-200` where it has `HP-300`, but not
    `COVID-19` alone.
    """
    known = frozenset[str]().union(*(each.stems | each.title for each in sentences)) if question.identifiers else ()
    shapes = {shape_of(stem) for stem in question.identifiers}
    alike = {stem for stem in known if IDENTIFIER.fullmatch(stem) and shape_of(stem) in shapes}
    named = {each for each in question.identifiers if any(shape_of(stem) == shape_of(each) for stem in alike - {each})}
    return Subjects(frozenset(named), frozenset(alike - question.identifiers))


def read_part(question: Question) -> frozenset[str]:
    """Return the words for the part of an identified thing that a question is about: `the filter of the HP-200`."""
    if not (match := PART.search(question.text)) or read_identifier(match["whole"]) not in question.identifiers:
        return frozenset()
    return frozenset(word.stem for word in read_words(match["part"]) if word.stem in question.weights)


def is_about(subjects: Subjects, sentence: Sentence, chunk: frozenset[str]) -> bool:
    """Return whether a sentence belongs to an identifier that the question names.

    It names one, or it names no other and has one around it, or its chunk names one and no other.

    Args:
        subjects: The identifiers.
        sentence: A sentence of the evidence.
        chunk: The stems of its chunk.
    """
    if not subjects.named or subjects.named & sentence.stems:
        return True
    if subjects.others & sentence.stems:
        return False
    if subjects.named & (sentence.nearby | sentence.title):
        return True
    return bool(subjects.named & chunk) and not subjects.others & (chunk | sentence.title)


def is_headed(question: Question, sentence: Sentence) -> bool:
    """Return whether the heading directly above a sentence names what is asked for, and nothing else.

    The title may name the thing: `Root cause`, in the report of a deviation.
    """
    heading, asked = {stem for stem in sentence.heading if not stem.isdigit()}, question.weights.keys()
    return bool(heading - question.identifiers) and heading <= asked <= heading | sentence.title


def names_only_the_thing(question: Question, sentence: Sentence) -> bool:
    """Return whether a sentence has the identified thing of a question, and none of several words for what of it.

    `The roof was opened with crane K-4` does not say when crane K-4 is due for inspection.
    """
    if sentence.is_row or not (question.is_english and question.identifiers & sentence.stems):
        return False
    if question.asked is not Asked.TIME and find_type(question, sentence):  # a date alone does not say of what it is
        return False
    thing, before = set(question.identifiers), set[str]()
    for word in question.words:
        before = before | {word.stem} if word.weight else set()
        thing |= before if word.stem in question.identifiers else set()
    aspects = question.weights.keys() - thing - asking_stems(question)
    around = sentence.stems | sentence.nearby | sentence.title
    return len(aspects) > 1 and not any(holds(around, stem) for stem in aspects)


def is_labelled(question: Question, subjects: Subjects, sentence: Sentence) -> bool:
    """Return whether a sentence names no other identifier, and the label of the question: `pump B`."""
    has_other = bool(subjects.others & (sentence.stems | sentence.title))
    return bool(question.labels) and not has_other and has_labels(question.labels, sentence.text, "")


def is_other_row(question: Question, sentence: Sentence) -> bool:
    """Return whether a row has no word of the question but in the names of its columns, and lacks some of its words.

    `Warehouse; 2023: 3` says nothing of the canteen in 2023. `Limit: 17.5 bar; Weight: 2 kg` answers a question for the
    limit, which names no thing, or one that the title names.
    """
    around = sentence.stems | sentence.heading | sentence.title
    if not sentence.is_row or all(holds(around, stem) for stem in question.weights.keys() - asking_stems(question)):
        return False
    heads = {place for field in sentence.fields for place in range(field.first, field.value)}
    said = (word.stem for place, word in enumerate(sentence.words) if place not in heads)
    asked = frozenset(question.weights)
    return not any(holds(asked, stem) for stem in said)


def is_whole_row(question: Question, sentence: Sentence) -> bool:
    """Return whether a row has all words of the question, some of them as values, and another value that it asks for.

    `Task: Replace both bearings; Done by: Workshop` answers who replaces the bearings, and `Part: Open impeller; Lead
    time: 11 weeks` what the lead time of the impeller is.
    """
    around = sentence.stems | sentence.title
    if not sentence.is_row or not all(holds(around, stem) for stem in question.weights.keys() - asking_stems(question)):
        return False
    columns, asked = COLUMNS.get(question.asked.value, frozenset()), frozenset(word.stem for word in question.words)
    is_asked = [bool(columns & field.head) or frozenset() < field.head <= asked for field in sentence.fields]
    named = [_has_words(sentence, field, frozenset(question.weights)) for field in sentence.fields]
    return any(asks and not names for asks, names in zip(is_asked, named, strict=True)) and any(named)


def has_agent(question: Question, sentence: Sentence) -> bool:
    """Return whether a sentence says who does what a question asks for: `Quality assurance releases the pump`.

    The verb stands after a subject at the beginning, or as a participle before `by`. The other words of the question
    are in the sentence or around it.
    """
    asked = WHO_DOES.match(question.text)
    if not asked or sentence.is_row or asked["verb"].casefold() in STOP_WORDS:
        return False
    verb = root_of(asked["verb"].casefold())
    around = sentence.stems | sentence.nearby | sentence.title
    forms = [word.form for word in sentence.words]
    places = [number for number, word in enumerate(sentence.words) if word.stem == verb]
    does = any(0 < at <= LONGEST_SUBJECT and _is_predicate(forms, at) for at in places)
    is_done = any(PASSIVE.match(sentence.text, sentence.words[at].start) for at in places)
    return (does or is_done) and all(holds(around, stem) for stem in question.weights.keys() - asking_stems(question))


def _is_predicate(forms: Sequence[str], at: int) -> bool:
    """Return whether a verb stands after a subject that acts, and after no adverb, act or denial."""
    before, after = forms[:at], forms[at + 1 : at + 2]
    is_other = any(form in NO_SUBJECT or form.endswith(("ly", "ing")) for form in before)
    return not is_other and after != ["of"] and forms[at].endswith(("s", "ed", "d", "t", "n", "e"))


def _has_words(sentence: Sentence, field: Field, stems: frozenset[str]) -> bool:
    return any(holds(stems, word.stem) for word in sentence.words[field.value : field.end] if word.weight)


def is_of_another_year(question: Question, sentence: Sentence) -> bool:
    """Return whether a sentence has years, and the question asks about others: `in FY 2010` for `in 2012`."""
    asked, said = set(OF_YEAR.findall(question.text)), set(YEAR.findall(sentence.text))
    return bool(asked and said) and asked.isdisjoint(said | sentence.nearby | sentence.heading | sentence.title)


def is_named_exactly(question: Question, sentence: Sentence) -> bool:
    """Return whether the question has all words of a row's first cell: `Ben Nevis`, and not `Half Ben Nevis`."""
    if not sentence.is_row:
        return False
    first = sentence.fields[0] if sentence.fields and not sentence.fields[0].first else None
    end = first.end if first else sentence.fields[0].first if sentence.fields else 0
    name = [word.stem for word in sentence.words[first.value if first else 0 : end] if word.weight or word.is_number]
    return bool(name) and all(stem in question.weights for stem in name)


def is_of_another_ordinal(question: Question, sentence: Sentence) -> bool:
    """Return whether a sentence is about the first of what the question asks the second of, and names no second."""
    asked = _read_ordered(question.words)
    said = _read_ordered(sentence.words) if asked else []
    numbers = {number for number, _ in said}
    return any(number not in numbers and ordered & things for number, ordered in asked for _, things in said)


def _read_ordered(words: Sequence[Word]) -> list[tuple[int, frozenset[str]]]:
    """Return each ordinal with the stems of what it may order."""
    return [
        (number, frozenset(each.stem for each in words[place + 1 : place + 1 + ORDERED] if each.weight))
        for place, word in enumerate(words)
        if (number := _read_ordinal(word.form))
    ]


def _read_ordinal(form: str) -> int:
    """Return the number of an ordinal: `second`, `2nd`; 0 of another word."""
    digits = ORDINAL.fullmatch(form)
    return int(digits[1]) if digits else ORDINAL_VALUES.get(form, 0)

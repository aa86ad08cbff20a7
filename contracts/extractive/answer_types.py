"""Whether a sentence has the kind of thing that a question asks for, beyond the question's own words (R4-9)."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from sourcebound.contracts.extractive import patterns
from sourcebound.contracts.extractive.question import Asked, Question, read_identifier
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.extractive.vocabulary.columns import COLUMNS
from sourcebound.contracts.extractive.vocabulary.people import ROLES
from sourcebound.contracts.extractive.vocabulary.question_words import ANSWERS
from sourcebound.contracts.extractive.vocabulary.sharp import read_sharp
from sourcebound.contracts.text.blocks import LIST_MARKER

PATTERNS: Final = {
    Asked.TIME: patterns.A_TIME,
    Asked.COUNT: patterns.A_COUNT,
    Asked.MONEY: patterns.A_PRICE,
    Asked.CONTACT: patterns.A_CONTACT,
    Asked.DURATION: patterns.A_DURATION,
    Asked.FREQUENCY: patterns.A_FREQUENCY,
    Asked.MEASURE: patterns.A_MEASURE,
    Asked.REASON: patterns.A_REASON,
    Asked.DEFINITION: patterns.A_DEFINITION,
}
PLACE_BEFORE: Final = frozenset(
    "in at near from to on of into through across around outside inside between over within under via along".split()
)
ABSENT: Final = frozenset({"none", "n", "nil", "unknown"})
"""What a cell says that has no value, such as `n/a`."""
OPENING_QUOTES: Final = frozenset('"“„«‘')
NEEDED: Final = frozenset(
    {Asked.TIME, Asked.PERSON, Asked.MONEY, Asked.CONTACT, Asked.COUNT, Asked.DURATION, Asked.FREQUENCY}
)
IN_COLUMNS: Final = frozenset({Asked.PERSON, Asked.PLACE})
"""The kinds that a row has in a column for them only. Its other values are full of capitals."""
CONDITIONS: Final = frozenset({"when", "if"})
"""The beginnings of what answers `when is …`, though the question has them too."""
AT_A_VALUE: Final = re.compile(
    rf"\b(?:at|above|below|over|under|from|exceeds?|reach(?:es)?|falls?|rises?)\s(?:\w+\s){{0,2}}-?{patterns.NUMBER}",
    re.IGNORECASE,
)
"""A condition of a machine: `the valve opens at 4.7 bar`."""
CLAUSE: Final = re.compile(r"when|if|after|before|until|during|once|as soon as|whenever", re.IGNORECASE)
CLAUSE_END: Final = re.compile(r"[,;:]")
ASKED_UNIT: Final = re.compile(r"\bhow many (?:\w+ )?(second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE)
LASTING: Final = re.compile(r"\b(\d+(?:[.,]\d+)?)[\s-](second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE)
SECONDS: Final = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
    "year": 31_536_000,
}
AGENT: Final = re.compile(r"...(?:er|or|ist|ian|ee|ant|man|woman|men|women)s?$")
"""The endings of nouns for people who act."""
A_DATE: Final = re.compile(rf"(?:{patterns.MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)$")
"""A month or a day, which is written as a name and is no person."""
FIRST_NAME: Final = 50
"""The weight from which the first word of a sentence may be a name."""


def find_type(question: Question, sentence: Sentence) -> tuple[int, ...] | None:
    """Find what has the asked kind, beyond the question's words.

    Args:
        question: The question.
        sentence: A sentence of the evidence.

    Returns:
        The numbers of the words; None if the question asks for a kind that has no form of its own.
    """
    if question.is_english and _is_too_short(question, sentence):
        return ()
    if question.is_english and (sharp := read_sharp(question.text, question.asked)):
        if _is_of_another(question, sentence):
            return ()
        return _find(question, sentence, sharp.said) or _named_figures(sentence, sharp.stems)
    finder = FINDERS.get(question.asked)
    if sentence.is_row and question.asked in IN_COLUMNS:
        return _columns(question, sentence)
    found = None if finder is None else finder(question, sentence)
    return found or _columns(question, sentence) or found


def needs_type(question: Question) -> bool:
    """Return whether only a sentence with the asked kind answers: a price, a number to call, a quantity with units.

    Other questions can be answered in forms that no pattern knows: `the level is right in the middle of the glass`. The
    words for people are English.
    """
    if question.is_english and (sharp := read_sharp(question.text, question.asked)):
        return sharp.is_closed
    return question.asked in NEEDED and (question.is_english or question.asked is not Asked.PERSON)


def asking_stems(question: Question) -> frozenset[str]:
    """Return the words for the asked form. A sentence that has it need not say them: `80 °C` is a temperature."""
    sharp = read_sharp(question.text, question.asked) if question.is_english else None
    return sharp.stems if sharp else frozenset()


def _is_too_short(question: Question, sentence: Sentence) -> bool:
    """Return whether all that lasts is shorter than one of the asked unit: `15 minutes`, where hours are asked for."""
    lasting = LASTING.findall(sentence.text)
    if not lasting or not (asked := ASKED_UNIT.search(question.text)):
        return False
    least = SECONDS[asked[1].lower()]
    return all(float(number.replace(",", ".")) * SECONDS[unit.lower()] < least for number, unit in lasting)


def _is_of_another(question: Question, sentence: Sentence) -> bool:
    """Return whether a row has the identifiers of the question for something else only: `Place: Outlet of T-110`."""
    places = [place for place, word in enumerate(sentence.words) if word.stem in question.identifiers]
    return bool(places) and all(
        any(
            field.value < place < field.end and "of" in {word.form for word in sentence.words[field.value : place]}
            for field in sentence.fields
        )
        for place in places
    )


def _named_figures(sentence: Sentence, stems: frozenset[str]) -> tuple[int, ...]:
    """Return the numbers of a row below a name with the asked form: `rotor_area: 21121`, whose unit is elsewhere."""
    if not sentence.is_row:
        return ()
    return tuple(
        field.value
        for field in sentence.fields
        if stems & field.head and field.value < field.end and sentence.words[field.value].is_number
    )


def _columns(question: Question, sentence: Sentence) -> tuple[int, ...]:
    """Return the values of a row that stand under a head of the asked kind: `Done by: Workshop`."""
    heads = COLUMNS.get(question.asked.value, frozenset())
    return tuple(
        field.value
        for field in sentence.fields
        if sentence.is_row and heads & field.head and field.value < field.end
        if sentence.words[field.value].form not in ABSENT
    )


def _names(question: Question, sentence: Sentence) -> tuple[int, ...]:
    return tuple(
        place
        for place, word in enumerate(sentence.words)
        if not word.is_number and word.stem not in question.weights and _is_name(sentence, place)
    )


def _people(question: Question, sentence: Sentence) -> tuple[int, ...]:
    """Return the names, and the words for people by what they do: `the shift supervisor`."""
    roles = (
        place
        for place, word in enumerate(sentence.words)
        if word.stem not in question.weights and (word.form in ROLES or _is_agent(question, sentence, place))
    )
    names = (place for place in _names(question, sentence) if not A_DATE.match(sentence.words[place].form))
    return tuple(sorted({*names, *roles}))


def _is_agent(question: Question, sentence: Sentence, place: int) -> bool:
    """Return whether a word has the ending of one who acts, right before the asked act: `the porter turns`."""
    word, following = sentence.words[place], sentence.words[place + 1 : place + 2]
    act = next((each.stem for each in question.words if each.weight), "")
    return word.weight > 0 and bool(AGENT.search(word.form)) and any(each.stem == act for each in following)


def _is_name(sentence: Sentence, place: int) -> bool:
    word = sentence.words[place]
    if place == 0 and word.weight > FIRST_NAME and sentence.text[:1].isupper():
        return True
    return word.is_name or (word.weight > 0 and sentence.text[max(0, word.start - 1) : word.start] in OPENING_QUOTES)


def _code(question: Question, sentence: Sentence) -> tuple[int, ...] | None:
    """Return the names of programs; a sentence without any may still name the thing in plain words."""
    asked = question.text.casefold()
    starts = [word.start for word in sentence.words]
    found = tuple(
        max(0, bisect_right(starts, match.end() - 1) - 1)
        for match in patterns.A_CODE.finditer(sentence.text)
        if match[0].strip("`").casefold() not in asked
    )
    return found or None


def _places(question: Question, sentence: Sentence) -> tuple[int, ...]:
    """Return the names after a preposition; without them, the first word after `in the`."""
    before = ["", "", *(word.form for word in sentence.words)]
    names = tuple(place for place in _names(question, sentence) if PLACE_BEFORE & {*before[place : place + 2]})
    others = (
        place
        for place, word in enumerate(sentence.words)
        if word.weight and before[place] in PLACE_BEFORE and before[place + 1] in PLACE_BEFORE | {"the", "a", "an"}
    )
    return names or tuple(others)[:1]


def _matches(question: Question, sentence: Sentence) -> tuple[int, ...]:
    pattern = PATTERNS[question.asked]
    if not question.is_english:
        pattern = ANSWERS.get(question.asked.value, pattern)
    found = _find(question, sentence, pattern)
    if not found and question.asked is Asked.FREQUENCY and sentence.is_row:
        found = _find(question, sentence, patterns.A_PERIOD)
    return found


def _find(question: Question, sentence: Sentence, pattern: re.Pattern[str]) -> tuple[int, ...]:
    """Return the words at which a pattern begins to match with other words than the question's."""
    forms = {word.form for word in question.words}
    if question.asked is Asked.TIME and patterns.STANDING.search(question.text):
        forms -= CONDITIONS
        pattern = re.compile(f"{pattern.pattern}|{AT_A_VALUE.pattern}", re.IGNORECASE)
    starts = [word.start for word in sentence.words]
    marker = LIST_MARKER.match(sentence.text)
    found = (
        (max(0, bisect_right(starts, match.start()) - 1), match)
        for match in pattern.finditer(sentence.text, marker.end() if marker else 0)
        if match.lastgroup != "other"
        and (_is_other_case(question, match[0]) or not {*match[0].casefold().split()} <= forms)
    )
    return tuple(
        place
        for place, match in found
        if read_identifier(match[0]) not in question.identifiers and _says_more(question, sentence, match)
    )


def _is_other_case(question: Question, said: str) -> bool:
    """Return whether a name in capitals is a word of the question in other letters: `PORT` where the port is asked."""
    return said.isupper() and len(said) > 1 and said.isalpha() and said not in question.text


def _says_more(question: Question, sentence: Sentence, match: re.Match[str]) -> bool:
    """Return whether a clause says more than the question: not `until revision D is issued` when that is asked."""
    if question.asked is not Asked.TIME or not CLAUSE.fullmatch(match[0]):
        return True
    end = CLAUSE_END.search(sentence.text, match.end())
    inside = (
        word for word in sentence.words if match.end() <= word.start < (end.start() if end else len(sentence.text))
    )
    return any(word.stem not in question.weights for word in inside if word.weight or word.is_number)


FINDERS: Final[dict[Asked, Callable[[Question, Sentence], tuple[int, ...] | None]]] = {
    Asked.CODE: _code,
    Asked.PERSON: _people,
    Asked.NAME: _names,
    Asked.PLACE: _places,
    **dict.fromkeys(PATTERNS, _matches),
}

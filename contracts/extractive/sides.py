"""The two sides of a question: two identifiers of one shape, or two labels of one kind (R4-9).

`How long may the HP-200 and the HP-300 run dry?` is asked about each, and so is `in revision B and in revision C`.
"""

import re
from typing import Final

from sourcebound.contracts.extractive.labels import Labels, read_labels
from sourcebound.contracts.extractive.patterns import COMPARED, EACH, pattern
from sourcebound.contracts.extractive.question import IDENTIFIER, Form, Question, read_identifier, read_parts, shape_of
from sourcebound.contracts.extractive.ranking import Ranking
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.validation.support.words import read_words

JOINED: Final = re.compile(r"\b(?:and|or|versus|vs|than|from|with|to)\b", re.IGNORECASE)
RELATION: Final = re.compile(r"\b(?:between|from)\b", re.IGNORECASE)
"""What makes one thing of two: `between pump A and pump B`. Not in a comparison."""
SIDES: Final = (
    pattern(r"\bbetween (?P<first>.{1,80}?) and (?P<second>.{1,80}?)(?:[?,]|$)"),
    pattern(r"\bcompare (?P<first>.{1,80}?) (?:and|with|to|against|versus|vs\.?) (?P<second>.{1,80}?)(?:[?,]|$)"),
    pattern(
        r"\b(?:does|do|is|are) (?P<first>.{1,80}?) differ(?:ent)?\b.{0,40} (?:from|to|than) "
        r"(?P<second>.{1,80}?)(?:\?|$)"
    ),
    pattern(
        r"\b(?:does|do) (?P<first>.{1,80}?) compare (?:with|to|against) (?:th(?:at|ose) of )?"
        r"(?P<second>.{1,80}?)(?:\?|$)"
    ),
    pattern(r"\b(?:do|did) (?P<first>.{1,80}?) and (?P<second>.{1,80}?) differ\b"),
    pattern(r"\bdistinguish(?:es)? (?P<first>.{1,80}?) from (?P<second>.{1,80}?)(?:\?|$)"),
    pattern(r"\bsets? (?P<first>.{1,80}?) apart from (?P<second>.{1,80}?)(?:\?|$)"),
    pattern(r"(?P<first>[\w./-]*\w) (?:versus|vs\.?) (?P<second>[\w./-]*\w)"),
    pattern(r"\bon the (?P<first>.{1,80}?) and on the (?P<second>.{1,80}?)(?:\?|$)"),
    pattern(r"\b(?:both|either) (?P<first>.{1,80}?) and (?P<second>.{1,80}?)(?:\?|$)"),
    EACH,
)  # fmt: skip
"""The two things that a question compares."""
COMPARING: Final = frozenset(
    word.stem for word in read_words("compare comparison differ different difference versus vs both either")
)
"""What a question says about both sides together, and no sentence about one of them."""
SINGLE: Final = frozenset({Form.SENTENCE, Form.SIDES, Form.REASON, Form.EXPLANATION})
"""The forms that a side can have. Steps and lists are answered as a whole."""


def read_sides(question: Question) -> list[Question]:
    """Return the question about each side, in the order of the question.

    A label belongs to the identifier before it: `on the HP-200 in revision C and on the HP-300`.

    Args:
        question: The question.

    Returns:
        Two questions with the words of the whole; none if it has not two sides.
    """
    if question.form is Form.PARTS and not _repeats_itself(question):
        return []
    if question.form not in SINGLE and question.form is not Form.PARTS:
        return []
    if RELATION.search(question.text) and not COMPARED.search(question.text):
        return []
    return _by_identifiers(question) or _by_labels(question)


def _by_identifiers(question: Question) -> list[Question]:
    places: dict[str, int] = {}
    for match in IDENTIFIER.finditer(question.text):
        places.setdefault(read_identifier(match[0]), match.start())
    if len(places) != 2 or len({shape_of(stem) for stem in places}) != 1:
        return []
    (first, start), (second, middle) = sorted(places.items(), key=lambda each: each[1])
    if not JOINED.search(question.text, start, middle):
        return []
    parts = (question.text[:middle], question.text[middle:])
    return [
        _side(question, {stem}, {other}, read_labels(part))
        for stem, other, part in ((first, second, parts[0]), (second, first, parts[1]))
    ]


def _by_labels(question: Question) -> list[Question]:
    kinds = [kind for kind, labels in question.labels.items() if len(labels) == 2]
    if len(kinds) != 1:
        return []
    (kind,) = kinds
    first, second = sorted(question.labels[kind], key=lambda label: _place(question.text, label))
    return [
        _side(question, question.identifiers, {other}, question.labels | {kind: frozenset({label})})
        for label, other in ((first, second), (second, first))
    ]


def _side(question: Question, identifiers: set[str] | frozenset[str], other: set[str], labels: Labels) -> Question:
    return question._replace(
        form=Form.SENTENCE,
        identifiers=frozenset(identifiers),
        labels=labels,
        names=question.names - other,
        weights={stem: weight for stem, weight in question.weights.items() if stem not in other | COMPARING},
    )


def _repeats_itself(question: Question) -> bool:
    """Return whether the second part asks the same about something else: `… and which does the HP-300 take?`."""
    parts = read_parts(question)
    if len(parts) != 2:
        return False
    first, second = (
        {word.stem for word in part.words if word.weight} - part.identifiers - {*"abcdefgh"} for part in parts
    )
    return second <= first


def _place(text: str, label: str) -> int:
    found = re.search(rf"\b{re.escape(label)}\b", text, re.IGNORECASE)
    return found.start() if found else len(text)


def find_sides(ranking: Ranking) -> list[Sentence]:
    """Return the best sentence for each side of a comparison, in the order of the question; none if it has none."""
    chosen: list[Sentence] = []
    for side, other in _read_sides(ranking.question):
        found = _find_side(ranking, side, other) or _find_most_of_side(ranking, side)
        chosen += [each for each in found if each not in chosen]
    return chosen


def _find_side(ranking: Ranking, side: frozenset[str], other: frozenset[str]) -> list[Sentence]:
    """Return the best sentence that has all words of a side, or has them around it and none of the other."""
    for each in ranking.ranked:
        said, around = each.sentence.stems, each.sentence.nearby | each.sentence.title
        is_of_side = side <= said or (side <= said | around and not other & (said | each.sentence.title))
        if is_of_side and not each.sentence.leads:
            return [each.sentence]
    return []


def _find_most_of_side(ranking: Ranking, side: frozenset[str]) -> list[Sentence]:
    """Return the best sentence with two thirds of the words of a side: `time cards have to be kept`."""
    ranked = (each.sentence for each in ranking.ranked)
    return [each for each in ranked if 3 * len(side & each.stems) >= 2 * len(side) and not each.leads][:1]


def _read_sides(question: Question) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return the stems of each side that the other has not, with those of the other."""
    identifiers = sorted(question.identifiers, key=question.text.casefold().replace("-", "").find)
    if len(identifiers) == 2:
        first, second = (frozenset({each}) for each in identifiers)
        return [(first, second), (second, first)]
    for comparing in SIDES:
        if match := comparing.search(question.text):
            first, second = (
                frozenset(word.stem for word in read_words(match[side]) if word.weight) for side in ("first", "second")
            )
            if first - second and second - first:
                return [(first - second, second - first), (second - first, first - second)]
    return []

"""The features of a question and a sentence, all whole numbers (R4-9).

Shares are in thousandths. *Local* weights follow the rarity of a word among the sentences of the prompt, the others its
rarity in the language.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.answer_types import asking_stems, find_type
from sourcebound.contracts.extractive.labels import has_labels
from sourcebound.contracts.extractive.question import Asked, Form, Question, shape_of
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.extractive.vocabulary.columns import COLUMNS
from sourcebound.contracts.extractive.vocabulary.families import FAMILIES
from sourcebound.contracts.validation.support.passages import FAMILY
from sourcebound.contracts.validation.support.words import Word

FAMILY_SHARE: Final = 700
"""What another word of a word's family counts."""
NEAR: Final = 5
"""The most words between neighbours."""
AROUND: Final = 9
"""The words on each side of the thing that was asked for."""
LONGEST_RUN: Final = 8
LONGEST: Final = 60
MOST_NEW: Final = 600
MOST_ODDS: Final = 1000
Features = dict[str, int]


class Reading(NamedTuple):
    """The opinion of a reader about a sentence."""

    odds: int
    """How much likelier it is that the sentence answers than that nothing in its chunk does.

    In hundredths of a logit, at most `MOST_ODDS` on either side.
    """
    likely: int
    """How likely it is that the sentence answers, among those that were read with it and none, in thousandths."""


UNREAD: Final = Reading(-MOST_ODDS, 0)
"""What is known of a sentence that was not read."""


def word_weights(question: Question, sentences: Sequence[Sentence]) -> dict[str, int]:
    """Return the weight of each stem of the question by its rarity among the sentences, in hundredths.

    A word that no sentence holds weighs as one that a single sentence holds, so that one absent word does not decide.
    """
    count = len(sentences)
    weights = {}
    for stem in question.weights:
        held = max(1, sum(stem in sentence.stems for sentence in sentences))
        weights[stem] = round(100 * log(1 + (count - held + 0.5) / (held + 0.5)))
    return weights


def lexical_features(
    question: Question, sentence: Sentence, local: Mapping[str, int], chunk: frozenset[str]
) -> Features:
    """Compute the features of a sentence that need no reader.

    Args:
        question: The question.
        sentence: A sentence of the evidence.
        local: The local weights of the question's stems (`word_weights`).
        chunk: The stems of the sentence's chunk.
    """
    around = sentence.stems | sentence.nearby
    levels = (sentence.stems, around, around | sentence.title, chunk | around | sentence.title)
    kind = find_type(question, sentence) or None if sentence.leads else find_type(question, sentence)
    given, said = _given(question, sentence), asking_stems(question) if kind and not sentence.is_row else frozenset()
    own, near, titled, whole = (_held(question, stems | given | said) for stems in levels)
    own = {stem: share for stem, share in own.items() if stem not in given - sentence.stems} or own
    new = [word for word in sentence.words if word.weight and word.stem not in question.weights]
    return {
        "own": _covered(own, question.weights),
        "own_local": _covered(own, local),
        "aspect_own": _covered({stem: own[stem] for stem in own if stem not in sentence.title}, question.weights, 1000),
        "around": _covered(near, question.weights),
        "around_local": _covered(near, local),
        "title": _covered(titled, question.weights),
        "chunk": _covered(whole, question.weights),
        "chunk_local": _covered(whole, local),
        "heaviest_missing": _heaviest_missing(titled, local),
        "field": _field(question, sentence),
        "names_missing": _names_missing(question, own),
        "names_far": _names_missing(question, titled),
        "ordered": _ordered(question.words, sentence.words),
        "run": _run(question.words, sentence.words),
        "type": 1000 * bool(kind),
        "type_missing": 1000 * (kind is not None and not kind),
        "type_window": _window(question, sentence, kind or ()),
        "definition": 1000 * (question.asked is Asked.DEFINITION and _defines(question, sentence)),
        "rank": 1000 // (1 + sentence.chunk),
        "length": 1000 * min(_length(question, sentence), LONGEST) // LONGEST,
        "new": 1000 * min(sum(word.weight for word in new), MOST_NEW) // MOST_NEW,
        "nothing_new": 1000 * (not new and not sentence.leads and not _may_repeat(question)),
    }


def _given(question: Question, sentence: Sentence) -> frozenset[str]:
    """Return the identifiers and labels of the question that the surroundings of a sentence say for it.

    Under the title `HP-200 manual, revision C`, a sentence need not say which pump it is about, nor in which revision.
    One that names a pump itself is about that one. `Pump B` says enough where `HP-200 pump B` is asked about.
    """
    around = sentence.nearby | sentence.title
    own = {shape_of(stem) for stem in sentence.stems} if question.identifiers else set()
    is_named = bool(question.labels) and has_labels(question.labels, sentence.text, "")
    given = frozenset(
        each for each in question.identifiers if shape_of(each) not in own and (is_named or each in around)
    )
    if question.labels and has_labels(question.labels, "", sentence.source):
        given |= {stem for kind, labels in question.labels.items() for stem in (kind, *labels)}
    return given


def _may_repeat(question: Question) -> bool:
    """Whether a sentence may answer with the question's own words: yes, or the beginning of the steps."""
    return question.form is Form.STEPS or question.asked is Asked.YES_NO


def _held(question: Question, stems: frozenset[str]) -> dict[str, int]:
    """Return how far stems hold each stem of the question: whole, by a word of its family, or not."""
    beginnings = {stem[:FAMILY] for stem in stems if len(stem) >= FAMILY}
    return {
        stem: 1000 if stem in stems else FAMILY_SHARE * (stem[:FAMILY] in beginnings or _has_other_word(stem, stems))
        for stem in question.weights
    }


def holds(stems: frozenset[str], stem: str) -> bool:
    """Return whether stems hold a stem, another word of its family, or another word for it."""
    begins = len(stem) >= FAMILY and any(each.startswith(stem[:FAMILY]) for each in stems)
    return stem in stems or begins or _has_other_word(stem, stems)


def _has_other_word(stem: str, stems: frozenset[str]) -> bool:
    """Return whether stems hold another word for what a stem means: `nois` for `loud`."""
    return stem in FAMILIES and not FAMILIES[stem].isdisjoint(stems)


def _covered(held: Mapping[str, int], weights: Mapping[str, int], otherwise: int = 0) -> int:
    """Return the share of the stems' weight that is held; of no stems, another value."""
    total = sum(weights[stem] for stem in held)
    return sum(weights[stem] * share for stem, share in held.items()) // total if total else otherwise


def _names_missing(question: Question, held: Mapping[str, int]) -> int:
    names = {stem: question.weights[stem] for stem in question.names if stem in held}
    missing = sum(weight for stem, weight in names.items() if not held[stem])
    return 1000 * missing // max(1, sum(names.values()))


def _heaviest_missing(held: Mapping[str, int], local: Mapping[str, int]) -> int:
    """Return the weight of the heaviest word of the question that is not held, as a share of the heaviest of all."""
    missing = max((local[stem] for stem, share in held.items() if not share), default=0)
    return 1000 * missing // max(1, *local.values()) if local else 0


def _field(question: Question, sentence: Sentence) -> int:
    """Return the share of the question that names a value: `Interval: 6 months`.

    Words before the colon name it. If they name what the question asks for (`Done by`), so does the whole row.
    """
    best = 0
    columns = COLUMNS.get(question.asked.value, frozenset())
    row = sum(weight for stem, weight in question.weights.items() if stem in sentence.stems)
    for field in sentence.fields:
        value = sentence.words[field.value : field.end]
        if any(word.stem not in question.weights for word in value if word.weight or word.is_number):
            named = sum(weight for stem, weight in question.weights.items() if stem in field.head)
            best = max(best, row if columns & field.head else named)
    return 1000 * best // max(1, question.total)


def _length(question: Question, sentence: Sentence) -> int:
    """Return the number of words; of a row, those of the values that the question has words of."""
    if not sentence.is_row:
        return len(sentence.words)
    values = (sentence.words[field.first : field.end] for field in sentence.fields)
    return sum(len(words) for words in values if any(word.stem in question.weights for word in words))


def _ordered(asked: Sequence[Word], said: Sequence[Word]) -> int:
    """Return the share of the question's neighbouring content words that follow each other closely in the sentence."""
    content = [word for word in asked if word.weight]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        if word.weight:
            places.setdefault(word.stem, []).append(place)
    whole = ordered = 0
    for first, second in pairwise(content):
        weight = first.weight + second.weight
        whole += weight
        gaps = (b - a for a in places.get(first.stem, ()) for b in places.get(second.stem, ()))
        ordered += weight * any(0 < gap <= NEAR for gap in gaps)
    return 1000 * ordered // max(1, whole)


def _run(asked: Sequence[Word], said: Sequence[Word]) -> int:
    """Return the longest run of the question's words that the sentence repeats, function words included."""
    longest = 0
    previous = [0] * (len(said) + 1)
    for word in asked:
        current = [0] * (len(said) + 1)
        for place, other in enumerate(said):
            if word.stem == other.stem:
                current[place + 1] = previous[place] + 1
                longest = max(longest, current[place + 1])
        previous = current
    return 1000 * min(longest, LONGEST_RUN) // LONGEST_RUN


def _window(question: Question, sentence: Sentence, kind: Sequence[int]) -> int:
    """Return the most of the question that stands closely around one thing of the asked kind."""
    best = 0
    for place in kind:
        stems = {word.stem for word in sentence.words[max(0, place - AROUND) : place + AROUND + 1]}
        best = max(best, sum(weight for stem, weight in question.weights.items() if stem in stems))
    return 1000 * best // max(1, question.total)


def _defines(question: Question, sentence: Sentence) -> bool:
    """Whether the sentence begins with the subject, followed by a verb that defines."""
    return any(word.stem in question.weights for word in sentence.words[:6]) and any(
        word.form in {"is", "are", "was", "were", "means", "refers", "stands"} for word in sentence.words[:10]
    )

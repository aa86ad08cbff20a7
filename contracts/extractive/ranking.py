"""Ranks the sentences of a prompt's evidence by how well they answer its question (R4-9). Only the prompt is used."""

import re
from collections.abc import Callable, Iterator, Sequence
from math import exp
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.answer_types import asking_stems, find_type, needs_type
from sourcebound.contracts.extractive.features import (
    Features,
    Reading,
    holds,
    lexical_features,
    reading_features,
    word_weights,
)
from sourcebound.contracts.extractive.labels import conflicts, has_labels
from sourcebound.contracts.extractive.patterns import AUXILIARY
from sourcebound.contracts.extractive.question import Asked, Form, Question, read_identifier, shape_of
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.weights import Linear, Weights, read_weights
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.support.verify import score_subject
from sourcebound.contracts.validation.support.words import read_words

READ_CHUNKS: Final = 3
"""The chunks that are read: those with the best sentences by their words."""
LEAST_SUBJECT: Final = 350
"""The least share of the question's weight that the chunk of an answer and its title hold, in thousandths."""
LEAST_FOREIGN: Final = 600
"""The least share that a sentence itself holds if the question is not in English."""
LEAST_OWN: Final = 250
LEAST_NEAR: Final = 500
"""The least share that a sentence itself holds, if its words are less similar than this."""
MOST_CHUNK: Final = 850
"""The share that a chunk with its title holds from which its sentences may hold any share."""
LEAST_CONTENT: Final = 600
"""The least similarity of the content words with which less of them is enough."""
MILLION: Final = 1_000_000
NEAR_ROW: Final = MILLION * 6 // 10
"""How far behind the best sentence a row may be that answers in its place."""
MOST_ROWS: Final = 5
NO_QUANTITY: Final = 2 * MILLION
LABELLED: Final = MILLION
HEADED: Final = MILLION
"""How much lower the minimum is for the text below a heading that names all that is asked for."""
QUANTITIES: Final = frozenset(
    {Asked.TIME, Asked.COUNT, Asked.MONEY, Asked.CONTACT, Asked.DURATION, Asked.FREQUENCY, Asked.MEASURE}
)
PART: Final = re.compile(
    rf"\bhow \w+ {AUXILIARY} (?:the|an?|each|every) (?P<part>(?:[\w'-]+ ){{1,3}}?)(?:of|for|in|on) "
    r"(?:(?:the|an?|each|every) )?(?P<whole>[\w./-]+)",
    re.IGNORECASE,
)
IDENTIFIER: Final = re.compile(r"[^\W\d_]+\d\w*")
Described = tuple[Sentence, Features]
Reader = Callable[[Question, Sequence[tuple[EvidencePart, Sequence[Sentence]]]], list[list[Reading]]]
"""Reads each sentence of each chunk with the question."""


class Ranked(NamedTuple):
    """A sentence with its score."""

    sentence: Sentence
    features: Features
    score: int
    """In millionths of a logit."""


class Ranking(NamedTuple):
    """The sentences of a prompt, best first."""

    question: Question
    sentences: tuple[Sentence, ...]
    """All of them, in the order of the prompt."""
    ranked: tuple[Ranked, ...]
    """Those that may be quoted, and the lead-ins of lists."""
    answering: int
    """How likely it is that the best one answers, in millionths of a logit."""
    minimum: int

    @property
    def answers(self) -> bool:
        """Whether the best sentence is about the question's subject, and likely enough to answer.

        A row of a table answers only what one of its words names: not the weight, if it has only the thing.
        """
        if not self.ranked:
            return False
        best, features = self.ranked[0].sentence, self.ranked[0].features
        if self.answering < self.minimum - HEADED * is_headed(self.question, best):
            return False
        if needs_type(self.question) and features["type_missing"]:
            return False
        if best.is_row and not features["aspect_own"]:
            return False
        if not self.question.is_english:
            return features["own"] >= LEAST_FOREIGN
        content = features.get("content")
        is_far = content is not None and content < LEAST_NEAR and features["own"] < LEAST_OWN
        is_near = not is_far or features["chunk"] >= MOST_CHUNK
        return is_near and (features["chunk"] >= LEAST_SUBJECT or (content or 0) >= LEAST_CONTENT)


def rank(prompt: PromptParts, question: Question, read: Reader | None = None) -> Ranking:
    """Rank the sentences of a prompt.

    Args:
        prompt: The parts of the prompt.
        question: Its question, or a part of it.
        read: Reads sentences with the question. Without it, only words count.
    """
    sentences = read_evidence(prompt.evidence)
    described = describe(question, sentences)
    if read:
        described = compare(question, prompt.evidence, described, read)
    weights = read_weights(embedded=read is not None)
    scored = [
        Ranked(sentence, features, score(question, weights.ranking, features) + _credit(question, sentence))
        for sentence, features in described
    ]
    ranked = tuple(sorted(scored, key=lambda each: (-each.score, each.sentence.chunk, each.sentence.place)))
    if needs_type(question):
        ranked = tuple(each for each in ranked if not each.features["type_missing"]) or ranked
    if not ranked:
        return Ranking(question, tuple(sentences), (), 0, 1)
    answering = _sum_answering(prompt, question, ranked, weights)
    if answering < weights.minimum:
        for other in _rows_first(ranked):
            if (sum_of_row := _sum_answering(prompt, question, other, weights)) >= weights.minimum:
                ranked, answering = other, sum_of_row
                break
    return Ranking(question, tuple(sentences), ranked, answering, weights.minimum)


def _rows_first(ranked: tuple[Ranked, ...]) -> Iterator[tuple[Ranked, ...]]:
    """Return the ranking with each row first that is little behind and has a column for what is asked."""
    for place, each in enumerate(ranked[:MOST_ROWS]):
        if each.score < ranked[0].score - NEAR_ROW:
            return
        if each.sentence.is_row and each.features["field"] and not each.features["type_missing"]:
            yield each, *ranked[:place], *ranked[place + 1 :]


def _sum_answering(prompt: PromptParts, question: Question, ranked: Sequence[Ranked], weights: Weights) -> int:
    chunk = prompt.evidence[ranked[0].sentence.chunk].text
    return weights.answering.sum(answering_features(question, ranked, chunk))


def score(question: Question, weights: Linear, features: Features) -> int:
    """Return the score of a sentence. One without the number that was asked for loses by a fixed amount."""
    lacks = question.asked in QUANTITIES and features["type_missing"]
    return weights.sum(features) - (NO_QUANTITY if lacks else 0)


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


def _credit(question: Question, sentence: Sentence) -> int:
    """Return the advantage of a sentence that has the labels of the question, itself or by its document's name."""
    return LABELLED * (bool(question.labels) and has_labels(question.labels, sentence.text, sentence.source))


def _is_labelled(question: Question, subjects: Subjects, sentence: Sentence) -> bool:
    """Return whether a sentence names no other identifier, and the label of the question: `pump B`."""
    has_other = bool(subjects.others & (sentence.stems | sentence.title))
    return bool(question.labels) and not has_other and has_labels(question.labels, sentence.text, "")


def answering_features(question: Question, ranked: Sequence[Ranked], chunk: str) -> Features:
    """Return the features of the best sentence, and of how far it is ahead of those that would not be quoted too."""
    best = ranked[0]
    is_list = question.form is Form.LIST and best.sentence.kind is SegmentKind.LIST_ITEM
    several = is_list or best.sentence.leads or question.form is Form.STEPS
    rivals = [each for each in ranked[1:] if not (several and _shares_list(each.sentence, best.sentence))]
    margin = best.score - rivals[0].score if rivals else MILLION
    share = 1 / (1 + sum(exp((each.score - best.score) / MILLION) for each in rivals))
    return {
        **best.features,
        "score": best.score // 10_000,
        "margin": min(margin, 3 * MILLION) // 3000,
        "share": round(1000 * share),
        "answers_question": score_subject(best.sentence.text, question.text, [chunk]),
    }


def _shares_list(first: Sentence, second: Sentence) -> bool:
    """Return whether two sentences are of one block, or one leads in the list of the other."""
    lists = first.block + first.leads == second.block + second.leads
    return first.chunk == second.chunk and (first.block == second.block or lists)


def describe(question: Question, sentences: Sequence[Sentence]) -> list[Described]:
    """Return the sentences that may be quoted, with the features of their words."""
    local = word_weights(question, sentences)
    subjects = read_subjects(question, sentences)
    stems: dict[int, frozenset[str]] = {}
    for each in sentences:
        stems[each.chunk] = stems.get(each.chunk, frozenset()) | each.stems
    part = read_part(question)
    return [
        (each, lexical_features(question, each, local, stems[each.chunk]))
        for each in sentences
        if (each.is_quotable or each.leads)
        and (is_about(subjects, each, stems[each.chunk]) or _is_labelled(question, subjects, each))
        and (not part or any(holds(each.stems | each.nearby | each.title, stem) for stem in part))
        and not conflicts(question.labels, each.text, each.source)
    ]


def compare(
    question: Question, evidence: Sequence[EvidencePart], described: Sequence[Described], read: Reader
) -> list[Described]:
    """Add what is read of the sentences in the most promising chunks; the others are left out."""
    ranking = read_weights(embedded=False).ranking
    best: dict[int, int] = {}
    for sentence, features in described:
        best[sentence.chunk] = max(best.get(sentence.chunk, -MILLION * MILLION), score(question, ranking, features))
    chosen = sorted(best, key=lambda chunk: (-best[chunk], chunk))[:READ_CHUNKS]
    within = [[each for each in described if each[0].chunk == chunk] for chunk in chosen]
    chunks = [(evidence[chunk], [each for each, _ in part]) for chunk, part in zip(chosen, within, strict=True)]
    readings = [each for part in read(question, chunks) for each in part]
    nearest = max((each.similarity.whole for each in readings), default=0)
    return [
        (sentence, features | reading_features(reading, nearest))
        for (sentence, features), reading in zip([each for part in within for each in part], readings, strict=True)
    ]

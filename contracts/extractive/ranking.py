"""Ranks the sentences of a prompt's evidence by how well they answer its question (R4-9). Only the prompt is used."""

import re
from collections.abc import Iterator, Sequence
from math import exp
from typing import Final, NamedTuple

from sourcebound.contracts.extractive.answer_types import needs_type
from sourcebound.contracts.extractive.features import Features
from sourcebound.contracts.extractive.foreign_names import has_foreign_name
from sourcebound.contracts.extractive.labels import has_labels
from sourcebound.contracts.extractive.patterns import A_FREQUENCY
from sourcebound.contracts.extractive.question import Asked, Form, Question
from sourcebound.contracts.extractive.reading import Reader, compare, describe, only_quoted, score
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.subjects import (
    has_agent,
    is_headed,
    is_named_exactly,
    is_of_another_year,
    is_other_row,
    is_whole_row,
)
from sourcebound.contracts.extractive.weights import MILLION, NARROW, NO_BOUNDS, WIDE, Bounds, Weights, read_weights
from sourcebound.contracts.extractive.wording.stemming import in_language
from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.prompt.build import PromptParts
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.support.verify import score_subject
from sourcebound.contracts.validation.support.words import read_rarity

LEAST_FOREIGN: Final = 500
"""The least share that a sentence itself holds if the question is not in English."""
MOST_CHUNK: Final = 850
"""The share that a chunk with its title holds from which its sentences may hold any share."""
SURE_ODDS: Final = 300
"""The odds from which a sentence may hold any share, in hundredths of a logit, as those below."""
UNLIKELY_ODDS: Final = -100
"""The odds below which a sentence answers only with a word of what is asked about the thing."""
NEAR_ROW: Final = MILLION * 6 // 10
"""How far behind the best sentence a row may be that answers in its place."""
MOST_ROWS: Final = 5
MANY_WORDS: Final = 8
"""The number of different words of a question above which more change nothing."""
NEAR_NAMED: Final = 2 * MILLION
"""How far behind another row of its chunk a sentence may be that is about the question's thing."""
NEAR_ODDS: Final = 100
"""How much less likely a sentence with a number may be than one that says `regularly`, in hundredths of a logit."""
VAGUE: Final = re.compile(
    r"(?i)\b(?:regularly|intervals?|frequency|frequently|often|occasionally|periodical(?:ly)?|always|constantly)\b"
)
LABELLED: Final = MILLION
ALL_NAMED: Final = MILLION
"""How much lower the minimum is for a row that has all that is asked, and for the text below a heading that does."""
ALL_SAID: Final = 3 * MILLION
"""How much lower it is for a sentence that says who does what is asked."""
MORE_TRANSLATED: Final = MILLION // 4
"""How much higher it is for a question in another language, which is held to no bounds."""


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
    bounds: Bounds
    """What the best one and its chunk hold at least."""

    @property
    def answers(self) -> bool:
        """Whether the best sentence is about the question's subject, and likely enough to answer.

        A row of a table answers only what one of its words names: not the weight, if it has only the thing. So does a
        sentence that the reader takes for unlikely.
        """
        if not self.ranked:
            return False
        best, features = self.ranked[0].sentence, self.ranked[0].features
        has_type = not features["type_missing"]
        is_named = is_headed(self.question, best) or (is_whole_row(self.question, best) and has_type)
        is_said = has_agent(self.question, best) and has_type
        if self.answering < self.minimum - max(ALL_NAMED * is_named, ALL_SAID * is_said):
            return False
        if (needs_type(self.question) and features["type_missing"]) or is_of_another_year(self.question, best):
            return False
        if not features["aspect_own"] and (best.is_row or features.get("odds", 0) < UNLIKELY_ODDS):
            return False
        if features.get("odds", -1) < 0 and is_other_row(self.question, best):
            return False
        if has_foreign_name(self.question, self.sentences):
            return False
        if not self.question.is_english:
            return features["own"] >= LEAST_FOREIGN
        odds = features.get("odds")
        is_far = odds is not None and odds < SURE_ODDS and features["own"] < self.bounds.own
        is_near = not is_far or features["chunk"] >= MOST_CHUNK
        return is_near and (features["chunk"] >= self.bounds.subject or (odds or 0) >= self.bounds.likely)


def rank(prompt: PromptParts, question: Question, read: Reader | None = None) -> Ranking:
    """Rank the sentences of a prompt.

    Args:
        prompt: The parts of the prompt.
        question: Its question, or a part of it.
        read: Reads sentences with the question. Without it, only words count.
    """
    question, sentences = in_language(question, read_evidence(prompt.evidence))
    described = describe(question, sentences)
    described = compare(question, prompt.evidence, described, read) if read else only_quoted(described)
    weights = read_weights(embedded=read is not None)
    scored = [
        Ranked(sentence, features, score(question, weights.ranking, features) + _credit(question, sentence))
        for sentence, features in described
    ]
    ranked = tuple(sorted(scored, key=lambda each: (-each.score, each.sentence.chunk, each.sentence.place)))
    if needs_type(question):
        ranked = tuple(each for each in ranked if not each.features["type_missing"]) or ranked
    if not ranked:
        return Ranking(question, tuple(sentences), (), 0, 1, WIDE)
    ranked = _other_rows_later(question, ranked)
    answering = _sum_answering(prompt, question, ranked, weights)
    if answering < weights.minimum:
        for other in _rows_first(question, ranked):
            if (sum_of_row := _sum_answering(prompt, question, other, weights)) >= weights.minimum:
                ranked, answering = other, sum_of_row
                break
    is_translated = read is not None and foreign_language(prompt.search_query or prompt.question) is not None
    bounds = NO_BOUNDS if is_translated else NARROW if read else WIDE
    minimum = weights.minimum + MORE_TRANSLATED * is_translated
    return Ranking(question, tuple(sentences), _vague_later(question, ranked), answering, minimum, bounds)


def _rows_first(question: Question, ranked: tuple[Ranked, ...]) -> Iterator[tuple[Ranked, ...]]:
    """Return the ranking with each row first that is little behind and has a column for what is asked."""
    for place, each in enumerate(ranked[:MOST_ROWS]):
        if each.score < ranked[0].score - NEAR_ROW:
            return
        is_other = is_other_row(question, each.sentence)
        if each.sentence.is_row and not is_other and each.features["field"] and not each.features["type_missing"]:
            yield each, *ranked[:place], *ranked[place + 1 :]


def _other_rows_later(question: Question, ranked: tuple[Ranked, ...]) -> tuple[Ranked, ...]:
    """Return the ranking with what is about the question's thing first, if the best one is a row about another.

    That is one of its chunk, or the row whose name is exactly the thing's.
    """
    best = ranked[0]
    if not best.sentence.is_row or is_named_exactly(question, best.sentence):
        return ranked
    is_other = is_other_row(question, best.sentence)
    for place, each in enumerate(ranked[1:MOST_ROWS], 1):
        if each.score < best.score - NEAR_NAMED:
            break
        is_of_chunk = each.sentence.chunk == best.sentence.chunk and not is_other_row(question, each.sentence)
        if (is_other and is_of_chunk) or is_named_exactly(question, each.sentence):
            return each, *ranked[:place], *ranked[place + 1 :]
    return ranked


def _vague_later(question: Question, ranked: tuple[Ranked, ...]) -> tuple[Ranked, ...]:
    """Return the ranking with `every ten minutes` before `regularly`, if it answers about as likely."""
    if question.asked is not Asked.FREQUENCY or not question.is_english or not _is_vague(ranked[0].sentence):
        return ranked
    for place, each in enumerate(ranked[1:MOST_ROWS], 1):
        is_likely = each.features.get("odds", -1) > max(0, ranked[0].features.get("odds", 0) - NEAR_ODDS)
        if is_likely and not each.features["type_missing"] and not _is_vague(each.sentence):
            return each, *ranked[:place], *ranked[place + 1 :]
    return ranked


def _is_vague(sentence: Sentence) -> bool:
    return not A_FREQUENCY.search(VAGUE.sub(" ", sentence.text))


def _sum_answering(prompt: PromptParts, question: Question, ranked: Sequence[Ranked], weights: Weights) -> int:
    chunk = prompt.evidence[ranked[0].sentence.chunk].text
    return weights.answering.sum(answering_features(question, ranked, chunk))


def _credit(question: Question, sentence: Sentence) -> int:
    """Return the advantage of a sentence that has the labels of the question, itself or by its document's name."""
    return LABELLED * (bool(question.labels) and has_labels(question.labels, sentence.text, sentence.source))


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
        "rarest": 1000 * max(question.weights.values(), default=0) // read_rarity()[1],
        "words": 1000 * min(len(question.weights), MANY_WORDS) // MANY_WORDS,
    }


def _shares_list(first: Sentence, second: Sentence) -> bool:
    """Return whether two sentences are of one block, or one leads in the list of the other."""
    lists = first.block + first.leads == second.block + second.leads
    return first.chunk == second.chunk and (first.block == second.block or lists)

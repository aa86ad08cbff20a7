"""The sentences of an extractive answer: one, or the list, the steps or the sides that the question asks for (R4-9)."""

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Final

from sourcebound.contracts.extractive.foreign_evidence import in_language_of, read_in_english
from sourcebound.contracts.extractive.labels import has_labels
from sourcebound.contracts.extractive.patterns import A_REASON, GOES_ON, OPTION, PROCEDURAL
from sourcebound.contracts.extractive.pieces.alike import with_difference
from sourcebound.contracts.extractive.pieces.lists import read_list, with_denials
from sourcebound.contracts.extractive.pieces.problems import ASKING, is_echo, read_below
from sourcebound.contracts.extractive.question import Asked, Form, Question, read_parts, read_question
from sourcebound.contracts.extractive.ranking import Ranking, rank
from sourcebound.contracts.extractive.reading import Reader
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.sides import find_sides, read_sides
from sourcebound.contracts.extractive.subjects import names_only_the_thing
from sourcebound.contracts.extractive.wording.acronyms import write_acronyms_out
from sourcebound.contracts.extractive.wording.courtesy import strip_courtesy
from sourcebound.contracts.extractive.wording.keyword_queries import ask_keywords
from sourcebound.contracts.extractive.wording.respelling import in_the_spelling_of
from sourcebound.contracts.extractive.wording.written_short import write_out
from sourcebound.contracts.languages.english import translate
from sourcebound.contracts.prompt.answer_sentences import MAX_SENTENCES
from sourcebound.contracts.prompt.build import PromptParts
from sourcebound.contracts.text.blocks import LIST_MARKER
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.degenerate import says_nothing
from sourcebound.contracts.validation.support.verify import score_support

SUPPORTED: Final = 400
"""The least support of a quoted sentence by its own chunk (R5-17). A piece that reads otherwise alone has less."""

CODE_MARK: Final = re.compile("`+")
FOLLOWS: Final = re.compile(r"\W*(?:therefore|thus|hence|consequently|as a result|for this reason)\b", re.IGNORECASE)
"""The beginning of what follows from the sentence before it, be that in another paragraph."""
EFFECT: Final = re.compile(rf"{A_REASON.pattern}|\b(?:may|might|can|could|would|will)\b", re.IGNORECASE)
"""What a sentence has that says what may come of the one before it: `Much evidence may be lost.`"""
NEXT_BEST: Final = 4
"""How many of the first sentences are searched for the items of one list."""

PARAGRAPH: Final = 3
"""The most sentences of an explanation."""

LEAST_ECHO: Final = 500
"""The least share of a question, in thousandths, that a sentence gives back for what is below it to answer."""
LEAST_ODDS: Final = 200
"""The least odds of such a sentence, in hundredths of a logit."""
OTHER: Final = 1_000_000
"""How much less likely to answer the sentence of another side or part may be, in millionths of a logit."""


def answer(prompt: PromptParts, read: Reader | None = None) -> list[Sentence]:
    """Return the sentences that answer the question of a prompt, in the order of the answer.

    Args:
        prompt: The parts of a prompt.
        read: Reads sentences with the question. Without it, only words count.

    Returns:
        One, or several if the question asks for several things: at most `MAX_SENTENCES`, or a list of at most
        `MOST_ITEMS` with its lead-in. None if nothing answers.
    """
    asked = prompt.search_query or prompt.question
    prompt = prompt._replace(evidence=in_language_of(asked, prompt.evidence))
    english = read_in_english(prompt.evidence, asked) if read else None
    shown = prompt._replace(evidence=english.evidence) if english else prompt
    translated = translate(asked, [f"{part.source} {part.text}" for part in shown.evidence], is_whole=True)
    words = ask_keywords(write_out(strip_courtesy(translated or asked)))
    question = read_question(write_acronyms_out(shown.evidence, in_the_spelling_of(shown.evidence, words)))
    if _asks_nothing(question):
        return []
    chosen = _choose(shown, question, read)
    chosen = english.quote(chosen) if english else chosen
    chunks = {part.anchor: part.text for part in prompt.evidence}
    quoted = [
        each for each in chosen if score_support(each.text, "", question.text, [chunks[each.anchor]]) >= SUPPORTED
    ]
    quoted = _without_echoes(quoted, prompt.question)
    if all(says_nothing(each.text, prompt.question) for each in quoted):
        return []
    whole = with_denials(quoted, read_evidence(prompt.evidence))
    return whole if len(whole) < 2 or all(map(_is_closed, whole)) else []


def _is_closed(sentence: Sentence) -> bool:
    """Return whether a sentence leaves no mark of code open, which would hide the citations in the lines after it."""
    return len(CODE_MARK.findall(sentence.text)) % 2 == 0


def _without_echoes(sentences: Sequence[Sentence], question: str) -> list[Sentence]:
    """Return the sentences without those at the beginning that give the question back (R5-16).

    With such an option (`Pitch: Set the pitch`), the other options go too: the question asks for none of them. A later
    sentence or an item that does so stays, because no step and no item may be missing. The firewall rejects it.
    """
    echoes = [each for each in sentences if _is_plain(each) and says_nothing(each.text, question)]
    if any(OPTION.match(each.text) for each in echoes):
        sentences = [each for each in sentences if not (_is_plain(each) and OPTION.match(each.text))]
    return list(dropwhile(echoes.__contains__, sentences))


def _is_plain(sentence: Sentence) -> bool:
    return sentence.kind is SegmentKind.SENTENCE and not (sentence.leads or sentence.is_warning)


def _choose(prompt: PromptParts, question: Question, read: Reader | None) -> list[Sentence]:
    if sides := read_sides(question):
        rankings = [rank(prompt, side, read) for side in sides]
        found = [sentence for ranking in _answering_together(rankings) for sentence in _side(ranking)]
        return list({sentence.text: sentence for sentence in reversed(found)}.values())[::-1]
    if question.form is Form.PARTS:
        return _parts(prompt, question, read)
    ranking = rank(prompt, question, read)
    if below := _below_echo(ranking):
        return below
    return _in_form(ranking, ranking.ranked[0].sentence) if _may_answer(ranking) else []


def _may_answer(ranking: Ranking) -> bool:
    """Return whether the best sentence answers, and is no question and not only about the question's thing."""
    best = ranking.ranked[0].sentence if ranking.answers else None
    return best is not None and not ASKING.match(best.text) and not names_only_the_thing(ranking.question, best)


def _below_echo(ranking: Ranking) -> list[Sentence]:
    """Return what stands below the best sentences, if they give the question back and are surely its place."""
    for each in takewhile(lambda each: is_echo(ranking.question, each.sentence), ranking.ranked):
        if each.features["own"] < LEAST_ECHO or each.features.get("odds", -1) < LEAST_ODDS:
            break
        if below := read_below(ranking.question, ranking.sentences, each.sentence):
            return below
    return []


def _in_form(ranking: Ranking, best: Sentence) -> list[Sentence]:
    """Return the best sentence with what the form of the question asks for."""
    is_list = ranking.question.form in (Form.STEPS, Form.LIST) and best.kind is SegmentKind.LIST_ITEM
    if best.leads or is_list:
        return read_list(ranking.sentences, best)
    match ranking.question.form:
        case Form.SIDES:
            return with_difference(ranking.question, ranking.sentences, find_sides(ranking) or _whole(ranking, best))
        case Form.LIST:
            return [best, *_list_below(ranking)]
        case Form.STEPS:
            return _steps(ranking, best)
        case Form.EXPLANATION:
            return _paragraph(ranking, best)
        case Form.REASON:
            return _with_reason(ranking, best)
        case _:
            return [best]


def _asks_nothing(question: Question) -> bool:
    """Return whether a question names a label only: `And in revision B?`, where nothing says what of it."""
    labels = {stem for kind, named in question.labels.items() for stem in (kind, *named)}
    return bool(labels) and question.weights.keys() <= labels and question.asked is Asked.OTHER


def _parts(prompt: PromptParts, question: Question, read: Reader | None) -> list[Sentence]:
    """Return the best sentence for each part that has one."""
    rankings = _answering_together([rank(prompt, part, read) for part in read_parts(question)])
    return list(dict.fromkeys(each for ranking in rankings for each in _whole(ranking, ranking.ranked[0].sentence)))


def _whole(ranking: Ranking, sentence: Sentence) -> list[Sentence]:
    """Return a sentence, with its list if it leads in one."""
    return read_list(ranking.sentences, sentence) if sentence.leads else [sentence]


def _answering_together(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Return the sides or parts that have an answer. Where one has, a lower sum is enough for the others."""
    if any(each.answers for each in rankings):
        rankings = [each._replace(minimum=each.minimum - OTHER) for each in rankings]
    return [each for each in rankings if each.answers]


def _side(ranking: Ranking) -> list[Sentence]:
    """Return the best sentence for a side. One that carries its label precedes those that carry no label."""
    labels, ranked = ranking.question.labels, [each.sentence for each in ranking.ranked]
    return _whole(ranking, next((each for each in ranked if has_labels(labels, each.text, each.source)), ranked[0]))


def _list_below(ranking: Ranking) -> list[Sentence]:
    """Return the list below the best sentence, if two of its items come next."""
    best, *following = (each.sentence for each in ranking.ranked[:NEXT_BEST])
    below = [each for each in following if each.chunk == best.chunk and each.block == best.block + 1]
    is_list = len(below) > 1 and all(each.kind is SegmentKind.LIST_ITEM for each in below)
    return read_list(ranking.sentences, below[0]) if is_list else []


def _paragraph(ranking: Ranking, best: Sentence) -> list[Sentence]:
    """Return the best sentence with those after it in its paragraph that go on from it or share its words.

    The one before comes with it if the best one goes on from that.
    """
    block = _neighbours(ranking.sentences, best)
    place = end = block.index(best)
    start = place - bool(place and GOES_ON.match(best.text))
    subject = best.stems | ranking.question.weights.keys()
    while end + 1 < min(len(block), start + PARAGRAPH) and (
        GOES_ON.match(block[end + 1].text) or subject & block[end + 1].stems
    ):
        end += 1
    return block[start : end + 1] if best.kind is SegmentKind.SENTENCE else [best]


def _steps(ranking: Ranking, best: Sentence) -> list[Sentence]:
    """Return the run of instructions around the best sentence; of options, only those that the question names."""
    block = _neighbours(ranking.sentences, best)
    place = block.index(best)
    first = last = place
    while first and _belongs(ranking.question, block[first - 1]):
        first -= 1
    while last + 1 < len(block) and _belongs(ranking.question, block[last + 1]):
        last += 1
    run = [each for each in block[first : last + 1] if each is best or not _is_other_option(ranking.question, each)]
    place = run.index(best)
    start = max(0, min(place - 2, len(run) - MAX_SENTENCES))
    return run[start : start + MAX_SENTENCES]


def _belongs(question: Question, sentence: Sentence) -> bool:
    return sentence.is_warning or bool(PROCEDURAL.search(sentence.text)) or _is_other_option(question, sentence)


def _is_other_option(question: Question, sentence: Sentence) -> bool:
    is_option = OPTION.match(sentence.text) and not sentence.is_warning
    return bool(is_option) and not (sentence.stems & question.weights.keys() - sentence.title)


def _with_reason(ranking: Ranking, best: Sentence) -> list[Sentence]:
    """Return the best sentence with its reason, if that is next to it.

    That is the sentence before it, if it goes on from that, or the one after it, if that goes on from it. Without a
    reason of its own it has the one after it that says what may come of it.
    """
    block = _neighbours(ranking.sentences, best)
    place = block.index(best)
    if place and GOES_ON.match(best.text):
        return block[place - 1 : place + 1]
    if FOLLOWS.match(best.text):
        above = [each for each in ranking.sentences if (each.chunk, each.place) == (best.chunk, best.place - 1)]
        return [*(each for each in above if each.is_quotable), best]
    for each in block[place + 1 : place + 2]:
        is_apart = each.is_row or LIST_MARKER.match(each.text) or A_REASON.search(best.text)
        if GOES_ON.match(each.text) or (EFFECT.search(each.text) and not is_apart):
            return [best, each] if _is_closed(best) and _is_closed(each) else [best]
    return [best]


def _neighbours(sentences: Sequence[Sentence], best: Sentence) -> list[Sentence]:
    """Return the sentences of a block that may be quoted, in order."""
    return [
        each
        for each in sentences
        if each == best
        or (each.chunk == best.chunk and each.block == best.block and (each.is_quotable or each.is_listable))
    ]

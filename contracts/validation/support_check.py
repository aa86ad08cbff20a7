"""The support of an answer: the scores of the verifier that the policy names (contract R5-17, R5-18)."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.languages.detection import foreign_language
from sourcebound.contracts.languages.english import translate, translate_evidence
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.segments import PARTICLE
from sourcebound.contracts.validation.answer_reading import Statement, read_contexts
from sourcebound.contracts.validation.binding.check import misplaces
from sourcebound.contracts.validation.binding.names import replaces_name
from sourcebound.contracts.validation.literals.amounts.languages import LANGUAGES_OF_LITERALS
from sourcebound.contracts.validation.literals.check import LiteralKind, check_literals, read_evidence
from sourcebound.contracts.validation.literals.parts import cites_another
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.support.candidates import Place, Shown
from sourcebound.contracts.validation.support.ellipses import complete
from sourcebound.contracts.validation.support.names import names_another
from sourcebound.contracts.validation.support.polarity.bounds import turns_bound
from sourcebound.contracts.validation.support.polarity.denied import denies
from sourcebound.contracts.validation.support.polarity.turned import turns
from sourcebound.contracts.validation.support.polarity.universals import widens
from sourcebound.contracts.validation.support.reversals import reverses, without_particle
from sourcebound.contracts.validation.support.verify import HIGHEST, read_support, score_answering
from sourcebound.contracts.validation.support.weights import VERIFIER, verifier_digest
from sourcebound.contracts.validation.versions import VERSION

MAX_CHARACTERS: Final = 20_000
"""The characters of an answer that are compared, several times what a model may write. Any further statement has the
score 0."""
MOST_TRANSLATED: Final = 633
"""The highest score of a statement in another language than its chunks: it was compared word by word."""
VALUES: Final = (LiteralKind.NUMBER, LiteralKind.DATE)
LEAD_IN: Final = re.compile(r"[:：][*_\s]*$")
"""The end of a statement that announces the next ones. Its literals are looked up, and the rest is not compared."""
CELLS: Final = "|"
"""The mark of a head of cells, by which the values of a row are read."""
Compared = tuple[str, int, int]
"""The anchor of a compared place, with its offsets."""


class StatementSupport(Contract):
    """The support of one statement."""

    statement: int
    """Its number, from 0."""
    score: int
    """How far the cited chunks say it, in thousandths."""
    compared: tuple[str, ...]
    """The closest sentences of the evidence, as anchor and offsets: `C0:120-188`."""


class SupportReport(Contract):
    """The scores of an answer."""

    verifier: str
    verifier_sha256: str
    statements: tuple[StatementSupport, ...]
    """The statements that need a citation and have one, without the lead-ins of others."""
    answers_question: int
    """Whether the answer is one to the question, in thousandths (R5-18)."""

    @property
    def lowest(self) -> int:
        """The lowest score of a statement."""
        return min(item.score for item in self.statements)


def measure_support(statements: Sequence[Statement], bundle: AnswerBundle) -> SupportReport | None:
    """Score each statement against the chunks that it cites, and the answer against the question (R5-17, R5-18).

    Args:
        statements: The statements of the answer.
        bundle: The evidence and the question.

    Returns:
        The scores; None if no statement both needs a citation and has a known one.
    """
    sources = {chunk.anchor: chunk.sanitized_text for chunk in bundle.selected_evidence}
    titles = {chunk.anchor: show(chunk).title for chunk in bundle.selected_evidence}
    numbers = {anchor: number for number, anchor in enumerate(sources)}
    texts = [CITATION.sub(" ", statement.text).strip() for statement in statements]
    known = [
        {anchor: sources[anchor] for anchor in part.anchors if part.needs_citation and anchor in sources}
        for part in statements
    ]
    last = max((number for number, chunks in enumerate(known) if chunks), default=-1)
    heads = [context.head for context in read_contexts(statements)]
    language = foreign_language(" ".join(texts)[:MAX_CHARACTERS])
    scored: list[StatementSupport] = []
    said = list[Place]()
    cited: dict[str, str] = {}
    answer: list[str] = []
    characters = 0
    for number, chunks in enumerate(known):
        if not chunks or (number < last and _introduces(texts[number])):
            continue
        cited |= chunks
        score, compared, text = 0, tuple[str, ...](), texts[number]
        characters += len(text) + 1
        if characters <= MAX_CHARACTERS:
            previous = texts[number - 1][-MAX_CHARACTERS:] if number else ""
            spoken = _Spoken(text, text, heads[number], previous, bundle.user_question)
            text, score, places = _score_in_any(spoken, chunks, language)
            named = [bundle.user_question, *(titles[anchor] for anchor in chunks)]
            is_false = _has_other_name(texts[number], chunks, named, language) or widens(
                texts[number], chunks.values(), bundle.user_question
            )
            score = 0 if is_false or cites_another(statements[number].text, chunks) else score
            compared = tuple(f"{anchor}:{start}-{end}" for anchor, start, end in places)
            said += [Place(numbers[anchor], start, end) for anchor, start, end in places]
        scored.append(StatementSupport(statement=number, score=score, compared=compared))
        answer.append(text)
    if not scored:
        return None
    asked = bundle.search_query or bundle.user_question
    return SupportReport(
        verifier=VERIFIER,
        verifier_sha256=verifier_digest(),
        statements=tuple(scored),
        answers_question=score_answering(
            " ".join(answer)[:MAX_CHARACTERS],
            translate(asked, list(sources.values())) or asked,
            list(cited.values()),
            list(map(show, bundle.selected_evidence)),
            said,
        ),
    )


def _introduces(text: str) -> bool:
    """Return whether a statement says nothing alone: a lead-in, or `Yes.`, which the next statement explains."""
    return bool(LEAD_IN.search(text)) or any(map(PARTICLE.fullmatch, (text, f"{text.rstrip(' .!')}.")))


class _Spoken(NamedTuple):
    """A statement with what is before it."""

    text: str
    row: str
    """As the answer has it, for its values."""
    head: str
    previous: str
    question: str
    values_unread: bool = False
    """Whether it is translated from a language whose words for values are not read (R5-8)."""


def _in_english(spoken: _Spoken, chunks: dict[str, str], language: str | None) -> _Spoken | None:
    """Return a statement word by word in the English of its chunks; None if it is in English or in their language.

    Args:
        spoken: The statement.
        chunks: The texts of the chunks that it cites.
        language: The language of the answer, for a statement without function words.
    """
    cited = list(chunks.values())
    text = translate(spoken.text, cited, language)
    if not text:
        return None
    previous, question = (translate(each, cited, language) or each for each in (spoken.previous, spoken.question))
    unread = foreign_language(spoken.text, language) not in LANGUAGES_OF_LITERALS
    return spoken._replace(text=text, previous=previous, question=question, values_unread=unread)


def _score_in_any(spoken: _Spoken, chunks: dict[str, str], language: str | None) -> tuple[str, int, list[Compared]]:
    """Score a statement as it stands, and word by word in English if it or a chunk is in another language.

    Args:
        spoken: The statement.
        chunks: The texts of the chunks that it cites.
        language: The language of the answer, for a statement without function words.

    Returns:
        The statement as it was compared, its score and the compared places.
    """
    plain = _score(spoken, chunks)
    if not 0 < plain[0] < MOST_TRANSLATED:
        return spoken.text, *plain
    if english := _in_english(spoken, chunks, language):
        score, places = max(plain, _score(english, chunks), key=lambda each: each[0])
        return english.text, min(score, MOST_TRANSLATED), places
    if both := _both_in_english(spoken, chunks, language):
        score, places = _score(*both)
        again = min(score, MOST_TRANSLATED), [_line_of(each, both[1], chunks) for each in places]
        # an English statement shares hardly a word with such a chunk, so that only the translation tells
        return spoken.text, *(again if both[0] is spoken else max(plain, again, key=lambda each: each[0]))
    return spoken.text, *plain


def _line_of(place: Compared, translated: dict[str, str], chunks: dict[str, str]) -> Compared:
    """Return the line of a chunk that a place of its translation is in."""
    anchor, start, _ = place
    number, lines = translated[anchor].count("\n", 0, start), chunks[anchor].split("\n")
    first = sum(len(line) + 1 for line in lines[:number])
    return anchor, first, first + len(lines[number])


def _both_in_english(
    spoken: _Spoken, chunks: dict[str, str], language: str | None
) -> tuple[_Spoken, dict[str, str]] | None:
    """Return a statement and the chunks in another language word by word in English; None if no chunk is in one.

    The verifier knows the stems, the function words and the rarity of English words alone. A statement in another
    language is compared with chunks in the same one.
    """
    own = foreign_language(spoken.text, language)
    said = "" if own else spoken.text
    found = {anchor: text for anchor, chunk in chunks.items() if (text := translate_evidence(chunk, own, said))}
    texts = list(found.values())
    if not own or not texts:
        return (spoken, chunks | found) if texts else None
    if not (text := translate(spoken.text, texts, own)):
        return None
    previous, question = (translate(each, texts, own) or each for each in (spoken.previous, spoken.question))
    return spoken._replace(text=text, previous=previous, question=question), found


def _score(spoken: _Spoken, chunks: dict[str, str]) -> tuple[int, list[Compared]]:
    """Return the score of a statement and the compared places.

    The score is 0 if the statement says the contrary of its chunks, or a value of another thing.
    """
    anchors, text = list(chunks), spoken.text
    said = without_particle(text)
    reading = read_support(
        said if said.strip(" .*_") else text, spoken.previous, spoken.question, list(chunks.values())
    )
    is_quoted = reading.score == HIGHEST
    texts = [complete(chunk, text) for chunk in chunks.values()]
    is_false = (
        reverses(text, texts)
        or turns_bound(text, chunks.values())
        or (not is_quoted and (turns(text, texts) or denies(text, texts)))
        or ((not is_quoted or CELLS in spoken.head) and _misplaces(spoken.row, spoken.head, chunks))
        or (spoken.values_unread and _adds_value(text, chunks))
    )
    score = 0 if is_false else reading.score
    return score, [(anchors[part.chunk], part.start, part.end) for part in reading.compared]


def _has_other_name(text: str, chunks: dict[str, str], named: list[str], language: str | None) -> bool:
    """Return whether a statement has a name of nowhere, or a new one in the place of another."""
    own, texts = foreign_language(text, language), chunks.values()
    return names_another(text, texts, named, own) or replaces_name(text, texts, named)


def _adds_value(english: str, chunks: dict[str, str]) -> bool:
    """Return whether a translated statement has a number word, a day or a month that its chunks do not have.

    Digits stay as they are written, and are read so (R5-8).
    """
    cited = tuple(read_evidence(anchor, chunk) for anchor, chunk in chunks.items())
    found = check_literals(english, 0, cited)
    return any(not each.supported for each in found if each.kind in VALUES and not any(map(str.isdigit, each.text)))


def _misplaces(text: str, head: str, chunks: dict[str, str]) -> bool:
    """Return whether a statement, for a row with its head, says a value of another thing than its chunks do."""
    row = f"{CITATION.sub(' ', head).strip()}\n{text}" if CELLS in head else text
    cited = [read_evidence(anchor, chunk).literal_index(VERSION) for anchor, chunk in chunks.items()]
    return misplaces(read_literals(row, is_source=False), cited)


def show(chunk: EvidenceChunk) -> Shown:
    """Return a chunk with the words that name it: its title, its document and its section."""
    named = (chunk.title, chunk.source_reference or chunk.knowledge_id, chunk.section)
    return Shown(chunk.sanitized_text, " ".join(part for part in named if part))

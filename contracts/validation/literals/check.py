"""R5-8, literal grounding: the literals of a statement must occur in a chunk that the same statement cites.

Literals are numbers with their units, dates, times, identifiers, addresses and quotations. The answer and the chunks
are brought to one normal form, so that `1,200`, `1200` and `1.2 thousand` agree. No model takes part.
"""

import hashlib
import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.validation.literals.amounts.fractions import is_half_in_words
from sourcebound.contracts.validation.literals.amounts.languages import names_scale
from sourcebound.contracts.validation.literals.amounts.scales import wrong_scales
from sourcebound.contracts.validation.literals.counts import counts_own_list
from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex
from sourcebound.contracts.validation.literals.question import is_given, is_given_name
from sourcebound.contracts.validation.literals.reading import read_literals
from sourcebound.contracts.validation.literals.surroundings import KINDS, replaces_another, surroundings_of
from sourcebound.contracts.validation.literals.times.kinds_of_days import wrong_days
from sourcebound.contracts.validation.versions import SECOND, VERSION

CACHED_CHUNKS: Final = 512
"""The size of the cache of read chunks, because popular chunks, retries and replays read the same text again."""
QUESTION: Final = "question"
ANSWER: Final = "answer"
NO_THING: Final = re.compile(r"(?:FY|CY|Q|H|v)\W?\d.*|\d.*", re.IGNORECASE)
"""An identifier of a time or of a version, which differs within a document: `FY2022`, `Q4`, `v3.2`, `4Q22`."""


class LiteralKind(StrEnum):
    """The kind of a literal."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    QUOTATION = "quotation"


class LiteralFinding(Contract):
    """One literal of an answer and the cited chunks that hold it, if any."""

    kind: LiteralKind
    text: str
    segment: int
    """The index of the segment that holds the literal."""
    found_in: tuple[str, ...]
    """The anchors that the segment cites and whose chunk holds the literal; `question` for a value from the question,
    `answer` for the count of a list of the answer itself; empty if unsupported."""

    @property
    def supported(self) -> bool:
        """Whether a cited chunk holds the literal, or the question or the answer may give it."""
        return bool(self.found_in)

    @property
    def audit_name(self) -> str:
        """The literal's text in the audit record.

        An address or a quotation can be personal, so the record holds a digest of it.
        """
        if self.kind in (LiteralKind.ADDRESS, LiteralKind.QUOTATION):
            return f"{self.kind}:{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"
        return self.text


class CitedChunk(NamedTuple):
    """A cited chunk. Its literals are read only if a statement that cites it has a literal."""

    anchor: str
    text: str
    name: str = ""
    """The title of its document, and the headings above it, which name what it is about."""
    scale: str = ""
    """The scale of a table that goes on in it, in brackets."""

    def literal_index(self, version: int) -> LiteralIndex:
        """Return the chunk's literals, from a cache if the chunk was read recently."""
        return _read_chunk(f"{self.scale}\n{self.text}" if self.scale and version >= SECOND else self.text, version)

    def names(self, literal: Literal, version: int) -> bool:
        """Return whether an identifier stands above the chunk: `HX-14` of the manual `HX-14 Heat pump`."""
        is_thing = literal.kind == LiteralKind.IDENTIFIER and not literal.unit and not NO_THING.fullmatch(literal.text)
        return version >= SECOND and is_thing and bool(self.name) and _read_chunk(self.name, version).supports(literal)


class AnswerContext(NamedTuple):
    """The context of a segment in its answer, as far as its numbers need it."""

    head: str = ""
    """The heads and the lead-in above it, which may name a scale."""
    items: int = 0
    """The number of list items or rows that it leads in."""
    previous: str = ""
    """The statement before it."""


ALONE: Final = AnswerContext()


def read_evidence(anchor: str, text: str, name: str = "", scale: str = "") -> CitedChunk:
    """Wrap a chunk for `check_literals`."""
    return CitedChunk(anchor, text, name, scale)


@lru_cache(maxsize=CACHED_CHUNKS)
def _read_chunk(text: str, version: int) -> LiteralIndex:
    return read_literals(text, version)


def check_literals(
    text: str,
    segment: int,
    cited: tuple[CitedChunk, ...],
    question: str = "",
    version: int = VERSION,
    *,
    repeats_question: bool = False,
    context: AnswerContext = ALONE,
) -> list[LiteralFinding]:
    """Look up every literal of one segment in the chunks that it cites.

    Args:
        text: The segment without its citations.
        segment: The index of the segment.
        cited: The chunks that the segment cites.
        question: The question, whose values may be repeated.
        version: The number of the validation contract.
        repeats_question: Whether the segment states nothing, so that every literal of the question may be in it.
        context: What the rest of the answer says about the segment's numbers.

    Returns:
        A finding for each literal, in the order of the text, and then one for each word of quantity that replaces
        another, for working days that are calendar days, and for a scale that is not that of the chunks.
    """
    statement = read_literals(text, version, is_source=False, scale_is_given=names_scale(context.head))
    sources = tuple((source.anchor, source.literal_index(version)) for source in cited)
    indexes = tuple(source for _, source in sources)
    findings = [
        LiteralFinding(
            kind=LiteralKind(literal.kind),
            text=literal.text.strip(),
            segment=segment,
            found_in=_find_in_chunks(literal, statement, sources)
            or tuple(source.anchor for source in cited if source.names(literal, version))
            or ((QUESTION,) if repeats_question and _read_chunk(question, version).supports(literal) else ())
            or _find_in_question(literal, text, statement, indexes, question)
            or _find_in_answer(literal, statement, context, indexes),
        )
        for literal in statement.literals
    ]
    if version >= SECOND and sources:
        words = [
            word.text for word in surroundings_of(statement).quantities if replaces_another(word, statement, indexes)
        ]
        findings += [
            LiteralFinding(kind=LiteralKind.NUMBER, text=text, segment=segment, found_in=())
            for text in (*words, *wrong_days(statement, indexes), *wrong_scales(statement.plain, indexes))
        ]
    return findings


def _find_in_chunks(
    literal: Literal, statement: LiteralIndex, sources: tuple[tuple[str, LiteralIndex], ...]
) -> tuple[str, ...]:
    """Return the anchors of the chunks that hold a literal; none if it replaces another value."""
    found = tuple(anchor for anchor, source in sources if source.supports(literal))
    if found and statement.version >= SECOND and literal.kind in KINDS and not is_half_in_words(literal):
        return () if replaces_another(literal, statement, [source for _, source in sources]) else found
    return found


def _find_in_question(
    literal: Literal, text: str, statement: LiteralIndex, cited: tuple[LiteralIndex, ...], question: str
) -> tuple[str, ...]:
    """Return `QUESTION` for a literal that the question gives and that no cited chunk contradicts."""
    if statement.version >= SECOND:
        given = bool(question) and is_given(literal, statement, cited, _read_chunk(question, statement.version))
    else:
        given = is_given_name(literal, text, cited, question)
    return (QUESTION,) if given else ()


def _find_in_answer(
    literal: Literal, statement: LiteralIndex, context: AnswerContext, cited: tuple[LiteralIndex, ...]
) -> tuple[str, ...]:
    """Return `ANSWER` for the count of a list of the answer itself, or of a pair that it names."""
    if statement.version < SECOND or not cited:
        return ()
    return (ANSWER,) if counts_own_list(literal, statement.plain, context.items, cited, context.previous) else ()

"""The words of a source that a released answer rests on, and the sections that they are in (R6-2, R6-7).

Nothing is searched for by meaning. The words are the statement itself, if the source holds it word for word. Otherwise
they are the sentences that the verifier compared with the statement (R5-17), which the validation recorded. So the
quotes of a recorded run are the same for ever.
"""

import re
from typing import Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.text.citations import strip_citations
from sourcebound.contracts.validation.result import ValidationResult

COMPARED: Final = re.compile(r"(C\d+):(\d+)-(\d+)")


class Span(Contract):
    """A range of characters: the offset of the first one, and of the one after the last."""

    start: int
    end: int


class Quote(Span):
    """Words of a source that a statement of the answer rests on."""

    statement: int
    """The number of the statement, from 1."""
    section: str | None = None
    """The section that the words are in; several if they run across a heading."""


def find_quotes(validation: ValidationResult | None, chunk: EvidenceChunk) -> tuple[Quote, ...]:
    """Return the words of a source that the statements of an answer rest on.

    Args:
        validation: The verdict on the answer.
        chunk: The source.

    Returns:
        Ranges of the chunk's sanitized text, in order; none if there is no released answer or it does not cite the
        source.
    """
    if validation is None or validation.generation_status is not Status.OK:
        return ()
    compared = {item.statement: item.compared for item in validation.support.statements} if validation.support else {}
    quotes: set[tuple[int, int, int]] = set()
    for number, statement in enumerate(validation.statements):
        if chunk.anchor not in statement.anchors:
            continue
        verbatim = _find_words(strip_citations(statement.text), chunk.sanitized_text)
        spans = [verbatim] if verbatim else _compared_spans(compared.get(number, ()), chunk.anchor)
        quotes |= {(start, end, number + 1) for start, end in spans}
    return tuple(
        Quote(start=start, end=end, statement=number, section=name_sections(sections_within(chunk, start, end)))
        for start, end, number in sorted(quotes)
    )


def cited_sections(validation: ValidationResult | None, chunk: EvidenceChunk) -> tuple[str, ...]:
    """Return the sections that the quoted words of a source are in, in the order of the document.

    Args:
        validation: The verdict on the answer.
        chunk: The source.

    Returns:
        The sections. Without quoted words, those that the whole passage runs through, because any part of it may be
        meant.
    """
    quotes = find_quotes(validation, chunk)
    quoted = dict.fromkeys(name for quote in quotes for name in sections_within(chunk, quote.start, quote.end))
    return tuple(quoted) or sections_within(chunk)


def cited_section(validation: ValidationResult | None, chunk: EvidenceChunk) -> str | None:
    """Return the section that a citation of a source names (R6-2): `cited_sections` as one text, None if unknown."""
    if not chunk.later_sections:
        return chunk.section
    return name_sections(cited_sections(validation, chunk))


def _find_words(words: str, text: str) -> tuple[int, int] | None:
    """Find words in a text, whatever white space is between them."""
    parts = words.split()
    found = re.search(r"\s+".join(map(re.escape, parts)), text) if parts else None
    return found.span() if found else None


def _compared_spans(compared: tuple[str, ...], anchor: str) -> list[tuple[int, int]]:
    matches = [match for text in compared if (match := COMPARED.fullmatch(text)) and match[1] == anchor]
    return [(int(match[2]), int(match[3])) for match in matches]

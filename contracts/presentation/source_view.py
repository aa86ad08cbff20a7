"""A cited source as a reader opens it: its text, the words that support the answer, and their place on the page (R6-7).

Offsets count characters (Unicode code points), as in a W3C text position selector. Words are marked only where the
stored page still holds the passage that the run was answered from. A page that was replaced since is not shown.
"""

import unicodedata
from datetime import date
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.state import State
from sourcebound.contracts.text.sanitize import REPLACEMENT, UNSHOWABLE
from sourcebound.contracts.validation.quotes import Quote, Span, cited_section, find_quotes
from sourcebound.contracts.validation.result import ValidationResult

ESCAPE: Final = "\\"


class StoredPassage(NamedTuple):
    """A chunk and its page, as they are stored now."""

    revision: str | None
    media_type: str
    chunk_text: str
    char_start: int
    """The offset of the chunk in the text of the page, in characters."""
    char_end: int
    page_number: int | None
    """None if the document has no page numbers."""
    page_text: str
    has_image: bool = False
    """Whether the page can be shown as it was printed."""


class SourcePage(Contract):
    """The page of a source, with the place of the passage and of its quotes."""

    number: int | None
    """None if the document has no page numbers."""
    media_type: str
    text: str
    passage: Span
    """The passage that the prompt showed."""
    quotes: tuple[Quote, ...]
    has_image: bool = False
    """Whether the page can be shown as it was printed, with rectangles on the quotes."""


class SourceView(Contract):
    """A source of a run, for a reader who may read its document now."""

    run_id: str
    anchor: str
    knowledge_id: str
    title: str | None
    source_reference: str | None
    section: str | None
    """The section of the quoted words, as the citation names it; without quotes, those of the whole passage."""
    page_number: int | None
    revision: str | None
    event_date: date | None
    equipment_id: str | None
    text: str
    """The passage as the prompt showed it."""
    quotes: tuple[Quote, ...]
    """Ranges of `text`; empty if the answer was not released or does not cite the source."""
    page: SourcePage | None
    """None if the document no longer holds the passage as it was, or came from elsewhere."""


def view_source(state: State, chunk: EvidenceChunk, stored: StoredPassage | None) -> SourceView:
    """Build the view of a source.

    Args:
        state: The state of the run.
        chunk: The source.
        stored: The place of the chunk in its document; None if it is not stored any more.

    Returns:
        The view, with the quotes of a released answer.
    """
    validation = released_validation(state)
    quotes = find_quotes(validation, chunk)
    return SourceView(
        run_id=state["run"]["run_id"],
        text=_showable(chunk.sanitized_text),
        section=cited_section(validation, chunk),
        quotes=quotes,
        revision=stored.revision if stored else None,
        page=_place_quotes(chunk, quotes, stored) if stored else None,
        **chunk.model_dump(
            include={
                "anchor", "knowledge_id", "title", "source_reference", "page_number", "event_date", "equipment_id",
            }
        ),
    )  # fmt: skip


def released_validation(state: State) -> ValidationResult | None:
    """Return the validation of a released answer; None if the run released none."""
    if state["outcome"]["status"] != Status.OK or not state.get("validation"):
        return None
    return ValidationResult.from_json(state["validation"])


def locate(shown: str, stored: str) -> list[int] | None:
    """Return the offset in a stored text of each character of its sanitized form (R2-S2), or None if they differ.

    Sanitization changes white space, removes hidden characters and puts a backslash before some lines. White space of
    the shown text has the offset of the next character.

    Args:
        shown: The sanitized text, or its beginning.
        stored: The stored text.
    """
    offsets: list[int] = []
    place = 0
    for number, character in enumerate(shown):
        if not character.isspace():
            place = _skip(stored, place, character)
            is_found = place < len(stored) and stored[place] == character
            if not is_found and not (character == ESCAPE and shown[number - 1 : number] in ("", "\n")):
                return None
            place += 1 if is_found else 0
            offsets.append(place - 1 if is_found else place)
        else:
            offsets.append(place)
    return offsets


def _skip(stored: str, place: int, character: str) -> int:
    """Return the place of the next character that sanitization keeps."""
    while place < len(stored) and stored[place] != character and _is_dropped(stored[place]):
        place += 1
    return place


def _is_dropped(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Mn")


def _place_quotes(chunk: EvidenceChunk, quotes: tuple[Quote, ...], stored: StoredPassage) -> SourcePage | None:
    """Return the page with the quotes on it; None if the passage is not there as the run saw it."""
    offsets = locate(chunk.sanitized_text, stored.chunk_text)
    if offsets is None or not offsets or stored.page_text[stored.char_start : stored.char_end] != stored.chunk_text:
        return None
    return SourcePage(
        number=stored.page_number,
        media_type=stored.media_type,
        text=_showable(stored.page_text),
        has_image=stored.has_image,
        passage=Span(start=stored.char_start + offsets[0], end=stored.char_start + offsets[-1] + 1),
        quotes=tuple(
            quote.model_copy(
                update={
                    "start": stored.char_start + offsets[quote.start],
                    "end": stored.char_start + offsets[quote.end - 1] + 1,
                }
            )
            for quote in quotes
        ),
    )


def _showable(text: str) -> str:
    """Replace each character that cannot be displayed, so that a document controls no screen. Offsets stay."""
    return UNSHOWABLE.sub(REPLACEMENT, text)

"""A source as a reader opens it: the words that support the answer are marked where they are, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.presentation.source_view import StoredPassage, locate, view_source
from sourcebound.contracts.text.sanitize import sanitize
from support.builders import CHARGE, FILTER, SEAL, TWO_SECTIONS, row, row_of_two_sections
from support.recorded_runs import ANSWER, recorded

pytestmark = pytest.mark.contract("R6-7")
STATE = recorded(ANSWER, [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]).state
CHUNKS = AnswerBundle.model_validate(STATE["assembly"]).selected_evidence
PAGE = f"Chapter 4.\n{SEAL}\nChapter 5."


def stored(page: str = PAGE, chunk: str = SEAL) -> StoredPassage:
    start = page.find(SEAL[:10])
    return StoredPassage("C", "text/plain", chunk, start, start + len(chunk), 7, page)


def test_a_quote_is_marked_in_the_passage_and_on_its_page() -> None:
    view = view_source(STATE, CHUNKS[0], stored())
    assert view.page is not None
    words = {view.text[quote.start : quote.end] for quote in view.quotes}
    assert words
    assert {view.page.text[quote.start : quote.end] for quote in view.page.quotes} == words
    assert PAGE[view.page.passage.start : view.page.passage.end] == SEAL
    assert (view.page.number, view.revision) == (7, "C")


@pytest.mark.contract("R6-2")
def test_a_source_and_each_of_its_quotes_name_the_section_that_they_are_in() -> None:
    record = recorded(f"{CHARGE} [C0]", [row_of_two_sections(page_number=7)])
    (chunk,) = AnswerBundle.model_validate(record.state["assembly"]).selected_evidence
    page = f"Chapter 3.\n{TWO_SECTIONS}"
    view = view_source(record.state, chunk, StoredPassage("C", "text/plain", TWO_SECTIONS, 11, len(page), 7, page))
    assert view.section == "4 Bearings > 4.1 Oil change"
    assert [quote.section for quote in view.quotes] == [view.section]
    assert view.page is not None
    assert [(page[quote.start : quote.end], quote.section) for quote in view.page.quotes] == [(CHARGE, view.section)]


def test_a_source_that_no_statement_cites_has_no_quotes() -> None:
    assert view_source(STATE, CHUNKS[1], None).quotes == ()


@pytest.mark.parametrize(
    "passage", [stored(chunk=SEAL.replace("12", "13")), stored(page="Another page."), stored(chunk="", page="")]
)
def test_a_page_that_no_longer_holds_the_passage_is_not_shown(passage: StoredPassage) -> None:
    assert view_source(STATE, CHUNKS[0], passage).page is None


def test_a_document_controls_no_screen() -> None:
    view = view_source(STATE, CHUNKS[0], stored(page=f"\u202egnp.exe {PAGE}"))
    assert view.page is not None
    assert view.page.text.startswith("\ufffdgnp.exe")


@given(st.text(alphabet=st.sampled_from("ab \n\t\u200b\u00ad.\\[C0|]="), max_size=60))
def test_the_place_of_each_character_holds_that_character(text: str) -> None:
    shown = sanitize(text).text
    offsets = locate(shown, text)
    if offsets is None:
        return
    assert len(offsets) == len(shown)
    assert offsets == sorted(offsets)
    for number, (character, offset) in enumerate(zip(shown, offsets, strict=True)):
        if not character.isspace() and not (character == "\\" and shown[number - 1 : number] in ("", "\n")):
            assert text[offset] == character


def test_a_text_of_other_words_has_no_places() -> None:
    assert locate("twelve hours", "thirteen hours") is None

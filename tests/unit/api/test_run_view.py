"""How an answer was made, for a reader: all of a released answer, and no word of a rejected one."""

import pytest

from sourcebound.api.run_view import view_run
from support.builders import FILTER, SEAL, row
from support.recorded_runs import ANSWER, page_of, recorded

TWO = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]


def test_a_released_answer_is_shown_statement_by_statement() -> None:
    view = view_run(page_of(recorded(ANSWER, TWO)), [])
    (attempt,) = view.attempts
    assert [(each.text, each.verdict, each.anchors) for each in attempt.statements] == [(ANSWER, "cited", ["C0"])]
    assert [(each.outcome, each.outcome_label) for each in view.candidates] == [
        ("ADMITTED", "evidence in the prompt"),
        ("ADMITTED", "evidence in the prompt"),
    ]


@pytest.mark.contract("CP-12")
def test_no_word_of_a_rejected_answer_is_shown() -> None:
    view = view_run(
        page_of(recorded("The seal is zanzibar-blue [C0]. It is checked every 99 zanzibars [C1].", TWO)), []
    )
    assert view.status == "FAILED"
    (attempt,) = view.attempts
    assert [each.verdict for each in attempt.statements] != []
    assert any(each.violations for each in attempt.statements)
    assert "zanzibar" not in view.model_dump_json()
    assert "every 99" not in view.model_dump_json()


@pytest.mark.contract("R6-7")
def test_a_document_that_may_not_be_read_has_no_excerpt() -> None:
    view = view_run(page_of(recorded(ANSWER, TWO), readable=frozenset()), [])
    assert {each.excerpt for each in view.candidates} == {""}


def test_the_salt_of_a_run_is_no_part_of_its_view() -> None:
    assert "salt" not in view_run(page_of(recorded(ANSWER, TWO)), []).model_dump_json()

"""The facts on the page of a run: each with its outcome, and no text that may not be read."""

import json

import pytest

from sourcebound.cli.records.run_html import render_html
from sourcebound.cli.records.run_show import print_lines, print_tables
from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from sourcebound.contracts.run_page.page import RunRecord
from support.builders import FILTER, SEAL, row
from support.recorded_runs import ANSWER, page_of, recorded

ROWS = [row(0, chunk_text=FILTER, page_number=3), row(1, chunk_text=SEAL, page_number=7)]
LOCAL = {"filter": "local", "min_question_overlap": 0.3}
MODEL = {"filter": "model"}
CHOICE = json.dumps(
    {"relevant_facts": [{"quote": "shaft seal", "pdf": "manual-1.pdf", "page": 7, "chunk_id": "chunk-0001"}]}
)
KEPT = recorded(ANSWER, ROWS, facts=LOCAL)
CHOSEN = recorded(ANSWER, ROWS, facts=MODEL, choice=CHOICE)
FAILED = recorded(ANSWER, ROWS, facts=MODEL, choice="Both of them.")
LINES = [
    "FACTS:",
    f'- "{FILTER}" (pdf="manual-0.pdf", page=3, chunk_id="chunk-0000", score=0.9)',
    f'- "{SEAL}" (pdf="manual-1.pdf", page=7, chunk_id="chunk-0001", score=0.9)',
]


@pytest.mark.contract("R3-9")
def test_a_page_shows_every_fact_and_what_became_of_it() -> None:
    facts = page_of(KEPT).facts
    assert facts is not None
    assert [(shown.fact.quote, shown.fate) for shown in facts.facts] == [
        (FILTER, RowOutcome.DROP_FACT_IRRELEVANT),
        (SEAL, RowOutcome.ADMITTED),
    ]
    assert (facts.admitted_count, facts.choice, facts.text.split("\n")) == (1, None, LINES)
    assert [source.chunk.sanitized_text for source in page_of(KEPT).sources] == [SEAL]
    assert page_of(recorded(ANSWER, ROWS)).facts is None
    assert page_of(recorded(results=[row(similarity_score=0.4)], facts=LOCAL)).facts is None


@pytest.mark.contract("R3-9")
def test_a_choice_is_shown_with_its_call_and_its_prompt_only_where_it_was_asked_for() -> None:
    facts = page_of(CHOSEN).facts
    assert facts is not None
    assert facts.choice is not None
    assert facts.choice.generation is not None
    assert (facts.choice.generation.raw_model_text, facts.choice.prompt.messages) == (CHOICE, ())
    assert facts.choice.prompt.template == "relevant_facts_v1"
    shown = page_of(CHOSEN, with_prompt=True).facts
    assert shown is not None
    assert shown.choice is not None
    assert FILTER in shown.choice.prompt.messages[1].content


@pytest.mark.contract("R3-9")
def test_a_choice_that_failed_leaves_its_facts_without_a_fate() -> None:
    page = page_of(FAILED)
    assert page.facts is not None
    assert [shown.fate for shown in page.facts.facts] == [None, None]
    assert (page.facts.admitted_count, page.head.reason, page.attempts) == (0, "INVALID_FACTS_SCHEMA", ())
    assert page.explanation == "The model's choice of facts is not the requested JSON."


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R6-7")
@pytest.mark.parametrize("kept", [KEPT, CHOSEN, FAILED], ids=["local", "model", "failed"])
def test_no_form_of_a_page_shows_the_words_of_a_document_that_may_not_be_read(
    kept: RunRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_of(kept, frozenset({"doc-1"}), with_prompt=True)
    assert page.facts is not None
    assert [shown.fact.quote for shown in page.facts.facts] == ["(withheld)", SEAL]
    assert page.prompt_withheld is (kept is not KEPT)
    print_lines(page)
    print_tables(page)
    shown = capsys.readouterr().out + render_html(page) + page.model_dump_json()
    assert FILTER not in shown
    assert "(withheld)" in shown


@pytest.mark.contract("R3-9")
def test_the_page_in_a_pipe_has_the_facts_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(page_of(CHOSEN))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert {*LINES, CHOICE} <= {*lines}
    assert "fact       filter         model" in lines
    assert "fact       kept           1 of 2" in lines
    assert "fact       DROP_FACT_IRRELEVANT  0.900  manual-0.pdf  3  chunk-0000" in lines
    assert "fact       template       relevant_facts_v1" in lines


@pytest.mark.contract("R3-9")
def test_the_page_in_a_browser_has_them_in_a_section() -> None:
    text = render_html(page_of(CHOSEN, with_prompt=True))
    assert '<a href="#facts">Facts</a>' in text
    assert '<section id="facts"' in text
    assert "it is not relevant to the question" in text
    assert "The user message for the choice" in text
    assert 'id="facts"' not in render_html(page_of(recorded(ANSWER, ROWS)))

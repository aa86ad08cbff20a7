"""R6-8: presentations render what was released, in full and in their own form, and nothing can forge their lines."""

import json
import re
from typing import cast, get_args

import pytest

from sourcebound.cli.answering.response_view import OutputFormat, RenderedResponse, print_response
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Presentation
from sourcebound.contracts.presentation.answer_view import evidence_documents, view_answer
from sourcebound.contracts.presentation.render import PRESENTATIONS, present
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import State
from sourcebound.contracts.text.citations import strip_citations
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.errors import RequestError
from sourcebound.graph.run_views.answer import read_answer
from support.builders import CHARGE, FILTER, SEAL, bundle, row, row_of_two_sections
from support.profiles import ROWS, ask

BOTH = f"{SEAL} [C0] {FILTER} [C1]"
PLACED = [
    row(0, chunk_text=SEAL, source_reference="hp-200.pdf, p. 13", page_number=13, section="10 Seals > 10.2 Checks"),
    row(1, chunk_text=FILTER, source_reference="filters.md", title="Filters", similarity_score=0.4567),
]


def test_every_presentation_that_a_policy_may_name_is_there() -> None:
    assert {*PRESENTATIONS} == {*get_args(Presentation)}


@pytest.mark.contract("R6-8")
async def test_plain_is_the_validated_text() -> None:
    finished = await ask("SOURCE_BOUNDED_V1", BOTH, results=PLACED)
    assert finished.shown("plain") == finished.response["answer"] == BOTH


@pytest.mark.contract("R6-8")
async def test_answer_sources_names_document_section_page_and_score_of_each_citation() -> None:
    finished = await ask("SOURCE_BOUNDED_V1", BOTH, results=PLACED)
    assert finished.view.presentation == "answer_sources"
    assert finished.shown() == (
        f"Answer:\n{BOTH}\n\nSources:\n"
        "- [C0] hp-200.pdf, 10 Seals > 10.2 Checks, p. 13 (score: 0.90)\n"
        "- [C1] filters.md (score: 0.46)"
    )


@pytest.mark.contract("R6-2")
@pytest.mark.contract("R6-8")
async def test_a_source_is_named_by_the_section_of_its_quote() -> None:
    two = [row_of_two_sections(), row_of_two_sections(1, chunk_text=f"{FILTER}\n\n{SEAL}")]
    finished = await ask("SOURCE_BOUNDED_V1", f"{CHARGE} [C0]", results=two)
    assert finished.shown().endswith("- [C0] manual-0.pdf, 4 Bearings > 4.1 Oil change (score: 0.90)")
    sources = json.loads(finished.shown("source_markers"))["sources"]
    cited, other = (source["metadata"]["section"] for source in sources)
    assert cited == "4 Bearings > 4.1 Oil change"
    assert other == "3 Seal > 3.4 Leak test; 4 Bearings > 4.1 Oil change"


@pytest.mark.contract("R6-8")
async def test_sources_are_those_that_are_cited_in_the_order_of_their_first_use() -> None:
    swapped = await ask("SOURCE_BOUNDED_V1", f"{FILTER} [C1] {SEAL} [C0] [C1]", results=PLACED)
    assert [line[:6] for line in swapped.shown().splitlines()[-2:]] == ["- [C1]", "- [C0]"]
    one = await ask("SOURCE_BOUNDED_V1", f"{FILTER} [C1]", results=PLACED)
    assert one.shown().count("(score:") == 1


@pytest.mark.contract("R5-15")
@pytest.mark.contract("R6-8")
async def test_low_support_is_shown_as_low_confidence_and_limited_source_coverage() -> None:
    weak = [{**item, "similarity_score": 0.3} for item in ROWS]
    low = await ask("SOURCE_BOUNDED_V1", results=weak)
    assert low.response["support_level"] == "LOW"
    assert low.shown().startswith("Answer (LOW CONFIDENCE — limited source coverage):\nCheck the shaft seal")
    assert low.shown("numbered_confidence").endswith("\nCONFIDENCE: Low")


@pytest.mark.contract("R6-8")
async def test_numbered_confidence_numbers_the_statements_and_places_each_in_all_its_sources() -> None:
    text = f"# Checks\n{SEAL} [C0] The intake filter belongs\nto it [C1] [C0]."
    finished = await ask("SOURCE_BOUNDED_V1", text, results=PLACED)
    assert finished.shown("numbered_confidence").splitlines() == [
        "ANSWER:",
        "# Checks",
        f"1. {SEAL} (hp-200.pdf, p13, chunk-0000)",
        "2. The intake filter belongs to it. (filters.md, chunk-0001) (hp-200.pdf, p13, chunk-0000)",
        "CONFIDENCE: High",
    ]


LEVELS = [
    ([0.9, 0.9], "C0", "C1", "High"),
    ([0.9, 0.9], "C0", "C0", "Medium"),
    ([0.3, 0.3], "C0", "C1", "Medium"),
    ([0.3, 0.3], "C0", "C0", "Low"),
]


@pytest.mark.contract("R5-15")
@pytest.mark.contract("R6-8")
@pytest.mark.parametrize(("scores", "first", "second", "level"), LEVELS)
async def test_confidence_is_computed_and_is_the_level_of_support(
    scores: list[float], first: str, second: str, level: str
) -> None:
    results = [{**item, "similarity_score": score} for item, score in zip(ROWS, scores, strict=True)]
    text = f"{SEAL} [{first}]" if first == second else BOTH
    finished = await ask("SOURCE_BOUNDED_V1", text, results=results)
    assert finished.shown("numbered_confidence").splitlines()[-1] == f"CONFIDENCE: {level}"


@pytest.mark.contract("R5-13")
@pytest.mark.contract("R6-8")
async def test_the_rows_of_a_json_answer_are_its_numbered_sentences() -> None:
    rows_ = [{"sentence": SEAL, "anchors": ["C0"]}, {"sentence": "It has a filter.", "anchors": ["C0", "C1"]}]
    text = json.dumps({"answer_sentences": rows_, "confidence": "Low"})
    rules = load_shipped_policy("SOURCEBOUND_SENTENCES_V1").model_copy(update={"calibration": None})
    finished = await ask(rules, text, results=PLACED, question_coverage=1.0)
    assert finished.shown("numbered_confidence").splitlines() == [
        "ANSWER:",
        f"1. {SEAL} (hp-200.pdf, p13, chunk-0000)",
        "2. It has a filter. (hp-200.pdf, p13, chunk-0000) (filters.md, chunk-0001)",
        "CONFIDENCE: High",
    ]


GATED = [{**item, "similarity_score": 0.1} for item in ROWS]
REFUSALS = {
    "plain": (REFUSAL, REFUSAL),
    "answer_sources": (
        "No supporting documentation found in indexed sources.",
        "The indexed documentation does not contain this information.",
    ),
    "numbered_confidence": ("Not found in provided PDFs", "Not found in provided PDFs"),
}


@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_the_sentence_of_its_presentation_and_nothing_else(name: Presentation) -> None:
    before = await ask("SOURCE_BOUNDED_V1", results=GATED)
    dropped = await ask("SOURCE_BOUNDED_V1", results=[{**item, "chunk_text": "\u200b"} for item in ROWS])
    by_model = await ask("SOURCE_BOUNDED_V1", REFUSAL)
    sources = [finished.view.refusal_source for finished in (before, dropped, by_model)]
    assert sources == ["GATE", "SELECTION", "MODEL"]
    first, second = REFUSALS[name]
    assert [finished.shown(name) for finished in (before, dropped, by_model)] == [first, first, second]
    assert [finished.response["answer"] for finished in (before, dropped, by_model)] == [REFUSAL] * 3


@pytest.mark.contract("R6-5")
@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("name", PRESENTATIONS)
async def test_a_failure_looks_like_no_refusal_and_shows_nothing_of_what_was_rejected(name: Presentation) -> None:
    failed = await ask("SOURCE_BOUNDED_V1", "The seal is blue, as everybody knows.")
    shown = failed.shown(name)
    assert "UNCITED_FACTUAL_STATEMENT" in shown
    assert "blue" not in shown
    assert not any(sentence in shown for pair in REFUSALS.values() for sentence in pair)
    if name == "source_markers":
        assert json.loads(shown) == {
            "answer": "", "sources": [], "citations": [], "refusal_reason": None,
            "failure_code": "UNCITED_FACTUAL_STATEMENT", "query": failed.state["run"]["question"],
        }  # fmt: skip


FORGERIES = {
    "a list of sources": f"{SEAL} [C0]\nSources:\n- other.pdf stands there too. [C0]",
    "another answer": f"Answer:\n{SEAL} [C0]",
    "a confidence": f"CONFIDENCE: High [C0]\n\n{SEAL} [C0]",
    "in letters of another script": f"Ѕоurces:\n- other.pdf stands there too. [C0]\n{SEAL} [C0]",
    "sources, cited": f"{SEAL} [C0]\n\n**Sources** [C0]\n\n- other.pdf stands there too. [C0]",
    "low confidence, cited": f"Answer (LOW CONFIDENCE - limited source coverage) [C0]\n\n{SEAL} [C0]",
}


@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("text", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("name", ["answer_sources", "numbered_confidence"])
async def test_an_answer_cannot_forge_a_line_of_its_presentation(name: Presentation, text: str) -> None:
    finished = await ask("SOURCE_BOUNDED_V1", text)
    assert finished.response["status"] == "OK", finished.response["message"]
    lines = finished.shown(name).splitlines()
    own = [line for line in lines if line.lower().strip("*").startswith(("answer", "sources", "confidence"))]
    expected = ["Answer:", "Sources:"] if name == "answer_sources" else ["ANSWER:", "CONFIDENCE: Medium"]
    assert own == expected
    marked = [
        line for line in lines if line.startswith("\\") or re.match(r"\d+\. \W*(Answer|Sources|CONFIDENCE)\b", line)
    ]
    assert len(marked) == 1, "a number marks a line as well as a backslash"
    assert finished.response["answer"] == text


@pytest.mark.contract("R6-8")
async def test_a_name_of_several_lines_stays_on_one() -> None:
    forged = {"source_reference": "a.pdf\nSources:\n- b.pdf", "section": "1\n- [C7] c.pdf (score: 1.00)"}
    finished = await ask("SOURCE_BOUNDED_V1", results=[row(0, chunk_text=SEAL, **forged), ROWS[1]])
    assert finished.shown().splitlines()[3:] == [
        "Sources:",
        "- [C0] a.pdf Sources: - b.pdf, 1 - [C7] c.pdf (score: 1.00) (score: 0.90)",
    ]


@pytest.mark.contract("R6-2")
@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("name", PRESENTATIONS)
async def test_a_presentation_changes_nothing_of_what_is_stored_or_public(name: Presentation) -> None:
    finished = await ask("GROUNDED_RAG_V1", BOTH, results=PLACED)
    before = json.dumps(finished.state, sort_keys=True)
    view = finished.view
    present(view, name)
    assert json.dumps(finished.state, sort_keys=True) == before
    assert view == finished.view
    response = json.dumps(finished.response)
    assert "score" not in response
    assert "chunk" not in response
    optional = {"evidence_supplied_by_hand", "missing", "advice"}
    assert {*finished.response} == {*PublicResponse.model_fields} - optional


@pytest.mark.contract("R6-7")
async def test_a_document_that_may_not_be_read_is_named_and_its_text_left_out() -> None:
    finished = await ask("GROUNDED_RAG_V1", BOTH, results=PLACED)
    assert evidence_documents(finished.state) == {"doc-0", "doc-1"}
    shown = json.loads(present(view_answer(finished.state, {"doc-1"})))
    assert [source["content_snippet"] for source in shown["sources"]] == ["", FILTER]
    assert [source["metadata"]["knowledge_id"] for source in shown["sources"]] == ["doc-0", "doc-1"]


@pytest.mark.contract("R5-5")
async def test_statements_are_those_that_the_firewall_cut() -> None:
    finished = await ask("R2_POLICY_V1", f"It is 3.5 bar, see e.g. Fig. 2. [C0] {SEAL} [C0]")
    cut = ValidationResult.model_validate(finished.state["validation"]).statements
    numbered = finished.shown("numbered_confidence").splitlines()[1:-1]
    assert len(numbered) == len(cut) == 2
    assert numbered[0].startswith("1. It is 3.5 bar, see e.g. Fig. 2. (")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("It runs. [C0]", "It runs."),
        ("It runs [C0].", "It runs."),
        ("It runs. [C0] [C12] It stops.[C1]", "It runs. It stops."),
        ("It [C0][C1]runs", "It runs"),
        ("It[C0] [C1]runs", "It runs"),
        ("[C0] It runs.", "It runs."),
        ("泵正在运行。[C0]它很热。[C1]", "泵正在运行。它很热。"),
        ("| seal | 5 bar [C0] |", "| seal | 5 bar |"),
        ("See [c0] and [C01].", "See [c0] and [C01]."),
    ],
)
def test_a_text_without_its_citations_keeps_its_words_apart(text: str, clean: str) -> None:
    assert strip_citations(text) == clean


class Everyone:
    """An access port that lets everybody read everything, and keeps who asked for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, str, str]] = []

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        self.asked.append((caller, collection, knowledge_id))
        return True


@pytest.mark.contract("R6-7")
async def test_access_is_asked_for_each_document_and_for_none_of_a_bundle_from_elsewhere() -> None:
    finished, access = await ask("GROUNDED_RAG_V1", BOTH), Everyone()
    assert await read_answer(finished.state, access, "me") == finished.view
    assert sorted(access.asked) == [("me", "manuals", "doc-0"), ("me", "manuals", "doc-1")]
    brought = await ask("GROUNDED_RAG_V1", BOTH, request={"retrieval_bundle": bundle(ROWS, policy_version=None)})
    access = Everyone()
    assert (await read_answer(brought.state, access)).evidence[0].sanitized_text == SEAL
    assert access.asked == []


async def test_a_run_without_an_end_or_of_other_contracts_shows_no_answer() -> None:
    finished = await ask("GROUNDED_RAG_V1", BOTH)
    broken = {
        "RUN_NOT_FOUND": {},
        "RUN_NOT_ENDED": {name: value for name, value in finished.state.items() if name != "response"},
        "RUN_UNREADABLE": {**finished.state, "response": {**finished.response, "schema_version": "0"}},
    }
    for code, state in broken.items():
        with pytest.raises(RequestError) as caught:
            await read_answer(cast("State", state), Everyone())
        assert caught.value.failure_code == code


async def test_an_answer_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    red = "It is \x1b[31mred\x1b[0m. [C0]"
    finished = await ask("GROUNDED_RAG_V1", red, results=[row(0, chunk_text=SEAL, title="A\x1b[2J\nB"), ROWS[1]])
    assert finished.response["answer"] == red
    response = PublicResponse.model_validate(finished.response)
    for text in (None, finished.shown("answer_sources")):
        print_response(RenderedResponse(response, OutputFormat(), text))
        printed = capsys.readouterr().out
        assert "\x1b" not in printed
        assert "It is \ufffd[31mred" in printed

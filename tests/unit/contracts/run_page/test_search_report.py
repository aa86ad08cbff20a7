"""The search report over fakes: every way in which it can end, and that nothing outside is asked but the retriever."""

from typing import Any

import pytest

from sourcebound.api.run_view import view_candidate
from sourcebound.cli.answering.search import _summary, candidate_cells, candidate_place
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.run_page.search_report import SearchReport
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import ModelError
from sourcebound.graph.run_views.retrieval_preview import search
from support.builders import QUESTION, JsonObject, bundle, policy, row, row_of_two_sections
from support.fakes import FakeOutside, FakeRetriever

REQUEST: AskInput = {"question": QUESTION}


def _outside(results: list[JsonObject] | None = None, chosen: Policy | None = None, **changes: Any) -> FakeOutside:
    return FakeOutside(chosen or policy(), FakeRetriever(bundle(results, **changes)))


async def _search(outside: FakeOutside, **request: Any) -> SearchReport:
    return await search({**REQUEST, **request}, RunContext(), outside.ports())  # type: ignore[typeddict-item]


async def test_candidates_stand_by_rank_with_their_fates() -> None:
    results = [
        row(1, chunk_text="Pump 0 runs at 10 bar."),
        row(
            0, chunk_text="\n\u200bPump 0 runs at 10 bar.\nIt is red.", dense_rank=3, lexical_rank=1, lexical_score=0.5
        ),
    ]
    report = await _search(_outside(results))
    first, second = report.candidates
    assert (first.rank, first.outcome, first.anchor) == (0, "ADMITTED", "C0")
    assert (first.dense_rank, first.lexical_rank, first.lexical_score) == (3, 1, 0.5)
    assert first.first_line == "Pump 0 runs at 10 bar."
    assert (second.rank, second.outcome, second.anchor, second.dense_rank) == (1, "DROP_DUP", None, None)
    assert candidate_cells(first) == ["0", "0.900", "3", "1 (0.500)", "ADMITTED C0"]
    assert candidate_cells(second) == ["1", "0.900", "-", "-", "DROP_DUP"]
    assert candidate_place(first) == "manual-0.pdf"


@pytest.mark.contract("R1-10")
async def test_a_candidate_is_named_by_every_section_that_it_runs_through() -> None:
    (candidate,) = (await _search(_outside([row_of_two_sections()]))).candidates
    assert candidate.section == "3 Seal > 3.4 Leak test; 4 Bearings > 4.1 Oil change"
    assert candidate_place(candidate) == f"manual-0.pdf · {candidate.section}"
    assert view_candidate(candidate).section == candidate.section


async def test_only_the_catalog_and_the_retriever_are_asked() -> None:
    outside = _outside()
    await _search(outside)
    assert outside.retriever.calls == 1
    assert (outside.run_log.begun, outside.audit_log.records) == ([], [])
    assert (outside.models_opened, outside.model.prompts) == ([], [])


@pytest.mark.contract("R1-11")
@pytest.mark.contract("R2-V6")
async def test_the_measured_similarity_is_the_one_that_the_gate_compares() -> None:
    results = [row(0, similarity_score=0.9), row(1, similarity_score=0.4, equipment_id="HP-200")]
    strict = policy(retrieval={"min_top_similarity": 0.5, "min_question_coverage": 0.3})
    report = await _search(
        _outside(results, strict, filters_applied={"equipment_id": "HP-200"}, question_coverage=0.75)
    )
    assert (report.gate.top_similarity, report.gate.min_top_similarity) == (0.4, 0.5)
    assert (report.gate.question_coverage, report.gate.min_question_coverage) == (0.75, 0.3)
    assert report.outcome.refusal_code == "below_similarity_gate"
    assert {candidate.outcome for candidate in report.candidates} == {"DROP_GATE"}
    assert "similarity 0.400 (minimum 0.500), coverage 0.750 (minimum 0.300)" in _summary(report)


@pytest.mark.contract("R1-11")
async def test_where_selection_left_less_the_similarity_of_what_it_left_is_shown() -> None:
    results = [row(0, chunk_text="\u200b", similarity_score=0.9), row(1, similarity_score=0.4)]
    report = await _search(_outside(results))
    assert (report.outcome.refusal_code, report.gate.top_similarity) == ("below_similarity_gate", 0.4)
    assert [candidate.outcome for candidate in report.candidates] == ["DROP_EMPTY_AFTER_SANITIZE", "DROP_GATE"]


async def test_what_is_not_as_usual_is_said() -> None:
    report = await _search(
        _outside(query_variants=[QUESTION, "another"], notices=["one"], fallback_used=True, retrieval_shortfall=2)
    )
    usual = await _search(_outside(query_variants=[QUESTION]))
    said = ["variant: another", "notice: one", "fallback: the second, lower minimum was used"]
    assert _summary(report)[-4:-1] == said
    assert _summary(report)[-1].startswith("shortfall: 2 ")
    assert _summary(usual)[-1].startswith("policy ")


@pytest.mark.contract("R2-V2")
async def test_a_bundle_that_breaks_its_contract_shows_its_rows_without_fates() -> None:
    report = await _search(_outside([row(1), row(2)]))
    assert (report.outcome.status, report.outcome.failure_code) == ("FAILED", "INVALID_RANK")
    assert [candidate.outcome for candidate in report.candidates] == [None, None]
    assert candidate_cells(report.candidates[0])[-1] == "-"
    assert _summary(report)[0].startswith("\nFAILED  INVALID_RANK: ")


async def test_a_fault_of_the_retriever_is_a_failed_report() -> None:
    outside = _outside()
    outside.retriever.fault = ModelError("the embedder is away")
    report = await _search(outside)
    assert (report.outcome.status, report.outcome.failure_code) == ("FAILED", "RETRIEVAL_FAILED")
    assert report.candidates == ()


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("request_", [{"question": " "}, {"filters": {"colour": "red"}}])
async def test_what_admission_refuses_is_not_retrieved(request_: JsonObject) -> None:
    outside = _outside()
    report = await _search(outside, **request_)
    assert (report.outcome.status, report.outcome.failure_code) == ("FAILED", "INVALID_REQUEST")
    assert outside.retriever.calls == 0
    assert _summary(report)[1:] == ["policy R2_POLICY_V1  collection manuals"]


async def test_a_place_is_one_line_without_control_characters() -> None:
    odd = row(source_reference="a\x1b[31m\nb.pdf", section="1 > 2", origin="expanded")
    report = await _search(_outside([odd]))
    assert candidate_place(report.candidates[0]) == "a[31m b.pdf · 1 > 2 · expanded"

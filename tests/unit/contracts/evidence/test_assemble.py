"""Assembly: the gate, the anchors, the evidence block and the account of it all (R1-11, R2-A1 … R2-A3)."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import RefusalCode, RefusalSource, Status
from support.builders import JsonObject, bundle, policy, row, rows, run


def _assemble(results: list[JsonObject], retrieval: JsonObject | None = None, **changes: Any) -> AnswerBundle:
    return assemble(bundle(results, **changes), policy(retrieval=retrieval or {}), run())


@pytest.mark.contract("R1-11")
@pytest.mark.contract("P-5")
@pytest.mark.parametrize(
    ("best", "status"), [(0.75, "NO_EVIDENCE"), (0.7599, "NO_EVIDENCE"), (0.76, "OK"), (0.9, "OK")]
)
def test_the_best_similarity_is_held_against_the_gate(best: float, status: str) -> None:
    assembled = _assemble([row(0, similarity_score=0.2), row(1, similarity_score=best)])
    assert assembled.assembly_status == status
    if status == "NO_EVIDENCE":
        assert assembled.outcome.refusal_code is RefusalCode.BELOW_SIMILARITY_GATE
        assert assembled.outcome.refusal_source is RefusalSource.GATE
        assert assembled.selected_evidence == ()
        assert {entry.outcome.value for entry in assembled.drop_ledger} == {"DROP_GATE"}


@pytest.mark.contract("R1-11")
@pytest.mark.contract("P-5")
@pytest.mark.parametrize(
    ("limit", "coverage", "status"),
    [(0.5, 0.49, "NO_EVIDENCE"), (0.5, 0.5, "OK"), (None, 0.0, "OK"), (None, None, "OK"), (0.0, 0.0, "OK")],
)
def test_lexical_support_is_held_against_the_gate_where_the_policy_sets_it(
    limit: float | None, coverage: float | None, status: str
) -> None:
    assembled = _assemble([row()], {"min_question_coverage": limit}, question_coverage=coverage)
    assert assembled.assembly_status == status
    if status == "NO_EVIDENCE":
        assert assembled.outcome.refusal_code is RefusalCode.BELOW_SIMILARITY_GATE


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize(
    ("limits", "results", "status"),
    [
        ({"min_chunks": 2}, rows(1), "NO_EVIDENCE"),
        ({"min_chunks": 2}, rows(2), "OK"),
        ({"min_sources": 2}, rows(2, knowledge_id="doc"), "NO_EVIDENCE"),
        ({"min_sources": 2}, rows(2), "OK"),
        # two were retrieved, one was admitted
        ({"min_chunks": 2}, [row(0), row(1, chunk_text="")], "NO_EVIDENCE"),
    ],
)
def test_too_few_admitted_chunks_or_sources_refuse(limits: JsonObject, results: list[JsonObject], status: str) -> None:
    assembled = _assemble(results, limits)
    assert assembled.assembly_status == status
    if status == "NO_EVIDENCE":
        assert assembled.outcome.refusal_code is RefusalCode.INSUFFICIENT_SOURCES
        assert assembled.outcome.refusal_source is RefusalSource.GATE
        assert assembled.selected_evidence == ()
        assert "ADMITTED" not in {entry.outcome.value for entry in assembled.drop_ledger}


@pytest.mark.contract("R1-10")
@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("limits", [{"min_chunks": 2}, {"min_sources": 2}])
def test_rows_added_by_expansion_never_count_towards_the_minimum(limits: JsonObject) -> None:
    assert _assemble([row(0), row(1, origin="expanded")], limits).assembly_status == "NO_EVIDENCE"
    assert _assemble([row(0), row(1, origin="dense")], limits).assembly_status == "OK"


@pytest.mark.contract("R1-10")
def test_rows_added_by_expansion_are_evidence_all_the_same() -> None:
    assembled = _assemble([row(0), row(1, origin="expanded")])
    assert [item.origin for item in assembled.selected_evidence] == [None, "expanded"]


@pytest.mark.contract("R2-V1")
def test_a_retrieval_without_evidence_refuses_whatever_rows_it_brings() -> None:
    assembled = _assemble(rows(2), retrieval_status="NO_EVIDENCE")
    assert assembled.outcome.refusal_code is RefusalCode.NO_RELEVANT_CONTENT
    assert assembled.selected_evidence == ()
    assert [entry.outcome.value for entry in assembled.drop_ledger] == ["DROP_GATE", "DROP_GATE"]


@pytest.mark.contract("R2-A1")
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_anchors_count_from_zero_in_final_order_and_the_map_covers_each(empty: list[bool]) -> None:
    results = [row(index, **({"chunk_text": ""} if drop else {})) for index, drop in enumerate(empty)]
    assembled = _assemble(results)
    kept = [f"chunk-{index:04d}" for index, drop in enumerate(empty) if not drop]
    assert [item.anchor for item in assembled.selected_evidence] == [f"C{index}" for index in range(len(kept))]
    assert [item.chunk_id for item in assembled.selected_evidence] == kept
    assert assembled.anchor_map == {f"C{index}": name for index, name in enumerate(kept)}


@pytest.mark.contract("R2-A2")
def test_the_block_renders_each_chunk_under_its_header() -> None:
    results = [
        row(0, chunk_text="The  pump\truns.", source_reference="pump.pdf"),
        row(1, chunk_id="a]|b", knowledge_id="doc\n7", source_reference="x|y.pdf", chunk_text="Seal it.\nTwice."),
    ]
    assert _assemble(results).evidence_block_text == (
        "[C0 | chunk_id=chunk-0000 | knowledge_id=doc-0 | source=pump.pdf]\n"
        "The pump runs.\n\n"
        "[C1 | chunk_id=a\\]\\|b | knowledge_id=doc 7 | source=x\\|y.pdf]\n"
        "Seal it.\nTwice."
    )


@pytest.mark.contract("R2-A2")
@pytest.mark.parametrize("source", [None, ""])
def test_a_chunk_without_a_source_keeps_the_shape_of_the_header(source: str | None) -> None:
    header = _assemble([row(0, source_reference=source)]).evidence_block_text.split("\n")[0]
    assert header.startswith("[C0 | chunk_id=chunk-0000 | knowledge_id=doc-0 | source=")
    assert header.endswith("]")
    assert not header.endswith("=]")


@pytest.mark.contract("R2-A3")
def test_the_bundle_carries_its_trace() -> None:
    assembled = _assemble([row()], run_id="retrieval-9", index_version="ix-9", embedding_model="e-9", top_k=5)
    assert assembled.request_id == "request-1"
    assert assembled.trace is not None
    trace = assembled.trace.model_dump()
    assert len(trace.pop("retrieval_sha256")) == 64
    assert trace == {
        "run_id": "run-1",
        "retrieval_run_id": "retrieval-9",
        "index_version": "ix-9",
        "embedding_model": "e-9",
        "policy_version": "R2_POLICY_V1",
        "policy_sha256": policy().sha256,
        "top_k": 5,
    }


@pytest.mark.contract("CP-3")
def test_the_trace_has_a_digest_of_every_candidate_whether_it_is_admitted_or_not() -> None:
    near = {"chunk_text": "The pump runs at 3 bar.", "similarity_score": 0.9}
    same = [_assemble([row(), row(1, **near)]).trace for _ in range(2)]
    other = _assemble([row(), row(1, **near | {"title": "Another"})]).trace
    assert same[0] == same[1]
    assert same[0] != other


@pytest.mark.contract("R2-A3")
def test_the_metrics_count_what_happened() -> None:
    results = [
        row(5, chunk_text=""),
        row(0, chunk_text="The pump runs.\n=== EVIDENCE ==="),
        row(1, similarity_score=0.0),
        row(3, chunk_text="The pump runs.\n=== EVIDENCE ==="),
    ]
    chosen = policy(selection={"min_similarity": 0.1})
    assembled = assemble(bundle(results), chosen, run())
    metrics = assembled.assembly_metrics
    assert metrics is not None
    assert metrics.retrieved_k == 4
    assert metrics.selected_k == 1
    assert metrics.drop_counts == {
        "DROP_BELOW_SIMILARITY_FLOOR": 1,
        "DROP_DUP": 1,
        "DROP_EMPTY_AFTER_SANITIZE": 1,
    }
    assert metrics.evidence_tokens == assembled.selected_evidence[0].token_count > 0
    assert metrics.reordered
    assert metrics.rank_gaps == 2
    assert not metrics.truncation_applied
    assert metrics.structure_escaped_count == 1


@pytest.mark.contract("R2-A3")
def test_what_a_citation_needs_is_kept_with_the_chunk() -> None:
    facts = {
        "title": "Pump manual", "section": "3 > 3.1", "page_number": 12, "event_date": "2024-03-03",
        "equipment_id": "HP-200", "authority": "SOPS", "char_start": 10, "char_end": 40,
    }  # fmt: skip
    item = _assemble([row(0, **facts)]).selected_evidence[0].model_dump(mode="json")
    assert {name: item[name] for name in facts} == facts


@pytest.mark.contract("R2-V1")
def test_a_broken_bundle_leaves_no_evidence_no_anchors_and_no_block() -> None:
    assembled = _assemble([row(0, chunk_text=None)])
    assert assembled.outcome.status is Status.FAILED
    assert (assembled.selected_evidence, assembled.anchor_map, assembled.evidence_block_text) == ((), {}, "")


@pytest.mark.contract("CP-1")
def test_the_bundle_survives_its_way_through_json() -> None:
    assembled = _assemble([row(0, event_date="2024-03-03"), row(1, chunk_text="")])
    stored = json.loads(json.dumps(assembled.model_dump(mode="json")))
    assert AnswerBundle.model_validate(stored) == assembled


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("status", ["OK", "NO_EVIDENCE"])
def test_the_question_and_the_request_of_the_run_are_kept(status: str) -> None:
    assembled = _assemble([row(similarity_score=0.9 if status == "OK" else 0.1)])
    assert assembled.assembly_status == status
    assert assembled.user_question == run().question
    assert assembled.trace is not None


@pytest.mark.contract("P-4")
@pytest.mark.contract("P-5")
@pytest.mark.contract("R1-11")
def test_a_gate_on_coverage_needs_a_coverage() -> None:
    assembled = _assemble([row()], {"min_question_coverage": 0.5})
    assert (assembled.assembly_status, assembled.outcome.failure_code) == ("FAILED", "INVALID_SCHEMA")
    assert [(item.field, item.clause) for item in assembled.outcome.violations] == [("question_coverage", "P-5")]
    nothing = _assemble([], {"min_question_coverage": 0.5}, retrieval_status="NO_EVIDENCE")
    assert nothing.outcome.refusal_code is RefusalCode.NO_RELEVANT_CONTENT


TOO_LARGE = "valve " * 5000
UNFIT: dict[str, tuple[JsonObject, str]] = {
    "nothing to see": ({"chunk_text": "\u200b\u0000 "}, "DROP_EMPTY_AFTER_SANITIZE"),
    "no sentence end that fits": ({"chunk_text": TOO_LARGE}, "DROP_CHUNK_RATIO"),
    "other equipment": ({"equipment_id": "HP-300"}, "DROP_GATE"),
    "added by expansion": ({"origin": "expanded"}, "DROP_GATE"),
    "carried over": ({"origin": "carried"}, "DROP_GATE"),
}


@pytest.mark.contract("R1-10")
@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", UNFIT)
def test_a_row_that_is_not_fit_to_be_evidence_passes_no_gate_for_another(name: str, place: int) -> None:
    changes, outcome = UNFIT[name]
    weak, near = {"equipment_id": "HP-200", "similarity_score": 0.30}, {"equipment_id": "HP-200"} | changes
    results = [row(rank, **(near | {"similarity_score": 0.95} if rank == place else weak)) for rank in (0, 1)]
    assembled = _assemble(results, filters_applied={"equipment_id": "HP-200"})
    assert (assembled.assembly_status, assembled.outcome.refusal_code) == ("NO_EVIDENCE", "below_similarity_gate")
    assert (assembled.selected_evidence, assembled.evidence_block_text) == ((), "")
    assert {entry.rank: entry.outcome.value for entry in assembled.drop_ledger} == {
        place: outcome,
        1 - place: "DROP_GATE",
    }
    metrics = assembled.assembly_metrics
    assert metrics is not None
    assert (metrics.top_similarity, metrics.selected_k) == (0.30, 0)


LONG = "The valve is opened by hand and then closed again. " * 25
ROOM: dict[str, tuple[list[JsonObject], str]] = {
    "a repetition": ([row(0), row(1, chunk_text=row(0)["chunk_text"])], "DROP_DUP"),
    "a repetition but for what is not seen": (
        [row(0), row(1, chunk_text="\u00ad".join(row(0)["chunk_text"]))],
        "DROP_DUP",
    ),
    "a third chunk of its document": (rows(3, knowledge_id="doc"), "DROP_PER_KNOWLEDGE_CAP"),
    "a seventh chunk": (rows(7), "DROP_MAX_CHUNKS"),
    "over the tokens": ([row(n, chunk_text=LONG.replace(" ", f"{n} ")) for n in range(6)], "DROP_BUDGET"),
}


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("name", ROOM)
def test_a_row_that_left_its_place_to_other_evidence_counts_for_the_gate(name: str) -> None:
    results, outcome = ROOM[name]
    weak = [item | {"similarity_score": 0.30} for item in results[:-1]]
    assembled = _assemble([*weak, results[-1] | {"similarity_score": 0.95}])
    assert assembled.assembly_status == "OK"
    assert assembled.drop_ledger[-1].outcome.value == outcome
    assert assembled.assembly_metrics is not None
    assert assembled.assembly_metrics.top_similarity == 0.95


TEN: Final = "one two three four five six seven eight nine ten"
PUSHED_OUT: dict[str, list[JsonObject]] = {
    "a repetition of what is too large, and somewhat like another": [
        row(0, chunk_text=" ".join((TEN, *(f"valve{n}" for n in range(900))))),
        row(1, chunk_text=TEN),
        row(2, chunk_text=TEN.replace("eight nine ten", "pump seal bolt")),
    ],
    "a repetition of what is too large": [row(0, chunk_text=TOO_LARGE), row(1, chunk_text="valve " * 20), row(2)],
    "a third chunk after two that are too large": [
        row(0, chunk_text=TOO_LARGE, knowledge_id="doc"),
        row(1, chunk_text=TOO_LARGE.replace("valve", "pump"), knowledge_id="doc"),
        row(2, knowledge_id="doc"),
        row(3),
    ],
}


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize("name", PUSHED_OUT)
def test_a_row_counts_only_where_what_it_left_its_place_to_is_evidence(name: str) -> None:
    results = [item | {"similarity_score": 0.30} for item in PUSHED_OUT[name]]
    results[-2]["similarity_score"] = 0.95
    assembled = _assemble(results)
    assert assembled.drop_ledger[-2].outcome.value in ("DROP_DUP", "DROP_PER_KNOWLEDGE_CAP")
    assert assembled.outcome.refusal_code is RefusalCode.BELOW_SIMILARITY_GATE


@pytest.mark.contract("R1-10")
@pytest.mark.contract("R1-11")
def test_where_nothing_was_found_but_what_expansion_added_there_are_too_few_chunks() -> None:
    assembled = _assemble([row(0, origin="expanded")])
    assert assembled.outcome.refusal_code is RefusalCode.INSUFFICIENT_SOURCES
    assert assembled.assembly_metrics is not None
    assert assembled.assembly_metrics.top_similarity is None


FALLING_BACK = policy(
    retrieval={"min_top_similarity": 0.2, "fallback_min_similarity": 0.18}, selection={"min_similarity": 0.2}
)
NAMED = {"similarity_score": 0.19, "source_reference": "shaft_seals_and_the_seal.pdf"}


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(("used", "status"), [(True, "OK"), (False, "NO_EVIDENCE")])
def test_a_fallback_is_admitted_at_its_own_minimum(used: bool, status: str) -> None:
    chosen = FALLING_BACK
    found = bundle([row(0, **NAMED), row(1, similarity_score=0.1)], fallback_used=used)
    assembled = assemble(found, chosen, run())
    assert assembled.assembly_status == status
    assert assembled.trace is not None
    assert assembled.trace.policy_sha256 == chosen.sha256
    outcomes = [entry.outcome.value for entry in assembled.drop_ledger]
    assert outcomes == (["ADMITTED", "DROP_BELOW_SIMILARITY_FLOOR"] if used else ["DROP_GATE", "DROP_GATE"])


@pytest.mark.contract("R1-7")
def test_a_bundle_cannot_fall_back_under_a_policy_without_a_fallback() -> None:
    assert _assemble([row(0, similarity_score=0.5)], fallback_used=True).assembly_status == "NO_EVIDENCE"


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize(
    "results",
    [
        [row(0, similarity_score=0.19)],
        [row(0, **NAMED | {"similarity_score": 0.185}), row(1, similarity_score=0.19)],
        [row(0, similarity_score=0.185), row(1, **NAMED, origin="expanded")],
        [row(0, similarity_score=0.185, equipment_id="HP-200"), row(1, **NAMED)],
        [row(0, similarity_score=0.185), row(1, **NAMED, chunk_text="")],
    ],
    ids=["none", "of a worse row", "of a row beside", "of a row of other equipment", "of a row that is unfit"],
)
def test_a_bundle_that_says_it_fell_back_is_not_believed_without_the_name(results: list[JsonObject]) -> None:
    filters = {"equipment_id": results[0].get("equipment_id")}
    assembled = assemble(bundle(results, fallback_used=True, filters_applied=filters), FALLING_BACK, run())
    assert assembled.outcome.refusal_code is RefusalCode.BELOW_SIMILARITY_GATE


@pytest.mark.contract("R1-7")
@pytest.mark.contract("CP-6")
def test_the_fallback_of_a_follow_up_is_judged_by_what_it_stands_for() -> None:
    found, asked = bundle([row(0, **NAMED)], fallback_used=True), run(question="and for the HP-300?")
    assert assemble(found, FALLING_BACK, asked).assembly_status == "NO_EVIDENCE"
    follow_up = asked.model_copy(update={"search_query": run().question})
    assert assemble(found, FALLING_BACK, follow_up).assembly_status == "OK"


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R2-S7")
def test_where_facts_are_chosen_selection_leaves_the_count_to_the_choice() -> None:
    def outcomes(results: list[JsonObject], **limits: Any) -> list[str]:
        chosen = policy(facts={"filter": "model"}, selection=limits)
        return [entry.outcome.value for entry in assemble(bundle(results), chosen, run()).drop_ledger]

    assert outcomes(rows(9)) == ["ADMITTED"] * 8 + ["DROP_MAX_CHUNKS"]  # top_k
    assert outcomes(rows(8, knowledge_id="doc"), max_chunks_per_knowledge_id=6) == ["ADMITTED"] * 8
    capped = outcomes(rows(3, knowledge_id="doc"), max_chunks_per_knowledge_id=2)
    assert capped == ["ADMITTED", "ADMITTED", "DROP_PER_KNOWLEDGE_CAP"]
    assert outcomes(ROOM["over the tokens"][0])[-1] == "DROP_BUDGET"

"""A retrieval bundle keeps its contract or is rejected whole, with the row and the field named (R2-V1 … R2-V7)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.evidence.intake import CheckedBundle, check_bundle
from sourcebound.contracts.outcome import FailureCode, RefusalCode, Status, Violation
from sourcebound.contracts.request import Filters
from support.builders import JsonObject, bundle, policy, row, rows, run, without

ROW_FIELDS = ["chunk_id", "knowledge_id", "knowledge_type_effective"]


def _first(raw: object, **tables: JsonObject) -> Violation:
    checked = check_bundle(raw, policy(**tables))
    assert checked.bundle is None
    return checked.violations[0]


def _good(raw: object) -> CheckedBundle:
    checked = check_bundle(raw, policy())
    assert checked.violations == ()
    assert checked.bundle is not None
    return checked


@pytest.mark.contract("R1-10")
@pytest.mark.contract("R2-V1")
def test_a_complete_bundle_passes() -> None:
    checked = _good(bundle(rows(3)))
    assert checked.bundle is not None
    assert [item.chunk_id for item in checked.bundle.results] == ["chunk-0000", "chunk-0001", "chunk-0002"]
    assert not checked.reordered
    assert checked.rank_gaps == 0


@pytest.mark.contract("R1-10")
@pytest.mark.parametrize("name", ["similarity_score", "similarity", "score"])
def test_similarity_is_known_by_its_accepted_names(name: str) -> None:
    checked = _good(bundle([without(row(), "similarity_score") | {name: 0.81}]))
    assert checked.bundle is not None
    assert checked.bundle.results[0].similarity_score == 0.81


@pytest.mark.contract("R1-10")
@pytest.mark.parametrize("name", ["vector_ref", "faiss_id"])
@pytest.mark.parametrize("value", [17, "v-17", None])
def test_a_vector_reference_is_known_by_its_accepted_names(name: str, value: Any) -> None:
    checked = _good(bundle([row(**{name: value})]))
    assert checked.bundle is not None
    assert checked.bundle.results[0].vector_ref == value


@pytest.mark.contract("R1-10")
@pytest.mark.parametrize(
    "name",
    [
        "vector_ref", "equipment_id", "event_date", "authority", "source_reference", "title", "section", "page_number",
        "char_start", "char_end", "origin",
    ],
)  # fmt: skip
def test_what_may_be_null_may_be_null_or_missing(name: str) -> None:
    for raw in (row() | {name: None}, without(row(), name)):
        checked = _good(bundle([raw]))
        assert checked.bundle is not None
        assert getattr(checked.bundle.results[0], name) is None


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("raw", [None, "bundle", 7, [], [bundle()]])
def test_what_is_not_an_object_is_no_bundle(raw: object) -> None:
    assert _first(raw).code is FailureCode.INVALID_SCHEMA


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("field", ["request_id", "user_question", "retrieval_status", "results"])
def test_a_missing_field_of_the_bundle_is_named(field: str) -> None:
    violation = _first(without(bundle(), field))
    assert (violation.code, violation.field) == (FailureCode.INVALID_SCHEMA, field)


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("results", [None, {}, "rows", {"0": row()}, 3])
def test_results_that_are_no_list_are_rejected(results: Any) -> None:
    violation = _first(bundle() | {"results": results})
    assert (violation.code, violation.clause, violation.field) == (FailureCode.INVALID_SCHEMA, "R2-V1", "results")


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("field", ROW_FIELDS)
@pytest.mark.parametrize("value", [None, 5, ["x"], ""])
def test_a_field_of_a_row_that_is_of_another_type_is_named_with_its_row(field: str, value: Any) -> None:
    violation = _first(bundle([row(0), row(1, **{field: value})]))
    assert (violation.code, violation.field, violation.row) == (FailureCode.INVALID_SCHEMA, field, 1)


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("field", ROW_FIELDS)
def test_a_missing_field_of_a_row_is_named_with_its_row(field: str) -> None:
    violation = _first(bundle([row(0), row(1), without(row(2), field)]))
    assert (violation.code, violation.field, violation.row) == (FailureCode.INVALID_SCHEMA, field, 2)
    assert violation.value is None


@pytest.mark.contract("R2-V1")
def test_a_row_that_is_no_object_is_rejected() -> None:
    raw = bundle()
    raw["results"] = [row(), "chunk"]
    violation = _first(raw)
    assert (violation.code, violation.row) == (FailureCode.INVALID_SCHEMA, 1)


@pytest.mark.contract("R2-V1")
def test_an_unknown_retrieval_status_is_rejected() -> None:
    violation = _first(bundle(retrieval_status="PERHAPS"))
    assert (violation.code, violation.field) == (FailureCode.INVALID_SCHEMA, "retrieval_status")


@pytest.mark.contract("R2-V1")
def test_success_without_rows_is_a_contradiction() -> None:
    assert _first(bundle([])).code is FailureCode.EMPTY_WITHOUT_STATUS


@pytest.mark.contract("R2-V1")
def test_no_evidence_without_rows_is_a_refusal() -> None:
    assembled = assemble(bundle([], retrieval_status="NO_EVIDENCE"), policy(), run())
    assert assembled.outcome.status is Status.NO_EVIDENCE
    assert assembled.outcome.refusal_code is RefusalCode.NO_RELEVANT_CONTENT


@pytest.mark.contract("R2-V1")
@pytest.mark.parametrize("results", [[], [row()]])
def test_a_failed_retrieval_stays_failed(results: list[JsonObject]) -> None:
    assembled = assemble(bundle(results, retrieval_status="FAILED"), policy(), run())
    assert assembled.outcome.status is Status.FAILED
    assert assembled.outcome.failure_code is FailureCode.RETRIEVAL_FAILED
    assert assembled.selected_evidence == ()


@pytest.mark.contract("R2-V2")
@pytest.mark.parametrize("rank", [-1, 1.0, 0.5, "0", None, True])
def test_a_rank_is_a_whole_number_from_zero(rank: Any) -> None:
    violation = _first(bundle([row(0), row(1) | {"rank": rank}]))
    assert (violation.code, violation.field, violation.row) == (FailureCode.INVALID_RANK, "rank", 1)


@pytest.mark.contract("R2-V2")
def test_a_rank_used_twice_is_named_with_its_second_row() -> None:
    violation = _first(bundle([row(0), row(1), row(1, chunk_id="other")]))
    assert (violation.code, violation.row, violation.value) == (FailureCode.INVALID_RANK, 2, "1")


@pytest.mark.contract("R2-V2")
def test_ranks_start_at_zero() -> None:
    assert _first(bundle([row(1), row(2)])).code is FailureCode.INVALID_RANK


@pytest.mark.contract("R2-V2")
def test_gaps_are_allowed_and_counted() -> None:
    checked = _good(bundle([row(0), row(2), row(6)]))
    assert checked.rank_gaps == 4
    assert not checked.reordered


@pytest.mark.contract("R2-V2")
@given(st.permutations(range(5)))
def test_a_list_out_of_order_is_sorted_and_that_is_recorded(order: list[int]) -> None:
    checked = _good(bundle([row(rank) for rank in order]))
    assert checked.bundle is not None
    assert [item.rank for item in checked.bundle.results] == [0, 1, 2, 3, 4]
    assert checked.reordered == (order != [0, 1, 2, 3, 4])


@pytest.mark.contract("R2-V3")
@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf"), float("-inf"), "0.9", None, True])
def test_similarity_is_a_finite_number_from_zero_to_one(score: Any) -> None:
    violation = _first(bundle([row(0), row(1) | {"similarity_score": score}]))
    assert (violation.code, violation.row) == (FailureCode.INVALID_SIMILARITY, 1)
    assert violation.clause == "R2-V3"


@pytest.mark.contract("R2-V3")
@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 0.5])
def test_the_ends_of_the_range_and_whole_numbers_are_similarities(score: float) -> None:
    checked = _good(bundle([row(similarity_score=score)]))
    assert checked.bundle is not None
    assert checked.bundle.results[0].similarity_score == score


@pytest.mark.contract("R2-V3")
def test_success_needs_a_top_similarity() -> None:
    assert _first(bundle([without(row(), "similarity_score")])).code is FailureCode.INVALID_SIMILARITY


@pytest.mark.contract("R2-V4")
def test_a_text_that_is_null_or_missing_is_a_violation() -> None:
    for raw in (row(1, chunk_text=None), without(row(1), "chunk_text")):
        violation = _first(bundle([row(0), raw]))
        assert (violation.code, violation.field, violation.row) == (FailureCode.INVALID_TEXT, "chunk_text", 1)


@pytest.mark.contract("R2-V4")
@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\ufeff", "\x00\x07"])
def test_a_text_with_nothing_to_see_is_dropped_and_no_violation(text: str) -> None:
    assembled = assemble(bundle([row(0), row(1, chunk_text=text)]), policy(), run())
    assert assembled.outcome.status is Status.OK
    assert [entry.outcome.value for entry in assembled.drop_ledger] == ["ADMITTED", "DROP_EMPTY_AFTER_SANITIZE"]


@pytest.mark.contract("R2-V5")
def test_a_knowledge_type_outside_the_allowed_set_is_named() -> None:
    violation = _first(
        bundle([row(0), row(1, knowledge_type_effective="gossip")]), selection={"knowledge_types": ["manual", "sop"]}
    )
    assert (violation.code, violation.row) == (FailureCode.INVALID_DOMAIN, 1)
    assert violation.field == "knowledge_type_effective"
    assert violation.value == "'gossip'"


@pytest.mark.contract("R2-V5")
def test_a_knowledge_type_in_the_allowed_set_passes() -> None:
    allowed = policy(selection={"knowledge_types": ["manual", "sop"]})
    assert check_bundle(bundle([row(0), row(1, knowledge_type_effective="sop")]), allowed).violations == ()


@pytest.mark.contract("R2-V6")
def test_rows_of_other_equipment_or_of_none_are_dropped_under_a_filter() -> None:
    results = [row(0, equipment_id="HP-200"), row(1, equipment_id=None), row(2, equipment_id="HP-300")]
    assembled = assemble(bundle(results, filters_applied={"equipment_id": "HP-200"}), policy(), run())
    assert [entry.outcome.value for entry in assembled.drop_ledger] == [
        "ADMITTED", "DROP_FILTER_MISMATCH", "DROP_FILTER_MISMATCH",
    ]  # fmt: skip


@pytest.mark.contract("R2-V6")
@pytest.mark.parametrize("filters", [None, {}, {"equipment_id": None}, {"authority": "FDA"}])
def test_without_an_equipment_filter_every_equipment_stays(filters: Any) -> None:
    results = [row(0, equipment_id="HP-200"), row(1, equipment_id=None)]
    assembled = assemble(bundle(results, filters_applied=filters), policy(), run())
    assert [entry.outcome.value for entry in assembled.drop_ledger] == ["ADMITTED", "ADMITTED"]


@pytest.mark.contract("R2-V6")
def test_when_the_filter_drops_all_rows_the_run_refuses() -> None:
    results = [row(0, equipment_id="HP-300"), row(1)]
    assembled = assemble(bundle(results, filters_applied={"equipment_id": "HP-200"}), policy(), run())
    assert assembled.outcome.status is Status.NO_EVIDENCE
    assert assembled.selected_evidence == ()


@pytest.mark.contract("R2-V7")
@pytest.mark.parametrize("field", ["index_version", "embedding_model", "top_k", "run_id"])
def test_a_missing_or_null_trace_field_is_named(field: str) -> None:
    for raw in (without(bundle(), field), bundle() | {field: None}):
        violation = _first(raw)
        assert (violation.code, violation.clause, violation.field) == (FailureCode.MISSING_TRACE, "R2-V7", field)


@pytest.mark.contract("R2-V7")
@pytest.mark.parametrize("field", ["index_version", "embedding_model", "run_id"])
def test_an_empty_trace_field_is_a_missing_one(field: str) -> None:
    assert _first(bundle() | {field: ""}).code is FailureCode.MISSING_TRACE


@pytest.mark.contract("P-2")
def test_a_bundle_made_under_another_policy_is_rejected() -> None:
    violation = _first(bundle(policy_version="SOURCEBOUND_V1"))
    assert (violation.field, violation.value) == ("policy_version", "'SOURCEBOUND_V1'")
    assert "under 'SOURCEBOUND_V1', and this run is under R2_POLICY_V1" in violation.message
    assert "--policy" in violation.message


@pytest.mark.contract("R2-V1")
def test_every_violation_is_reported_and_nothing_is_assembled() -> None:
    raw = bundle([row(0, chunk_text=None), row(1, similarity_score=2.0)], index_version=None)
    assembled = assemble(raw, policy(), run())
    found = {violation.code for violation in assembled.outcome.violations}
    assert found == {FailureCode.INVALID_TEXT, FailureCode.INVALID_SIMILARITY, FailureCode.MISSING_TRACE}
    assert assembled.outcome.failure_code is assembled.outcome.violations[0].code
    assert assembled.selected_evidence == ()
    assert assembled.evidence_block_text == ""


def test_a_violation_never_carries_a_whole_document() -> None:
    violation = _first(bundle([row(knowledge_id=["long " * 500])]))
    assert violation.value is not None
    assert len(violation.value) <= 80


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.contract("S-3")
@given(st.sampled_from(sorted(row())), JSON, st.sampled_from(sorted(bundle())), JSON)
def test_no_json_value_anywhere_raises(row_field: str, row_value: Any, field: str, value: Any) -> None:
    checked = check_bundle(bundle([row() | {row_field: row_value}]) | {field: value}, policy())
    assert (checked.bundle is None) == bool(checked.violations)
    for violation in checked.violations:
        json.dumps(violation.model_dump(mode="json"))
        assert violation.clause.startswith("R2-V")


@pytest.mark.contract("R1-8")
def test_the_filters_that_are_set_are_known_as_text() -> None:
    filters = Filters.model_validate({"equipment_id": " HP-200 ", "event_date_from": "2024-03-03"})
    assert filters.given() == {"equipment_id": "HP-200", "event_date_from": "2024-03-03"}
    assert Filters().given() == {}


@pytest.mark.contract("R2-V1")
def test_a_repeated_chunk_id_is_named_with_its_row() -> None:
    violation = _first(bundle([row(0), row(1), row(2, chunk_id="chunk-0000", knowledge_id="other")]))
    assert (violation.code, violation.clause) == (FailureCode.INVALID_SCHEMA, "R2-V1")
    assert (violation.field, violation.row, violation.value) == ("chunk_id", 2, "'chunk-0000'")


@pytest.mark.contract("R1-8")
@pytest.mark.contract("R2-V1")
def test_a_filter_that_nobody_knows_is_named() -> None:
    violation = _first(bundle(filters_applied={"equipment_id": "HP-200", "equipment": None}))
    assert (violation.code, violation.clause) == (FailureCode.INVALID_SCHEMA, "R2-V1")
    assert (violation.field, violation.value) == ("filters_applied", "'equipment'")
    assert "known filters: collection, equipment_id, knowledge_type" in violation.message
    known = {name: "x" for name in ("collection", *Filters.model_fields)}
    assert check_bundle(bundle(filters_applied=known), policy()).violations == ()

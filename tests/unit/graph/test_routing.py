"""Routing: OK goes on, anything else goes to the record, and nothing is released around it (S-1)."""

from typing import Any, cast

import pytest
from langgraph.graph import END, START

from sourcebound.contracts.state import State
from sourcebound.graph.routing import ROUTES, STRAIGHT, route_from, targets

PIPELINE = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
STAGES = PIPELINE[:6]
WITH_FACTS = {"facts": {"filter": "model"}}


def _state(status: str, **changes: Any) -> State:
    form = {"question": "Why?", "policy": {"facts": None}, "outcome": {"status": status, "stage": "stage"}}
    return cast("State", form | changes)


@pytest.mark.contract("S-1")
@pytest.mark.parametrize("node", STAGES)
def test_ok_goes_on_to_the_next_layer(node: str) -> None:
    assert route_from(node)(_state("OK")) == PIPELINE[PIPELINE.index(node) + 1]


@pytest.mark.contract("S-1")
@pytest.mark.contract("R3-8")
@pytest.mark.parametrize("node", STAGES)
@pytest.mark.parametrize("status", ["NO_EVIDENCE", "FAILED"])
def test_a_refusal_and_a_failure_go_straight_to_the_record(node: str, status: str) -> None:
    assert route_from(node)(_state(status)) == "record"
    assert route_from(node)(_state(status, retrieval_bundle={})) == "record"


@pytest.mark.contract("R1-1")
def test_a_bundle_from_elsewhere_enters_at_assembly() -> None:
    assert route_from("accept")(_state("OK", retrieval_bundle={})) == "assemble"
    assert route_from("assemble")(_state("OK", retrieval_bundle={})) == "build_prompt"


@pytest.mark.contract("R5P-6")
def test_every_way_to_the_package_leads_through_the_record() -> None:
    assert dict(STRAIGHT) == {START: "accept", "record": "package", "package": END}
    assert "package" not in {target for node in ROUTES for target in targets(node)}
    assert END not in {target for node in ROUTES for target in targets(node)}


@pytest.mark.contract("S-1")
@pytest.mark.parametrize("node", STAGES)
def test_the_declared_targets_are_exactly_those_that_a_status_can_reach(node: str) -> None:
    states = [_state(status) for status in ("OK", "NO_EVIDENCE", "FAILED")]
    states += [_state("OK", conversation_id="c"), _state("OK", retrieval_bundle={})]
    states += [_state("OK", validation={"validation_status": "FAILED"})]
    states += [_state("OK", policy=WITH_FACTS)]
    reached = {route_from(node)(state) for state in states}
    assert reached == set(targets(node))
    assert len(targets(node)) == len(set(targets(node)))


@pytest.mark.contract("R5-12")
@pytest.mark.contract("S-1")
def test_only_a_rejected_answer_under_an_outcome_that_is_ok_is_asked_for_anew() -> None:
    rejected = {"validation_status": "FAILED"}
    assert route_from("validate")(_state("OK", validation=rejected)) == "build_prompt"
    assert route_from("validate")(_state("FAILED", validation=rejected)) == "record"
    assert route_from("validate")(_state("NO_EVIDENCE", validation=rejected)) == "record"
    assert route_from("validate")(_state("OK", validation={"validation_status": "PASSED"})) == "record"
    for node in STAGES[:5]:
        assert route_from(node)(_state("OK", validation=rejected)) == PIPELINE[PIPELINE.index(node) + 1]


def test_the_table_has_a_row_for_every_stage_that_may_end_a_run() -> None:
    assert list(ROUTES) == ["accept", "resolve", *STAGES[1:3], "select_facts", *STAGES[3:]]


@pytest.mark.contract("CP-6")
def test_only_a_question_of_a_conversation_is_resolved_and_never_a_bundle() -> None:
    assert route_from("accept")(_state("OK", conversation_id="c")) == "resolve"
    assert route_from("resolve")(_state("OK", conversation_id="c")) == "retrieve"
    assert route_from("accept")(_state("OK", conversation_id="c", retrieval_bundle={})) == "assemble"
    for status in ("NO_EVIDENCE", "FAILED"):
        assert route_from("accept")(_state(status, conversation_id="c")) == "record"
        assert route_from("resolve")(_state(status, conversation_id="c")) == "record"


@pytest.mark.contract("R3-9")
def test_only_a_policy_with_a_facts_phase_has_one() -> None:
    assert route_from("assemble")(_state("OK", policy=WITH_FACTS)) == "select_facts"
    assert route_from("assemble")(_state("OK")) == route_from("assemble")(_state("OK", policy={})) == "build_prompt"
    assert route_from("select_facts")(_state("OK", policy=WITH_FACTS)) == "build_prompt"
    for status in ("NO_EVIDENCE", "FAILED"):
        assert route_from("assemble")(_state(status, policy=WITH_FACTS)) == "record"
        assert route_from("select_facts")(_state(status, policy=WITH_FACTS)) == "record"


@pytest.mark.contract("S-1")
def test_an_unknown_status_is_an_error_and_not_a_way_through() -> None:
    with pytest.raises(ValueError, match="MAYBE"):
        route_from("assemble")(_state("MAYBE"))

"""P-4: a request tightens its policy or is refused; nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.request_limits import (
    HIGHER_IS_TIGHTER,
    LOWER_IS_TIGHTER,
    REQUEST_LIMITS,
    apply_request_limits,
    with_fallback,
)
from sourcebound.contracts.policy.schema import Policy
from sourcebound.errors import RequestError
from sourcebound.graph.workflow import build_graph
from support.builders import JsonObject, bundle, policy
from support.fakes import FakeOutside, FakeRetriever

POLICY = load_shipped_policy("SOURCEBOUND_V1")
SECTION = HIGHER_IS_TIGHTER | LOWER_IS_TIGHTER


def value_of(name: str) -> float:
    return float(getattr(getattr(POLICY, SECTION[name]), name))


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(
    ("name", "value"), [("min_sources", 2), ("min_top_similarity", 0.5), ("max_chunks", 1), ("top_k", 3)]
)
def test_a_tighter_limit_is_the_policy_of_the_run(name: str, value: float) -> None:
    tightened = apply_request_limits(POLICY, {name: value})
    assert tightened.violations == ()
    assert getattr(getattr(tightened.policy, SECTION[name]), name) == value
    assert tightened.policy.policy_version == POLICY.policy_version
    assert tightened.policy.sha256 != POLICY.sha256


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("name", REQUEST_LIMITS)
@given(step=st.floats(min_value=0.01, max_value=5))
def test_a_looser_limit_is_refused_by_name(name: str, step: float) -> None:
    loose = value_of(name) + (-step if name in HIGHER_IS_TIGHTER else step)
    tightened = apply_request_limits(POLICY, {name: loose})
    assert [(violation.clause, violation.field) for violation in tightened.violations] == [("P-4", name)]
    assert tightened.policy is POLICY


def _stated(policy: Policy, name: str) -> float | None:
    value = getattr(getattr(policy, SECTION[name]), name)
    return None if value is None else float(value)


STATED = [
    (name, limit)
    for name in SHIPPED
    for limit in REQUEST_LIMITS
    if _stated(load_shipped_policy(name), limit) is not None
]
"""Every value of every shipped policy that a request may tighten."""


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(("name", "limit"), STATED)
def test_a_request_that_loosens_a_shipped_policy_is_refused_with_the_name_of_the_field(name: str, limit: str) -> None:
    policy = load_shipped_policy(name)
    stated = _stated(policy, limit) or 0.0
    loose = stated - 0.01 if limit in HIGHER_IS_TIGHTER else stated + 1
    tightened = apply_request_limits(policy, {limit: loose})
    assert tightened.policy is policy
    (violation,) = tightened.violations
    assert (violation.clause, violation.field) == ("P-4", limit)
    assert f"limit {limit} is looser" in violation.message


@pytest.mark.contract("P-4")
async def test_a_request_that_loosens_its_policy_begins_no_run() -> None:
    outside = FakeOutside(load_shipped_policy("SOURCE_BOUNDED_V1"), FakeRetriever(bundle()))
    graph = build_graph(outside.ports()).compile()
    with pytest.raises(RequestError, match=r"limit min_chunks is looser.*limit top_k is looser") as caught:
        await graph.ainvoke({"question": "How?", "limits": {"min_chunks": 1, "top_k": 9, "max_chunks": 2}})
    assert caught.value.failure_code == "POLICY_LOOSENED"
    assert (outside.run_log.begun, outside.audit_log.records, outside.retriever.calls) == ([], [], 0)


ASKING = load_shipped_policy("GROUNDED_RAG_V1")


@pytest.mark.contract("P-4")
@pytest.mark.contract("P-6")
@pytest.mark.parametrize(("asked", "needed"), [(0, 1), (0.0, 1), (1, 1), (2, 2), (10, 10)])
def test_a_request_may_ask_for_as_many_sources_as_the_policy_lets_it(asked: float, needed: int) -> None:
    tightened = apply_request_limits(ASKING, {"min_sources": asked})
    assert tightened.violations == ()
    assert tightened.policy.retrieval.min_sources == needed
    assert (tightened.policy == ASKING) is (needed == 1)


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(("asked", "why"), [(11, "is over 10"), (-1, "is looser"), (0.5, "is looser")])
def test_more_sources_than_a_request_may_ask_for_is_an_error_that_names_the_field(asked: float, why: str) -> None:
    (violation,) = apply_request_limits(ASKING, {"min_sources": asked}).violations
    assert violation.field == "min_sources"
    assert f"limit min_sources {why}" in violation.message


@pytest.mark.contract("P-4")
def test_zero_is_the_policys_own_only_where_it_says_so() -> None:
    assert apply_request_limits(POLICY, {"min_sources": 0}).violations
    assert apply_request_limits(ASKING, {"min_chunks": 0}).violations
    assert apply_request_limits(POLICY, {"min_sources": 11}).violations == ()


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("name", REQUEST_LIMITS)
def test_the_same_value_changes_nothing(name: str) -> None:
    whole = value_of(name)
    same = int(whole) if whole.is_integer() and not name.endswith(("similarity", "coverage")) else whole
    assert apply_request_limits(POLICY, {name: same}).policy == POLICY


MALFORMED = [
    *(("min_sources", value, "a whole number from 1 on") for value in ("2", None, True, float("nan"), [1], 1.5)),
    ("min_sources", float("inf"), "a whole number from 1 on"),
    ("max_chunks", 0, "a whole number from 1 on"),
    ("max_chunks", 1.5, "a whole number from 1 on"),
    ("min_top_similarity", 1.5, "a number from 0 to 1"),
    ("min_question_coverage", "0.5", "a number from 0 to 1"),
]


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(("name", "value", "taken"), MALFORMED)
def test_a_value_that_no_policy_would_take_is_told_what_the_limit_takes(name: str, value: object, taken: str) -> None:
    tightened = apply_request_limits(POLICY, {name: value})
    (violation,) = tightened.violations
    assert (tightened.policy, tightened.is_malformed, violation.field) == (POLICY, True, name)
    assert violation.message == f"limit {name} takes {taken}, and not {value!r}"


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("name", REQUEST_LIMITS)
def test_whatever_is_said_to_be_taken_is_taken(name: str) -> None:
    for value in (1, 1.0):
        policy = apply_request_limits(load_shipped_policy("SOURCEBOUND_V1"), {name: value}).policy
        assert _stated(policy, name) == 1


def test_an_unknown_limit_lists_the_known_ones() -> None:
    (violation,) = apply_request_limits(POLICY, {"temperature": 1}).violations
    assert violation.field == "temperature"
    assert "min_sources" in violation.message


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"temperature": 1}, "INVALID_REQUEST"),
        ({"min_sources": 1.5}, "INVALID_REQUEST"),
        ({"min_sources": 1.5, "top_k": 99}, "INVALID_REQUEST"),
        ({"top_k": 99}, "POLICY_LOOSENED"),
    ],
)
async def test_a_limit_that_is_none_is_not_said_to_loosen_the_policy(limits: JsonObject, code: str) -> None:
    outside = FakeOutside(POLICY, FakeRetriever(bundle()))
    with pytest.raises(RequestError) as caught:
        await build_graph(outside.ports()).compile().ainvoke({"question": "How?", "limits": limits})
    assert caught.value.failure_code == code
    assert ("policy" in caught.value.next_step) == (code == "POLICY_LOOSENED")
    assert outside.run_log.begun == []


@pytest.mark.contract("P-4")
def test_a_limit_can_be_set_where_the_policy_has_none() -> None:
    bare = load_shipped_policy("R2_POLICY_V1")
    assert bare.retrieval.min_question_coverage is None
    assert apply_request_limits(bare, {"min_question_coverage": 0.4}).policy.retrieval.min_question_coverage == 0.4


def test_no_limits_leave_every_released_policy_as_it_is() -> None:
    assert all(
        apply_request_limits(load_shipped_policy(name), {}).policy == load_shipped_policy(name) for name in SHIPPED
    )


FALLING_BACK = policy(
    retrieval={"min_top_similarity": 0.2, "fallback_min_similarity": 0.18}, selection={"min_similarity": 0.2}
)


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize("name", ["min_top_similarity", "min_similarity"])
def test_a_fallback_never_goes_below_what_the_request_asked_for(name: str) -> None:
    raised = apply_request_limits(FALLING_BACK, {name: 0.3}).policy
    assert raised.retrieval.fallback_min_similarity == 0.3
    assert apply_request_limits(FALLING_BACK, {name: 0.2}).policy == FALLING_BACK
    assert with_fallback(raised).retrieval.min_top_similarity >= 0.2


@pytest.mark.contract("R1-7")
def test_a_fallback_lowers_the_minima_and_nothing_else() -> None:
    lowered = with_fallback(FALLING_BACK)
    assert (lowered.retrieval.min_top_similarity, lowered.selection.min_similarity) == (0.18, 0.18)
    assert with_fallback(policy()) == policy()
    assert with_fallback(policy(retrieval={"fallback_min_similarity": 0.9})) == policy(
        retrieval={"fallback_min_similarity": 0.9}
    )

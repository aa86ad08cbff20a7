"""P-4: a request tightens its policy or is refused; nothing else changes."""

import pytest
from builders import policy
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.released import SHIPPED, load_shipped_policy
from sourcebound.contracts.tightening import HIGHER_IS_TIGHTER, LIMITS, LOWER_IS_TIGHTER, tighten, with_fallback

POLICY = load_shipped_policy("SOURCEBOUND_V1")
SECTION = HIGHER_IS_TIGHTER | LOWER_IS_TIGHTER


def value_of(name: str) -> float:
    return float(getattr(getattr(POLICY, SECTION[name]), name))


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(
    ("name", "value"), [("min_sources", 2), ("min_top_similarity", 0.5), ("max_chunks", 1), ("top_k", 3)]
)
def test_a_tighter_limit_is_the_policy_of_the_run(name: str, value: float) -> None:
    tightened = tighten(POLICY, {name: value})
    assert tightened.violations == ()
    assert getattr(getattr(tightened.policy, SECTION[name]), name) == value
    assert tightened.policy.policy_version == POLICY.policy_version
    assert tightened.policy.sha256 != POLICY.sha256


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("name", LIMITS)
@given(step=st.floats(min_value=0.01, max_value=5))
def test_a_looser_limit_is_refused_by_name(name: str, step: float) -> None:
    loose = value_of(name) + (-step if name in HIGHER_IS_TIGHTER else step)
    tightened = tighten(POLICY, {name: loose})
    assert [(violation.clause, violation.field) for violation in tightened.violations] == [("P-4", name)]
    assert tightened.policy is POLICY


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("name", LIMITS)
def test_the_same_value_changes_nothing(name: str) -> None:
    whole = value_of(name)
    same = int(whole) if whole.is_integer() and not name.endswith(("similarity", "coverage")) else whole
    assert tighten(POLICY, {name: same}).policy == POLICY


@pytest.mark.parametrize("value", ["2", None, True, float("nan"), [1]])
def test_a_limit_is_a_number(value: object) -> None:
    assert tighten(POLICY, {"min_sources": value}).violations[0].message == "limit min_sources is not a number"


@pytest.mark.parametrize(("name", "value"), [("max_chunks", 0), ("max_chunks", 1.5), ("min_top_similarity", 1.5)])
def test_an_impossible_value_is_refused(name: str, value: float) -> None:
    assert [violation.field for violation in tighten(POLICY, {name: value}).violations] == [name]


def test_an_unknown_limit_lists_the_known_ones() -> None:
    (violation,) = tighten(POLICY, {"temperature": 1}).violations
    assert violation.field == "temperature"
    assert "min_sources" in violation.message


@pytest.mark.contract("P-4")
def test_a_limit_can_be_set_where_the_policy_has_none() -> None:
    bare = load_shipped_policy("R2_POLICY_V1")
    assert bare.retrieval.min_question_coverage is None
    assert tighten(bare, {"min_question_coverage": 0.4}).policy.retrieval.min_question_coverage == 0.4


def test_no_limits_leave_every_released_policy_as_it_is() -> None:
    assert all(tighten(load_shipped_policy(name), {}).policy == load_shipped_policy(name) for name in SHIPPED)


FALLING_BACK = policy(
    retrieval={"min_top_similarity": 0.2, "fallback_min_similarity": 0.18}, selection={"min_similarity": 0.2}
)


@pytest.mark.contract("R1-7")
@pytest.mark.parametrize("name", ["min_top_similarity", "min_similarity"])
def test_a_fallback_never_goes_below_what_the_request_asked_for(name: str) -> None:
    raised = tighten(FALLING_BACK, {name: 0.3}).policy
    assert raised.retrieval.fallback_min_similarity == 0.3
    assert tighten(FALLING_BACK, {name: 0.2}).policy == FALLING_BACK
    assert with_fallback(raised).retrieval.min_top_similarity >= 0.2


@pytest.mark.contract("R1-7")
def test_a_fallback_lowers_the_minima_and_nothing_else() -> None:
    lowered = with_fallback(FALLING_BACK)
    assert (lowered.retrieval.min_top_similarity, lowered.selection.min_similarity) == (0.18, 0.18)
    assert with_fallback(policy()) == policy()
    assert with_fallback(policy(retrieval={"fallback_min_similarity": 0.9})) == policy(
        retrieval={"fallback_min_similarity": 0.9}
    )

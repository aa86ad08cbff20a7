"""The differences between two policies, and their direction (P-1, P-4)."""

import json
from typing import Any

import pytest

from sourcebound.contracts.policy.diff import Effect, PolicyChange, compare_policies
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.request_limits import REQUEST_LIMITS, apply_request_limits
from support.builders import JsonObject, policy

BASE = policy(retrieval={"min_question_coverage": 0.4})


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_policy_has_nothing_otherwise_than_itself_whatever_it_is_called(name: str) -> None:
    shipped = load_shipped_policy(name)
    assert compare_policies(shipped, shipped) == ()
    renamed = shipped.model_copy(update={"policy_version": "MINE_V1", "description": "Mine."})
    assert compare_policies(shipped, renamed) == ()


@pytest.mark.contract("P-4")
@pytest.mark.parametrize(
    ("table", "name", "old", "new", "effect"),
    [
        ("retrieval", "min_top_similarity", 0.5, 0.6, "tightens"),
        ("retrieval", "min_top_similarity", 0.6, 0.5, "loosens"),
        ("retrieval", "min_question_coverage", None, 0.0, "tightens"),
        ("retrieval", "min_question_coverage", 0.4, None, "loosens"),
        ("retrieval", "min_sources", 1, 2, "tightens"),
        ("retrieval", "top_k", 8, 7, "tightens"),
        ("retrieval", "top_k", 8, 9, "loosens"),
        ("selection", "max_evidence_tokens", 100, 200, "loosens"),
        ("retrieval", "hybrid", False, True, "undefined"),
        ("retrieval", "mmr_lambda", None, 0.6, "undefined"),
        ("validation", "literal_grounding", "measure", "enforce", "undefined"),
        ("selection", "knowledge_types", None, ["manual"], "undefined"),
    ],
)
def test_a_value_that_differs_is_named_with_its_direction(
    table: str, name: str, old: Any, new: Any, effect: str
) -> None:
    changes = compare_policies(policy(**{table: {name: old}}), policy(**{table: {name: new}}))
    assert changes == (PolicyChange(field=f"{table}.{name}", old=old, new=new, effect=Effect(effect)),)


@pytest.mark.contract("P-4")
@pytest.mark.parametrize("limits", [{name: 1} for name in REQUEST_LIMITS])
def test_what_a_request_may_tighten_is_what_tightens(limits: JsonObject) -> None:
    tightened = apply_request_limits(BASE, limits)
    assert tightened.violations == ()
    assert {change.effect for change in compare_policies(BASE, tightened.policy)} <= {Effect.TIGHTENS}
    assert {change.effect for change in compare_policies(tightened.policy, BASE)} <= {Effect.LOOSENS}


def test_a_table_that_only_one_of_them_has_is_compared_value_by_value() -> None:
    changes = compare_policies(load_shipped_policy("SOURCEBOUND_V1"), load_shipped_policy("R2_POLICY_V1"))
    found = {change.field: (change.old, change.new) for change in changes}
    assert found["calibration.metric"] == ("cosine", None)
    assert found["retrieval.min_top_similarity"] == (0.2, 0.76)
    assert not found.keys() & {"policy_version", "description", "selection.max_chunks"}
    assert json.loads(json.dumps([change.model_dump(mode="json") for change in changes]))

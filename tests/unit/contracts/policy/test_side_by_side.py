"""One question under each policy that keeps an earlier contract: the same nodes, the same state, other values."""

from typing import Any

import pytest

from sourcebound.contracts.audit.digests import DIGESTS
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from support.profiles import SEEDED, Profiled, ask

VALUES_OF_A_POLICY = {"policy", "policy_version", "policy_sha256", "retrieval_sha256"}
"""A policy, its name and its digest, wherever they stand, and a digest over one of them."""
MOMENTS = {"started_at", "timestamp_utc", "latency_ms", "salt", *DIGESTS}
OWN_FORM = {"prompt", "generation", "validation", "validated_answer_text", "answer", "prompt_sha256", "support_level"}
"""What follows from the policy's values alone: its template, its output profile, its gate's margin."""
FACTS_PHASE = {"select_facts", "facts"}
"""The node and the channel that a table of the policy switches on (R3-9); it narrows the evidence."""


def _apart_from(names: set[str], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _apart_from(names, item) for key, item in value.items() if key not in names}
    return [_apart_from(names, item) for item in value] if isinstance(value, list) else value


@pytest.mark.contract("P-6")
def test_the_policies_of_the_earlier_contracts_are_compared() -> None:
    assert len(SEEDED) >= 3
    assert {*SEEDED} <= {*SHIPPED}


@pytest.mark.contract("P-6")
@pytest.mark.parametrize("name", SEEDED[1:])
async def test_the_same_question_passes_the_same_nodes_and_only_values_of_the_policy_differ(name: str) -> None:
    first, other = await ask(SEEDED[0]), await ask(name)
    assert (first.response["status"], other.response["status"]) == ("OK", "OK")
    narrowed = {"assembly"} if other.state["policy"].get("facts") else set()
    assert _form(other, narrowed) == _form(first, narrowed)


def _form(run: Profiled, narrowed: set[str]) -> dict[str, Any]:
    """The nodes, the channels of the state with the fields of each, and every value that no policy decides."""
    state: dict[str, Any] = {name: channel for name, channel in run.state.items() if name not in FACTS_PHASE}
    return {
        "nodes": [node for node in run.nodes if node not in FACTS_PHASE],
        "channels": {name: sorted(channel) for name, channel in state.items()},
        "values": _apart_from(VALUES_OF_A_POLICY | MOMENTS | OWN_FORM | narrowed, state),
    }


@pytest.mark.contract("P-2")
@pytest.mark.contract("P-6")
@pytest.mark.parametrize("name", SEEDED)
async def test_the_values_of_a_run_are_those_of_its_file(name: str) -> None:
    run = await ask(name)
    assert run.state["policy"] == load_shipped_policy(name).model_dump(mode="json")
    assert run.state["run"]["policy_sha256"] == load_shipped_policy(name).sha256

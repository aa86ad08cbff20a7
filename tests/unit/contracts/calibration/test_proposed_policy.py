"""A proposed policy is the base policy except for its name, its gates and their calibration."""

import tomllib

import pytest
from pydantic import ValidationError

from sourcebound.contracts.calibration.gate_minima import Point
from sourcebound.contracts.calibration.proposed_policy import propose_policy, render_policy
from sourcebound.contracts.policy.lock import toml_value
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.schema import Policy, parse_policy
from support.builders import collection, policy

CHOSEN = Point(0.25, 0.55, ())


@pytest.mark.contract("P-3")
def test_only_the_name_the_gates_and_the_calibration_change() -> None:
    base = load_shipped_policy("SOURCEBOUND_V1")
    proposed = propose_policy(base, "MY_POLICY_V1", CHOSEN, collection(), pinned=False)
    assert proposed.policy_version == "MY_POLICY_V1"
    assert (proposed.retrieval.min_top_similarity, proposed.retrieval.min_question_coverage) == (0.25, 0.55)
    assert proposed.calibration is not None
    assert proposed.calibration.model_dump(exclude_none=True) == {"embedding_model": "embedder-1", "metric": "cosine"}
    restored = proposed.model_copy(
        update={
            "policy_version": base.policy_version,
            "description": base.description,
            "retrieval": base.retrieval,
            "calibration": base.calibration,
        }
    )
    assert restored == base
    gates = {"min_top_similarity": base.retrieval.min_top_similarity}
    gates["min_question_coverage"] = base.retrieval.min_question_coverage or 0.0
    assert proposed.retrieval.model_copy(update=gates) == base.retrieval


@pytest.mark.contract("P-3")
def test_a_pinned_policy_names_the_index_fingerprint() -> None:
    index = collection()
    proposed = propose_policy(policy(), "MY_POLICY_V1", CHOSEN, index, pinned=True)
    assert proposed.calibration is not None
    assert proposed.calibration.index_version == index.index_version


def test_without_vectors_the_two_minima_are_one() -> None:
    lexical = collection(metric="lexical", embedding_model="lexical", dimensions=0)
    proposed = propose_policy(policy(), "MY_POLICY_V1", Point(0.0, 0.3, ()), lexical, pinned=False)
    assert (proposed.retrieval.min_top_similarity, proposed.retrieval.min_question_coverage) == (0.3, 0.3)


@pytest.mark.parametrize("name", ["my_policy", "MY POLICY V1", "MY_POLICY", ""])
def test_a_name_that_is_no_version_is_an_error(name: str) -> None:
    with pytest.raises(ValidationError):
        propose_policy(policy(), name, CHOSEN, collection(), pinned=False)


AWKWARD = 'the "continuous" process\\line\ttab\x7f größe'
KINDS = policy(selection={"knowledge_types": ["manual", AWKWARD]})


@pytest.mark.contract("P-1")
@pytest.mark.parametrize("written", [*map(load_shipped_policy, SHIPPED), KINDS])
def test_the_text_of_a_policy_reads_back_to_the_same_policy(written: Policy) -> None:
    text = render_policy(written, ["Made by a test.", "one\nline = 1"])
    read = parse_policy(text)
    assert read == written
    assert read.sha256 == written.sha256
    assert text.startswith("# Made by a test.\n# one line = 1\npolicy_version = ")


@pytest.mark.parametrize("value", [[{"when": AWKWARD, "add": ["a", "b"]}, {"when": "c", "add": []}], True, 0.05, 7, ""])
def test_a_value_reads_back_from_toml(value: object) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}") == {"value": value}

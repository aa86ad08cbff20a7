"""A record that is changed in any place: the layer that has it differs, and nothing that is in it breaks the replay."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import NotReplayable, RecordedRun, RunReport
from sourcebound.contracts.versions import CODE, CONTRACTS
from sourcebound.graph.replay.verify import verify
from support.replaying import changed, drifts, verified

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    ("node", "channel", "change", "expected"),
    [
        ("accept", "policy", lambda it: {**it, "description": "another"}, {"rules", "accept", "assemble"}),
        ("accept", "run", lambda it: {**it, "question": "What else?"}, {"accept", "assemble", "record"}),
        ("accept", "outcome", lambda it: {**it, "message": "x"}, {"accept"}),
        ("assemble", "assembly", lambda it: {**it, "evidence_block_text": "x"}, {"assemble", "build_prompt"}),
        ("build_prompt", "prompt", lambda it: {**it, "prompt_tokens": 1}, {"build_prompt"}),
        ("build_prompt", "prompt", lambda it: {**it, "prompt_tokens": float(it["prompt_tokens"])}, {"build_prompt"}),
        ("build_prompt", "prompt", lambda it: dict(reversed(it.items())), {"build_prompt"}),
        ("build_prompt", "prompt", lambda it: {**it, "prompt_sha256": "0" * 64}, {"build_prompt"}),
        ("generate", "generation", lambda it: {**it, "prompt_sha256": "0" * 64}, {"generate", "record"}),
        ("generate", "generation", lambda it: {**it, "call": {**it["call"], "seed": 9}}, {"generate", "record"}),
        ("generate", "generation", lambda it: {**it, "raw_model_text": "Bananas. [C0]"}, {"validate", "record"}),
        ("generate", "generation", lambda it: {**it, "total_tokens_actual": 7}, {"record", "package"}),
        ("validate", "validation", lambda it: {**it, "support_level": "HIGH"}, {"validate", "record", "package"}),
        ("validate", "outcome", lambda it: {**it, "stage": "elsewhere"}, {"validate"}),
        ("record", "audit", lambda it: {**it, "response_id": "another"}, {"record"}),
        ("package", "response", lambda it: {**it, "answer": it["answer"] + " "}, {"package"}),
    ],
)
async def test_a_layer_whose_record_was_changed_differs_and_no_earlier_one_does(
    kept: RecordedRun, node: str, channel: str, change: Any, expected: set[str]
) -> None:
    assert set(drifts(await verified(changed(kept, node, channel, change)))) == expected


@pytest.mark.contract("CP-3")
async def test_a_channel_that_a_node_does_not_write_differs(kept: RecordedRun) -> None:
    steps = [
        step.model_copy(update={"changes": {**step.changes, "attempts": []}}) if step.node == "assemble" else step
        for step in kept.steps
    ]
    report = await verified(kept.model_copy(update={"steps": tuple(steps)}))
    assert drifts(report) == {"assemble": ["attempts"]}


@pytest.mark.contract("CP-3")
async def test_a_run_that_went_another_way_than_the_routing_says_differs(kept: RecordedRun) -> None:
    skipped = kept.model_copy(update={"steps": tuple(step for step in kept.steps if step.node != "validate")})
    assert "next node" in drifts(await verified(skipped))["generate"]
    late = kept.model_copy(update={"steps": kept.steps[1:], "start": {**kept.start, **kept.steps[0].changes}})
    assert drifts(await verified(late)) == {"rules": ["first node"]}


UNKNOWN: dict[str, Callable[[RecordedRun], RecordedRun]] = {
    "field": lambda run: changed(run, "assemble", "assembly", lambda it: {**it, "colour": "red"}),
    "value": lambda run: changed(run, "package", "response", lambda it: {**it, "schema_version": "2"}),
    "node": lambda run: run.model_copy(
        update={"steps": (run.steps[0].model_copy(update={"node": "rerank"}), *run.steps[1:])}
    ),
    "channel": lambda run: run.model_copy(
        update={"steps": (run.steps[0].model_copy(update={"changes": {"figures": []}}), *run.steps[1:])}
    ),
}


@pytest.mark.contract("CP-10")
@pytest.mark.parametrize("name", UNKNOWN)
async def test_what_this_version_does_not_know_is_drift_in_a_run_of_its_own(kept: RecordedRun, name: str) -> None:
    assert (await verified(UNKNOWN[name](kept))).verdict == "DRIFT"


@pytest.mark.contract("CP-10")
async def test_a_run_names_the_code_and_the_contracts_that_made_it(kept: RecordedRun) -> None:
    assert kept.final_state()["run"]["made_by"] == {"code": CODE, "contracts": {**CONTRACTS}}


@pytest.mark.contract("CP-10")
@pytest.mark.parametrize("contracts", [{**CONTRACTS, "validation": 99}, {**CONTRACTS, "figures": 1}])
async def test_a_run_of_newer_contracts_is_unreadable(kept: RecordedRun, contracts: dict[str, int]) -> None:
    made_by = {"code": "9.0.0", "contracts": contracts}
    newer = changed(kept, "accept", "run", lambda it: {**it, "made_by": made_by})
    found = await verify(newer, load_shipped_release())
    assert isinstance(found, NotReplayable)
    assert (found.code, found.verdict) == ("RUN_NEWER", "UNREADABLE")
    assert "9.0.0" in found.message


@pytest.mark.contract("CP-10")
async def test_a_run_that_was_relabelled_as_older_drifts(kept: RecordedRun) -> None:
    older = changed(kept, "accept", "run", lambda it: {name: it[name] for name in it if name != "made_by"})
    assert set(drifts(await verified(older))) == {"record"}


@pytest.mark.contract("CP-3")
async def test_a_run_is_the_one_that_its_record_names(kept: RecordedRun) -> None:
    other = kept.model_copy(update={"run_id": "another"})
    assert drifts(await verified(other)) == {"rules": ["run_id"]}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a record that holds no other, with the way to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not inner:
        yield path, value
        return
    for name, item in inner:
        yield from _leaves(item, (*path, name))


def _replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    copied = value.copy()
    copied[path[0]] = _replaced(value[path[0]], path[1:], leaf)
    return copied


def _other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool | None):
        return not value
    return value + (1 if isinstance(value, int | float) else [0] if isinstance(value, list) else "x")


@pytest.mark.contract("CP-3")
async def test_no_recorded_value_can_change_unseen_but_those_that_the_contract_names(kept: RecordedRun) -> None:
    form, unseen = kept.model_dump(mode="json"), set()
    leaves = [(path, leaf) for path, leaf in _leaves(form) if leaf not in ({}, [])]
    assert len(leaves) > 400
    for path, leaf in leaves:
        report = await verify(RecordedRun.model_validate(_replaced(form, path, _other(leaf))), load_shipped_release())
        if isinstance(report, RunReport) and report.verdict == "MATCH":
            unseen.add(".".join(map(str, path[-2:])))
    assert unseen == {"0.position"}  # of the audit record in its chain, which `audit verify` checks


@pytest.mark.contract("CP-3")
@settings(max_examples=50)
@given(st.data())
async def test_whatever_stands_in_a_record_there_is_a_report(kept: RecordedRun, data: st.DataObject) -> None:
    form = kept.model_dump(mode="json")
    path, _ = data.draw(st.sampled_from(list(_leaves(form))))
    cut = path[: data.draw(st.integers(1, len(path)))]
    anything = data.draw(ANYTHING)
    try:
        run = RecordedRun.model_validate(_replaced(form, cut, anything))
    except ValidationError:
        return  # no such file is read
    report = await verify(run, load_shipped_release())
    assert isinstance(report, NotReplayable | RunReport)

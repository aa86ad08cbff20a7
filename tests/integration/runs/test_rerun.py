"""A recorded run with another answer: the model asked again with the same bytes, and forks under other rules."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sourcebound.contracts.replay.report import RecordedRun
from sourcebound.contracts.replay.run_diff import RunDiff
from sourcebound.contracts.request import fork_request
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.rerun import rerun, what_if
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from support.processes.databases import overwrite_byte, single
from support.processes.model_servers import Fault, ModelServer
from support.replaying import (
    ANSWERED,
    BROUGHT,
    GOOD,
    MODEL,
    UNCITED,
    Case,
    Policies,
    drifts,
    opened,
    record,
    recorded,
    verified,
)

STRICT = "SOURCEBOUND_SENTENCES_V1"


@pytest.fixture
async def engine(library: str, model_server: ModelServer, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    async with opened(library, model_server, minilm) as engine:
        yield engine


def _changes(found: RunDiff) -> dict[tuple[str, str], tuple[str, str]]:
    return {(change.layer, change.what): (change.before, change.after) for change in found.changes}


async def _refused(engine: Engine, run: RecordedRun) -> str:
    """The code with which a rerun is refused."""
    with pytest.raises(RequestError) as raised:
        await rerun(engine._services, run)
    return raised.value.failure_code


@pytest.mark.contract("CP-4")
async def test_the_model_is_asked_again_with_the_bytes_that_were_recorded(
    engine: Engine, library: str, model_server: ModelServer
) -> None:
    run = await recorded(engine, await record(engine, model_server, BROUGHT))
    model_server.answer = GOOD
    found = await rerun(engine._services, run)
    assert (found.model, found.same, found.run_diff.changes) == (MODEL, True, ())
    assert found.run_diff.diff == (f"  {GOOD}",)
    first, second = (call.body for call in model_server.calls)
    assert first == second
    assert run.final_state()["prompt"]["messages"][1]["content"] in [
        turn["content"] for turn in json.loads(second)["input"]
    ]
    assert single(library, "SELECT count(*) FROM validations") == single(library, "SELECT count(*) FROM runs") == 1
    assert await recorded(engine, run.run_id) == run


@pytest.mark.contract("CP-4")
async def test_another_answer_is_shown_with_its_verdict(engine: Engine, model_server: ModelServer) -> None:
    run = await recorded(engine, await record(engine, model_server, BROUGHT))
    model_server.answer = UNCITED
    found = await rerun(engine._services, run)
    assert not found.same
    assert found.run_diff.diff == (f"- {GOOD}", f"+ {UNCITED}")
    changes = _changes(found.run_diff)
    assert changes["validation", "validation_status"] == ("PASSED", "FAILED")
    assert changes["validation", "outcome.failure_code"] == ("None", "UNCITED_FACTUAL_STATEMENT")
    model_server.faults.append(Fault.BAD_REQUEST)
    failed = _changes((await rerun(engine._services, run)).run_diff)
    assert failed["generation", "outcome.failure_code"] == ("None", "MODEL_REJECTED")
    assert failed["validation", "validation_status"] == ("PASSED", "NOT_RUN")


@pytest.mark.contract("CP-4")
async def test_a_run_that_asked_no_model_or_lost_its_prompt_is_not_asked_again(
    engine: Engine, library: str, model_server: ModelServer
) -> None:
    refused = await recorded(
        engine, await record(engine, model_server, Case({"retrieval_bundle": {}}, "INVALID_SCHEMA"))
    )
    assert await _refused(engine, refused) == "NO_MODEL_CALL"
    run_id = await record(engine, model_server, BROUGHT)
    overwrite_byte(library, run_id, "prompt", "every 12", 6, "2")
    assert await _refused(engine, await recorded(engine, run_id)) == "PROMPT_ALTERED"
    assert len(model_server.calls) == 1


@pytest.mark.contract("CP-5")
async def test_another_policy_over_the_same_candidates_is_a_run_of_its_own(
    engine: Engine, library: str, model_server: ModelServer, policies: Policies
) -> None:
    run = await recorded(engine, await record(engine, model_server, BROUGHT))
    model_server.answer = GOOD
    found = await what_if(engine._services, run, policies.snug)
    changes = _changes(found.run_diff)
    assert changes["policy", "policy_version"] == ("R2_POLICY_V1", "SNUG_V1")
    assert changes["assembly", "rank 1 chunk-0001"] == ("ADMITTED", "DROP_PROMPT_BUDGET")
    assert ("prompt", "prompt_sha256") in changes
    assert ("response", "status") not in changes
    state = await engine.state(found.run_id)
    assert (state["origin"], state["run"]["policy_version"]) == (run.run_id, "SNUG_V1")
    request = single(library, "SELECT request_id FROM validations WHERE run_id = %s", found.run_id)
    assert request == fork_request(run.run_id)
    assert await recorded(engine, run.run_id) == run
    fork = await recorded(engine, found.run_id)
    assert [step.node for step in fork.steps] == [step.node for step in run.steps[1:]]
    assert drifts(await verified(fork)) == {}
    altered = fork.model_copy(update={"start": {**fork.start, "run": {**fork.start["run"], "policy_sha256": "0" * 64}}})
    assert set(drifts(await verified(altered))) == {"rules", "record"}


@pytest.mark.contract("CP-5")
@pytest.mark.contract("P-4")
async def test_another_model_answers_under_the_recorded_policy_with_the_limits_of_the_request(
    engine: Engine, library: str, model_server: ModelServer
) -> None:
    request: AskInput = {"question": ANSWERED, "limits": {"max_chunks": 2, "min_similarity": 0.2}}
    response = await engine.ask(request, RunContext(policy="SOURCEBOUND_V1"))  # one attempt
    run = await recorded(engine, response.run_id)
    retrieved = run.final_state()["retrieval"]
    model_server.answer = UNCITED
    found = await what_if(engine._services, run, model=MODEL)
    changes = _changes(found.run_diff)
    assert {layer for layer, _ in changes} == {"generation", "validation", "response"}
    assert changes["generation", "model_name"] == ("extractive", "gpt-4.1")
    assert changes["response", "status"] == ("OK", "FAILED")
    assert found.run_diff.diff == (f"- {response.answer}",)
    fork = await recorded(engine, found.run_id)
    assert fork.start["retrieval"] == retrieved
    assert fork.start["run"]["collection"] == run.final_state()["run"]["collection"]
    assert drifts(await verified(fork)) == {}
    model_server.answer = '{"answer_sentences": []}'
    other = await what_if(engine._services, run, STRICT, MODEL)
    state = await engine.state(other.run_id)
    tightened = state["policy"]
    assert state["outcome"]["stage"] == "validate"  # the candidates were taken, and the model was asked
    assert (tightened["policy_version"], tightened["selection"]["max_chunks"]) == (STRICT, 2)
    assert drifts(await verified(await recorded(engine, other.run_id))) == {}


@pytest.mark.contract("CP-5")
async def test_what_cannot_be_forked_leaves_no_run(engine: Engine, library: str, model_server: ModelServer) -> None:
    nowhere = Case({"question": ANSWERED, "collection": "nowhere"}, "collection_not_found")
    run = await recorded(engine, await record(engine, model_server, nowhere))
    with pytest.raises(RequestError) as raised:
        await what_if(engine._services, run, STRICT)
    assert raised.value.failure_code == "NO_RETRIEVAL"
    said = await recorded(engine, await record(engine, model_server, BROUGHT))
    for options in ({"policy_name": "NOSUCH_V1"}, {"model": "nosuch:model"}):
        with pytest.raises(RuntimeError):
            await what_if(engine._services, said, **options)
    assert single(library, "SELECT count(*) FROM runs") == 2


@pytest.mark.contract("CP-5")
@pytest.mark.contract("R5P-3")
async def test_the_forks_of_a_run_that_still_hold_its_texts_are_known(
    engine: Engine, model_server: ModelServer, policies: Policies
) -> None:
    run = await recorded(engine, await record(engine, model_server, BROUGHT))
    forks = []
    for policy in (policies.snug, policies.narrow):
        model_server.answer = GOOD
        forks.append((await what_if(engine._services, run, policy)).run_id)
    assert await engine._services.run_log.list_forks(run.run_id) == forks
    await engine.erase(forks[0], forks[0])
    assert await engine._services.run_log.list_forks(run.run_id) == forks[1:]
    assert await engine._services.run_log.list_forks(forks[1]) == []


@pytest.mark.contract("S-2")
async def test_a_request_id_of_a_caller_makes_no_fork(engine: Engine, model_server: ModelServer) -> None:
    request: Any = {**BROUGHT.request, "request_id": fork_request("run-1")}
    model_server.answer = GOOD
    response = await engine.ask(request, RunContext(model=MODEL))
    run = await recorded(engine, response.run_id)
    assert "origin" not in run.final_state()
    assert drifts(await verified(run)) == {}

"""Threads of several runs, as LangGraph Studio keeps them: each is computed again alone, and all are erased at once."""

import pytest
from langchain_core.runnables import RunnableConfig

from sourcebound.contracts.replay.report import NotReplayable
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from support.processes.databases import rows, tables_with
from support.replaying import ANSWERED, OFF_TOPIC, drifts, recorded, stored, verified

THREAD: RunnableConfig = {"configurable": {"thread_id": "talk"}}
PERSONAL = "Hi Featherstonehaugh, how often is the shaft of a stored HP-200 turned by hand?"
NAME = "Featherstonehaugh"


@pytest.fixture
async def chat(engine: Engine) -> StudioGraph:
    graph = studio_graph(engine.ports)
    return graph.copy(update={"checkpointer": make_saver(engine._services.pool)})


async def _say(chat: StudioGraph, text: str, config: RunnableConfig = THREAD) -> str:
    """Says something on the thread, and returns the id of the run that answered."""
    message = {"role": "user", "content": text}
    told = await chat.ainvoke({"messages": [message]}, config, context=RunContext(), durability="sync")
    return str(told["response"]["run_id"])


@pytest.mark.contract("CP-3")
async def test_every_run_of_a_chat_is_computed_again_by_itself(engine: Engine, chat: StudioGraph) -> None:
    runs = [await _say(chat, text) for text in (ANSWERED, OFF_TOPIC, ANSWERED)]
    for number, run_id in enumerate(runs):
        run = await recorded(engine, run_id)
        report = await verified(run)
        assert (report.verdict, drifts(report)) == ("MATCH", {})
        assert len(run.start["messages"]) == 2 * number + 1
        assert run.final_state()["run"]["run_id"] == run_id
        assert "retrieval" not in run.start


@pytest.mark.contract("CP-3")
async def test_a_run_of_a_chat_that_was_changed_still_differs(engine: Engine, chat: StudioGraph, library: str) -> None:
    first, second = [await _say(chat, text) for text in (ANSWERED, ANSWERED)]
    rows(library, "UPDATE run_texts SET raw_model_text = 'x' WHERE run_id = %s", first)
    assert drifts(await verified(await recorded(engine, first))) != {}
    assert drifts(await verified(await recorded(engine, second))) == {}


@pytest.mark.contract("CP-3")
async def test_a_run_from_which_another_branched_off_still_matches(engine: Engine, chat: StudioGraph) -> None:
    first = await _say(chat, ANSWERED)
    history = [state async for state in chat.aget_state_history(THREAD)]
    before = next(state for state in history if state.next == ("generate",))
    told = await chat.ainvoke(None, before.config, context=RunContext(), durability="sync")
    assert told["response"]["run_id"] != first
    assert drifts(await verified(await recorded(engine, first))) == {}


@pytest.mark.contract("CP-3")
async def test_a_run_of_a_chat_that_has_not_ended_is_said_to_be_so(engine: Engine, chat: StudioGraph) -> None:
    first = await _say(chat, ANSWERED)
    message = {"role": "user", "content": OFF_TOPIC}
    await chat.ainvoke(
        {"messages": [message]}, THREAD, context=RunContext(), durability="sync", interrupt_before=["record"]
    )
    (second,) = [run.run_id for run in await engine._services.run_log.list_runs(5) if run.run_id != first]
    reason = read_recorded(await stored(engine, second))
    assert isinstance(reason, NotReplayable)
    assert reason.code == "RUN_UNFINISHED"
    assert drifts(await verified(await recorded(engine, first))) == {}


@pytest.mark.contract("CP-2")
async def test_a_run_of_another_host_is_its_host_s_to_go_on_with(
    engine: Engine, chat: StudioGraph, library: str
) -> None:
    message = {"role": "user", "content": OFF_TOPIC}
    await chat.ainvoke(
        {"messages": [message]}, THREAD, context=RunContext(), durability="sync", interrupt_before=["record"]
    )
    (run,) = await engine._services.run_log.list_runs(5)
    with pytest.raises(RequestError) as raised:
        await engine.resume(run.run_id)
    assert (raised.value.failure_code, "thread talk" in raised.value.next_step) == ("RUN_OF_ANOTHER_HOST", True)
    assert rows(library, "SELECT status, worker FROM runs") == [("RUNNING", None)]
    assert await engine.list_cut_off() == []
    told = await chat.ainvoke(None, THREAD, context=RunContext(), durability="sync")
    assert told["response"]["status"] == "NO_EVIDENCE"
    assert (await engine.resume(run.run_id)).status == "NO_EVIDENCE"


@pytest.mark.contract("R5P-3")
async def test_a_run_is_not_erased_without_those_that_hold_its_texts(
    engine: Engine, chat: StudioGraph, library: str
) -> None:
    first, second = [await _say(chat, text) for text in (PERSONAL, ANSWERED)]
    before = tables_with(library, NAME)
    with pytest.raises(RequestError, match=second) as raised:
        await engine.erase(first, "talk")
    assert (raised.value.failure_code, tables_with(library, NAME)) == ("THREAD_SHARED", before)
    assert f"sourcebound runs erase {first} --thread --yes" in raised.value.next_step
    assert drifts(await verified(await recorded(engine, first))) == {}
    await engine.erase(first, "talk", whole_thread=True)
    assert tables_with(library, NAME) == set()
    assert {run.run_id for run in await engine._services.run_log.list_runs(5) if run.erased_at} == {first, second}
    assert (await engine._services.audit_log.verify()).broken is None


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("CP-2")
async def test_a_run_that_its_host_rolls_back_leaves_its_record_alone(
    engine: Engine, chat: StudioGraph, library: str
) -> None:
    kept = await _say(chat, ANSWERED, {**THREAD, "metadata": {"run_id": "host-run-1"}})
    before = (await chat.aget_state(THREAD)).values
    gone = await _say(chat, PERSONAL, {**THREAD, "metadata": {"run_id": "host-run-2"}})
    assert tables_with(library, NAME) >= {"checkpoint_blobs", "run_texts"}
    await make_saver(engine._services.pool).adelete_for_runs(["host-run-2", "unknown"])
    assert (await chat.aget_state(THREAD)).values == before
    assert [name for name in tables_with(library, NAME) if name.startswith("checkpoint")] == []
    assert drifts(await verified(await recorded(engine, kept))) == {}
    assert rows(library, "SELECT status FROM runs WHERE run_id = %s", gone) == [("OK",)]
    reason = read_recorded(await stored(engine, gone))
    assert isinstance(reason, NotReplayable)
    assert reason.code == "CHECKPOINTS_MISSING"

"""CP-11 over a real database: edits of a run's state are marked, compared, and never reach a run that has ended."""

from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import StateSnapshot

from sourcebound.contracts.replay.report import NotReplayable
from sourcebound.contracts.state import RunContext, State
from sourcebound.errors import RequestError
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import verify_history
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from sourcebound.store.checkpoints.archive import PostgresHistory
from support.processes.databases import rows
from support.replaying import ANSWERED, recorded, stored, verified

THREAD: RunnableConfig = {"configurable": {"thread_id": "talk"}}
CONTEXT = RunContext()


@pytest.fixture
async def chat(engine: Engine) -> StudioGraph:
    graph = studio_graph(engine.ports)
    return graph.copy(update={"checkpointer": make_saver(engine._services.pool)})


async def _ask(chat: StudioGraph, **how: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", await chat.ainvoke({"question": ANSWERED}, THREAD, context=CONTEXT, **how))


async def _before(chat: StudioGraph, node: str, thread: RunnableConfig = THREAD) -> StateSnapshot:
    history = [each async for each in chat.aget_state_history(thread)]
    return next(each for each in history[::-1] if each.next == (node,))


def _edited(retrieval: dict[str, Any]) -> dict[str, Any]:
    first, *rest = retrieval["results"]
    return {**retrieval, "results": [{**first, "chunk_text": f"{first['chunk_text']} A person wrote this."}, *rest]}


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_supplied_evidence_is_marked_wherever_the_run_is_looked_at(
    engine: Engine, chat: StudioGraph, library: str, durability: Any
) -> None:
    first = await _ask(chat, durability=durability)
    start = await _before(chat, "assemble")
    values = {"retrieval": _edited(start.values["retrieval"])}
    config = await chat.aupdate_state(start.config, values, as_node="retrieve")
    told = (await chat.ainvoke(None, config, context=CONTEXT, durability=durability))["response"]
    assert (told["status"], told["evidence_supplied_by_hand"]) == ("OK", True)
    assert told["notices"] == ["A person edited the evidence or the state of this run."]
    marked = "SELECT run_id FROM validations WHERE evidence_supplied_by_hand"
    assert rows(library, marked) == [(told["run_id"],)]
    assert (await verified(await recorded(engine, told["run_id"]))).verdict == "EDITED"
    assert (await verified(await recorded(engine, first["response"]["run_id"]))).verdict == "MATCH"
    assert (await engine._services.audit_log.verify()).broken is None


@pytest.mark.contract("CP-10")
@pytest.mark.contract("CP-11")
@pytest.mark.parametrize("node", ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate"])
@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_an_unedited_branch_from_each_node_is_a_fork(
    engine: Engine, chat: StudioGraph, node: str, durability: Any
) -> None:
    first = await _ask(chat, durability=durability)
    start = await _before(chat, node)
    told = (await chat.ainvoke(None, start.config, context=CONTEXT, durability=durability))["response"]
    report = await verified(await recorded(engine, told["run_id"]))
    origin = first["response"]["run_id"]
    assert (report.verdict, report.fork_of) == (("MATCH", None) if node == "accept" else ("FORK", origin))
    assert "evidence_supplied_by_hand" not in told
    assert (await verified(await recorded(engine, origin))).verdict == "MATCH"


@pytest.mark.contract("CP-9")
@pytest.mark.contract("CP-10")
async def test_a_thread_of_the_engine_is_forked_from_its_input(engine: Engine, chat: StudioGraph) -> None:
    run_id = (await engine.ask({"question": ANSWERED})).run_id
    thread: RunnableConfig = {"configurable": {"thread_id": run_id}}
    start = await _before(chat, "accept", thread)
    told = (await chat.ainvoke(None, start.config, context=CONTEXT, durability="sync"))["response"]
    assert (told["status"], told["run_id"] != run_id) == ("OK", True)
    report = await verified(await recorded(engine, told["run_id"]))
    assert (report.verdict, report.fork_of) == ("FORK", run_id)
    assert (await verified(await recorded(engine, run_id))).verdict == "MATCH"
    with pytest.raises(RequestError) as raised:
        await chat.ainvoke({"question": ANSWERED, "run_id": run_id}, thread, context=CONTEXT)
    assert raised.value.failure_code == "RUN_EXISTS"


@pytest.mark.contract("CP-11")
async def test_an_edit_after_the_end_changes_nothing_that_the_run_shows(engine: Engine, chat: StudioGraph) -> None:
    run_id = (await engine.ask({"question": ANSWERED})).run_id
    thread: RunnableConfig = {"configurable": {"thread_id": run_id}}
    before = await engine.state(run_id, run_id)
    start = await _before(chat, "package", thread)
    config = await chat.aupdate_state(start.config, {"validation": None}, as_node="record")
    with pytest.raises(RequestError) as raised:
        await chat.ainvoke(None, config, context=CONTEXT, durability="sync")
    assert raised.value.failure_code == "RUN_ENDED"
    assert await engine.state(run_id, run_id) == before
    assert (await engine.resume(run_id)).status == "OK"


@pytest.mark.contract("CP-11")
async def test_a_run_that_was_edited_while_it_was_interrupted_is_checked_and_marked(
    engine: Engine, library: str
) -> None:
    stop = RuntimeError("the process dies here")
    run_id = "interrupted"

    def die(node: str) -> None:
        if node == "assemble":
            raise stop

    for edit in ("retrieval", "assembly"):
        run_id = f"edited-{edit}"
        with pytest.raises(RuntimeError):
            await engine.ask({"question": ANSWERED, "run_id": run_id}, on_node=die)
        thread: RunnableConfig = {"configurable": {"thread_id": run_id}}
        async with AsyncPostgresSaver.from_conn_string(library) as stock:
            graph = engine._pipeline.copy(update={"checkpointer": stock})
            values = (await graph.aget_state(thread)).values
            evidence = [{**values["assembly"]["selected_evidence"][0], "sanitized_text": "Never."}]
            changed = {
                "retrieval": _edited(values["retrieval"]),
                "assembly": {**values["assembly"], "selected_evidence": evidence},
            }
            await graph.aupdate_state(thread, cast("State", {edit: changed[edit]}), as_node="assemble")
        told = await engine.resume(run_id)
        assert (told.failure_code, told.evidence_supplied_by_hand, told.answer) == ("STATE_ALTERED", True, "")
        assert (await verified(await recorded(engine, run_id))).verdict == "EDITED"


@pytest.mark.contract("CP-11")
async def test_a_run_that_another_one_replaced_has_a_status_of_its_own(
    engine: Engine, chat: StudioGraph, library: str
) -> None:
    await _ask(chat, durability="sync", interrupt_before=["record"])
    ended = (await _ask(chat, durability="sync"))["response"]["run_id"]
    assert sorted(rows(library, "SELECT status, run_id = %s FROM runs", ended)) == [("OK", True), ("REPLACED", False)]
    (replaced,) = [run.run_id for run in await engine._services.run_log.list_runs(5) if run.run_id != ended]
    reason = read_recorded(await stored(engine, replaced))
    assert isinstance(reason, NotReplayable)
    assert (reason.code, reason.verdict) == ("RUN_REPLACED", None)
    results = [each async for each in verify_history(PostgresHistory(engine._services.pool))]
    assert [getattr(each, "code", each.verdict) for each in results] == ["RUN_REPLACED", "MATCH"]

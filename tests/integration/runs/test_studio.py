"""LangGraph Studio's server over our graph: a real `langgraph dev`, driven by LangGraph's own client.

Studio's page is hosted elsewhere and is not part of this; everything that it asks of the server is.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from langgraph.graph import END, START
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError
from langgraph_sdk.schema import StreamMode

from sourcebound.contracts.audit.digests import DIGESTS
from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.policy.request_limits import REQUEST_LIMITS
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.replay.report import NotReplayable
from sourcebound.contracts.request import Filters
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, AskOutput
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.graph.routing import ROUTES, STRAIGHT, targets
from support.builders import SEAL, bundle, row
from support.places import ROOT
from support.processes.commands import Program
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.studio import GRAPH, OFFLINE, OPTIONS, JsonObject, Studio
from support.replaying import recorded, stored, verified

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
OTHER_MODEL = "openai:gpt-4.1"
WHOLE = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
MODES: list[StreamMode] = ["updates", "values", "messages-tuple", "custom"]
OF_ITS_OWN = {"request_id", "run_id", "thread_id", "timestamp_utc", "retrieval_latency_ms", "llm_latency_ms", *DIGESTS}
OF_ITS_PLACE = {"row_hash", "previous_hash", "position"}


class Streamed(NamedTuple):
    """A finished run on a thread of its own."""

    thread_id: str
    parts: list[tuple[str, Any]]

    @property
    def response(self) -> JsonObject:
        return next(data["response"] for event, data in reversed(self.parts) if event == "values")


@pytest.fixture(scope="module")
def answered(studio: Studio) -> Iterator[Streamed]:
    """An answered run, for tests that only read it or fork it."""
    with get_sync_client(url=studio.url) as client:
        thread_id = client.threads.create()["thread_id"]
        stream = client.runs.stream(thread_id, GRAPH, input={"question": ANSWERED}, stream_mode=MODES)
        yield Streamed(thread_id, [(part.event, part.data) for part in stream])


async def _ask(
    client: LangGraphClient, given: JsonObject | None, thread_id: str | None = None, **how: Any
) -> JsonObject:
    """Runs the graph to its end and returns what leaves it."""
    thread_id = thread_id or (await client.threads.create())["thread_id"]
    answer: Any = await client.runs.wait(thread_id, GRAPH, input=given, **how)
    return {**answer, "thread_id": thread_id}


async def _before(client: LangGraphClient, thread_id: str, node: str) -> Any:
    """The first checkpoint of a thread that goes on with a node."""
    history = await client.threads.get_history(thread_id, limit=100)
    return next(state for state in history[::-1] if state["next"] == [node])


async def _fork(
    client: LangGraphClient, thread_id: str, node: str, values: JsonObject | None, **how: Any
) -> JsonObject:
    """Goes on from the checkpoint before a node, with other values in it."""
    checkpoint = (await _before(client, thread_id, node))["checkpoint"]
    if values is not None:
        before = WHOLE[WHOLE.index(node) - 1]
        edited = await client.threads.update_state(thread_id, values, as_node=before, checkpoint=checkpoint)
        checkpoint = edited["checkpoint"]
    return await _ask(client, None, thread_id, checkpoint=checkpoint, **how)


def _audit(studio: Studio, run_id: str) -> JsonObject:
    (form,) = rows(studio.database, "SELECT to_jsonb(v) FROM validations v WHERE run_id = %s", run_id)[0]
    return {name: value for name, value in form.items() if name not in OF_ITS_PLACE}


async def test_the_form_is_described_field_by_field(studio: Studio, client: LangGraphClient) -> None:
    (assistant,) = await client.assistants.search()
    assert (assistant["name"], assistant["graph_id"]) == (GRAPH, GRAPH)
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    asked = schemas["input_schema"]["properties"]
    assert list(asked) == list(AskInput.__annotations__)
    assert all(field["description"] for field in asked.values())
    assert asked["question"]["examples"]
    assert set(asked["filters"]["properties"]) == set(Filters.model_fields)
    assert set(asked["limits"]["properties"]) == set(REQUEST_LIMITS)
    told = schemas["output_schema"]["properties"]
    assert list(told) == list(AskOutput.__annotations__)
    assert set(told["response"]["properties"]) == set(PublicResponse.model_fields)
    assert all(field["description"] for field in told.values())
    chosen = schemas["context_schema"]["properties"]
    assert list(chosen) == ["policy", "model", "collection"]
    assert chosen["policy"]["anyOf"][0]["enum"] == list(SHIPPED)
    assert "extractive" in chosen["model"]["examples"]
    assert set(schemas["state_schema"]["properties"]) >= {"run", "policy", "retrieval", "assembly", "outcome"}


async def test_messages_are_described_as_studio_knows_them(client: LangGraphClient) -> None:
    (assistant,) = await client.assistants.search()
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    for form in (schemas["input_schema"], schemas["output_schema"]):
        kinds = [kind["$ref"].rpartition("/")[2] for kind in form["properties"]["messages"]["items"]["oneOf"]]
        assert {"HumanMessage", "AIMessage"} <= set(kinds) <= set(form["$defs"])


async def test_the_drawing_is_the_routing_table(client: LangGraphClient) -> None:
    drawn: Any = await client.assistants.get_graph(GRAPH)
    assert {node["id"] for node in drawn["nodes"]} == {START, *ROUTES, "record", "package", END}
    conditional = {(node, target) for node in ROUTES for target in targets(node)}
    assert {(e["source"], e["target"]) for e in drawn["edges"] if e.get("conditional")} == conditional
    assert {(e["source"], e["target"]) for e in drawn["edges"] if not e.get("conditional")} == set(STRAIGHT.items())


async def test_a_run_streams_its_stages_and_the_answer_last(answered: Streamed) -> None:
    updates = [data for event, data in answered.parts if event == "updates"]
    assert [name for update in updates for name in update] == WHOLE
    stages = [update[name]["outcome"] for update in updates for name in update if name in WHOLE[:6]]
    assert [(stage["stage"], stage["status"]) for stage in stages] == [(name, "OK") for name in WHOLE[:6]]
    answer = answered.response["answer"]
    holding = [number for number, part in enumerate(answered.parts) if answer[:40] in json.dumps(part)]
    recorded = next(number for number, (_, data) in enumerate(answered.parts) if data == {"record": None})
    assert answered.response["status"] == "OK"
    assert holding
    assert min(holding) > recorded


async def test_the_state_can_be_read_at_each_node(client: LangGraphClient, answered: Streamed) -> None:
    history: list[Any] = await client.threads.get_history(answered.thread_id, limit=100)
    mine = [state for state in history[::-1] if _run_of(state) in (None, answered.response["run_id"])][:10]
    assert [state["next"] for state in mine] == [[START], *([name] for name in WHOLE), []]
    written = ["run", "retrieval", "assembly", "prompt", "generation", "validation", "audit", "response"]
    for number, channel in enumerate(written, start=2):
        assert channel not in mine[number - 1]["values"]
        assert mine[number]["values"][channel]
    assert mine[-1]["values"]["response"] == answered.response
    assert mine[0]["values"].get("question") is None
    assert mine[1]["values"]["question"] == ANSWERED


def _run_of(state: Any) -> str | None:
    run_id: str | None = (state["values"].get("run") or {}).get("run_id")
    return run_id


@pytest.mark.contract("R5P-1")
def test_its_record_is_that_of_the_command_line(studio: Studio, answered: Streamed) -> None:
    program = Program(studio.variables())
    asked = program("ask", ANSWERED, "--json")
    assert asked.code == 0, asked.stderr
    told = json.loads(asked.stdout)
    ours, theirs = _audit(studio, answered.response["run_id"]), _audit(studio, told["run_id"])
    assert {name for name in ours if ours[name] != theirs[name]} == OF_ITS_OWN
    assert ours["thread_id"] == answered.thread_id
    same = [name for name in told if name not in ("request_id", "run_id", "latency_ms")]
    assert [answered.response[name] for name in same] == [told[name] for name in same]
    shown = program("runs", "show", answered.response["run_id"])
    assert (shown.code, [node for node in WHOLE if node not in shown.stdout]) == (0, [])
    assert program("audit", "verify").code == 0
    replayed = program("replay", "verify", answered.response["run_id"])
    assert (replayed.code, "DRIFT" in replayed.stdout) == (0, False), replayed.stdout


@pytest.mark.contract("S-2")
@pytest.mark.contract("R5P-1")
async def test_an_edited_bundle_is_answered_by_a_run_of_its_own(
    studio: Studio, client: LangGraphClient, answered: Streamed
) -> None:
    before = _audit(studio, answered.response["run_id"])
    found = (await _before(client, answered.thread_id, "assemble"))["values"]["retrieval"]
    text = "The shaft of a stored HP-200 is turned by hand every 3 days."
    edited = {**found, "results": [{**found["results"][0], "chunk_text": text}]}
    told = await _fork(client, answered.thread_id, "assemble", {"retrieval": edited})
    response = told["response"]
    assert (response["status"], response["answer"]) == ("OK", f"{text} [C0]")
    assert response["run_id"] != answered.response["run_id"]
    assert response["request_id"] == answered.response["request_id"]
    assert _audit(studio, response["run_id"])["prompt_sha256"] != before["prompt_sha256"]
    assert _audit(studio, answered.response["run_id"]) == before
    statement = "SELECT status FROM runs WHERE thread_id = %s ORDER BY started_at"
    assert {status for (status,) in rows(studio.database, statement, answered.thread_id)} == {"OK"}


@pytest.mark.contract("R4-2")
async def test_another_model_may_answer_from_the_same_prompt(
    studio: Studio, client: LangGraphClient, answered: Streamed
) -> None:
    studio.models.answer = REFUSAL
    context = {"model": OTHER_MODEL}
    told = await _fork(client, answered.thread_id, "generate", None, context=context)
    assert (told["response"]["status"], told["response"]["refusal_code"]) == ("NO_EVIDENCE", "model_refused")
    record = _audit(studio, told["response"]["run_id"])
    assert record["model_name"] == "gpt-4.1"
    assert record["prompt_sha256"] == _audit(studio, answered.response["run_id"])["prompt_sha256"]
    assert await _error(client, answered.thread_id, "validate", context) == (
        "the answer at this checkpoint is that of extractive. "
        "To ask another model, continue from a checkpoint before generate."
    )


async def _error(client: LangGraphClient, thread_id: str, node: str, context: JsonObject) -> str:
    """Return the error that Studio shows for a run that could not start."""
    checkpoint = (await _before(client, thread_id, node))["checkpoint"]
    stream = client.runs.stream(thread_id, GRAPH, input=None, checkpoint=checkpoint, context=context)
    return str(next(part.data["message"] for part in [part async for part in stream] if part.event == "error"))


@pytest.mark.contract("S-3")
@pytest.mark.parametrize(
    ("node", "channel", "change", "code", "clause"),
    [
        ("assemble", "retrieval", {"results": [row(0), row(0)]}, "INVALID_RANK", "R2-V2"),
        ("build_prompt", "assembly", {"selected_evidence": "all of it"}, "STATE_ALTERED", "CP-1"),
    ],
)
async def test_an_edit_that_breaks_the_contract_fails_with_the_clause(
    studio: Studio,
    client: LangGraphClient,
    answered: Streamed,
    node: str,
    channel: str,
    change: JsonObject,
    code: str,
    clause: str,
) -> None:
    found = (await _before(client, answered.thread_id, node))["values"][channel]
    told = await _fork(client, answered.thread_id, node, {channel: {**found, **change}})
    assert (told["response"]["status"], told["response"]["failure_code"]) == ("FAILED", code)
    assert told["outcome"]["violations"][0]["clause"] == clause
    assert (told["response"]["answer"], told["response"]["citations"]) == ("", [])
    assert _audit(studio, told["response"]["run_id"])["failure_reason"] == code


@pytest.mark.contract("CP-2")
async def test_a_run_that_was_stopped_at_a_node_goes_on_as_the_same_run(
    studio: Studio, client: LangGraphClient
) -> None:
    stopped = await _ask(client, {"question": ANSWERED}, interrupt_before=["generate"])
    state: Any = await client.threads.get_state(stopped["thread_id"])
    assert (state["next"], "response" in stopped) == (["generate"], False)
    told = await _ask(client, None, stopped["thread_id"])
    assert told["response"]["status"] == "OK"
    assert told["response"]["run_id"] == state["values"]["run"]["run_id"]
    assert single(studio.database, "SELECT count(*) FROM validations WHERE thread_id = %s", stopped["thread_id"]) == 1


async def _cancel_during_the_call(studio: Studio, client: LangGraphClient, **how: Any) -> str:
    """Start a run, stop it while its model thinks, and return its thread."""
    calls, studio.models.think_seconds = len(studio.models.calls), 60.0
    thread_id = (await client.threads.create())["thread_id"]
    asked = await client.runs.create(
        thread_id, GRAPH, input={"question": ANSWERED}, context={"model": OTHER_MODEL}, durability="sync"
    )
    await asyncio.to_thread(wait_until, lambda: len(studio.models.calls) > calls)
    studio.models.think_seconds = 0.0
    if how:
        await client.runs.cancel(thread_id, asked["run_id"], wait=True, **how)
    return thread_id


@pytest.mark.contract("CP-11")
@pytest.mark.parametrize(("action", "code"), [("interrupt", "NOT_RESUMABLE"), ("rollback", "RUN_PRUNED")])
async def test_a_run_that_studio_cancels_ends_as_cancelled(
    studio: Studio, client: LangGraphClient, action: Any, code: str
) -> None:
    thread_id = await _cancel_during_the_call(studio, client, action=action)
    ((run_id, status),) = rows(studio.database, "SELECT run_id, status FROM runs WHERE thread_id = %s", thread_id)
    assert status == "CANCELLED"
    async with Engine.open(settings_for(studio.database)) as engine:
        reason = read_recorded(await stored(engine, run_id))
        assert isinstance(reason, NotReplayable)
        assert (reason.code, reason.verdict) == ("RUN_CANCELLED", None)
        assert (await engine._services.audit_log.verify()).broken is None
        with pytest.raises(RequestError) as raised:
            await engine.resume(run_id)
        assert raised.value.failure_code == code


@pytest.mark.contract("CP-10")
@pytest.mark.contract("CP-11")
async def test_a_cancelled_thread_is_continued_by_a_run_of_its_own(studio: Studio, client: LangGraphClient) -> None:
    studio.models.answer = REFUSAL
    thread_id = await _cancel_during_the_call(studio, client, action="interrupt")
    told = (await _ask(client, None, thread_id))["response"]
    statement = "SELECT run_id, status FROM runs WHERE thread_id = %s ORDER BY started_at"
    cancelled, continued = rows(studio.database, statement, thread_id)
    assert (cancelled[1], continued) == ("CANCELLED", (told["run_id"], "NO_EVIDENCE"))
    async with Engine.open(settings_for(studio.database)) as engine:
        report = await verified(await recorded(engine, told["run_id"]))
        assert (report.verdict, report.fork_of) == ("FORK", cancelled[0])


@pytest.mark.contract("CP-11")
async def test_a_run_that_another_input_interrupts_ends_as_cancelled(studio: Studio, client: LangGraphClient) -> None:
    thread_id = await _cancel_during_the_call(studio, client)
    told = await _ask(client, {"question": OFF_TOPIC}, thread_id, multitask_strategy="interrupt")
    assert told["response"]["status"] == "NO_EVIDENCE"
    statement = "SELECT status FROM runs WHERE thread_id = %s ORDER BY started_at"
    assert rows(studio.database, statement, thread_id) == [("CANCELLED",), ("NO_EVIDENCE",)]


@pytest.mark.contract("S-2")
async def test_two_runs_at_once_on_one_thread_take_turns(studio: Studio, client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    questions = [ANSWERED, OFF_TOPIC]
    asked = [await client.runs.create(thread_id, GRAPH, input={"question": question}) for question in questions]
    with pytest.raises(ConflictError):
        await client.runs.create(thread_id, GRAPH, input={"question": ANSWERED}, multitask_strategy="reject")
    for run in asked:
        await client.runs.join(thread_id, run["run_id"])
    statement = (
        "SELECT question, status FROM runs JOIN run_texts USING (run_id) WHERE thread_id = %s ORDER BY started_at"
    )
    assert rows(studio.database, statement, thread_id) == [(ANSWERED, "OK"), (OFF_TOPIC, "NO_EVIDENCE")]


@pytest.mark.contract("CP-1")
@pytest.mark.contract("S-1")
async def test_a_chat_is_asked_and_answered_in_messages(studio: Studio, client: LangGraphClient) -> None:
    first = await _ask(client, {"messages": [{"role": "user", "content": OFF_TOPIC}]})
    asked = {"messages": [{"type": "human", "content": [{"type": "text", "text": ANSWERED}], "id": "mine"}]}
    second = await _ask(client, asked, first["thread_id"])
    assert [message["type"] for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert second["messages"][:2] == first["messages"]
    assert [message["content"] for message in first["messages"]] == [OFF_TOPIC, REFUSAL]
    assert second["messages"][2]["id"] == "mine"
    assert second["messages"][3]["content"] == second["response"]["answer"]
    assert (second["response"]["status"], second["outcome"]["status"]) == ("OK", "OK")
    state: Any = await client.threads.get_state(first["thread_id"])
    assert state["values"]["messages"] == second["messages"]
    async with Engine.open(settings_for(studio.database)) as engine:
        for told, question in ((first, OFF_TOPIC), (second, ANSWERED)):
            recorded = await engine.state(first["thread_id"], told["response"]["run_id"])
            assert recorded["run"]["question"] == question
            assert recorded["response"] == told["response"]
        nodes = [trace.node for trace in await engine.trace(first["thread_id"], first["response"]["run_id"])]
        assert nodes == ["accept", "retrieve", "assemble", "record", "package"]


@pytest.mark.contract("R1-8")
async def test_a_run_obeys_its_own_input_and_not_that_of_the_one_before(client: LangGraphClient) -> None:
    elsewhere = {"filters": {"equipment_id": "HP-300"}, "limits": {"min_sources": 5}, "request_id": "request-1"}
    given = {"retrieval_bundle": bundle([row(chunk_text=SEAL)]), "request_id": "request-1", "run_id": "run-of-mine"}
    brought = await _ask(client, given)
    narrow = await _ask(client, {"question": ANSWERED, **elsewhere}, brought["thread_id"])
    wide = await _ask(client, {"question": ANSWERED}, brought["thread_id"])
    statuses = [told["response"]["status"] for told in (brought, narrow, wide)]
    assert statuses == ["OK", "NO_EVIDENCE", "OK"]
    assert brought["response"]["run_id"] == "run-of-mine"
    assert wide["response"]["request_id"] != "request-1"
    assert wide["response"]["citations"][0]["equipment_id"] == "HP-200"


async def test_a_run_that_cannot_be_made_says_what_to_do(client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    stream = client.runs.stream(thread_id, GRAPH, input={"question": ANSWERED}, context={"policy": "NO_SUCH_POLICY"})
    (error,) = [part.data async for part in stream if part.event == "error"]
    assert error["message"].startswith("there is no policy 'NO_SUCH_POLICY'. Use one of SOURCEBOUND_V1")
    told = await _ask(client, {"question": ANSWERED}, thread_id)
    assert told["response"]["status"] == "OK"


async def test_characters_that_cannot_be_stored_break_no_run(client: LangGraphClient) -> None:
    told = await _ask(client, {"question": f"{ANSWERED}\0", "request_id": "a\0b"})
    assert (told["response"]["status"], told["response"]["request_id"]) == ("OK", "ab")


def test_another_program_asks_it_as_a_tool(studio: Studio) -> None:
    listed = studio.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    (tool,) = listed["result"]["tools"]
    assert (tool["name"], "question" in tool["inputSchema"]["properties"]) == (GRAPH, True)
    called = {"name": GRAPH, "arguments": {"question": ANSWERED}}
    told = studio.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called})
    (content,) = told["result"]["content"]
    assert "every 14 days" in content["text"]
    assert [name for name in ("evidence_block_text", "chunk_text", "similarity_score") if name in content["text"]] == []


async def test_another_agent_asks_it_in_messages(studio: Studio, client: LangGraphClient) -> None:
    (found,) = await client.assistants.search()
    assistant = found["assistant_id"]
    card = await client.http.get("/.well-known/agent-card.json", params={"assistant_id": assistant})
    assert card["name"] == GRAPH
    message = {"role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": ANSWERED}]}
    sent = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": message}}
    told = await asyncio.to_thread(studio.post, f"/a2a/{assistant}", sent)
    (artifact,) = told["result"]["artifacts"]
    assert "every 14 days" in artifact["parts"][0]["text"]


def test_nothing_left_this_machine(studio: Studio, answered: Streamed) -> None:
    assert answered.response["status"] == "OK"
    assert studio.left == []


def test_make_starts_it_as_these_tests_do() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nstudio:")[2].partition("\n\n")[0]
    wanted = [f"{name}={value}" for name, value in OFFLINE.items()]
    assert [setting for setting in [*wanted, *OPTIONS] if setting not in recipe] == []

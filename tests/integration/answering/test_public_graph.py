"""CP-12: no text of a model leaves the embedded graph before its validation, by any stream, subgraph or tool."""

import json
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import END, START
from langgraph.graph import StateGraph
from typing_extensions import TypedDict

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import ReplayStatus, RunReport
from sourcebound.contracts.state import RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import open_services
from support.builders import SEAL, bundle, row
from support.processes.databases import rows, settings_for
from support.processes.model_servers import ModelServer

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
FORGED = "987654"
FORGERY = f"The shaft seal is checked every {FORGED} hours. [C7]"
MODES: list[Any] = ["values", "updates", "custom", "messages", "tasks", "checkpoints", "debug"]
MODELS = ["openai:gpt-4.1", "ollama:llama3.2"]
STAGES = {"accept", "assemble", "build_prompt", "generate", "validate", "record", "package"}


class Outer(TypedDict, total=False):
    """The state of a graph that embeds ours."""

    retrieval_bundle: Any
    response: Any


@pytest.fixture(params=MODELS)
def context(request: pytest.FixtureRequest) -> RunContext:
    """A generator on the wire, so that a stream could carry its text."""
    return RunContext(model=request.param)


@pytest.fixture
async def engine(database: str, model_server: ModelServer) -> AsyncIterator[Engine]:
    """An engine whose model forges a number and a citation."""
    model_server.answer = FORGERY
    changes = {"openai_base_url": model_server.openai_url, "openai_api_key": "sk-1", "ollama_host": model_server.url}
    async with open_services(settings_for(database, **changes)) as services:
        yield Engine(services)


def _embedded(engine: Engine) -> Any:
    """A graph of a host with ours as a subgraph."""
    graph = StateGraph(Outer, context_schema=RunContext)
    graph.add_node("sourcebound", engine.graph)
    graph.add_edge(START, "sourcebound")
    graph.add_edge("sourcebound", END)
    return graph.compile(checkpointer=InMemorySaver())


def _called(engine: Engine, context: RunContext) -> Any:
    """A graph of a host whose node calls the engine itself, through a tool."""

    @tool
    async def ask_documents(request: str) -> str:
        """Answer from the documents."""
        return (await engine.ask(json.loads(request), context)).model_dump_json()

    async def node(state: Outer) -> Any:
        return {"response": json.loads(await ask_documents.ainvoke(json.dumps({"retrieval_bundle": EVIDENCE})))}

    graph = StateGraph(Outer, context_schema=RunContext)
    graph.add_node("documents", node)
    graph.add_edge(START, "documents")
    graph.add_edge("documents", END)
    return graph.compile(checkpointer=InMemorySaver())


def _graphs(engine: Engine, context: RunContext) -> dict[str, Any]:
    return {
        "alone": engine.graph,
        "with a checkpointer": engine.graph.copy(update={"checkpointer": InMemorySaver()}),
        "subgraph": _embedded(engine),
        "tool": _called(engine, context),
    }


HOSTS = ["alone", "with a checkpointer", "subgraph", "tool"]
PLACE: Any = {"configurable": {"thread_id": "host-1"}}


def _check(events: list[Any], database: str) -> None:
    assert [event for event in events if FORGED in repr(event)] == []
    assert "INVALID_CITATION_REFERENCE" in repr(events)
    assert rows(database, "SELECT validation_status, failure_reason FROM validations") == [
        ("FAILED", "INVALID_CITATION_REFERENCE")
    ]


@pytest.mark.contract("CP-12")
@pytest.mark.parametrize("host", HOSTS)
async def test_no_stream_mode_carries_a_text_that_is_not_validated(
    engine: Engine, database: str, context: RunContext, host: str
) -> None:
    stream = _graphs(engine, context)[host].astream(
        {"retrieval_bundle": EVIDENCE}, PLACE, context=context, stream_mode=MODES, subgraphs=True
    )
    events = [event async for event in stream]
    _check(events, database)
    stages = {data["stage"] for _, mode, data in events if mode == "custom"}
    assert stages == (set() if host == "tool" else STAGES)


@pytest.mark.contract("CP-12")
@pytest.mark.parametrize("host", HOSTS)
async def test_no_event_carries_a_text_that_is_not_validated(
    engine: Engine, database: str, context: RunContext, host: str
) -> None:
    graph = _graphs(engine, context)[host]
    events = graph.astream_events({"retrieval_bundle": EVIDENCE}, PLACE, context=context, version="v2")
    _check([event async for event in events], database)


@pytest.mark.contract("CP-12")
async def test_no_log_of_a_chain_carries_a_text_that_is_not_validated(
    engine: Engine, database: str, context: RunContext
) -> None:
    async def ask(_: object) -> dict[str, Any]:
        return (await engine.ask({"retrieval_bundle": EVIDENCE}, context)).to_json()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still a way out
        patches = [patch async for patch in RunnableLambda(ask).astream_log(None)]
    _check(patches, database)


@pytest.mark.contract("CP-12")
@pytest.mark.contract("CP-3")
@pytest.mark.parametrize("host", HOSTS)
async def test_an_embedded_run_is_recorded_and_replayed_like_any(
    engine: Engine, model_server: ModelServer, context: RunContext, host: str
) -> None:
    model_server.answer = f"{SEAL} [C0]"
    state = await _graphs(engine, context)[host].ainvoke({"retrieval_bundle": EVIDENCE}, PLACE, context=context)
    assert (state["response"]["status"], state["response"]["answer"]) == ("OK", f"{SEAL} [C0]")
    (summary,) = await engine._services.run_log.find_runs(state["response"]["run_id"])
    run = await read_run(PostgresHistory(engine._services.pool), summary)
    report = await verify(run, load_shipped_release())
    assert isinstance(report, RunReport)
    assert report.verdict is ReplayStatus.MATCH


@pytest.mark.contract("CP-9")
async def test_a_question_on_a_used_thread_keeps_nothing_of_the_one_before(engine: Engine, database: str) -> None:
    graph = engine.graph.copy(update={"checkpointer": InMemorySaver()})
    context = RunContext(model="extractive")
    first = await graph.ainvoke({"retrieval_bundle": EVIDENCE, "request_id": "first"}, PLACE, context=context)
    question: Any = {"messages": [{"role": "user", "content": "How often is the filter changed?"}]}
    second = await graph.ainvoke(question, PLACE, context=context)
    assert first["response"]["status"] == "OK"
    assert second["response"]["refusal_code"] == "collection_not_found"
    assert second["response"]["request_id"] != "first"
    assert [message["type"] for message in second["messages"]] == ["human", "ai"]

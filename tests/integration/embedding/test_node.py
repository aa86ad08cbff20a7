"""The engine in graphs of others: recorded and replayable with any saver of the surrounding graph, and with none."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from sourcebound.contracts.replay.report import ReplayStatus
from sourcebound.contracts.state import JsonObject
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.node import as_node
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from support.embedding import ANSWER, QUESTION, STAGES, open_sync_engine, replay_status
from support.processes.databases import Cluster, rows

PLACE: Any = {"configurable": {"thread_id": "host-1"}}
SAVERS = ["none", "memory", "postgres", "postgres in the same database"]


class Host(TypedDict, total=False):
    """The state of a graph with channels of its own."""

    ticket: str
    manual: JsonObject
    approved: bool


class ShapedLikeOurs(TypedDict, total=False):
    """The state of a graph with the channels of the public graph."""

    question: str
    response: JsonObject
    approved: bool


def graph_around(node: Any, state: Any = Host, saver: Any = None, then: Any = None) -> Any:
    """A graph of a host whose first node is ours, and whose second one, if it has one, follows."""
    graph = StateGraph(state)
    graph.add_node("manuals", node)
    graph.add_edge(START, "manuals")
    if then:
        graph.add_node("then", then)
        graph.add_edge("manuals", "then")
    graph.add_edge("then" if then else "manuals", END)
    return graph.compile(checkpointer=saver)


@pytest.fixture(params=SAVERS)
async def saver(request: pytest.FixtureRequest, library: str, cluster: Cluster) -> AsyncIterator[Any]:
    """A saver of the surrounding graph, as LangGraph ships it."""
    if request.param in ("none", "memory"):
        yield InMemorySaver() if request.param == "memory" else None
        return
    url = library if "same" in request.param else cluster.create()
    async with AsyncPostgresSaver.from_conn_string(url) as opened:
        await opened.setup()
        yield opened
    if url != library:
        cluster.drop(url)


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-12")
async def test_a_node_is_recorded_and_replayable_with_any_saver(engine: Engine, saver: Any) -> None:
    graph = graph_around(as_node(engine, question="ticket", response="manual"), saver=saver)
    state = await graph.ainvoke({"ticket": QUESTION}, PLACE)
    assert (state["ticket"], state["manual"]["answer"]) == (QUESTION, ANSWER)
    assert await replay_status(engine, state["manual"]["run_id"]) is ReplayStatus.MATCH
    if saver is not None:
        stored = (await graph.aget_state(PLACE)).values
        assert stored == state
        assert set(stored) == {"ticket", "manual"}


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-12")
async def test_a_subgraph_is_recorded_and_replayable_with_any_saver(engine: Engine, saver: Any) -> None:
    graph = graph_around(engine.graph, ShapedLikeOurs, saver)
    first = await graph.ainvoke({"question": QUESTION, "approved": True}, PLACE)
    second = await graph.ainvoke({"question": "How often is the shaft of a stored HP-200 turned by hand?"}, PLACE)
    assert first["response"]["answer"] == ANSWER
    assert "14 days" in second["response"]["answer"]
    for state in (first, second):
        assert await replay_status(engine, state["response"]["run_id"]) is ReplayStatus.MATCH


async def test_a_subgraph_leaves_the_ids_of_the_host_alone(engine: Engine) -> None:
    class WithIds(ShapedLikeOurs, total=False):
        run_id: str
        request_id: str

    graph = graph_around(engine.graph, WithIds, InMemorySaver())
    ids = {"run_id": "host-run", "request_id": "host-request"}
    for _ in range(2):
        state = await graph.ainvoke({"question": QUESTION, **ids}, PLACE)
        assert state["response"]["answer"] == ANSWER
        assert state["response"]["run_id"] != "host-run"
        assert {name: state[name] for name in ids} == ids


def test_a_synchronous_graph_with_a_stock_saver(library: str, minilm: MiniLmEmbedder, cluster: Cluster) -> None:
    url = cluster.create()
    with PostgresSaver.from_conn_string(url) as saver, open_sync_engine(library, minilm) as engine:
        saver.setup()
        graph = graph_around(as_node(engine, question="ticket", response="manual"), saver=saver)
        parts = list(graph.stream({"ticket": QUESTION}, PLACE, stream_mode=["custom", "values"]))
        assert [part["stage"] for mode, part in parts if mode == "custom"] == STAGES
        run_id = parts[-1][1]["manual"]["run_id"]
        assert engine.run(lambda opened: replay_status(opened, run_id)) is ReplayStatus.MATCH
    cluster.drop(url)


async def test_the_stages_are_streamed_while_they_end(engine: Engine) -> None:
    graph = graph_around(as_node(engine, question="ticket", response="manual"))
    parts = [part async for part in graph.astream({"ticket": QUESTION}, stream_mode=["custom", "updates"])]
    assert [part["stage"] for mode, part in parts if mode == "custom"] == STAGES
    assert [mode for mode, _ in parts].index("updates") == len(STAGES)


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize("part", ["node", "subgraph"])
async def test_a_chat_receives_the_answer_as_a_message(engine: Engine, part: str) -> None:
    class Chat(MessagesState, total=False):
        response: JsonObject

    node = as_node(engine, question="messages") if part == "node" else engine.graph
    graph = graph_around(node, Chat, InMemorySaver())
    first = await graph.ainvoke({"messages": [HumanMessage("How often is the filter of the HP-200 changed?")]}, PLACE)
    assert isinstance(first["messages"][-1], AIMessage)
    assert first["messages"][-1].content == first["response"]["answer"]
    second = await graph.ainvoke({"messages": [HumanMessage("And of the HP-300?")]}, PLACE)
    assert second["response"]["search_query"] == "How often is the filter of the HP-300 changed?"
    assert [message.type for message in second["messages"]] == ["human", "ai", "human", "ai"]
    for state in (first, second):
        assert await replay_status(engine, state["response"]["run_id"]) is ReplayStatus.MATCH


@pytest.mark.parametrize("part", ["node", "subgraph"])
async def test_calls_of_tools_are_no_part_of_the_question(engine: Engine, part: str) -> None:
    node = as_node(engine, question="messages") if part == "node" else engine.graph
    called = AIMessage("", tool_calls=[{"name": "clock", "args": {}, "id": "call-1"}])
    messages = [HumanMessage("What time is it?"), called, ToolMessage("noon", tool_call_id="call-1")]
    state = await graph_around(node, MessagesState).ainvoke({"messages": [*messages, HumanMessage(QUESTION)]})
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert state["messages"][-1].content == ANSWER


async def test_a_state_may_be_a_model(engine: Engine) -> None:
    class Ticket(BaseModel):
        text: str
        manual: dict[str, Any] | None = None

    state = await graph_around(as_node(engine, question="text", response="manual"), Ticket).ainvoke({"text": QUESTION})
    assert state["manual"]["answer"] == ANSWER


async def test_the_program_gives_filters_and_collection(engine: Engine, library: str) -> None:
    node = as_node(engine, {"collection": "nowhere"}, question="ticket", response="manual")
    state = await graph_around(node).ainvoke({"ticket": QUESTION})
    assert state["manual"]["refusal_code"] == "collection_not_found"


@pytest.mark.parametrize("state", [{"approved": True}, {"ticket": None}, {"ticket": 7}])
async def test_a_state_without_a_question_says_so(engine: Engine, state: Host) -> None:
    graph = graph_around(as_node(engine, question="ticket", response="manual"))
    with pytest.raises(RequestError, match="no question in 'ticket'") as error:
        await graph.ainvoke(state)
    assert error.value.failure_code == "INVALID_REQUEST"


@pytest.mark.contract("R5P-1")
async def test_a_graph_that_stops_for_a_person_asks_once(engine: Engine, library: str) -> None:
    def approve(state: Host) -> Host:
        return {"approved": cast("bool", interrupt(state["manual"]["answer"]))}

    node = as_node(engine, question="ticket", response="manual")
    graph = graph_around(node, saver=InMemorySaver(), then=approve)
    stopped = await graph.ainvoke({"ticket": QUESTION}, PLACE)
    assert stopped["__interrupt__"][0].value == ANSWER
    state = await graph.ainvoke(Command(resume=True), PLACE)
    assert (state["approved"], state["manual"]["answer"]) == (True, ANSWER)
    assert rows(library, "SELECT count(*) FROM validations") == [(1,)]


@pytest.mark.contract("CP-5")
async def test_a_graph_that_goes_back_asks_again_as_a_run_of_its_own(engine: Engine, library: str) -> None:
    graph = graph_around(as_node(engine, question="ticket", response="manual"), saver=InMemorySaver())
    first = await graph.ainvoke({"ticket": QUESTION}, PLACE)
    before = [each async for each in graph.aget_state_history(PLACE) if each.next == ("manuals",)]
    second = await graph.ainvoke(None, before[0].config)
    assert second["manual"]["answer"] == ANSWER
    assert second["manual"]["run_id"] != first["manual"]["run_id"]
    for state in (first, second):
        assert await replay_status(engine, state["manual"]["run_id"]) is ReplayStatus.MATCH

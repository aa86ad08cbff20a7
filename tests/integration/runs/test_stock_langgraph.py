"""CP-9: engine, LangGraph's server and the stock saver continue and fork each other's threads."""

from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import uuid4

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_sdk.client import LangGraphClient

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import NotReplayable, ReplayStatus, RunReport
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import open_services
from support.processes.databases import settings_for
from support.processes.studio import GRAPH, JsonObject, Studio

FIRST: AskInput = {
    "question": "To what torque are the gland bolts of the HP-200 mechanical seal tightened in revision B?",
    "filters": {"equipment_id": "HP-200"},
    "limits": {"top_k": 8},
}
FIRST_ANSWER = "22 N·m"
SECOND: AskInput = {"question": "How often is the shaft of a stored HP-200 turned by hand?"}
SECOND_ANSWER = "14 days"
OTHER: AskInput = {"question": "To what is the spring compression of the HP-300 seal set?"}
OTHER_ANSWER = "mm"
FROM_THE_START = ["__start__", "accept"]
NODES = [*FROM_THE_START, "retrieve", "assemble", "build_prompt", "generate", "validate"]
SERVED = [NODES[0], "retrieve", NODES[-1]]
"""The nodes from which the server forks too."""
WRITERS = ["engine", "stock", "server"]


class EngineHost:
    """The engine. Its threads have one run each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def ask(self, request: AskInput) -> JsonObject:
        response = (await self._engine.ask(request)).to_json()
        return {**response, "thread_id": response["run_id"]}


class StockHost:
    """LangGraph's own loop over its own saver, with its own serializer."""

    def __init__(self, engine: Engine) -> None:
        saver = AsyncPostgresSaver(engine._services.pool)
        self.graph: StudioGraph = studio_graph(engine.ports).copy(update={"checkpointer": saver})

    async def ask(self, request: AskInput, thread_id: str | None = None) -> JsonObject:
        thread_id = thread_id or str(uuid4())
        state = await self.graph.ainvoke(request, _place(thread_id), context=RunContext())
        return {**state["response"], "thread_id": thread_id}

    async def fork(self, thread_id: str, node: str) -> JsonObject:
        history = [each async for each in self.graph.aget_state_history(_place(thread_id))]
        before = next(each for each in reversed(history) if each.next == (node,))
        response: JsonObject = (await self.graph.ainvoke(None, before.config, context=RunContext()))["response"]
        return response


class ServerHost:
    """LangGraph's server."""

    def __init__(self, client: LangGraphClient) -> None:
        self._client = client

    async def ask(self, request: AskInput, thread_id: str | None = None) -> JsonObject:
        thread = await self._client.threads.create(thread_id=thread_id, if_exists="do_nothing")
        output: Any = await self._client.runs.wait(thread["thread_id"], GRAPH, input=cast("JsonObject", request))
        return {**output["response"], "thread_id": thread["thread_id"]}

    async def fork(self, thread_id: str, node: str) -> JsonObject:
        await self._client.threads.create(thread_id=thread_id, if_exists="do_nothing", graph_id=GRAPH)
        history = await self._client.threads.get_history(thread_id, limit=100)
        before = next(each for each in reversed(history) if each["next"] == [node])
        output: Any = await self._client.runs.wait(thread_id, GRAPH, input=None, checkpoint=before["checkpoint"])
        response: JsonObject = output["response"]
        return response


def _place(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


@pytest.fixture
async def engine(studio: Studio, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    """An engine over the server's database."""
    async with open_services(settings_for(studio.database)) as services:
        services._embedders["minilm"] = minilm
        yield Engine(services)


@pytest.fixture
async def hosts(engine: Engine, client: LangGraphClient) -> dict[str, Any]:
    """The three hosts over one database."""
    return {"engine": EngineHost(engine), "stock": StockHost(engine), "server": ServerHost(client)}


async def _verify(engine: Engine, run_id: str) -> RunReport | NotReplayable:
    (summary,) = await engine._services.run_log.find_runs(run_id)
    return await verify(await read_run(PostgresHistory(engine._services.pool), summary), load_shipped_release())


@pytest.mark.contract("CP-9")
@pytest.mark.parametrize("reader", ["stock", "server"])
@pytest.mark.parametrize("writer", WRITERS)
async def test_a_thread_is_continued_by_any_host(
    hosts: dict[str, Any], engine: Engine, writer: str, reader: str
) -> None:
    first = await hosts[writer].ask(FIRST)
    assert FIRST_ANSWER in first["answer"]
    second = await hosts[reader].ask(SECOND, first["thread_id"])
    assert SECOND_ANSWER in second["answer"]
    third = await hosts[reader].ask(OTHER, first["thread_id"])  # the filter of the first run would refuse it
    assert OTHER_ANSWER in third["answer"]
    assert len({first["run_id"], second["run_id"], third["run_id"]}) == 3
    for response in (first, second, third):
        report = await _verify(engine, response["run_id"])
        assert isinstance(report, RunReport)
        assert report.verdict is ReplayStatus.MATCH


@pytest.mark.contract("CP-9")
@pytest.mark.contract("CP-10")
@pytest.mark.parametrize(
    ("node", "reader"), [*((node, "stock") for node in NODES), *((node, "server") for node in SERVED)]
)
@pytest.mark.parametrize("writer", WRITERS)
async def test_a_thread_is_forked_by_any_host(
    hosts: dict[str, Any], engine: Engine, writer: str, reader: str, node: str
) -> None:
    first = await hosts[writer].ask(FIRST)
    fork = await hosts[reader].fork(first["thread_id"], node)
    assert (fork["status"], fork["answer"]) == ("OK", first["answer"])
    assert fork["run_id"] != first["run_id"]
    reports = [await _verify(engine, response["run_id"]) for response in (first, fork)]
    verdicts = [(each.verdict, each.fork_of) for each in reports if isinstance(each, RunReport)]
    is_anew = node in FROM_THE_START and writer != "engine"  # the engine's input names its run
    forked = (ReplayStatus.MATCH, None) if is_anew else (ReplayStatus.FORK, first["run_id"])
    assert verdicts == [(ReplayStatus.MATCH, None), forked]


@pytest.mark.contract("CP-9")
@pytest.mark.parametrize("writer", ["engine", "server"])
async def test_the_stock_saver_reads_every_checkpoint(hosts: dict[str, Any], engine: Engine, writer: str) -> None:
    first = await hosts[writer].ask(FIRST)
    place = _place(first["thread_id"])
    stock = [each.values async for each in hosts["stock"].graph.aget_state_history(place)]
    own = [each.values async for each in engine._compiled().aget_state_history(place)]
    assert len(stock) > len(NODES)
    assert stock == own

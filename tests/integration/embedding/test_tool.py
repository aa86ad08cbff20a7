"""The engine as a tool of LangChain's agent: a real agent loop with a scripted chat model."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage

from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.replay.report import ReplayStatus
from sourcebound.contracts.state import RunContext
from sourcebound.errors import ConfigurationError, UsageError
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.tool import as_tool
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.wiring import open_services
from support.builders import SEAL, bundle, row
from support.embedding import ANSWER, OFF_TOPIC, QUESTION, ScriptedChatModel, open_sync_engine, replay_status
from support.processes.databases import rows, settings_for
from support.processes.model_servers import ModelServer

SHOWN = ANSWER.replace("[C0]", "[1]")
LAST = AIMessage("The oil charge is 0.65 litres.")


def call(question: str, **more: Any) -> AIMessage:
    arguments = {"question": question, **more}
    return AIMessage("", tool_calls=[{"name": "ask_documents", "args": arguments, "id": "call-1"}])


def tool_messages(state: dict[str, Any]) -> Sequence[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


ASK: Any = {"messages": [{"role": "user", "content": "How much oil does it take?"}]}


async def test_an_agent_asks_and_its_model_reads_the_answer(engine: Engine) -> None:
    model = ScriptedChatModel(script=[call(QUESTION), LAST])
    agent = create_agent(model, [as_tool(engine)])
    state = await agent.ainvoke(ASK)
    (result,) = tool_messages(state)
    assert str(result.content).startswith(f"{SHOWN}\n\n- [1] HP-200 Circulation Pump")
    assert (result.artifact["answer"], result.artifact["citations"][0]["page_number"]) == (ANSWER, 13)
    assert state["messages"][-1].content == LAST.content
    assert model.received[1][-1] == result
    assert await replay_status(engine, result.artifact["run_id"]) is ReplayStatus.MATCH


async def test_an_agent_may_end_with_the_validated_text(engine: Engine) -> None:
    model = ScriptedChatModel(script=[call(QUESTION)])
    state = await create_agent(model, [as_tool(engine, return_direct=True)]).ainvoke(ASK)
    assert str(state["messages"][-1].content).startswith(SHOWN)
    assert len(model.received) == 1


def test_a_synchronous_agent_asks(library: str, minilm: MiniLmEmbedder) -> None:
    with open_sync_engine(library, minilm) as engine:
        agent = create_agent(ScriptedChatModel(script=[call(QUESTION), LAST]), [as_tool(engine)])
        (result,) = tool_messages(agent.invoke(ASK))
    assert str(result.content).startswith(SHOWN)


async def test_an_asynchronous_agent_asks_a_synchronous_engine(library: str, minilm: MiniLmEmbedder) -> None:
    with open_sync_engine(library, minilm) as engine:
        agent = create_agent(ScriptedChatModel(script=[call(QUESTION), LAST]), [as_tool(engine)])
        (result,) = tool_messages(await agent.ainvoke(ASK))
    assert str(result.content).startswith(SHOWN)


@pytest.mark.contract("R6-4")
async def test_a_refusal_is_a_result_that_says_so(engine: Engine) -> None:
    model = ScriptedChatModel(script=[call(OFF_TOPIC), LAST])
    (result,) = tool_messages(await create_agent(model, [as_tool(engine)]).ainvoke(ASK))
    assert str(result.content) == f"{REFUSAL}\n\nNo source is similar enough to the question."
    assert (result.status, result.artifact["status"]) == ("success", "NO_EVIDENCE")


async def test_the_program_and_not_the_model_chooses_filters_and_collection(engine: Engine) -> None:
    written = call("To what is the spring compression of the seal set?", collection="nowhere", filters={})
    tool = as_tool(engine, {"filters": {"equipment_id": "HP-300"}})
    assert set(tool.args) == {"question"}
    agent = create_agent(ScriptedChatModel(script=[written, LAST]), [tool])
    (result,) = tool_messages(await agent.ainvoke(ASK))
    assert "4.1 mm" in result.artifact["answer"]


async def test_an_argument_that_no_question_can_be_is_an_error_of_the_call(engine: Engine, library: str) -> None:
    model = ScriptedChatModel(script=[call("x" * 4001), LAST])
    (result,) = tool_messages(await create_agent(model, [as_tool(engine)]).ainvoke(ASK))
    assert (result.status, rows(library, "SELECT 1 FROM runs")) == ("error", [])


async def test_a_fault_ends_the_agent_with_its_code(engine: Engine) -> None:
    agent = create_agent(
        ScriptedChatModel(script=[call(QUESTION)]), [as_tool(engine, context=RunContext(policy="NONE"))]
    )
    with pytest.raises(ConfigurationError) as error:
        await agent.ainvoke(ASK)
    assert error.value.failure_code == "UNKNOWN_POLICY"


async def test_a_synchronous_call_of_an_asynchronous_engine_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(UsageError, match="SyncEngine") as error:
        as_tool(engine).invoke({"question": QUESTION})
    assert error.value.failure_code == "ASYNC_ENGINE"


@pytest.mark.contract("CP-12")
async def test_no_event_of_an_agent_carries_a_text_that_is_not_validated(
    database: str, model_server: ModelServer
) -> None:
    model_server.answer = "The shaft seal is checked every 987654 hours. [C7]"
    evidence: Any = {"retrieval_bundle": bundle([row(0, chunk_text=SEAL)], policy_version=None)}
    settings = settings_for(database, openai_base_url=model_server.openai_url, openai_api_key="sk-1")
    async with open_services(settings) as services:
        tool = as_tool(Engine(services), evidence, RunContext(model="openai:gpt-4.1"))
        agent = create_agent(ScriptedChatModel(script=[call(QUESTION), LAST]), [tool])
        events = [event async for event in agent.astream_events(ASK, version="v2")]
    assert "987654" not in repr(events)
    assert model_server.calls

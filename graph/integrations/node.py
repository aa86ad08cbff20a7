"""The engine as a node of another LangGraph graph, whatever the names of that graph's channels.

The pipeline runs inside on a thread of its own with its own checkpoints and record (CP-12). The surrounding graph and
its checkpointer, if it has one, see JSON only: the question, the response, and the names of the stages as a stream.
A graph that has the channels of `AskInput` and `response` may add `engine.graph` as a subgraph instead.
"""

from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.config import get_stream_writer

from sourcebound.contracts.response.chat_messages import answer_message
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, JsonObject, RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.integrations.calls import AnyEngine, acall_engine, call_engine
from sourcebound.graph.public_graph import read_chat


def as_node(
    engine: AnyEngine,
    request: AskInput | None = None,
    context: RunContext | None = None,
    *,
    question: str = "question",
    response: str = "response",
) -> Runnable[Any, JsonObject]:
    """Make a node that asks the question in the state of a graph; each call is a run with its own record.

    Args:
        engine: An engine. With a `SyncEngine` the node works in `invoke` and `stream` too.
        request: The fields of every request except the question: collection, filters, limits.
        context: Policy and model of the runs, if they differ from the settings.
        question: The channel that holds the question, a text; or a chat, whose last message is the question.
        response: The channel that receives the public response as JSON.

    Returns:
        The node, for `StateGraph.add_node`. It writes the stages to the `custom` stream. To a chat, it adds the answer
        as a message.

    Raises:
        RequestError: The state has no question in that channel (`INVALID_REQUEST`), when the node runs.
        SourceboundError: As `Engine.ask`; `ASYNC_ENGINE` if the graph does not await and the engine is asynchronous.
    """

    def read(state: Any) -> AskInput:
        value = state.get(question) if isinstance(state, Mapping) else getattr(state, question, None)
        if isinstance(value, list) and value:
            return {**(request or {}), "messages": read_chat(value)}
        if isinstance(value, str):
            return {**(request or {}), "question": value}
        raise RequestError(
            f"the state has no question in {question!r}.",
            "Name the channel that holds it: as_node(engine, question=…).",
            code="INVALID_REQUEST",
        )

    def update(asked: AskInput, answered: PublicResponse) -> JsonObject:
        reply = {question: [AIMessage(**answer_message(answered))]} if "messages" in asked else {}
        return {response: answered.to_json(), **reply}

    def node(state: Any) -> JsonObject:
        asked, on_node = read(state), _stage_writer()
        return update(asked, call_engine(engine, lambda opened: opened.ask(asked, context, on_node=on_node)))

    async def anode(state: Any) -> JsonObject:
        asked, on_node = read(state), _stage_writer()
        return update(asked, await acall_engine(engine, lambda opened: opened.ask(asked, context, on_node=on_node)))

    return RunnableLambda(node, anode, name="sourcebound")


def _stage_writer() -> Callable[[str], None]:
    """Return the writer of stages for the node that runs; it works in the context of that node only."""
    host, write = copy_context(), get_stream_writer()
    return lambda stage: host.run(write, {"stage": stage})

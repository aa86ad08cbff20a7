"""CP-12: the graph that other programs embed. Only stages and the validated response leave it.

It has one node, which asks the engine. The pipeline runs inside on a thread of its own, with its own checkpoints and
record, so that a run can be replayed whatever graph, tool or stream surrounds it. A host sees the name of each stage
(`custom` stream) and the response; the prompt, the evidence and the model's text stay inside.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import copy_context
from typing import Annotated, Any, Final, Protocol, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import get_async_callback_manager_for_config, var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.constants import END, START
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from sourcebound.contracts.base import JsonSchemaHint
from sourcebound.contracts.request_form import find_form_error, to_recordable
from sourcebound.contracts.response.chat_messages import Message, answer_message, is_chat
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, JsonObject, Messages, RunContext
from sourcebound.errors import RequestError

NODE = "ask"
"""The only node of the public graph."""
CHAT: Final = ("human", "ai", "system")
"""The types of the messages that are part of a chat."""
HOST_FIELDS: Final = (
    "question", "messages", "collection", "filters", "limits", "conversation_id", "caller_labels", "retrieval_bundle",
)  # fmt: skip
"""The channels of a surrounding graph that a subgraph reads. Ids there are the host's own."""


class Ask(Protocol):
    """Runs the pipeline once, as `Engine.ask` does."""

    def __call__(
        self, request: AskInput, context: RunContext | None = None, *, on_node: Callable[[str], None] | None = None
    ) -> Awaitable[PublicResponse]:
        """Ask, and return the public response."""
        ...


class PublicOutput(TypedDict, total=False):
    """The output of the public graph."""

    response: Annotated[JsonObject, JsonSchemaHint(PublicResponse), Field(description="The answer and its sources.")]
    messages: Messages


class PublicState(AskInput, PublicOutput):
    """The state of the public graph: the request and the response."""


class FreshInputGraph(CompiledStateGraph[Any, RunContext, AskInput, Any]):
    """A compiled graph whose runs take nothing from the input of an earlier run on their thread (CP-9)."""

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncGenerator[Any]:
        """Stream a run as `CompiledStateGraph` does; an input replaces the previous one completely.

        As a subgraph it receives the whole state of the surrounding graph, and reads only `HOST_FIELDS`.
        """
        request = _own_fields(input) if isinstance(input, dict) and _is_subgraph(config) else input
        complete: Any = _complete_input(request) if isinstance(request, dict) else request
        parts = cast("AsyncGenerator[Any]", super().astream(complete, config, **options))
        async with aclosing(parts) as stream:
            async for part in stream:
                yield part


def make_public_graph(ask: Ask) -> FreshInputGraph:
    """Compile the graph that other programs embed.

    Args:
        ask: Runs the pipeline once.

    Returns:
        The compiled graph, without a checkpointer. A checkpointer of the host stores requests and responses only.
    """

    async def node(state: AskInput, runtime: Runtime[RunContext]) -> JsonObject:
        request: Any = {name: value for name in AskInput.__annotations__ if (value := state.get(name)) is not None}
        host = copy_context()  # the writer works in the host's context only

        def write_stage(name: str) -> None:
            host.run(runtime.stream_writer, {"stage": name})

        response = await ask(request, runtime.context, on_node=write_stage)
        reply = {"messages": [answer_message(response)]} if is_chat(request) else {}
        return {"response": response.to_json(), **reply}

    graph = StateGraph(PublicState, input_schema=AskInput, output_schema=PublicOutput, context_schema=RunContext)
    graph.add_node(NODE, node)
    graph.add_edge(START, NODE)
    graph.add_edge(NODE, END)
    return fresh_input(graph.compile(name="sourcebound"), FreshInputGraph)


def read_request(request: Mapping[str, Any]) -> AskInput:
    """Return a request as it can be recorded (S-4).

    Raises:
        RequestError: It has an unknown field, or an identity of the wrong type.
    """
    error = find_form_error(request)
    if error is not None:
        raise RequestError(f"{error}.", "Correct the field, or leave it out.", code="INVALID_REQUEST")
    return to_recordable(request)


def fresh_input(
    compiled: CompiledStateGraph[Any, Any, Any, Any], kind: Callable[..., FreshInputGraph]
) -> FreshInputGraph:
    """Return a compiled graph as one that takes no input of an earlier run."""
    return kind(**{name: value for name, value in vars(compiled).items() if name != "__orig_class__"})


@contextmanager
def hidden_from_streams() -> Iterator[None]:
    """Hide the pipeline from a surrounding graph and from every stream; tracers and other handlers still see it.

    A stream of the host (`astream_events`, `messages`) would carry a model's text before it is validated, and a
    surrounding graph would take the pipeline's checkpoints for its own.
    """
    callbacks = get_async_callback_manager_for_config(ensure_config()).copy()
    callbacks.handlers = [each for each in callbacks.handlers if not _is_stream(each)]
    callbacks.inheritable_handlers = [each for each in callbacks.inheritable_handlers if not _is_stream(each)]
    token = var_child_runnable_config.set({"callbacks": callbacks})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def read_chat(messages: list[Any]) -> list[Message]:
    """Return the questions and answers of a chat as JSON.

    Args:
        messages: Messages as a LangGraph graph holds them, as objects or as JSON.

    Returns:
        Those of persons, models and the system. Calls of tools and their results cannot complete a follow-up.
    """
    plain = [each.model_dump(mode="json") if isinstance(each, BaseMessage) else each for each in messages]
    return [each for each in plain if not isinstance(each, dict) or each.get("type", CHAT[0]) in CHAT]


def _is_subgraph(config: RunnableConfig | None) -> bool:
    return "__pregel_task_id" in (config or {}).get("configurable", {})


def _own_fields(state: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name in HOST_FIELDS if (value := state.get(name)) is not None}
    return {**own, "messages": read_chat(own["messages"])} if isinstance(own.get("messages"), list) else own


def _is_stream(handler: object) -> bool:
    return isinstance(handler, _StreamingCallbackHandler)


def _complete_input(values: dict[str, Any]) -> dict[str, Any]:
    """Set every missing field to None, so that it does not keep the value of an earlier run on the thread."""
    absent = {name: None for name in AskInput.__annotations__ if name != "messages"}
    return {**absent, **read_request(values)}

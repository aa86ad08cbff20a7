"""The graph as a server of LangGraph's runs it: many runs on one thread, edits of a state, forms made of schemas."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import MessagesState
from langgraph.graph.state import CompiledStateGraph
from pydantic import TypeAdapter

from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.graph.studio.edit_guard import guard_edited_state
from sourcebound.graph.workflow import Ports, build_graph

JsonSchema = dict[str, Any]


class StudioGraph(CompiledStateGraph[State, RunContext, AskInput, AskOutput]):
    """The compiled graph, whose runs take nothing from the input of an earlier run on their thread."""

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Streams a run, as `CompiledStateGraph` does; an input replaces the whole of the one before it."""
        whole: Any = _whole(input) if isinstance(input, dict) else input
        async for part in super().astream(whole, config, **options):
            yield part

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> JsonSchema:
        """The schema of `AskInput`."""
        return _with_messages(super().get_input_jsonschema(config))

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> JsonSchema:
        """The schema of `AskOutput`."""
        return _with_messages(super().get_output_jsonschema(config))


def studio_graph(ports: Ports) -> StudioGraph:
    """The pipeline for a host that keeps its checkpoints itself.

    Args:
        ports: What its nodes reach.

    Returns:
        The compiled graph, without a checkpointer.
    """
    compiled = build_graph(ports, guard_edited_state(ports)).compile(name="sourcebound")
    return StudioGraph(**{name: value for name, value in vars(compiled).items() if name != "__orig_class__"})


def _whole(given: dict[str, Any]) -> dict[str, Any]:
    """Every field of an input: what is not given is nothing, and not what an earlier run of the thread was given."""
    absent = {name: None for name in AskInput.__annotations__ if name != "messages"}
    return {**absent, **to_storable(given)}


def _with_messages(schema: JsonSchema) -> JsonSchema:
    """The schema with `messages` as LangGraph itself describes them: by that, Studio knows that a graph can chat."""
    known = TypeAdapter(MessagesState).json_schema()
    ours, theirs = schema["properties"]["messages"], known["properties"]["messages"]
    properties = {**schema["properties"], "messages": {**ours, "items": theirs["items"]}}
    return {**schema, "properties": properties, "$defs": {**known["$defs"], **schema.get("$defs", {})}}

"""The graph for LangGraph's server: many runs on one thread, edited states, and schemas for its input forms."""

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
    """The compiled graph. Its runs take nothing from the input of an earlier run on their thread."""

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Stream a run as `CompiledStateGraph` does; an input replaces the previous one completely."""
        complete: Any = _complete_input(input) if isinstance(input, dict) else input
        async for part in super().astream(complete, config, **options):
            yield part

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> JsonSchema:
        """Return the schema of `AskInput`."""
        return _with_messages(super().get_input_jsonschema(config))

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> JsonSchema:
        """Return the schema of `AskOutput`."""
        return _with_messages(super().get_output_jsonschema(config))


def studio_graph(ports: Ports) -> StudioGraph:
    """Compile the pipeline for a host that stores its checkpoints itself.

    Args:
        ports: The services that the nodes use.

    Returns:
        The compiled graph, without a checkpointer.
    """
    compiled = build_graph(ports, guard_edited_state(ports)).compile(name="sourcebound")
    return StudioGraph(**{name: value for name, value in vars(compiled).items() if name != "__orig_class__"})


def _complete_input(values: dict[str, Any]) -> dict[str, Any]:
    """Set every missing field to None, so that it does not keep the value of an earlier run on the thread."""
    absent = {name: None for name in AskInput.__annotations__ if name != "messages"}
    return {**absent, **to_storable(values)}


def _with_messages(schema: JsonSchema) -> JsonSchema:
    """Describe `messages` as LangGraph does; Studio offers a chat only for such a schema."""
    chat_schema = TypeAdapter(MessagesState).json_schema()
    ours, theirs = schema["properties"]["messages"], chat_schema["properties"]["messages"]
    properties = {**schema["properties"], "messages": {**ours, "items": theirs["items"]}}
    return {**schema, "properties": properties, "$defs": {**chat_schema["$defs"], **schema.get("$defs", {})}}

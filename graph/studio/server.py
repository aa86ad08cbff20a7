"""The graph for LangGraph's server: many runs on one thread, edited states, and schemas for its input forms."""

from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import MessagesState
from pydantic import TypeAdapter

from sourcebound.graph.public_graph import FreshInputGraph, fresh_input
from sourcebound.graph.studio.edit_guard import guard_edited_state
from sourcebound.graph.workflow import Ports, build_graph

JsonSchema = dict[str, Any]


class StudioGraph(FreshInputGraph):
    """The compiled graph with schemas for input forms."""

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
    return cast("StudioGraph", fresh_input(compiled, StudioGraph))


def _with_messages(schema: JsonSchema) -> JsonSchema:
    """Describe `messages` as LangGraph does; Studio offers a chat only for such a schema."""
    chat_schema = TypeAdapter(MessagesState).json_schema()
    ours, theirs = schema["properties"]["messages"], chat_schema["properties"]["messages"]
    properties = {**schema["properties"], "messages": {**ours, "items": theirs["items"]}}
    return {**schema, "properties": properties, "$defs": {**chat_schema["$defs"], **schema.get("$defs", {})}}

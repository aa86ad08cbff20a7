"""The graph for LangGraph's server: many runs on one thread, edited states, and schemas for its input forms."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import MessagesState
from pydantic import TypeAdapter

from sourcebound.contracts.ports import RunLog
from sourcebound.errors import SourceboundError
from sourcebound.graph.public_graph import FreshInputGraph, fresh_input
from sourcebound.graph.studio.edit_guard import guard_edited_state
from sourcebound.graph.workflow import Ports, build_graph

JsonSchema = dict[str, Any]
CANCEL_SECONDS: Final = 5.0
"""The time that a cancelled host waits for the database."""


class StudioGraph(FreshInputGraph):
    """The compiled graph with schemas for input forms. A run that its host cancels ends as CANCELLED (CP-11).

    Args:
        run_log: Ends the cancelled runs.
        parts: The parts of the compiled graph.
    """

    def __init__(self, *, run_log: RunLog, **parts: Any) -> None:
        super().__init__(**parts)
        self.run_log = run_log

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncGenerator[Any]:
        """Stream a run as `CompiledStateGraph` does; its host cancels it, or closes the stream before its end."""
        try:
            async with aclosing(super().astream(input, config, **options)) as stream:
                async for part in stream:
                    yield part
        except (asyncio.CancelledError, GeneratorExit):
            await self._end_cancelled(config or {})
            raise

    async def _end_cancelled(self, config: RunnableConfig) -> None:
        """End the run before the host begins another one on its thread, if the database answers in time."""
        thread_id = config.get("configurable", {}).get("thread_id")
        if thread_id:
            with suppress(SourceboundError, TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self.run_log.end_unfinished(str(thread_id))

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
    return cast("StudioGraph", fresh_input(compiled, partial(StudioGraph, run_log=ports.run_log)))


def _with_messages(schema: JsonSchema) -> JsonSchema:
    """Describe `messages` as LangGraph does; Studio offers a chat only for such a schema."""
    chat_schema = TypeAdapter(MessagesState).json_schema()
    ours, theirs = schema["properties"]["messages"], chat_schema["properties"]["messages"]
    properties = {**schema["properties"], "messages": {**ours, "items": theirs["items"]}}
    return {**schema, "properties": properties, "$defs": {**chat_schema["$defs"], **schema.get("$defs", {})}}

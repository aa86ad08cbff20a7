"""An alternative executor for new runs: the nodes run in sequence, and the checkpoints are those of LangGraph (CP-1).

LangGraph's loop serves parallel nodes and many kinds of listeners. For a sequence of nodes without a listener, it takes
a quarter of a whole run (without a model call). This executor runs the same graph, with its nodes, routes and channels,
and writes the checkpoints that LangGraph would write: LangGraph reads them, resumes and forks from any of them. It is
used only if no tracer and no callback listens, and only with a LangGraph whose checkpoints it was compared with.
LangGraph's loop runs everything else.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6
from langgraph.constants import END, START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langsmith.utils import tracing_is_enabled

from sourcebound.contracts.state import AskInput, AskOutput, JsonObject, RunContext, State
from sourcebound.errors import StoreError
from sourcebound.graph.checkpoint import RunSaver
from sourcebound.graph.routing import ROUTES, STRAIGHT, route_from

CHECKPOINT_FORMAT: Final = 4
"""The version of LangGraph's checkpoint format."""
TESTED_LANGGRAPH: Final = "1.2."
"""The releases of LangGraph whose checkpoints were compared with those of this runner."""
INSTALLED_LANGGRAPH: Final = version("langgraph")
INPUT_CHANNELS: Final = frozenset(AskInput.__annotations__)
RECORD: Final = "record"
"""The node that every run reaches."""
Node = Callable[..., Awaitable[JsonObject]]


def can_run_directly() -> bool:
    """Whether the installed LangGraph is one that was tested, and no LangChain tracer or callback handler is active."""
    return INSTALLED_LANGGRAPH.startswith(TESTED_LANGGRAPH) and not _has_listeners()


def _has_listeners() -> bool:
    return bool(get_async_callback_manager_for_config(ensure_config()).handlers) or bool(tracing_is_enabled())


class DirectRunner:
    """Runs the graph node by node.

    Args:
        nodes: The nodes by name.
        graph: The compiled graph.
    """

    def __init__(
        self, nodes: Mapping[str, Node], graph: CompiledStateGraph[State, RunContext, AskInput, AskOutput]
    ) -> None:
        self._nodes = nodes
        self._parameters = {name: signature(node).parameters.keys() for name, node in nodes.items()}
        self._routes = {name: route_from(name) for name in ROUTES}
        self._channels = {name: channel for name, channel in graph.channels.items() if isinstance(channel, BaseChannel)}

    async def run(
        self,
        request: AskInput,
        thread_id: str,
        context: RunContext,
        saver: RunSaver,
        on_node: Callable[[str], None] | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> State:
        """Run the graph from its input to its end.

        Args:
            request: The input.
            thread_id: A thread without a checkpoint.
            context: The context of the run.
            saver: Receives a checkpoint after every node, before the next one starts.
            on_node: Receives the name of each node when it ends.
            overrides: Arguments that replace the bound ones of a node, by parameter name.

        Returns:
            The last state.

        The record and the response that depends on it are stored in one transaction. If the record is refused, the
        runner rolls back to before `record` and retries; the response then reports the failure.

        Raises:
            SourceboundError: As the nodes and the saver do.
        """
        config = {"configurable": {"thread_id": thread_id}}
        arguments = {"runtime": Runtime(context=context), "config": config, **(overrides or {})}
        writer = CheckpointWriter(self._channels, saver, thread_id)
        first = STRAIGHT[START]
        await writer.begin(request, first)
        await self._run_nodes(writer, arguments, first, RECORD, on_node)
        ended_nodes: list[str] = []
        try:
            with writer.deferred():
                await self._run_nodes(writer, arguments, RECORD, END, ended_nodes.append)
        except StoreError as error:
            if error.is_unavailable:
                raise
            ended_nodes.clear()
            await self._run_nodes(writer, arguments, RECORD, END, ended_nodes.append)
        if on_node:
            for name in ended_nodes:
                on_node(name)
        return writer.state

    async def _run_nodes(
        self,
        writer: "CheckpointWriter",
        arguments: Mapping[str, object],
        name: str,
        end: str,
        on_node: Callable[[str], None] | None,
    ) -> None:
        """Run one node after the other, up to the node named as the end."""
        while name != end:
            accepted = {key: value for key, value in arguments.items() if key in self._parameters[name]}
            update = await self._nodes[name](writer.state, **accepted)
            writer.write(update)
            following = self._routes[name](writer.state) if name in self._routes else STRAIGHT[name]
            await writer.checkpoint(name, update, following)
            if on_node:
                on_node(name)
            name = following


class CheckpointWriter:
    """Writes the checkpoints of one run.

    Args:
        channels: The channels of the compiled graph.
        saver: Receives the checkpoints.
        thread_id: The thread.
    """

    def __init__(self, channels: Mapping[str, BaseChannel[Any, Any, Any]], saver: RunSaver, thread_id: str) -> None:
        self._empty, self._channels = channels, dict[str, BaseChannel[Any, Any, Any]]()
        initial = {name: channel.get() for name, channel in channels.items() if channel.is_available()}
        self.state = cast("State", initial)
        """The state that the nodes read."""
        self._saver = saver
        self._place: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        self._versions: dict[str, str] = {}
        self._seen: dict[str, dict[str, str]] = {"__input__": {}}
        self._step = -1
        self._thread_id = thread_id

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Store the checkpoints of this block with the record; if that fails, roll back to the start of the block."""
        channels, place, step = (
            {name: channel.copy() for name, channel in self._channels.items()},
            self._place,
            self._step,
        )
        state, versions, seen = {**self.state}, {**self._versions}, {**self._seen}
        self._saver.defer_to_record(self._thread_id)
        try:
            yield
        except BaseException:
            self._saver.discard_deferred(self._thread_id)
            self._channels, self._place, self._step = channels, place, step
            self.state, self._versions, self._seen = cast("State", state), versions, seen
            raise

    async def begin(self, request: AskInput, first: str) -> None:
        """Write the checkpoint of the input, and that of the state before the first node."""
        self._versions[START] = self._saver.get_next_version(None)
        await self._put("input", {START: request}, [START], {START: self._versions[START]})
        inputs = {name: value for name, value in request.items() if name in INPUT_CHANNELS}
        self.write(inputs)
        await self._advance(START, START, inputs, first)

    def write(self, update: Mapping[str, Any]) -> None:
        """Apply the update of a node to the state through the channels."""
        for name, value in update.items():
            if name not in self._channels:
                self._channels[name] = self._empty[name].copy()
            channel = self._channels[name]
            channel.update([value])
            cast("dict[str, Any]", self.state)[name] = channel.get()

    async def checkpoint(self, node: str, update: Mapping[str, Any], following: str) -> None:
        """Write the checkpoint after a node."""
        await self._advance(node, _trigger(node), update, following)

    async def _advance(self, node: str, trigger: str, update: Mapping[str, Any], following: str) -> None:
        triggers = [] if following == END else [_trigger(following)]
        version = self._saver.get_next_version(max(self._versions.values()))
        self._seen[node] = {trigger: self._versions[trigger]}
        new_versions = dict.fromkeys((trigger, *update, *triggers), version)
        self._versions |= new_versions
        present = {name: value for name, value in self.state.items() if name in self._versions}
        await self._put("loop", {**present, **dict.fromkeys(triggers)}, sorted((*update, *triggers)), new_versions)

    async def _put(
        self, source: str, values: Mapping[str, Any], updated_channels: list[str], new_versions: dict[str, str]
    ) -> None:
        checkpoint: dict[str, Any] = {
            "v": CHECKPOINT_FORMAT,
            "id": str(uuid6(clock_seq=self._step)),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": values,
            "channel_versions": self._versions,
            "versions_seen": self._seen,
            "updated_channels": updated_channels,
        }
        metadata = {"source": source, "step": self._step, "parents": {}}
        self._place = await self._saver.aput(
            self._place, cast("Checkpoint", checkpoint), cast("CheckpointMetadata", metadata), dict(new_versions)
        )
        self._step += 1


def _trigger(node: str) -> str:
    """Return the channel whose update triggers a node."""
    return f"branch:to:{node}"

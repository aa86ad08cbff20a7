"""Walks a new run through the graph, one node after the other, and leaves the checkpoints that LangGraph would (CP-1).

LangGraph's loop is made for nodes that run side by side and for listeners of many kinds; on a row of nodes to which
nobody listens, that is a quarter of a whole run. What is walked here is the same graph, with its nodes, its routes and
its channels, and the checkpoints are its own: LangGraph reads them, goes on from any of them, forks and replays them.
It also runs whatever somebody listens to.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
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
"""Of LangGraph's checkpoints."""
INPUT_CHANNELS: Final = frozenset(AskInput.__annotations__)
RECORD: Final = "record"
"""The node that every run comes to."""
Node = Callable[..., Awaitable[JsonObject]]


def has_listeners() -> bool:
    """Whether somebody listens to LangChain's events here: a tracer, or the callbacks of a runnable around this one."""
    return bool(get_async_callback_manager_for_config(ensure_config()).handlers) or bool(tracing_is_enabled())


class DirectRunner:
    """The graph, to be walked.

    Args:
        nodes: Its nodes.
        graph: The compiled graph.
    """

    def __init__(
        self, nodes: Mapping[str, Node], graph: CompiledStateGraph[State, RunContext, AskInput, AskOutput]
    ) -> None:
        self._nodes = nodes
        self._takes = {name: signature(node).parameters.keys() for name, node in nodes.items()}
        self._routes = {name: route_from(name) for name in ROUTES}
        self._channels = {name: channel for name, channel in graph.channels.items() if isinstance(channel, BaseChannel)}

    async def walk(
        self,
        asked: AskInput,
        thread_id: str,
        context: RunContext,
        saver: RunSaver,
        on_node: Callable[[str], None] | None = None,
        beside: Mapping[str, object] | None = None,
    ) -> State:
        """Runs the graph from its input to its end.

        Args:
            asked: The input.
            thread_id: A thread without a checkpoint.
            context: The run's context.
            saver: Takes a checkpoint after every node, before the next one begins.
            on_node: Told the name of each node that has ended.
            beside: What the nodes get instead of what they are bound to, by the names of their parameters.

        Returns:
            The last state.

        The record and the response that stands on it are stored in one transaction. Where the record is refused, the
        walk goes back to before it, and on as ever: the fault is the response then.

        Raises:
            SourceboundError: As the nodes and the saver do.
        """
        config = {"configurable": {"thread_id": thread_id}}
        offers = {"runtime": Runtime(context=context), "config": config, **(beside or {})}
        trail = CheckpointWriter(self._channels, saver, thread_id)
        first = STRAIGHT[START]
        await trail.begin(asked, first)
        await self._pass(trail, offers, first, RECORD, on_node)
        ended: list[str] = []
        try:
            with trail.held():
                await self._pass(trail, offers, RECORD, END, ended.append)
        except StoreError as error:
            if error.failure_code == StoreError.code:
                raise
            ended.clear()
            await self._pass(trail, offers, RECORD, END, ended.append)
        if on_node:
            for name in ended:
                on_node(name)
        return trail.state

    async def _pass(
        self,
        trail: "CheckpointWriter",
        offers: Mapping[str, object],
        name: str,
        end: str,
        on_node: Callable[[str], None] | None,
    ) -> None:
        """Runs one node after the other until it comes to the one that is named as the end."""
        while name != end:
            taken = {offer: value for offer, value in offers.items() if offer in self._takes[name]}
            update = await self._nodes[name](trail.state, **taken)
            trail.write(update)
            following = self._routes[name](trail.state) if name in self._routes else STRAIGHT[name]
            await trail.leave(name, update, following)
            if on_node:
                on_node(name)
            name = following


class CheckpointWriter:
    """The checkpoints of one run.

    Args:
        channels: Those of the compiled graph.
        saver: Takes the checkpoints.
        thread_id: The thread.
    """

    def __init__(self, channels: Mapping[str, BaseChannel[Any, Any, Any]], saver: RunSaver, thread_id: str) -> None:
        self._empty, self._channels = channels, dict[str, BaseChannel[Any, Any, Any]]()
        begun = {name: channel.get() for name, channel in channels.items() if channel.is_available()}
        self.state = cast("State", begun)
        """As the nodes read it."""
        self._saver = saver
        self._place: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        self._versions: dict[str, str] = {}
        self._seen: dict[str, dict[str, str]] = {"__input__": {}}
        self._step = -1
        self._thread_id = thread_id

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is left in here is stored together, with the record; where that fails, it is as if it had not been."""
        channels, place, step = (
            {name: channel.copy() for name, channel in self._channels.items()},
            self._place,
            self._step,
        )
        state, versions, seen = {**self.state}, {**self._versions}, {**self._seen}
        self._saver.hold(self._thread_id)
        try:
            yield
        except BaseException:
            self._saver.release(self._thread_id)
            self._channels, self._place, self._step = channels, place, step
            self.state, self._versions, self._seen = cast("State", state), versions, seen
            raise

    async def begin(self, asked: AskInput, first: str) -> None:
        """Leaves the checkpoint of the input, and that of the state before the first node."""
        self._versions[START] = self._saver.get_next_version(None)
        await self._put("input", {START: asked}, [START], {START: self._versions[START]})
        given = {name: value for name, value in asked.items() if name in INPUT_CHANNELS}
        self.write(given)
        await self._advance(START, START, given, first)

    def write(self, update: Mapping[str, Any]) -> None:
        """Takes what a node wrote into the state, as the channels do."""
        for name, value in update.items():
            if name not in self._channels:
                self._channels[name] = self._empty[name].copy()
            channel = self._channels[name]
            channel.update([value])
            cast("dict[str, Any]", self.state)[name] = channel.get()

    async def leave(self, node: str, update: Mapping[str, Any], following: str) -> None:
        """Leaves the checkpoint after a node that has written."""
        await self._advance(node, _trigger(node), update, following)

    async def _advance(self, node: str, trigger: str, update: Mapping[str, Any], following: str) -> None:
        ahead = [] if following == END else [_trigger(following)]
        version = self._saver.get_next_version(max(self._versions.values()))
        self._seen[node] = {trigger: self._versions[trigger]}
        changed = dict.fromkeys((trigger, *update, *ahead), version)
        self._versions |= changed
        written = {name: value for name, value in self.state.items() if name in self._versions}
        await self._put("loop", {**written, **dict.fromkeys(ahead)}, sorted((*update, *ahead)), changed)

    async def _put(self, source: str, values: Mapping[str, Any], updated: list[str], changed: dict[str, str]) -> None:
        checkpoint: dict[str, Any] = {
            "v": CHECKPOINT_FORMAT,
            "id": str(uuid6(clock_seq=self._step)),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": values,
            "channel_versions": self._versions,
            "versions_seen": self._seen,
            "updated_channels": updated,
        }
        metadata = {"source": source, "step": self._step, "parents": {}}
        self._place = await self._saver.aput(
            self._place, cast("Checkpoint", checkpoint), cast("CheckpointMetadata", metadata), dict(changed)
        )
        self._step += 1


def _trigger(node: str) -> str:
    """The channel whose update has a node run."""
    return f"branch:to:{node}"

"""Reads recorded runs: their nodes, their states, their evidence and their released answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from sourcebound.contracts.ports import Access
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.presentation.source_view import SourceView, view_source
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.errors import DATA_ERRORS, RequestError
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.node_trace import NodeTrace, belongs_to_another_run, trace_nodes
from sourcebound.graph.run_views.answer import find_evidence, read_answer
from sourcebound.graph.run_views.passages import Passage, read_passages
from sourcebound.store.connection.database import store_faults
from sourcebound.wiring import Services

Graph = CompiledStateGraph[State, RunContext, AskInput, AskOutput]


class RunReader:
    """Reads the runs of a graph from its checkpoints.

    Args:
        services: The database, the index and the logs.
        graph: The compiled graph, without a checkpointer.
    """

    def __init__(self, services: Services, graph: Graph) -> None:
        self._services = services
        self._pipeline = graph

    async def trace(self, thread_id: str, run_id: str | None = None) -> list[NodeTrace]:
        """Return each node of a run with its status and the time between the previous checkpoint and its own.

        Args:
            thread_id: The thread of the run.
            run_id: The run, if the thread may have several.

        Returns:
            The nodes in order.
        """
        with store_faults(), _damage_as_error():
            history = [snapshot async for snapshot in self._compiled().aget_state_history(thread_config(thread_id))]
        return trace_nodes(history, run_id)

    async def state(self, thread_id: str, run_id: str | None = None) -> State:
        """Return the last checkpointed state of a run; empty if there is none.

        Args:
            thread_id: The thread of the run.
            run_id: The run, if the thread may have several.
        """
        graph = self._compiled()
        with store_faults(), _damage_as_error():
            snapshot = await graph.aget_state(thread_config(thread_id))
            if not belongs_to_another_run(snapshot, run_id) and not _is_branch(snapshot):
                return cast("State", snapshot.values)
            history = [
                snapshot
                async for snapshot in graph.aget_state_history(thread_config(thread_id))
                if not belongs_to_another_run(snapshot, run_id)
            ]
        ends = [each for each in history if each.values.get("response") and not _is_branch(each)]
        last = ends[-1:] or history[:1]  # the newest is first; edits and branches after the end change nothing
        return cast("State", last[0].values) if last else {}

    async def evidence(
        self,
        thread_id: str,
        anchor: str,
        access: Access | None = None,
        caller: str | None = None,
        run_id: str | None = None,
    ) -> str:
        """Return the text of one source as the prompt showed it (R6-7). Arguments and errors are those of `source`."""
        return (await self.source(thread_id, anchor, access, caller, run_id)).text

    async def source(
        self,
        thread_id: str,
        anchor: str,
        access: Access | None = None,
        caller: str | None = None,
        run_id: str | None = None,
    ) -> SourceView:
        """Return one source of a recorded run with its place on its page, if the caller may read it now (R6-7).

        Args:
            thread_id: The thread of the run.
            anchor: `C0`, `C1`, …
            access: Decides who may read which document. Default: a local caller may read what the collection holds.
            caller: The reader.
            run_id: The run, if the thread may have several.

        Raises:
            RequestError: The run has no such source, or the caller may not read its document (any more).
        """
        state = await self._recorded_state(thread_id, run_id)
        chunk = await find_evidence(state, anchor, access or self._services.index, caller)
        collection = state["run"]["collection"]
        sources = self._services.sources
        stored = await sources.find_place(collection, chunk.knowledge_id, chunk.chunk_id) if collection else None
        return view_source(state, chunk, stored)

    async def answer(
        self, thread_id: str, access: Access | None = None, caller: str | None = None, run_id: str | None = None
    ) -> AnswerView:
        """Return the released answer of a recorded run, for `contracts.presentation.render.present` (R6-8).

        Args:
            thread_id: The thread of the run; its `run_id`, unless the host of the graph chose another.
            access: Decides who may read which document. Default: a local caller may read what the collection holds.
            caller: The reader.
            run_id: The run, if the thread may have several.

        Returns:
            The view, without the texts of documents that the caller may not read (any more).

        Raises:
            RequestError: The run does not exist, has not ended, or was recorded under other contracts.
        """
        state = await self._recorded_state(thread_id, run_id)
        return await read_answer(state, access or self._services.index, caller)

    async def passages(
        self, thread_id: str, access: Access | None = None, caller: str | None = None, run_id: str | None = None
    ) -> list[Passage]:
        """Return the nearest passages of a recorded run without an answer: passages, not an answer.

        Args:
            thread_id: The thread of the run.
            access: Decides who may read which document. Default: a local caller may read what the collection holds.
            caller: The reader.
            run_id: The run, if the thread may have several.

        Returns:
            At most three, best first; none if the run has an answer or retrieved nothing.
        """
        state = await self._recorded_state(thread_id, run_id)
        return await read_passages(state, access or self._services.index, caller) if state else []

    async def _recorded_state(self, thread_id: str, run_id: str | None) -> State:
        state = await self.state(thread_id, run_id)
        if not state:
            await self._services.run_log.require_not_erased(thread_id, run_id)
        return state

    def _compiled(self, pipeline: Graph | None = None) -> Graph:
        return (pipeline or self._pipeline).copy(
            update={"checkpointer": make_saver(self._services.pool, self._services.buffer)}
        )


@contextmanager
def _damage_as_error() -> Iterator[None]:
    """Report checkpoints that cannot be read as an error of the run (S-4)."""
    try:
        yield
    except DATA_ERRORS as error:
        raise RequestError(
            f"the checkpoints of the run are damaged ({type(error).__name__}).",
            "Restore them from a backup of the database; `sourcebound replay verify RUN` names the damaged layer.",
            code="RUN_UNREADABLE",
        ) from error


def _is_branch(snapshot: StateSnapshot) -> bool:
    """Whether no node wrote a checkpoint: a person edited the state, or began a branch."""
    return (snapshot.metadata or {}).get("source") in ("update", "fork")


def thread_config(thread_id: str) -> RunnableConfig:
    """Return LangGraph's configuration for a thread."""
    return {"configurable": {"thread_id": thread_id}}

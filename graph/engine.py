"""Runs the graph: one thread a run, every node checkpointed, the response at the end."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from pydantic import ValidationError

from sourcebound.contracts.admission import stated_request_id
from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.ports import Access
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.run_page.search_report import SearchReport
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.errors import RequestError, StoreError, UsageError
from sourcebound.graph.batch.ordered import MAX_CONCURRENCY, map_ordered
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.direct_runner import DirectRunner, has_listeners
from sourcebound.graph.ids import new_id
from sourcebound.graph.node_trace import NodeTrace, belongs_to_another_run, trace_nodes
from sourcebound.graph.run_views.answer import read_answer, read_evidence
from sourcebound.graph.run_views.retrieval_preview import search
from sourcebound.graph.workflow import Ports, build_graph, make_nodes
from sourcebound.settings import Settings, get_settings
from sourcebound.store.checkpoints.pending import NEVER_BEGAN, NO_LONGER_OURS
from sourcebound.store.connection.database import store_faults
from sourcebound.store.runs.log import Opened, never_began_error, not_resumable_error, unreadable_run_error
from sourcebound.wiring import Services, open_services, resolve_policy

OnNode = Callable[[str], None] | None
Found = Opened | None


class Engine:
    """Answers questions over one set of services.

    Args:
        services: The database, the index and the logs.
    """

    def __init__(self, services: Services) -> None:
        settings = services.settings
        self._services = services
        self.ports = Ports(
            catalog=services.index,
            retriever=services.retriever,
            run_log=services.run_log,
            conversations=services.conversations,
            read_state=self.state,
            audit_log=services.audit_log,
            answers=services.answers,
            models=services.models,
            find_policy=partial(resolve_policy, folder=settings.policies),
            new_id=new_id,
            defaults=RunContext(policy=settings.policy, model=settings.model, collection=settings.collection),
        )
        """What the nodes reach."""
        self.graph = build_graph(self.ports).compile(name="sourcebound")
        """The compiled graph, without a checkpointer."""
        self._walker = DirectRunner(make_nodes(self.ports), self.graph)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings | None = None) -> AsyncIterator[Self]:
        """Opens the services of some settings, the process's own when omitted."""
        async with open_services(settings or get_settings()) as services:
            yield cls(services)

    async def ask(
        self, request: AskInput, context: RunContext | None = None, *, on_node: OnNode = None
    ) -> PublicResponse:
        """Runs the graph once.

        Args:
            request: A question, or a retrieval bundle; with a `conversation_id` it is the next of its conversation.
            context: Policy and model of this run, where they differ from the settings.
            on_node: Told the name of each node that has ended.

        Returns:
            The public response, whatever the outcome.

        Raises:
            SourceboundError: The run could not be recorded at all: no database, no such policy, model or conversation,
                or a `run_id` that another run has (S-2).
        """
        chosen = self._settle(context or RunContext())
        await self._services.models.open(chosen.model or "")
        asked: AskInput = to_storable(dict(request))
        run_id = asked["run_id"] = asked.get("run_id") or new_id()
        if not stated_request_id(asked):
            asked["request_id"] = new_id()
        opened = await self._open(run_id, chosen, asked)
        async with self._at_work(run_id):
            try:
                return await self._begin(run_id, asked, chosen, on_node, opened)
            except UsageError as error:
                if error.failure_code != NEVER_BEGAN:
                    raise
                self._services.run_log.leave(run_id)  # a database that crashed has lost it; but for checkpoints
                if not await self._services.run_log.open(run_id, stated_request_id(asked), chosen, asked):
                    raise
            return await self._begin(run_id, asked, chosen, on_node)

    async def ask_many(
        self,
        requests: Iterable[AskInput] | AsyncIterable[AskInput],
        context: RunContext | None = None,
        *,
        at_once: int = MAX_CONCURRENCY,
    ) -> AsyncGenerator[PublicResponse, None]:
        """Runs the graph once for each request, as they come; each is a run with a record of its own.

        Args:
            requests: Questions or retrieval bundles, any number of them: few are read ahead of the responses.
            context: Policy and model of these runs, where they differ from the settings.
            at_once: Requests that are read and whose response has not been taken, at most.

        Yields:
            The responses in the order of the requests.

        Raises:
            SourceboundError: As `ask`, after the responses before it. The runs under way after it are cut off; so are
                they where the caller stops (`resume` goes on with them).
        """
        async with aclosing(map_ordered(requests, partial(self.ask, context=context), at_once)) as responses:
            async for response in responses:
                yield response

    async def start_conversation(self) -> str:
        """Opens a conversation; its id goes into the `conversation_id` of each of its questions (CP-6)."""
        conversation_id = new_id()
        await self._services.conversations.start(conversation_id)
        return conversation_id

    async def conversation(self, conversation_id: str) -> list[Turn]:
        """The runs of a conversation in their order.

        Raises:
            RequestError: There is no such conversation.
        """
        return await self._services.conversations.list_turns(conversation_id)

    async def search(self, request: AskInput, context: RunContext | None = None) -> SearchReport:
        """What retrieval and selection see of a question; asks no model and records no run.

        Args:
            request: A question, and where and how to look.
            context: The policy, where it differs from the settings.

        Returns:
            Every candidate and its fate, and the gate's verdict.

        Raises:
            SourceboundError: There is no such policy, a limit would loosen it, or the database did not answer.
        """
        return await search(to_storable(dict(request)), context or RunContext(), self.ports)

    async def resume(self, run_id: str) -> PublicResponse:
        """Goes on with a run that was cancelled or cut off, from its last checkpoint; an ended one is left as it is.

        Args:
            run_id: The run's id.

        Returns:
            The public response.

        Raises:
            RequestError: There is nothing to go on from (`NEVER_BEGAN`, `NOT_RESUMABLE`), somebody is at the run
                (`RUN_AT_WORK`), or its contracts are not this version's (`RUN_UNREADABLE`).
            SourceboundError: The run was cut off again.
        """
        run_log = self._services.run_log
        claimed = await run_log.claim(run_id)
        if claimed is None:
            return await self._ended(run_id)
        async with self._at_work(run_id):
            snapshot = await self._compiled().aget_state(_thread(claimed.thread_id))
            if belongs_to_another_run(snapshot, run_id) or (claimed.thread_id != run_id and not snapshot.created_at):
                raise not_resumable_error()
            if not snapshot.created_at and claimed.request:
                return await self._begin(run_id, claimed.request, claimed.context)
            if not snapshot.created_at:
                if not await run_log.withdraw(run_id):
                    raise not_resumable_error()
                raise never_began_error()
            try:
                return await self._go(claimed.thread_id, None, claimed.context)
            except ValidationError as error:
                raise unreadable_run_error() from error

    async def list_cut_off(self) -> list[str]:
        """The ids of the runs that nobody is at although they have not ended, the oldest first."""
        return await self._services.run_log.list_cut_off()

    async def fork(self, state: State) -> State:
        """Runs the graph from where retrieval ended, as a run of its own (CP-5).

        Args:
            state: The new run, its policy and its candidates.

        Returns:
            The last state.

        Raises:
            SourceboundError: The run could not be recorded.
        """
        run = Run.model_validate(state["run"])
        chosen = RunContext(model=run.model, collection=run.collection)
        await self._open(run.run_id, chosen, {"request_id": run.request_id})
        async with self._at_work(run.run_id):
            await self._services.run_log.begin(run)
            await self._compiled().aupdate_state(_thread(run.thread_id), state, as_node="retrieve")
            await self._go(run.thread_id, None, chosen)
        return await self.state(run.thread_id)

    async def trace(self, thread_id: str, run_id: str | None = None) -> list[NodeTrace]:
        """Each node of a run with its status and the time from the checkpoint before it to its own.

        Args:
            thread_id: The run's thread.
            run_id: The run, where the thread may have more than one.

        Returns:
            The nodes in order.
        """
        with store_faults():
            history = [snapshot async for snapshot in self._compiled().aget_state_history(_thread(thread_id))]
        return trace_nodes(history, run_id)

    async def state(self, thread_id: str, run_id: str | None = None) -> State:
        """The last checkpointed state of a run; empty where there is none.

        Args:
            thread_id: The run's thread.
            run_id: The run, where the thread may have more than one.
        """
        graph = self._compiled()
        with store_faults():
            snapshot = await graph.aget_state(_thread(thread_id))
            if not belongs_to_another_run(snapshot, run_id):
                return cast("State", snapshot.values)
            async for snapshot in graph.aget_state_history(_thread(thread_id)):
                if not belongs_to_another_run(snapshot, run_id):
                    return cast("State", snapshot.values)
        return {}

    async def erase(self, run_id: str, thread_id: str, *, whole_thread: bool = False) -> None:
        """Erases every text of a run, and its thread's checkpoints (R5P-3).

        Its audit record stays; nothing of the thread can be replayed or resumed afterwards.

        Args:
            run_id: The run.
            thread_id: Its thread.
            whole_thread: Erases every other run of the thread as well.

        Raises:
            RequestError: Other runs share the thread (`THREAD_SHARED`), or somebody is at the run (`RUN_AT_WORK`).
        """
        await self._services.run_log.find_idle(run_id)
        await self._services.run_log.erase(run_id, thread_id, whole_thread=whole_thread)

    async def evidence(
        self,
        thread_id: str,
        anchor: str,
        access: Access | None = None,
        caller: str | None = None,
        run_id: str | None = None,
    ) -> str:
        """The text of one source of a recorded run, if the caller may read its document now (R6-7).

        Args:
            thread_id: The run's thread.
            anchor: `C0`, `C1`, …
            access: Who may read what; when omitted, whoever is at this machine, what is still in the collection.
            caller: Who asks.
            run_id: The run, where the thread may have more than one.

        Returns:
            The text as the prompt showed it.

        Raises:
            RequestError: There is no such source in the run, or the caller may not read its document (any more).
        """
        state = await self._kept_state(thread_id, run_id)
        return await read_evidence(state, anchor, access or self._services.index, caller)

    async def answer(
        self, thread_id: str, access: Access | None = None, caller: str | None = None, run_id: str | None = None
    ) -> AnswerView:
        """What a recorded run released, for `contracts.presentation.present` and its like (R6-8).

        Args:
            thread_id: The run's thread; its `run_id`, unless the host of the graph chose another.
            access: Who may read what; when omitted, whoever is at this machine, what is still in the collection.
            caller: Who asks.
            run_id: The run, where the thread may have more than one.

        Returns:
            The view; the text of a document that the caller may not read (any more) is not in it.

        Raises:
            RequestError: There is no such run, it has not ended, or it was recorded under other contracts.
        """
        state = await self._kept_state(thread_id, run_id)
        return await read_answer(state, access or self._services.index, caller)

    async def _kept_state(self, thread_id: str, run_id: str | None) -> State:
        state = await self.state(thread_id, run_id)
        if not state:
            await self._services.run_log.check_kept(thread_id, run_id)
        return state

    async def _open(self, run_id: str, context: RunContext, asked: AskInput) -> Opened:
        """Makes a run this process's own before anything of it is stored.

        Raises:
            RequestError: There is a run of that id.
        """
        opened = await self._services.run_log.open(run_id, stated_request_id(asked), context, asked, is_fresh=True)
        if opened is None:
            raise RequestError(
                f"there is a run {run_id!r} already.", "Leave run_id out, or give a new one.", code="RUN_EXISTS"
            )
        return opened

    def _settle(self, context: RunContext) -> RunContext:
        """What a run obeys: the caller's choice, and the settings of today where it left one open."""
        defaults = self.ports.defaults
        return RunContext(
            policy=context.policy or defaults.policy,
            model=context.model or defaults.model,
            collection=context.collection or defaults.collection,
        )

    @asynccontextmanager
    async def _at_work(self, run_id: str) -> AsyncIterator[None]:
        """The work on a run of this process's own; where it is cut off, anybody may go on with it (CP-2)."""
        run_log = self._services.run_log
        try:
            with store_faults():
                yield
        except BaseException as error:
            await run_log.let_go(run_id)
            if isinstance(error, StoreError):
                next_step = f"{error.next_step} Then go on with the run: sourcebound runs resume {run_id}"
                raise StoreError(error.message, next_step, code=error.failure_code) from error
            raise
        run_log.leave(run_id)

    async def _begin(
        self, run_id: str, asked: AskInput, context: RunContext, on_node: OnNode = None, opened: Found = None
    ) -> PublicResponse:
        """Runs the graph from its input; of what `accept` would not have no run began (P-4)."""
        try:
            return await self._go(run_id, asked, context, on_node, opened)
        except UsageError as error:
            if error.failure_code not in (NEVER_BEGAN, *NO_LONGER_OURS):
                await self._services.run_log.withdraw(run_id)
            raise

    async def _go(
        self, thread_id: str, asked: AskInput | None, context: RunContext, on_node: OnNode = None, opened: Found = None
    ) -> PublicResponse:
        """Runs the graph to its end; each checkpoint is in the journal before the next node starts."""
        if asked is not None and not has_listeners():
            saver = make_saver(self._services.pool, self._services.journal)
            found = {"catalog": opened} if opened else None
            state = await self._walker.walk(asked, thread_id, context, saver, on_node, found)
            return PublicResponse.model_validate(state["response"])
        graph, thread = self._compiled(), _thread(thread_id)
        async for update in graph.astream(asked, thread, context=context, durability="sync", stream_mode="updates"):
            if on_node:
                for node in update:
                    on_node(node)
        return PublicResponse.model_validate((await self.state(thread_id))["response"])

    async def _ended(self, run_id: str) -> PublicResponse:
        thread_id = await self._services.run_log.find_idle(run_id)
        if thread_id is None:
            raise not_resumable_error()
        state = await self._kept_state(thread_id, run_id)
        if not state.get("response"):
            raise not_resumable_error()
        return PublicResponse.model_validate(state["response"])

    def _compiled(self) -> "CompiledStateGraph[State, RunContext, AskInput, AskOutput]":
        return self.graph.copy(update={"checkpointer": make_saver(self._services.pool, self._services.journal)})


def _thread(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}

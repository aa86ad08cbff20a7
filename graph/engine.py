"""Runs the graph: one thread for each run, a checkpoint after every node, the response at the end."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from difflib import get_close_matches
from functools import partial
from typing import Self

from pydantic import ValidationError

from sourcebound.contracts.admission import read_request_id
from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.run_page.search_report import SearchReport
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.errors import RequestError, StoreError, UsageError
from sourcebound.graph.batch.ordered import MAX_CONCURRENCY, map_ordered
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.direct_runner import DirectRunner, can_run_directly
from sourcebound.graph.node_trace import belongs_to_another_run
from sourcebound.graph.observability import run_span
from sourcebound.graph.public_graph import hidden_from_streams, make_public_graph, read_request
from sourcebound.graph.run_views.reader import RunReader, thread_config
from sourcebound.graph.run_views.retrieval_preview import find_evidence, search
from sourcebound.graph.stages import stream_stages
from sourcebound.graph.studio.edit_guard import guard_edited_state
from sourcebound.graph.workflow import Ports, build_graph, make_nodes, new_id
from sourcebound.settings import Settings, get_settings
from sourcebound.store.checkpoints.pending import NEVER_BEGAN, NO_LONGER_OURS
from sourcebound.store.connection.database import store_faults
from sourcebound.store.runs.log import Opened
from sourcebound.store.runs.refusals import never_began_error, not_resumable_error, unreadable_run_error
from sourcebound.wiring import Services, open_services, resolve_policy

OnNode = Callable[[str], None] | None
CatalogOverride = Opened | None
"""The collection of a run as it was when the run was opened, which saves `accept` a query."""


class Engine(RunReader):
    """Answers questions over one set of services.

    Args:
        services: The database, the index and the logs.
    """

    def __init__(self, services: Services) -> None:
        settings = services.settings
        self.ports = Ports(
            catalog=services.index,
            retriever=services.retriever,
            run_log=services.run_log,
            lineage=services.lineage,
            conversations=services.conversations,
            read_state=self.state,
            audit_log=services.audit_log,
            answers=services.answers,
            models=services.models,
            find_policy=partial(resolve_policy, folder=settings.policies),
            new_id=new_id,
            defaults=RunContext(policy=settings.policy, model=settings.model, collection=settings.collection),
        )
        """The services that the nodes use."""
        super().__init__(services, build_graph(self.ports).compile(name="sourcebound"))
        self._direct_runner = DirectRunner(make_nodes(self.ports), self._pipeline)
        self.graph = make_public_graph(self.ask)
        """The graph to embed: only stages and the validated response leave it (CP-12)."""

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings | None = None) -> AsyncIterator[Self]:
        """Open the services of the settings. Default: the settings of the process."""
        async with open_services(settings or get_settings()) as services:
            yield cls(services)

    async def ask(
        self, request: AskInput, context: RunContext | None = None, *, on_node: OnNode = None
    ) -> PublicResponse:
        """Run the graph once.

        Args:
            request: A question or a retrieval bundle; with a `conversation_id`, the next question of a conversation.
            context: Policy and model of this run, if they differ from the settings.
            on_node: Receives the name of each node when it ends.

        Returns:
            The public response, whatever the outcome.

        Raises:
            SourceboundError: The run could not be recorded: there is no database, no such policy, model or
                conversation, or the `run_id` belongs to another run (S-2).
        """
        run_context = self._resolve_context(context or RunContext())
        await self._services.models.open(run_context.model or "")
        storable_request = read_request(request)
        run_id = storable_request["run_id"] = storable_request.get("run_id") or new_id()
        if not read_request_id(storable_request):
            storable_request["request_id"] = new_id()
        opened = await self._open(run_id, run_context, storable_request)
        async with self._hold_run(run_id):
            try:
                return await self._begin(run_id, storable_request, run_context, on_node, opened)
            except UsageError as error:
                if error.failure_code != NEVER_BEGAN:
                    raise
                self._services.run_log.finish(run_id)  # the database crashed and lost the row of the run
                if not await self._services.run_log.open(
                    run_id, read_request_id(storable_request), run_context, storable_request
                ):
                    raise
            return await self._begin(run_id, storable_request, run_context, on_node)

    async def ask_many(
        self,
        requests: Iterable[AskInput] | AsyncIterable[AskInput],
        context: RunContext | None = None,
        *,
        at_once: int = MAX_CONCURRENCY,
    ) -> AsyncGenerator[PublicResponse, None]:
        """Run the graph once for each request, in order; each is a run with its own record.

        Args:
            requests: Any number of questions or retrieval bundles; only a few are read ahead of the responses.
            context: Policy and model of these runs, if they differ from the settings.
            at_once: The most requests that are read and whose responses were not taken yet.

        Yields:
            The responses in the order of the requests.

        Raises:
            SourceboundError: As `ask`, after the earlier responses. Later runs in progress are interrupted, as they are
                when the caller stops; `resume` continues them.
        """
        async with aclosing(map_ordered(requests, partial(self.ask, context=context), at_once)) as responses:
            async for response in responses:
                yield response

    def astream(
        self, request: AskInput, context: RunContext | None = None
    ) -> AsyncGenerator[str | PublicResponse, None]:
        """Run the graph once, as a stream (CP-12).

        Args:
            request: As for `ask`.
            context: As for `ask`.

        Yields:
            The name of each stage when it ends, then the public response. No text of a model precedes its validation.

        Raises:
            SourceboundError: As `ask`. A stream that is closed early interrupts its run; `resume` continues it.
        """
        return stream_stages(lambda on_node: self.ask(request, context, on_node=on_node))

    async def start_conversation(self) -> str:
        """Start a conversation and return its id, for the `conversation_id` of its questions (CP-6)."""
        conversation_id = new_id()
        await self._services.conversations.start(conversation_id)
        return conversation_id

    async def conversation(self, conversation_id: str) -> list[Turn]:
        """Return the runs of a conversation in order.

        Raises:
            RequestError: The conversation does not exist.
        """
        return await self._services.conversations.list_turns(conversation_id)

    async def search(self, request: AskInput, context: RunContext | None = None) -> SearchReport:
        """Preview retrieval and selection for a question; calls no model and records no run.

        Args:
            request: A question with its collection, filters and limits.
            context: The policy, if it differs from the settings.

        Returns:
            Every candidate with its outcome, and the verdict of the gate.

        Raises:
            SourceboundError: The policy does not exist, a limit would loosen it, or the database did not answer.
        """
        return await search(read_request(request), context or RunContext(), self.ports)

    async def retrieve(self, request: AskInput, context: RunContext | None = None) -> tuple[EvidenceChunk, ...]:
        """Return the evidence that a run would show its model; calls no model and records no run.

        Args:
            request: A question with its collection, filters and limits.
            context: The policy, if it differs from the settings.

        Returns:
            The evidence in the order of its anchors; nothing if the gate or the selection refuses the question.

        Raises:
            SourceboundError: As `search`; or retrieval or selection failed, or there is no such collection, with the
                code of the outcome.
        """
        return await find_evidence(read_request(request), context or RunContext(), self.ports)

    async def resume(self, run_id: str) -> PublicResponse:
        """Resume a cancelled or interrupted run from its last checkpoint; an ended run stays unchanged.

        Args:
            run_id: The id of the run.

        Returns:
            The public response.

        Raises:
            RequestError: The run has no checkpoint (`NEVER_BEGAN`, `NOT_RESUMABLE`), a process holds it
                (`RUN_AT_WORK`), or this version cannot read its contracts (`RUN_UNREADABLE`).
            SourceboundError: The run was interrupted again.
        """
        run_log = self._services.run_log
        claimed = await run_log.claim(run_id)
        if claimed is None:
            return await self._ended(run_id)
        async with self._hold_run(run_id):
            snapshot = await self._compiled().aget_state(thread_config(claimed.thread_id))
            if belongs_to_another_run(snapshot, run_id) or (claimed.thread_id != run_id and not snapshot.created_at):
                raise not_resumable_error()
            if not snapshot.created_at and claimed.request:
                return await self._begin(run_id, claimed.request, claimed.context)
            if not snapshot.created_at:
                if not await run_log.withdraw(run_id):
                    raise not_resumable_error()
                raise never_began_error()
            try:
                place = snapshot.config["configurable"]
                start = await self._services.lineage.find_start(claimed.thread_id, place["checkpoint_id"])
                is_edited = start.is_edited and snapshot.parent_config is not None  # `fork` writes the first one
                return await self._run_graph(claimed.thread_id, None, claimed.context, is_edited=is_edited)
            except ValidationError as error:
                raise unreadable_run_error() from error

    async def list_cut_off(self) -> list[str]:
        """Return the ids of interrupted runs that no process holds, the oldest first."""
        return await self._services.run_log.list_cut_off()

    async def fork(self, state: State) -> State:
        """Run the graph from the end of retrieval, as a new run (CP-5).

        Args:
            state: The new run, its policy and its candidates.

        Returns:
            The last state.

        Raises:
            SourceboundError: The run could not be recorded.
        """
        run = Run.model_validate(state["run"])
        run_context = RunContext(model=run.model, collection=run.collection)
        await self._open(run.run_id, run_context, {"request_id": run.request_id})
        async with self._hold_run(run.run_id):
            await self._services.run_log.begin(run)
            await self._compiled().aupdate_state(thread_config(run.thread_id), state, as_node="retrieve")
            await self._run_graph(run.thread_id, None, run_context)
        return await self.state(run.thread_id)

    async def erase(self, run_id: str, thread_id: str, *, whole_thread: bool = False) -> None:
        """Erase every text of a run, and the checkpoints of its thread (R5P-3).

        The audit record stays. No run of the thread can be replayed or resumed afterwards.

        Args:
            run_id: The run.
            thread_id: Its thread.
            whole_thread: Whether to erase every other run of the thread too.

        Raises:
            RequestError: Other runs share the thread (`THREAD_SHARED`), or a process holds the run (`RUN_AT_WORK`).
        """
        await self._services.run_log.require_idle(run_id)
        await self._services.run_log.erase(run_id, thread_id, whole_thread=whole_thread)

    async def nearest_collection(self, name: str) -> str | None:
        """Return the name of a collection that is spelled almost like one that does not exist.

        Args:
            name: A name as a user typed it.

        Returns:
            The most similar name; None if the collection exists, or no name is similar.
        """
        if await self._services.index.find_collection(name):
            return None
        names = [collection.name for collection in await self._services.index.list_collections()]
        return next(iter(get_close_matches(name, names, n=1)), None)

    async def _open(self, run_id: str, context: RunContext, request: AskInput) -> Opened:
        """Claim a run for this process before the first write.

        Raises:
            RequestError: A run with this id exists.
        """
        opened = await self._services.run_log.open(run_id, read_request_id(request), context, request, is_fresh=True)
        if opened is None:
            raise RequestError(
                f"there is a run {run_id!r} already.", "Omit run_id, or give a new one.", code="RUN_EXISTS"
            )
        return opened

    def _resolve_context(self, context: RunContext) -> RunContext:
        """Return the caller's context, completed with the current settings."""
        defaults = self.ports.defaults
        return RunContext(
            policy=context.policy or defaults.policy,
            model=context.model or defaults.model,
            collection=context.collection or defaults.collection,
        )

    @asynccontextmanager
    async def _hold_run(self, run_id: str) -> AsyncIterator[None]:
        """Hold a run of this process during the work on it; if it is interrupted, any process may resume it (CP-2)."""
        run_log = self._services.run_log
        try:
            with store_faults():
                yield
        except BaseException as error:
            await run_log.release(run_id)
            if isinstance(error, StoreError):
                next_step = f"{error.next_step} Then resume the run: sourcebound runs resume {run_id}"
                raise StoreError(error.message, next_step, code=error.failure_code, detail=error.detail) from error
            raise
        run_log.finish(run_id)

    async def _begin(
        self,
        run_id: str,
        request: AskInput,
        context: RunContext,
        on_node: OnNode = None,
        opened: CatalogOverride = None,
    ) -> PublicResponse:
        """Run the graph from its input. A request that `accept` rejects starts no run (P-4)."""
        try:
            return await self._run_graph(run_id, request, context, on_node, opened)
        except UsageError as error:
            if error.failure_code not in (NEVER_BEGAN, *NO_LONGER_OURS):
                await self._services.run_log.withdraw(run_id)
            raise

    async def _run_graph(
        self,
        thread_id: str,
        request: AskInput | None,
        context: RunContext,
        on_node: OnNode = None,
        opened: CatalogOverride = None,
        *,
        is_edited: bool = False,
    ) -> PublicResponse:
        """Run the graph to its end; each checkpoint is in the buffer before the next node starts.

        A state that a person edited is checked before each node, and its run is marked (CP-11).
        """
        with run_span(), hidden_from_streams():
            if request is not None and can_run_directly():
                saver = make_saver(self._services.pool, self._services.buffer)
                overrides = {"catalog": opened} if opened else None
                state = await self._direct_runner.run(request, thread_id, context, saver, on_node, overrides)
                return PublicResponse.model_validate(state["response"])
            pipeline = build_graph(self.ports, guard_edited_state(self.ports)).compile() if is_edited else None
            graph, thread = self._compiled(pipeline), thread_config(thread_id)
            updates = graph.astream(request, thread, context=context, durability="sync", stream_mode="updates")
            async for update in updates:
                if on_node:
                    for node in update:
                        on_node(node)
        return PublicResponse.model_validate((await self.state(thread_id))["response"])

    async def _ended(self, run_id: str) -> PublicResponse:
        thread_id = await self._services.run_log.require_idle(run_id)
        if thread_id is None:
            raise not_resumable_error()
        state = await self._recorded_state(thread_id, run_id)
        if not state.get("response"):
            raise not_resumable_error()
        return PublicResponse.model_validate(state["response"])

"""The engine for programs that do not await: scripts, notebooks, and synchronous chains, agents and graphs.

A thread has the event loop of the engine, so that a call works inside and outside a running event loop and from any
thread. The code that runs is the engine's own.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from types import TracebackType
from typing import Self, TypeVar

from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.run_page.search_report import SearchReport
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import UsageError
from sourcebound.graph.batch.ordered import MAX_CONCURRENCY
from sourcebound.graph.engine import Engine
from sourcebound.settings import Settings

T = TypeVar("T")
Call = Callable[[Engine], Awaitable[T]]


class SyncEngine:
    """An engine whose methods return their results. Close it, or open it with `with`.

    A call in a thread with a running event loop (a notebook) blocks that loop until it returns. `Engine` does not.

    Args:
        settings: The settings. Default: the settings of the process.

    Raises:
        SourceboundError: The services of the settings cannot be opened.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._lock, self._is_closed = Lock(), False
        self._calls: set[asyncio.Task[object]] = set()
        self._streams: set[AsyncGenerator[object, None]] = set()
        self._opened: Future[Engine] = Future()
        self._ended: Future[None] = Future()
        self._thread = Thread(target=self._work, args=(settings,), name="sourcebound", daemon=True)
        self._thread.start()
        self._engine = self._opened.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Interrupt the runs in progress, which `resume` continues, and close the services. Repeated calls do nothing.

        Raises:
            SourceboundError: The services cannot be closed.
        """
        with self._lock:
            if not self._is_closed:
                self._loop.call_soon_threadsafe(self._closing.set)
            self._is_closed = True
        self._thread.join()
        self._ended.result()

    def run(self, call: Call[T]) -> T:
        """Call the engine and wait for the result. If the wait is interrupted, so is the call.

        Args:
            call: Receives the engine, and returns what to await: `lambda engine: engine.answer(thread_id)`.

        Returns:
            The result.

        Raises:
            UsageError: The engine is closed, or was closed during the call (`ENGINE_CLOSED`).
            SourceboundError: As the call.
        """
        result = self._submit(call)
        try:
            return result.result()
        except BaseException:
            result.cancel()
            raise

    async def arun(self, call: Call[T]) -> T:
        """Call the engine from a coroutine of another event loop, as `run` does, and do not block that loop."""
        return await asyncio.wrap_future(self._submit(call))

    def ask(self, request: AskInput, context: RunContext | None = None) -> PublicResponse:
        """Run the graph once, as `Engine.ask` does."""
        return self.run(lambda engine: engine.ask(request, context))

    def ask_many(
        self, requests: Iterable[AskInput], context: RunContext | None = None, *, at_once: int = MAX_CONCURRENCY
    ) -> Generator[PublicResponse, None, None]:
        """Run the graph once for each request, in order, as `Engine.ask_many` does."""
        return self._iterate(self._engine.ask_many(requests, context, at_once=at_once))

    def stream(
        self, request: AskInput, context: RunContext | None = None
    ) -> Generator[str | PublicResponse, None, None]:
        """Run the graph once: its stages while they end, then the response, as `Engine.astream` does."""
        return self._iterate(self._engine.astream(request, context))

    def search(self, request: AskInput, context: RunContext | None = None) -> SearchReport:
        """Preview retrieval and selection for a question, as `Engine.search` does."""
        return self.run(lambda engine: engine.search(request, context))

    def retrieve(self, request: AskInput, context: RunContext | None = None) -> tuple[EvidenceChunk, ...]:
        """Return the evidence that a run would show its model, as `Engine.retrieve` does."""
        return self.run(lambda engine: engine.retrieve(request, context))

    def start_conversation(self) -> str:
        """Start a conversation and return its id, as `Engine.start_conversation` does."""
        return self.run(lambda engine: engine.start_conversation())

    def conversation(self, conversation_id: str) -> list[Turn]:
        """Return the runs of a conversation in order, as `Engine.conversation` does."""
        return self.run(lambda engine: engine.conversation(conversation_id))

    def resume(self, run_id: str) -> PublicResponse:
        """Resume an interrupted run, as `Engine.resume` does."""
        return self.run(lambda engine: engine.resume(run_id))

    def _work(self, settings: Settings | None) -> None:
        """Run the event loop of the engine until `close`."""
        try:
            asyncio.run(self._serve(settings))
        except BaseException as error:  # noqa: BLE001  # the thread that opens or closes the engine raises it
            (self._ended if self._opened.done() else self._opened).set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self, settings: Settings | None) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        async with Engine.open(settings) as engine:
            self._opened.set_result(engine)
            await self._closing.wait()
            calls = [*self._calls]
            for each in calls:
                each.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            for stream in [*self._streams]:
                await stream.aclose()

    def _submit(self, call: Call[T]) -> "Future[T]":
        """Start a call in the thread of the engine, in the context of the caller (callbacks of its chain or graph)."""

        async def tracked() -> T:
            task = asyncio.current_task()
            assert task is not None
            self._calls.add(task)
            try:
                return await call(self._engine)
            except asyncio.CancelledError:
                if self._closing.is_set():
                    raise _closed() from None
                raise
            finally:
                self._calls.discard(task)

        with self._lock:
            if self._is_closed:
                raise _closed()
            return asyncio.run_coroutine_threadsafe(tracked(), self._loop)

    def _iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        self._streams.add(items)
        try:
            while (item := self.run(lambda _: _next_or_none(items))) is not None:
                yield item
        except GeneratorExit:
            with suppress(UsageError):  # a closed engine has closed its streams
                self.run(lambda _: items.aclose())
            raise
        finally:
            self._streams.discard(items)


def _closed() -> UsageError:
    return UsageError("the engine is closed.", "Open another one: SyncEngine().", code="ENGINE_CLOSED")


async def _next_or_none(items: AsyncGenerator[T, None]) -> T | None:
    return await anext(items, None)

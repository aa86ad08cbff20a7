"""Checkpoints on their way to the database: never behind what depends on them (CP-2).

The layers before a model's answer can be computed again, so their checkpoints wait for company: they go in the
transaction of the answer, in that of the audit record, and with the run's last one. Nothing durable ever stands on a
checkpoint that is not stored. What waits longer than a moment goes alone. A `sync` journal has none wait.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from psycopg import AsyncConnection, AsyncCursor

from sourcebound.errors import RequestError, SourceboundError
from sourcebound.store.database import Pool, Row, on_a_connection
from sourcebound.store.queries import query
from sourcebound.store.workers import Worker

RUN_ERASED: Final = "RUN_ERASED"
RUN_AT_WORK: Final = "RUN_AT_WORK"
NO_LONGER_OURS: Final = (RUN_ERASED, RUN_AT_WORK)
"""Codes of a run of which this process may store nothing more."""
NEVER_BEGAN: Final = "NEVER_BEGAN"
"""The code of a run of which nothing is stored."""
BEHIND_SECONDS: Final = 0.2
"""A checkpoint waits no longer than this, however long the next node takes."""
THREADS: Final = 64
"""Threads at work at once whose checkpoints are kept in memory until their runs are over."""
Result = TypeVar("Result")


class Blob(NamedTuple):
    """The value of a channel, serialised."""

    channel: str
    version: str
    type: str
    value: bytes | None


class Page(NamedTuple):
    """A checkpoint and the values that are new in it."""

    namespace: str
    parent: str | None
    form: str
    """Its row as JSON: `id`, `parent`, `checkpoint` and `metadata`."""
    blobs: Sequence[Blob]
    run_id: str | None
    over: str | None = None
    """The run that it ends."""
    waits: bool = False
    """Whether its commit waits for the disk."""


@dataclass
class Thread:
    """The pages of one thread, from the beginning of the run that is at work on it."""

    pages: list[Page] = field(default_factory=list)
    stored: int = 0
    is_known: bool = False
    """Whether the run can be begun anew from its row, so that not even its first page need be stored at once."""
    is_fresh: bool = False
    """Whether nobody was at the run before, so that nothing of it need be looked for."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        """Lets nothing go alone any more."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None


class Sending:
    """The pages of a thread that are not stored yet, in a transaction.

    Args:
        connection: Where the transaction is.
        thread_id: The thread.
        thread: Its pages.
        worker: This process, where runs carry its number.
    """

    def __init__(self, connection: AsyncConnection[Row], thread_id: str, thread: Thread, worker: Worker | None) -> None:
        self._connection, self._worker = connection, worker
        self._thread_id, self._thread = thread_id, thread
        self._end = len(thread.pages)
        self._numbers: list[int] | None = None
        self._cursor: AsyncCursor[Row] | None = None

    async def send(self, *, alone: bool = False) -> None:
        """Sends them; what came of it, `check` says.

        Args:
            alone: Nothing else is in the transaction, whose commit need not wait for the disk for the others' sake.
        """
        self._cursor = await self._send(self._thread.pages[self._thread.stored : self._end], alone)

    async def check(self) -> None:
        """Sends all from the run's beginning where a database that crashed has lost some; part of the transaction.

        Raises:
            RequestError: The run is no longer this process's (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
                (`RUN_ERASED`).
        """
        found = await self._found()
        while found and not found["held"] and self._worker and self._numbers != self._worker.numbers:
            await self.send()  # it was given another number while its row was locked
            found = await self._found()
        if found and (found["erased"] or not found["held"]):
            raise _lost(found)
        if found and not found["follows"]:
            self._cursor = await self._send(self._thread.pages[: self._end], alone=False)
            await self._found()

    def note(self) -> None:
        """They are stored."""
        self._thread.stored = max(self._end, self._thread.stored)

    async def _found(self) -> Row | None:
        return await self._cursor.fetchone() if self._cursor else None

    async def _send(self, pages: Sequence[Page], alone: bool) -> AsyncCursor[Row] | None:
        if not pages:
            return None
        self._numbers = [*self._worker.numbers] if self._worker else None
        blobs = [blob for page in pages for blob in page.blobs]
        values = {
            "thread_id": self._thread_id,
            "run_id": pages[-1].run_id,
            "namespace": pages[0].namespace,
            "parent": pages[0].parent,
            "pages": f"[{','.join(page.form for page in pages)}]",
            "lazy": alone and not any(page.waits for page in pages),
            "over": pages[-1].over,
            "workers": self._numbers,
            "channels": _text_array([blob.channel for blob in blobs]),
            "versions": _text_array([blob.version for blob in blobs]),
            "types": _text_array([blob.type for blob in blobs]),
            "blobs": [blob.value for blob in blobs],
        }
        return await self._connection.execute(query("save_checkpoints"), values)


class Journal:
    """What of the runs of a process is on its way.

    Args:
        pool: Connections to the database.
        worker: This process, where each run has a thread of its own and carries the number of whoever is at it; None
            for a host that sees to its runs itself.
        is_sync: Every checkpoint is stored before the next node begins.
    """

    def __init__(self, pool: Pool, worker: Worker | None = None, *, is_sync: bool = True) -> None:
        self._pool = pool
        self.worker = worker
        self._is_sync = is_sync
        self._threads: dict[str, Thread] = {}
        self._alone: set[asyncio.Task[None]] = set()

    @property
    def thread_ids(self) -> list[str]:
        """The threads whose pages are in memory; the latest last."""
        return [*self._threads]

    def begin(self, run_id: str, *, is_known: bool, is_fresh: bool) -> None:
        """A run of this process's own begins on a thread of its own.

        Args:
            run_id: The run.
            is_known: Its row says all that is needed to begin it anew.
            is_fresh: Nobody was at it before.
        """
        self._threads[run_id] = Thread(is_known=is_known, is_fresh=is_fresh)

    def is_fresh(self, run_id: str) -> bool:
        """Whether nothing of a run can have been stored by anybody else, and the database is there to store it."""
        thread = self._threads.get(run_id)
        return thread is not None and thread.is_fresh and self.worker is not None and self.worker.current is not None

    def numbers(self, run_id: str) -> list[int] | None:
        """The numbers of which a run must carry one, so that anything of it may be stored; None where any will do."""
        return [*self.worker.numbers] if self.worker and run_id in self._threads else None

    async def find_loss(self, connection: AsyncConnection[Row], run_id: str) -> RequestError | None:
        """Why nothing more of a run may be stored; None where it may."""
        values = {"run_id": run_id, "workers": self.numbers(run_id) or []}
        row = await (await connection.execute(query("run_holder"), values)).fetchone()
        found = {"listed": row is not None, **(row or {"erased": False, "held": False})}
        return None if found["held"] and not found["erased"] else _lost(found)

    async def add(self, thread_id: str, page: Page, *, is_begun: bool) -> None:
        """Takes a page, and stores it with those before it unless it may wait.

        Args:
            thread_id: Its thread.
            page: The page.
            is_begun: It is a run's first, or a change by hand.

        Raises:
            SourceboundError: As `store`.
        """
        thread = self._threads.pop(thread_id, Thread())
        self._threads[thread_id] = thread
        if is_begun and thread.stored == len(thread.pages):
            thread.pages, thread.stored = [], 0
        thread.pages.append(page._replace(waits=page.waits and not (is_begun and thread.is_known)))
        if self._is_sync or page.over or (is_begun and not thread.is_known):
            try:
                await self.store(thread_id)
            except SourceboundError:
                if self.worker is None:  # its host begins again at the last that is stored
                    del thread.pages[thread.stored :]
                raise
        elif thread.timer is None:
            thread.timer = asyncio.get_running_loop().call_later(BEHIND_SECONDS, self._send_alone, thread_id)
        if page.over:
            self.drop(thread_id)
        for oldest in self.thread_ids[:-THREADS] if self.worker is None else ():  # cut off, or edited and left
            self.drop(oldest)

    async def store(self, thread_id: str) -> None:
        """Stores what of a thread is not stored yet.

        Raises:
            RequestError: As `Sending.check`.
            StoreError: The database does not answer, or refuses.
        """

        async def write(connection: AsyncConnection[Row], sending: Sending) -> None:
            await sending.send(alone=True)
            await sending.check()

        thread = self._threads.get(thread_id)
        if thread and thread.stored < len(thread.pages):
            await self.write(thread_id, write)

    async def write(self, thread_id: str, work: Callable[[AsyncConnection[Row], Sending], Awaitable[Result]]) -> Result:
        """Does work that may be done twice, and takes the pages that it sent and checked for stored afterwards.

        Args:
            thread_id: Whose pages.
            work: What is committed with them.

        Raises:
            StoreError: The database does not answer, or refuses.
        """
        thread = self._threads.get(thread_id, Thread())
        async with thread.turn:
            thread.stop()

            async def whole(connection: AsyncConnection[Row]) -> Result:
                sending = Sending(connection, thread_id, thread, self.worker)
                result = await work(connection, sending)
                sending.note()
                return result

            return await on_a_connection(self._pool, whole)

    def drop(self, thread_id: str) -> None:
        """Forgets a thread: its run is over, or somebody else's."""
        thread = self._threads.pop(thread_id, None)
        if thread is not None:
            thread.stop()

    async def abandon(self, thread_id: str) -> None:
        """Forgets a thread, and waits for what of it is being stored."""
        thread = self._threads.get(thread_id, Thread())
        self.drop(thread_id)
        async with thread.turn:
            pass

    def drop_runs_of_host(self, host_runs: Collection[str]) -> None:
        """Forgets the threads at which a host's own runs, by its ids, are at work."""
        for thread_id, thread in [*self._threads.items()]:
            if any(json.loads(page.form)["metadata"].get("run_id") in host_runs for page in thread.pages):
                self.drop(thread_id)

    def close(self) -> None:
        """Forgets all of them."""
        for thread_id in self.thread_ids:
            self.drop(thread_id)
        for task in self._alone:
            task.cancel()

    def _send_alone(self, thread_id: str) -> None:
        task = asyncio.create_task(self._try_to_store(thread_id))
        self._alone.add(task)
        task.add_done_callback(self._alone.discard)

    async def _try_to_store(self, thread_id: str) -> None:
        with contextlib.suppress(SourceboundError):  # whatever goes with them next says why
            await self.store(thread_id)


def _lost(found: Row) -> RequestError:
    """Why nothing more of a run is saved, by what `save_checkpoints` found."""
    if found["erased"]:
        return RequestError(
            "the run was erased while it was at work; nothing more of it was stored.",
            "Ask the question again, if it is still to be asked.",
            code=RUN_ERASED,
        )
    if found["listed"]:
        return RequestError(
            "another process has taken the run over, as it could not see that this one was still at it.",
            "Wait for its end there: sourcebound runs resume gives its response.",
            code=RUN_AT_WORK,
        )
    return RequestError(
        "the run is not in the list any more: it was taken off as one that never began.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def _text_array(names: Sequence[str]) -> str:
    """Names of channels and their like as PostgreSQL reads an array; psycopg takes ten times as long to write it."""
    return "{" + ",".join(names) + "}"

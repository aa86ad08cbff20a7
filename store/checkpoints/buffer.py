"""Checkpoints on their way to the database: never behind what depends on them (CP-2).

The layers before a model's answer can be computed again, so their checkpoints wait for company: they go in the
transaction of the answer, and in that of the audit record with the response that stands on it. Nothing durable ever
stands on a checkpoint that is not stored. What waits longer than a moment goes alone. A `sync` journal has none wait.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

from psycopg import AsyncConnection

from sourcebound.errors import RequestError, SourceboundError
from sourcebound.store.checkpoints.pending import FinalWrite, Flush, PendingCheckpoint, ThreadBuffer, run_lost_error
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.connection.database import Pool, Row, on_a_connection
from sourcebound.store.connection.queries import query

BEHIND_SECONDS: Final = 0.2
"""A checkpoint waits no longer than this, however long the next node takes."""
THREADS: Final = 64
"""Threads at work at once whose checkpoints are kept in memory until their runs are over."""
Result = TypeVar("Result")
Work = Callable[[AsyncConnection[Row], Flush], Awaitable[Result]]
"""What is done on a connection, with the pages that are sent with it."""


class CheckpointBuffer:
    """What of the runs of a process is on its way.

    Args:
        pool: Connections to the database.
        worker: This process, where each run has a thread of its own and carries the number of whoever is at it; None
            for a host that sees to its runs itself.
        is_sync: Every checkpoint is stored before the next node begins.
    """

    def __init__(self, pool: Pool, worker: ProcessLease | None = None, *, is_sync: bool = True) -> None:
        self._pool = pool
        self.worker = worker
        self._is_sync = is_sync
        self._threads: dict[str, ThreadBuffer] = {}
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
        self._threads[run_id] = ThreadBuffer(is_known=is_known, is_fresh=is_fresh)

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
        return None if found["held"] and not found["erased"] else run_lost_error(found)

    async def add(self, thread_id: str, page: PendingCheckpoint, *, is_begun: bool) -> None:
        """Takes a page, and stores it with those before it unless it may wait.

        Args:
            thread_id: Its thread.
            page: The page.
            is_begun: It is a run's first, or a change by hand.

        Raises:
            SourceboundError: As `store`.
        """
        thread = self._threads.pop(thread_id, ThreadBuffer())
        self._threads[thread_id] = thread
        if thread.under_way and thread.under_way.done():
            await self.settle(thread_id)
        if is_begun and thread.stored == len(thread.pages):
            thread.pages, thread.stored = [], 0
        thread.pages.append(page._replace(waits=page.waits and not (is_begun and thread.is_known)))
        if page.over and thread.promised:
            await thread.promised(True)
        elif self._is_sync or page.over or (is_begun and not thread.is_known):
            thread.end_from = None
            try:
                await self.settle(thread_id)
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
        """Stores what of a thread is not stored yet, after what is under way.

        Raises:
            RequestError: As `Sending.check`.
            StoreError: The database does not answer, or refuses.
        """

        async def write(connection: AsyncConnection[Row], sending: Flush) -> None:
            await sending.send(alone=True)
            await sending.check()

        thread = self._threads.get(thread_id)
        if thread and thread.under_way:
            await asyncio.wait([thread.under_way])  # what came of it is told to others
        if thread and thread.stored < len(thread.pages):
            await self._write(thread_id, write)

    async def write(self, thread_id: str, work: Work[Result], *, is_last: bool = False) -> Result:
        """Does work that may be done twice, and takes the pages that it sent and checked for stored afterwards.

        Args:
            thread_id: Whose pages.
            work: What is committed with them.
            is_last: It is the run's last record, which the pages go with that wait for it.

        Raises:
            SourceboundError: The database does not answer, or refuses this or what was under way.
        """
        await self.settle(thread_id)
        return await self._write(thread_id, work, is_last=is_last)

    async def send(self, thread_id: str, work: Work[object]) -> None:
        """As `write`, but does not wait for the database once all is sent: whoever writes next is told what came of it.

        Raises:
            SourceboundError: As `write`, where it is known already.
        """
        await self.settle(thread_id)
        thread, is_sent = self._threads[thread_id], asyncio.Event()
        end = len(thread.pages)

        async def write() -> object:
            try:
                return await self._write(thread_id, work, is_sent=is_sent)
            except BaseException:
                del thread.pages[end:]  # what came since stands on it
                raise

        def end_sending(done: asyncio.Task[object]) -> None:
            is_sent.set()
            if not done.cancelled():
                done.exception()  # is told to whoever waits for it, if anybody still does

        thread.under_way = asyncio.create_task(write())
        thread.under_way.add_done_callback(end_sending)
        await is_sent.wait()

    async def settle(self, thread_id: str) -> None:
        """Waits for what is under way; where that failed, everybody is told who comes after it.

        Raises:
            SourceboundError: As `write`.
        """
        thread = self._threads.get(thread_id)
        if thread and thread.under_way:
            await asyncio.shield(thread.under_way)  # of a run that is cancelled the answer is kept all the same
            thread.under_way = None

    async def _write(
        self, thread_id: str, work: Work[Result], *, is_last: bool = False, is_sent: asyncio.Event | None = None
    ) -> Result:
        thread = self._threads.get(thread_id, ThreadBuffer())
        async with thread.turn:
            thread.stop()

            async def whole(connection: AsyncConnection[Row]) -> Result:
                sending = Flush(connection, thread_id, thread, self.worker, is_last=is_last, is_sent=is_sent)
                result = await work(connection, sending)
                sending.note()
                return result

            return await on_a_connection(self._pool, whole)

    def hold(self, thread_id: str) -> None:
        """What comes now goes with the run's last record, which is promised, in one transaction; or not at all."""
        thread = self._threads.get(thread_id)
        if thread and not self._is_sync:
            thread.end_from = len(thread.pages)

    def release(self, thread_id: str) -> None:
        """Forgets the promise and what was to go with it; what comes now waits for nothing."""
        thread = self._threads.get(thread_id)
        if thread and thread.end_from is not None:
            del thread.pages[thread.end_from :]
            thread.end_from = thread.promised = None

    async def promise(self, thread_id: str, record: FinalWrite) -> bool:
        """Has a record written with the run's end; one that was promised before was not the last, and is written now.

        Returns:
            False where nothing waits for it.

        Raises:
            SourceboundError: As the earlier record.
        """
        thread = self._threads.get(thread_id)
        if thread is None or thread.end_from is None:
            return False
        earlier, thread.promised = thread.promised, None
        if earlier:
            await earlier(False)
        thread.promised = record
        return True

    def drop(self, thread_id: str) -> None:
        """Forgets a thread: its run is over, or somebody else's."""
        thread = self._threads.pop(thread_id, None)
        if thread is not None:
            thread.stop()

    async def abandon(self, thread_id: str) -> None:
        """Forgets a thread, and waits for what of it is being stored."""
        thread = self._threads.get(thread_id, ThreadBuffer())
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

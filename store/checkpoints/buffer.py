"""A write-behind buffer for checkpoints: each is stored with, or before, the data that depends on it (CP-2).

The layers before a model's answer can be recomputed, so their checkpoints wait: they are stored in the transaction of
the answer, or in that of the audit record and the response. Nothing durable ever depends on a checkpoint that is not
stored. A checkpoint that waits longer than a moment is stored alone. In a `sync` buffer no checkpoint waits.
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
from sourcebound.store.connection.database import Pool, Row, retry_on_lost_connection
from sourcebound.store.connection.queries import query

BEHIND_SECONDS: Final = 0.2
"""The longest time that a checkpoint waits, even if the next node takes longer."""
THREADS: Final = 64
"""The most threads whose checkpoints stay in memory until their runs end."""
Result = TypeVar("Result")
Work = Callable[[AsyncConnection[Row], Flush], Awaitable[Result]]
"""Work on a connection, with the flush of the checkpoints that are stored with it."""


class CheckpointBuffer:
    """The checkpoints of a process's runs that are not stored yet.

    Args:
        pool: Connections to the database.
        lease: The lease of this process, where each run has a thread of its own and carries a lease id; None for a
            host that manages its runs itself.
        is_sync: Whether every checkpoint is stored before the next node starts.
    """

    def __init__(self, pool: Pool, lease: ProcessLease | None = None, *, is_sync: bool = True) -> None:
        self._pool = pool
        self.lease = lease
        self._is_sync = is_sync
        self._threads: dict[str, ThreadBuffer] = {}
        self._store_tasks: set[asyncio.Task[None]] = set()

    @property
    def thread_ids(self) -> list[str]:
        """The threads with checkpoints in memory, the latest last."""
        return [*self._threads]

    def begin(self, run_id: str, *, has_run_row: bool, is_fresh: bool) -> None:
        """Start the thread of a run that this process holds.

        Args:
            run_id: The run.
            has_run_row: Whether the run can be restarted from its row in `runs`.
            is_fresh: Whether no process held the run before.
        """
        self._threads[run_id] = ThreadBuffer(has_run_row=has_run_row, is_fresh=is_fresh)

    def is_fresh(self, run_id: str) -> bool:
        """Whether no other process can have stored anything of a run, and the database is not known to be away."""
        thread = self._threads.get(run_id)
        has_lease = self.lease is not None and self.lease.current_id is not None
        return thread is not None and thread.is_fresh and has_lease and not self._pool.is_away

    def lease_ids(self, run_id: str) -> list[int] | None:
        """Return the leases of which a run must carry one for a write; None if any will do."""
        return [*self.lease.lease_ids] if self.lease and run_id in self._threads else None

    async def find_run_lost_error(self, connection: AsyncConnection[Row], run_id: str) -> RequestError | None:
        """Return the error that forbids further writes of a run; None if they are allowed."""
        values = {"run_id": run_id, "workers": self.lease_ids(run_id) or []}
        row = await (await connection.execute(query("run_holder"), values)).fetchone()
        holder = {"listed": row is not None, **(row or {"erased": False, "held": False})}
        return None if holder["held"] and not holder["erased"] else run_lost_error(holder)

    async def add(self, thread_id: str, checkpoint: PendingCheckpoint, *, is_begun: bool) -> None:
        """Add a checkpoint, and store it with the earlier ones unless it may wait.

        Args:
            thread_id: The thread.
            checkpoint: The checkpoint.
            is_begun: Whether it is the first of a run, or an edit by a person.

        Raises:
            SourceboundError: As `store`.
        """
        thread = self._threads.pop(thread_id, ThreadBuffer())
        self._threads[thread_id] = thread
        if thread.flush_task and thread.flush_task.done():
            await self.wait_for_flush(thread_id)
        if is_begun and thread.stored == len(thread.checkpoints):
            thread.checkpoints, thread.stored = [], 0
        thread.checkpoints.append(
            checkpoint._replace(
                synchronous_commit=checkpoint.synchronous_commit and not (is_begun and thread.has_run_row)
            )
        )
        if checkpoint.ends_run_id and thread.final_write:
            await thread.final_write(True)
        elif self._is_sync or checkpoint.ends_run_id or (is_begun and not thread.has_run_row):
            thread.deferred_from = None
            try:
                await self.wait_for_flush(thread_id)
                await self.store(thread_id)
            except SourceboundError:
                if self.lease is None:  # the host restarts at the last stored checkpoint
                    del thread.checkpoints[thread.stored :]
                raise
        elif thread.timer is None:
            thread.timer = asyncio.get_running_loop().call_later(BEHIND_SECONDS, self._store_in_background, thread_id)
        if checkpoint.ends_run_id:
            self.forget(thread_id)
        for oldest in self.thread_ids[:-THREADS] if self.lease is None else ():  # interrupted, or edited and abandoned
            self.forget(oldest)

    async def store(self, thread_id: str) -> None:
        """Store the pending checkpoints of a thread, after the flush in progress.

        Raises:
            RequestError: As `Flush.check`.
            StoreError: The database does not answer, or refuses.
        """

        async def write(connection: AsyncConnection[Row], flush: Flush) -> None:
            await flush.send(is_alone=True)
            await flush.check()

        thread = self._threads.get(thread_id)
        if thread and thread.flush_task:
            await asyncio.wait([thread.flush_task])  # its result is reported to others
        if thread and thread.stored < len(thread.checkpoints):
            await self._write(thread_id, write)

    async def write(self, thread_id: str, work: Work[Result], *, is_last: bool = False) -> Result:
        """Run idempotent work in a transaction, together with the pending checkpoints that it flushes and checks.

        Args:
            thread_id: The thread of the checkpoints.
            work: The work to commit with them.
            is_last: Whether it writes the last record of the run, which includes the deferred checkpoints.

        Raises:
            SourceboundError: The database does not answer, or refuses this write or the one in progress.
        """
        await self.wait_for_flush(thread_id)
        return await self._write(thread_id, work, is_last=is_last)

    async def send(self, thread_id: str, work: Work[object]) -> None:
        """Run work as `write` does, without waiting for the commit: the next write of the thread reports its result.

        Raises:
            SourceboundError: As `write`, if the error is known already.
        """
        await self.wait_for_flush(thread_id)
        thread, is_sent = self._threads[thread_id], asyncio.Event()
        end = len(thread.checkpoints)

        async def write() -> object:
            try:
                return await self._write(thread_id, work, is_sent=is_sent)
            except BaseException:
                del thread.checkpoints[end:]  # later checkpoints depend on it
                raise

        def end_sending(done: asyncio.Task[object]) -> None:
            is_sent.set()
            if not done.cancelled():
                done.exception()  # reported to the next write, if there is one

        thread.flush_task = asyncio.create_task(write())
        thread.flush_task.add_done_callback(end_sending)
        await is_sent.wait()

    async def wait_for_flush(self, thread_id: str) -> None:
        """Wait for the flush in progress. If it failed, every later write reports the failure.

        Raises:
            SourceboundError: As `write`.
        """
        thread = self._threads.get(thread_id)
        if thread and thread.flush_task:
            await asyncio.shield(thread.flush_task)  # the answer of a cancelled run is stored nevertheless
            thread.flush_task = None

    async def _write(
        self, thread_id: str, work: Work[Result], *, is_last: bool = False, is_sent: asyncio.Event | None = None
    ) -> Result:
        thread = self._threads.get(thread_id, ThreadBuffer())
        async with thread.lock:
            thread.stop()

            async def transact(connection: AsyncConnection[Row]) -> Result:
                flush = Flush(connection, thread_id, thread, self.lease, is_last=is_last, is_sent=is_sent)
                result = await work(connection, flush)
                flush.mark_stored()
                return result

            return await retry_on_lost_connection(self._pool, transact)

    def defer_to_record(self, thread_id: str) -> None:
        """Store the following checkpoints with the run's last record, in one transaction or not at all."""
        thread = self._threads.get(thread_id)
        if thread and not self._is_sync:
            thread.deferred_from = len(thread.checkpoints)

    def discard_deferred(self, thread_id: str) -> None:
        """Discard the deferred checkpoints and their final write; the following checkpoints are not deferred."""
        thread = self._threads.get(thread_id)
        if thread and thread.deferred_from is not None:
            del thread.checkpoints[thread.deferred_from :]
            thread.deferred_from = thread.final_write = None

    async def set_final_write(self, thread_id: str, record: FinalWrite) -> bool:
        """Set the write that stores the last record with the deferred checkpoints; an earlier one is done now.

        Returns:
            False if no checkpoint is deferred.

        Raises:
            SourceboundError: As the earlier write.
        """
        thread = self._threads.get(thread_id)
        if thread is None or thread.deferred_from is None:
            return False
        earlier, thread.final_write = thread.final_write, None
        if earlier:
            await earlier(False)
        thread.final_write = record
        return True

    def forget(self, thread_id: str) -> None:
        """Forget a thread: its run ended, or belongs to another process."""
        thread = self._threads.pop(thread_id, None)
        if thread is not None:
            thread.stop()

    async def abandon(self, thread_id: str) -> None:
        """Forget a thread, and wait for its write in progress."""
        thread = self._threads.get(thread_id, ThreadBuffer())
        self.forget(thread_id)
        async with thread.lock:
            pass

    def forget_host_runs(self, host_runs: Collection[str]) -> None:
        """Forget the threads of a host's runs, named by its own ids."""
        for thread_id, thread in [*self._threads.items()]:
            if any(
                json.loads(checkpoint.row_json)["metadata"].get("run_id") in host_runs
                for checkpoint in thread.checkpoints
            ):
                self.forget(thread_id)

    def close(self) -> None:
        """Forget all threads."""
        for thread_id in self.thread_ids:
            self.forget(thread_id)
        for task in self._store_tasks:
            task.cancel()

    def _store_in_background(self, thread_id: str) -> None:
        task = asyncio.create_task(self._try_to_store(thread_id))
        self._store_tasks.add(task)
        task.add_done_callback(self._store_tasks.discard)

    async def _try_to_store(self, thread_id: str) -> None:
        with contextlib.suppress(SourceboundError):  # the next write of the thread reports the failure
            await self.store(thread_id)

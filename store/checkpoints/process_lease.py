"""A lease on this process, held through a PostgreSQL advisory lock (CP-2).

A run carries the lease id of the process that executes it, and other processes treat it as active while the lock is
held. One connection holds the lock, in a transaction that does nothing else: a killed process loses it at once, and a
transaction pooler cannot lend the connection to another client. A lost connection ends the lease for good. The active
runs then get a new lease, and a run that could not be released meanwhile is free. A run that still carries an earlier
lease of this process was not taken over by another process.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import AsyncConnection

from sourcebound.errors import SourceboundError
from sourcebound.store.connection.database import CONNECT_SECONDS, Pool, store_faults
from sourcebound.store.connection.queries import query

LEASE_IDS: Final = 2**63
RETRY_SECONDS: Final = 0.5


class ProcessLease:
    """The lease of this process and its active runs.

    Args:
        pool: Connections to the database. The lock has its own connection.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._acquire_lock = asyncio.Lock()
        self._connection: AsyncConnection[object] | None = None
        self._watch: asyncio.Task[None] | None = None
        self.lease_ids: list[int] = []
        """All leases of this process, the latest last. A run may carry any of them."""
        self.runs: set[str] = set()
        self._releases: set[asyncio.Task[None]] = set()

    async def acquire(self) -> int:
        """Acquire the lease, or return its id if it is held.

        Raises:
            StoreError: The database does not answer.
        """
        async with self._acquire_lock:
            with store_faults():
                await self._acquire()
            return self.lease_ids[-1]

    @property
    def current_id(self) -> int | None:
        """The id of the lease; None if it is lost."""
        is_there = self._connection is not None and not self._connection.closed
        return self.lease_ids[-1] if is_there else None

    async def renew_run(self, run_id: str, lease_id: int) -> None:
        """Assign the current lease to a run, in case the lease that it was given was lost meanwhile.

        Raises:
            StoreError: The database does not answer.
        """
        while self.current_id != lease_id:
            lease_id = await self.acquire()
            with store_faults():
                await self._assign({run_id}, lease_id)

    async def release_run(self, run_id: str, store: Callable[[str], Awaitable[None]]) -> None:
        """Release an interrupted run; without a lease there is nothing to release.

        If the release cannot be stored, the lease is surrendered. A cancelled caller does not wait; the release
        completes in the background.

        Args:
            run_id: The run.
            store: Stores the checkpoints of the run that are not stored yet.
        """
        self.runs.discard(run_id)
        task = asyncio.create_task(self._release_run(run_id, store))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        await asyncio.shield(task)

    async def _release_run(self, run_id: str, store: Callable[[str], Awaitable[None]]) -> None:
        if self.current_id is None:
            return
        with suppress(SourceboundError):  # the process that resumes the run computes them again
            await store(run_id)
        try:
            await self._assign({run_id}, None)
        except BaseException as error:
            await self.surrender()
            if not isinstance(error, psycopg.Error):
                raise

    async def surrender(self) -> None:
        """End the lease: its runs are free, except those that are active here, which get a new one."""
        if self._watch is not None:
            self._watch.cancel()
        if self._connection is not None:
            await self._connection.close()
        if self.runs:
            self._watch = asyncio.create_task(self._reacquire())

    async def close(self) -> None:
        """End the lease and wait for the releases in progress."""
        self.runs.clear()
        await self.surrender()
        for task in self._releases:
            task.cancel()
        await asyncio.gather(*self._releases, return_exceptions=True)

    async def _acquire(self) -> None:
        if self.current_id is not None:
            return
        lease_id = secrets.randbelow(LEASE_IDS)
        connection = await AsyncConnection.connect(
            str(self._pool.conninfo), autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS
        )
        try:
            await connection.execute("BEGIN")
            await connection.execute(query("be_at_work"), {"number": lease_id})
            await connection.execute(query("be_idle"))
            self.lease_ids.append(lease_id)
            carrying: set[str] = set()
            while carrying != self.runs:  # runs start and end meanwhile
                active = {*self.runs}
                await self._assign(active - carrying, lease_id)
                await self._assign(carrying - active, None)
                carrying = active
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        self._watch = asyncio.create_task(self._wait_for_loss(connection))

    async def _assign(self, run_ids: set[str], lease_id: int | None) -> None:
        if run_ids:
            values = {"worker": lease_id, "workers": self.lease_ids, "run_ids": list(run_ids)}
            async with self._pool.connection() as pooled:
                await pooled.execute(query("renumber_runs"), values)

    async def _wait_for_loss(self, connection: AsyncConnection[object]) -> None:
        """Wait for the connection to close; no notification is ever sent."""
        with suppress(psycopg.Error):
            async for _ in connection.notifies():
                pass
        await connection.close()
        await self._reacquire()

    async def _reacquire(self) -> None:
        """Acquire a new lease as long as a run is active."""
        while self.runs:
            with suppress(psycopg.Error):
                async with self._acquire_lock:
                    return await self._acquire()
            await asyncio.sleep(RETRY_SECONDS)

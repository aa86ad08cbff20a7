"""A lease of this process on its runs, held through a row of `leases` that expires unless it is renewed (CP-2).

A run carries the lease id of the process that executes it, and other processes treat it as active until that lease
expires by the server's clock. The process renews it on the pool while it has active runs, so no connection is reserved
for the lease. A lease that expired is renewed too. A run that another process took over meanwhile carries the other
lease, and nothing more of it is saved here. A process that has died on the same host is detected, and its leases are
ended at once.

If a run cannot be released, the process surrenders its lease. The active runs then get a new one, and the run that
could not be released is free. A run with an earlier lease of this process was not taken over by another process.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from psycopg import AsyncConnection

from sourcebound.errors import SourceboundError
from sourcebound.store.checkpoints.process_identity import find_identity, is_dead
from sourcebound.store.connection.database import Pool, Row, retry_on_lost_connection
from sourcebound.store.connection.queries import query

LEASE_IDS: Final = 2**63
LEASE_SECONDS: Final = 30
RENEW_SECONDS: Final = 5
RETRY_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 1


class ProcessLease:
    """The lease of this process and its active runs.

    Args:
        pool: Connections to the database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = asyncio.Lock()
        """Held while a lease is acquired, renewed or ended, so that no renewal restores an ended lease."""
        self._lease_id: int | None = None
        self._expires_at = 0.0
        """The time by our clock, counted from before the statement, so that the lease does not expire earlier."""
        self._ended: set[int] = set()
        """The leases whose rows must be deleted."""
        self._keeper: asyncio.Task[None] | None = None
        self._due_at = 0.0
        self._is_due = asyncio.Event()
        self._is_closed = False
        self.lease_ids: list[int] = []
        """All leases of this process, the latest last. A run may carry any of them."""
        self.runs: set[str] = set()
        self._releases: set[asyncio.Task[None]] = set()

    async def acquire(self) -> int:
        """Acquire the lease, or return its id if it is held. The runs of a surrendered lease are free afterwards.

        Raises:
            StoreError: The database does not answer.
        """
        while (lease_id := self.current_id) is None or self._ended:
            async with self._lock:
                if self.current_id is None:
                    await self._acquire()
                if self._ended:
                    await self._end_leases()
        self._start_keeper()
        return lease_id

    @property
    def current_id(self) -> int | None:
        """The id of the lease; None if it was surrendered or has expired."""
        return self._lease_id if _now() < self._expires_at else None

    async def renew_run(self, run_id: str, lease_id: int) -> None:
        """Assign the current lease to a run, in case the lease that it was given was surrendered meanwhile.

        Raises:
            StoreError: The database does not answer.
        """
        while self.current_id != lease_id:
            lease_id = await self.acquire()
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
        if self._lease_id is None:
            return
        if self._pool.is_away:
            self.surrender()
            return
        with suppress(SourceboundError):  # the process that resumes the run computes them again
            await store(run_id)
        try:
            await self._assign({run_id}, None)
        except BaseException as error:
            self.surrender()
            if not isinstance(error, SourceboundError):
                raise

    def surrender(self) -> None:
        """End the lease: its runs are free, except those that are active here, which get a new one first."""
        if self._lease_id is not None:
            self._ended.add(self._lease_id)
            self._lease_id, self._expires_at = None, 0.0
            self._due_at = 0.0
            self._is_due.set()
        self._start_keeper()

    async def end_dead_leases(self) -> bool:
        """End the leases of processes that have died on this host, and those that this process surrendered.

        Returns:
            Whether there was one.

        Raises:
            StoreError: The database does not answer.
        """
        identity = find_identity()
        dead: set[int] = set()
        if identity is not None:

            async def list_leases(connection: AsyncConnection[Row]) -> list[Row]:
                return await (await connection.execute(query("leases_of_host"), {"host": identity.host})).fetchall()

            rows = await retry_on_lost_connection(self._pool, list_leases)
            dead = {row["lease_id"] for row in rows if is_dead(row["pid"], row["started"])}
        async with self._lock:
            self._ended |= dead
            if not self._ended:
                return False
            if self.runs and self._lease_id is None:
                await self._acquire()
            await self._end_leases()
            return True

    async def close(self) -> None:
        """End the lease and the releases in progress. If the database does not answer, the lease will expire."""
        self.runs.clear()
        self._is_closed = True
        tasks = [*self._releases, *([self._keeper] if self._keeper else [])]
        for task in tasks:
            task.cancel()
        if tasks:  # a pool whose wait has just timed out swallows the cancellation
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        if self._lease_id is not None:
            self._ended.add(self._lease_id)
            self._lease_id = None
        if self._ended and not self._pool.is_away:
            with suppress(SourceboundError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS), self._lock:
                    await self._end_leases()

    async def _acquire(self) -> None:
        """Renew the lease or, after a surrender, acquire a new one for the active runs."""
        if self._lease_id is not None:
            lease_id, expires_at = self._lease_id, await self._hold(self._lease_id)
            if self._lease_id == lease_id:  # it was not surrendered meanwhile
                self._expires_at = expires_at
            return
        lease_id = secrets.randbelow(LEASE_IDS)
        self._ended.add(lease_id)  # unless all its statements succeed
        expires_at = await self._hold(lease_id)
        self.lease_ids.append(lease_id)
        carrying: set[str] = set()
        while carrying != self.runs:  # runs start and end meanwhile
            active = {*self.runs}
            await self._assign(active - carrying, lease_id)
            await self._assign(carrying - active, None)
            carrying = active
        self._ended.discard(lease_id)
        self._lease_id, self._expires_at = lease_id, expires_at

    async def _hold(self, lease_id: int) -> float:
        """Store a lease and return the time at which it expires by our clock."""
        began, identity = _now(), find_identity()
        values = {
            "lease_id": lease_id,
            "seconds": LEASE_SECONDS,
            "host": identity.host if identity else None,
            "pid": identity.pid if identity else None,
            "started": identity.started if identity else None,
        }
        await self._execute("hold_lease", values)
        self._due_at = began + RENEW_SECONDS
        return began + LEASE_SECONDS

    async def _end_leases(self) -> None:
        ended = {*self._ended}
        await self._execute("end_leases", {"lease_ids": [*ended]})
        self._ended -= ended

    async def _assign(self, run_ids: set[str], lease_id: int | None) -> None:
        if run_ids:
            values = {"worker": lease_id, "workers": self.lease_ids, "run_ids": list(run_ids)}
            await self._execute("renumber_runs", values)

    async def _execute(self, name: str, values: Row) -> None:
        await retry_on_lost_connection(self._pool, lambda connection: connection.execute(query(name), values))

    def _start_keeper(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        """Renew the lease while a run is active, and end the surrendered leases."""
        while (self.runs or self._ended) and not self._is_closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._due_at - _now())):
                    await self._is_due.wait()
            self._is_due.clear()
            try:
                async with self._lock:
                    if self.runs:
                        await self._acquire()
                    if self._ended:
                        await self._end_leases()
            except SourceboundError:
                self._due_at = _now() + RETRY_SECONDS


def _now() -> float:
    """Return a time that continues while the machine is suspended, if the system has such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

"""This process as other processes see it: at work for as long as the advisory lock of its number is held (CP-2).

A run carries the number of the process that works on it. The lock is held by one connection, in a transaction that
does nothing else: a killed process loses it at once, and a transaction pooler cannot lend it to anybody. When the
connection is lost, the number is dead for good. The runs at work are then given the next one, and a run that could not
be let go in the meantime is free. A run that still has an earlier number of this process has not been taken by another.
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

NUMBERS: Final = 2**63
RETRY_SECONDS: Final = 0.5


class ProcessLease:
    """The number of this process and the runs that it is at.

    Args:
        pool: Connections to the database; the lock gets one of its own beside it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._taking = asyncio.Lock()
        self._connection: AsyncConnection[object] | None = None
        self._watch: asyncio.Task[None] | None = None
        self.numbers: list[int] = []
        """All that it ever had, the latest last; a run may carry any of them, whatever could be told of it."""
        self.runs: set[str] = set()
        self._unfinished: set[asyncio.Task[None]] = set()

    async def number(self) -> int:
        """The number under which this process is at work now.

        Raises:
            StoreError: The database does not answer.
        """
        async with self._taking:
            with store_faults():
                await self._take()
            return self.numbers[-1]

    @property
    def current(self) -> int | None:
        """The number, unless it is lost."""
        is_there = self._connection is not None and not self._connection.closed
        return self.numbers[-1] if is_there else None

    async def settle(self, run_id: str, number: int) -> None:
        """Has a run that was given a number carry the one of now, should the other have been lost in the meantime.

        Raises:
            StoreError: The database does not answer.
        """
        while self.current != number:
            number = await self.number()
            with store_faults():
                await self._renumber({run_id}, number)

    async def let_go(self, run_id: str, store: Callable[[str], Awaitable[None]]) -> None:
        """Frees a run of which the work was cut off; without a number there is none that it could keep.

        Where that cannot be noted, the number is given up. Whoever is cancelled meanwhile does not wait for it; it is
        done for all that.

        Args:
            run_id: The run.
            store: Stores what of the run was not stored yet.
        """
        self.runs.discard(run_id)
        task = asyncio.create_task(self._let_go(run_id, store))
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        await asyncio.shield(task)

    async def _let_go(self, run_id: str, store: Callable[[str], Awaitable[None]]) -> None:
        if self.current is None:
            return
        with suppress(SourceboundError):  # whoever goes on computes it again
            await store(run_id)
        try:
            await self._renumber({run_id}, None)
        except BaseException as error:
            await self.retire()
            if not isinstance(error, psycopg.Error):
                raise

    async def retire(self) -> None:
        """Gives the number up: whatever carries it is free, but for the runs that are at work here."""
        if self._watch is not None:
            self._watch.cancel()
        if self._connection is not None:
            await self._connection.close()
        if self.runs:
            self._watch = asyncio.create_task(self._take_again())

    async def close(self) -> None:
        """Ends the work of this process."""
        self.runs.clear()
        await self.retire()
        for task in self._unfinished:
            task.cancel()
        await asyncio.gather(*self._unfinished, return_exceptions=True)

    async def _take(self) -> None:
        if self.current is not None:
            return
        number = secrets.randbelow(NUMBERS)
        connection = await AsyncConnection.connect(
            str(self._pool.conninfo), autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS
        )
        try:
            await connection.execute("BEGIN")
            await connection.execute(query("be_at_work"), {"number": number})
            await connection.execute(query("be_idle"))
            self.numbers.append(number)
            carrying: set[str] = set()
            while carrying != self.runs:  # they come and go meanwhile
                at_work = {*self.runs}
                await self._renumber(at_work - carrying, number)
                await self._renumber(carrying - at_work, None)
                carrying = at_work
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        self._watch = asyncio.create_task(self._wait_for_loss(connection))

    async def _renumber(self, run_ids: set[str], number: int | None) -> None:
        if run_ids:
            values = {"worker": number, "workers": self.numbers, "run_ids": list(run_ids)}
            async with self._pool.connection() as pooled:
                await pooled.execute(query("renumber_runs"), values)

    async def _wait_for_loss(self, connection: AsyncConnection[object]) -> None:
        """Nothing is ever notified; the wait ends with the connection."""
        with suppress(psycopg.Error):
            async for _ in connection.notifies():
                pass
        await connection.close()
        await self._take_again()

    async def _take_again(self) -> None:
        """As long as a run is at work, it is to be seen so."""
        while self.runs:
            with suppress(psycopg.Error):
                async with self._taking:
                    return await self._take()
            await asyncio.sleep(RETRY_SECONDS)

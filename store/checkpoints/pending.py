"""The pages of a run's journal: checkpoints, and how those that are not stored yet are sent in a transaction (CP-2)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor

from sourcebound.errors import RequestError
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.connection.database import Row
from sourcebound.store.connection.queries import query

RUN_ERASED: Final = "RUN_ERASED"
RUN_AT_WORK: Final = "RUN_AT_WORK"
NO_LONGER_OURS: Final = (RUN_ERASED, RUN_AT_WORK)
"""Codes of a run of which this process may store nothing more."""
NEVER_BEGAN: Final = "NEVER_BEGAN"
"""The code of a run of which nothing is stored."""
FinalWrite = Callable[[bool], Awaitable[object]]


class Blob(NamedTuple):
    """The value of a channel, serialised."""

    channel: str
    version: str
    type: str
    value: bytes | None


class PendingCheckpoint(NamedTuple):
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
class ThreadBuffer:
    """The pages of one thread, from the beginning of the run that is at work on it."""

    pages: list[PendingCheckpoint] = field(default_factory=list)
    stored: int = 0
    is_known: bool = False
    """Whether the run can be begun anew from its row, so that not even its first page need be stored at once."""
    is_fresh: bool = False
    """Whether nobody was at the run before, so that nothing of it need be looked for."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None
    under_way: asyncio.Task[object] | None = None
    """Work that was sent, and of which nobody knows yet what came of it."""
    end_from: int | None = None
    """The first of the pages that go with the run's last record, and not without it."""
    promised: FinalWrite | None = None
    """Writes that record, and with `True` these pages."""

    def stop(self) -> None:
        """Lets nothing go alone any more."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None


class Flush:
    """The pages of a thread that are not stored yet, in a transaction.

    Args:
        connection: Where the transaction is.
        thread_id: The thread.
        thread: Its pages.
        worker: This process, where runs carry its number.
        is_last: Also those that go with the run's last record.
        is_sent: To be set by whoever has sent everything that is to be in the transaction.
    """

    def __init__(
        self,
        connection: AsyncConnection[Row],
        thread_id: str,
        thread: ThreadBuffer,
        worker: ProcessLease | None,
        *,
        is_last: bool = False,
        is_sent: asyncio.Event | None = None,
    ) -> None:
        self._connection, self._worker = connection, worker
        self._thread_id, self._thread = thread_id, thread
        self._end = len(thread.pages) if is_last or thread.end_from is None else thread.end_from
        self._numbers: list[int] | None = None
        self._cursor: AsyncCursor[Row] | None = None
        self._position: int | None = None
        self._is_stored = True
        self.is_sent = is_sent or asyncio.Event()

    async def send(self, *, alone: bool = False, position: int | None = None) -> None:
        """Sends them; what came of it, `check` says.

        Args:
            alone: Nothing else is in the transaction, whose commit need not wait for the disk for the others' sake.
            position: Where in the audit chain the record stands that they go with; without it none is stored.
        """
        self._position = position
        self._cursor = await self._send(self._thread.pages[self._thread.stored : self._end], alone)

    async def check(self) -> None:
        """Sends all from the run's beginning where a database that crashed has lost some; part of the transaction.

        Raises:
            RequestError: The run is no longer this process's (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
                (`RUN_ERASED`).
        """
        found = await self._found()
        while found and not found["held"] and self._worker and self._numbers != self._worker.numbers:
            await self.send(position=self._position)  # it was given another number while its row was locked
            found = await self._found()
        if found and (found["erased"] or not found["held"]):
            raise run_lost_error(found)
        self._is_stored = not found or found["recorded"]
        if found and self._is_stored and not found["follows"]:
            self._position = None  # the record is there
            self._cursor = await self._send(self._thread.pages[: self._end], alone=False)
            await self._found()

    def note(self) -> None:
        """They are stored, unless the record was not there that they go with."""
        if self._is_stored:
            self._thread.stored = max(self._end, self._thread.stored)

    async def _found(self) -> Row | None:
        return await self._cursor.fetchone() if self._cursor else None

    async def _send(self, pages: Sequence[PendingCheckpoint], alone: bool) -> AsyncCursor[Row] | None:
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
            "position": None if self._position is None else str(self._position),
            "workers": self._numbers,
            "channels": _text_array([blob.channel for blob in blobs]),
            "versions": _text_array([blob.version for blob in blobs]),
            "types": _text_array([blob.type for blob in blobs]),
            "blobs": [blob.value for blob in blobs],
        }
        return await self._connection.execute(query("save_checkpoints"), values)


def run_lost_error(found: Row) -> RequestError:
    """Why nothing more of a run is saved, by what `save_checkpoints` found."""
    if found["erased"]:
        return RequestError(
            "the run was erased while it was at work; nothing more of it was stored.",
            "Ask the question again, if it is still to be asked.",
            code=RUN_ERASED,
        )
    if found["listed"]:
        return run_taken_over_error()
    return RequestError(
        "the run is not in the list any more: it was taken off as one that never began.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def _text_array(names: Sequence[str]) -> str:
    """Names of channels and their like as PostgreSQL reads an array; psycopg takes ten times as long to write it."""
    return "{" + ",".join(names) + "}"


def run_taken_over_error() -> RequestError:
    """A run that another process is at, or was."""
    return RequestError(
        "another process has taken the run over, as it could not see that this one was still at it.",
        "Wait for its end there: sourcebound runs resume gives its response.",
        code=RUN_AT_WORK,
    )

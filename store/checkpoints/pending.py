"""The pending checkpoints of a thread, and their flush in a transaction (CP-2)."""

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
"""Codes of a run that this process may no longer write."""
NEVER_BEGAN: Final = "NEVER_BEGAN"
"""The code of a run without any stored data."""
FinalWrite = Callable[[bool], Awaitable[object]]
"""Writes the last record of a run; with `True`, the deferred checkpoints too."""


class Blob(NamedTuple):
    """The serialized value of a channel."""

    channel: str
    version: str
    type: str
    value: bytes | None


class PendingCheckpoint(NamedTuple):
    """A checkpoint with its new values."""

    namespace: str
    parent: str | None
    row_json: str
    """Its row as JSON: `id`, `parent`, `checkpoint` and `metadata`."""
    blobs: Sequence[Blob]
    run_id: str | None
    ends_run_id: str | None = None
    """The run that this checkpoint ends."""
    synchronous_commit: bool = False
    """Whether its commit waits for the disk."""


@dataclass
class ThreadBuffer:
    """The checkpoints of one thread since the start of its active run."""

    checkpoints: list[PendingCheckpoint] = field(default_factory=list)
    stored: int = 0
    has_run_row: bool = False
    """Whether the run can be restarted from its row in `runs`; then even its first checkpoint may wait."""
    is_fresh: bool = False
    """Whether no process held the run before; then there is no stored data to query."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None
    flush_task: asyncio.Task[object] | None = None
    """The write in progress, if any."""
    deferred_from: int | None = None
    """The index of the first checkpoint that is stored with the last record of the run only."""
    final_write: FinalWrite | None = None
    """The write of that record."""

    def stop(self) -> None:
        """Cancel the timer that stores checkpoints alone."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None


class Flush:
    """Stores the pending checkpoints of a thread within a transaction.

    Args:
        connection: The connection of the transaction.
        thread_id: The thread.
        thread: Its checkpoints.
        lease: The lease of this process, if runs carry its id.
        is_last: Whether to include the deferred checkpoints.
        is_sent: The event to set once all statements of the transaction were sent.
    """

    def __init__(
        self,
        connection: AsyncConnection[Row],
        thread_id: str,
        thread: ThreadBuffer,
        lease: ProcessLease | None,
        *,
        is_last: bool = False,
        is_sent: asyncio.Event | None = None,
    ) -> None:
        self._connection, self._lease = connection, lease
        self._thread_id, self._thread = thread_id, thread
        self._end = len(thread.checkpoints) if is_last or thread.deferred_from is None else thread.deferred_from
        self._lease_ids: list[int] | None = None
        self._cursor: AsyncCursor[Row] | None = None
        self._position: int | None = None
        self._is_stored = True
        self.is_sent = is_sent or asyncio.Event()

    async def send(self, *, is_alone: bool = False, position: int | None = None) -> None:
        """Send the checkpoints; `check` reads the result.

        Args:
            is_alone: Whether the transaction holds nothing else, so that its commit may be asynchronous.
            position: The chain position of the audit record that they depend on; without that record none is stored.
        """
        self._position = position
        self._cursor = await self._send(self._thread.checkpoints[self._thread.stored : self._end], is_alone)

    async def check(self) -> None:
        """Check the result; if a crashed database lost earlier checkpoints, send all of the run again.

        Raises:
            RequestError: The run no longer belongs to this process (`RUN_AT_WORK`, `NEVER_BEGAN`), or was erased
                (`RUN_ERASED`).
        """
        result = await self._fetch_result()
        while result and not result["held"] and self._lease and self._lease_ids != self._lease.lease_ids:
            await self.send(position=self._position)  # the run got another lease while its row was locked
            result = await self._fetch_result()
        if result and (result["erased"] or not result["held"]):
            raise run_lost_error(result)
        self._is_stored = not result or result["recorded"]
        if result and self._is_stored and not result["follows"]:
            self._position = None  # the record exists
            self._cursor = await self._send(self._thread.checkpoints[: self._end], is_alone=False)
            await self._fetch_result()

    def mark_stored(self) -> None:
        """Mark the checkpoints as stored, unless the record that they depend on was missing."""
        if self._is_stored:
            self._thread.stored = max(self._end, self._thread.stored)

    async def _fetch_result(self) -> Row | None:
        return await self._cursor.fetchone() if self._cursor else None

    async def _send(self, checkpoints: Sequence[PendingCheckpoint], is_alone: bool) -> AsyncCursor[Row] | None:
        if not checkpoints:
            return None
        self._lease_ids = [*self._lease.lease_ids] if self._lease else None
        blobs = [blob for checkpoint in checkpoints for blob in checkpoint.blobs]
        values = {
            "thread_id": self._thread_id,
            "run_id": checkpoints[-1].run_id,
            "namespace": checkpoints[0].namespace,
            "parent": checkpoints[0].parent,
            "pages": f"[{','.join(checkpoint.row_json for checkpoint in checkpoints)}]",
            "lazy": is_alone and not any(checkpoint.synchronous_commit for checkpoint in checkpoints),
            "over": checkpoints[-1].ends_run_id,
            "position": None if self._position is None else str(self._position),
            "workers": self._lease_ids,
            "channels": _text_array([blob.channel for blob in blobs]),
            "versions": _text_array([blob.version for blob in blobs]),
            "types": _text_array([blob.type for blob in blobs]),
            "blobs": [blob.value for blob in blobs],
        }
        return await self._connection.execute(query("save_checkpoints"), values)


def run_lost_error(result: Row) -> RequestError:
    """Build the error for a run that may no longer be written, from the result of `save_checkpoints`."""
    if result["erased"]:
        return RequestError(
            "the run was erased while it was active; nothing more of it was stored.",
            "Ask the question again if you still need the answer.",
            code=RUN_ERASED,
        )
    if result["listed"]:
        return run_taken_over_error()
    return RequestError(
        "the run is no longer registered: it was deleted as a run that never started.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def _text_array(names: Sequence[str]) -> str:
    """Return names as a PostgreSQL array literal; psycopg takes ten times as long."""
    return "{" + ",".join(names) + "}"


def run_taken_over_error() -> RequestError:
    """Build the error for a run that another process took over."""
    return RequestError(
        "another process took the run over, because it could not see that this one was still active.",
        "Wait until it ends there: sourcebound runs resume prints its response.",
        code=RUN_AT_WORK,
    )

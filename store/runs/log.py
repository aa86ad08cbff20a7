"""The run registry, and the process that holds each run (CP-2)."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.admission import requested_collection
from sourcebound.contracts.audit.agreement import CANCELLED, REPLACED
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.labels import MAX_CALLER_LABELS, read_labels
from sourcebound.contracts.request import Run, fork_request
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.connection.database import (
    Pool,
    Row,
    fetch_one,
    fetch_visible,
    open_pipeline,
    retry_on_lost_connection,
    store_faults,
)
from sourcebound.store.connection.queries import query
from sourcebound.store.runs.conversations import lock_conversation
from sourcebound.store.runs.refusals import run_at_work_error, thread_shared_error, unreadable_run_error
from sourcebound.store.search.corpus import to_collection

ClaimStatement = Callable[[AsyncConnection[Row], Row], Awaitable[Row | None]]
"""Claims a run on a connection; returns None if it is not free."""


class RunSummary(NamedTuple):
    """A row of the registry."""

    run_id: str
    request_id: str
    thread_id: str
    collection: str | None
    policy_version: str | None
    model: str
    status: str
    reason: str | None
    started_at: datetime
    finished_at: datetime | None
    pruned_at: datetime | None
    erased_at: datetime | None
    question: str | None
    caller_labels: list[str] | None = None
    """The labels of its caller; None if labels did not restrict it (R6-7)."""


class Opened(NamedTuple):
    """A run that was registered, and its collection at that time."""

    collection: Collection | None

    async def find_collection(self, name: str) -> Collection | None:
        """Return the collection; None if it does not exist or the run has its own bundle."""
        return self.collection


class Claimed(NamedTuple):
    """A run that this process claimed."""

    thread_id: str
    context: RunContext
    """The context that the caller chose."""
    request: AskInput | None
    """The request of the caller, if the run can be restarted from it."""


class PostgresRunLog:
    """The table `runs`.

    Args:
        pool: Connections to its database.
        lease: The lease of this process.
        buffer: The checkpoints of its runs.
    """

    def __init__(self, pool: Pool, lease: ProcessLease, buffer: CheckpointBuffer) -> None:
        self._pool = pool
        self._lease = lease
        self._buffer = buffer

    async def open(
        self,
        run_id: str,
        request_id: str,
        context: RunContext,
        request: AskInput | None = None,
        *,
        is_fresh: bool = False,
    ) -> Opened | None:
        """Register a run before the first write, as held by this process.

        Args:
            run_id: The id of the run and of its thread.
            request_id: The id of the caller, or a new one.
            context: The context of the caller, completed with the settings.
            request: The request. A question is stored until the run ends, so that the run can be restarted.
            is_fresh: Whether nothing of the run can have been stored before.

        Returns:
            The run's collection; None if the id belongs to another run (S-2). The id of a withdrawn run is free.
        """
        asked: AskInput = request or {}
        question = _restartable_request(asked)
        collection = requested_collection(asked, context) if asked.get("retrieval_bundle") is None else None
        values = {
            "run_id": run_id,
            "request_id": request_id,
            "collection": collection,
            "model": context.model,
            "caller_labels": _labels_of(asked),
            "context": json.dumps({**asdict(context), "request": question}),
        }
        collections: list[Row] = []

        async def open_run(connection: AsyncConnection[Row], values: Row) -> Row | None:
            async with open_pipeline(connection):  # one round trip
                run_cursor = await connection.execute(query("open_run"), values)
                if collection:
                    collection_cursor = await connection.execute(query("collections"), {"name": collection})
            collections.extend(await collection_cursor.fetchall() if collection else [])
            return await run_cursor.fetchone()

        opened = await self._claim_if_free(open_run, values)
        if opened is None and await self._lease.end_dead_leases():
            opened = await self._claim_if_free(open_run, values)
        if opened is None:
            return None
        self._buffer.begin(run_id, has_run_row=question is not None, is_fresh=is_fresh)
        return Opened(to_collection(collections[0]) if collections else None)

    async def begin(self, run: Run) -> None:
        """Register an accepted run, at the end of its conversation if it has one.

        A repeated call changes nothing. A run that this process opened is registered already, except for its position
        in a conversation and the values of its audit record.

        Raises:
            RequestError: The conversation does not exist.
        """
        if run.conversation_id is None and run.run_id in self._lease.runs:
            return
        values = {"caller_labels": None, **run.model_dump(mode="json")}

        async def register(connection: AsyncConnection[Row]) -> None:
            if run.conversation_id is None:
                await connection.execute(query("begin_run"), values)
                return
            async with connection.transaction():
                await lock_conversation(connection, run.conversation_id)
                await connection.execute(query("begin_turn"), values)
                await connection.execute(query("begin_run"), values)

        await retry_on_lost_connection(self._pool, register)

    async def find_end(self, run_id: str) -> str | None:
        """Return the status in which a run ended, with a record or without; None while it has not ended."""
        row = await fetch_one(self._pool, query("find_ended_run"), {"run_id": run_id})
        return row["status"] if row else None

    async def end_unfinished(self, thread_id: str, replaced_by: str | None = None) -> None:
        """End the unfinished runs of a host's thread without a record (CP-11).

        Args:
            thread_id: The thread.
            replaced_by: The run that began on the thread, which makes the others REPLACED. None if their host cancelled
                them, which makes them CANCELLED.
        """
        status = CANCELLED if replaced_by is None else REPLACED
        values = {"thread_id": thread_id, "replaced_by": replaced_by, "status": status}
        await fetch_one(self._pool, query("end_unfinished_runs"), values)

    async def claim(self, run_id: str) -> Claimed | None:
        """Claim a run that has no response and that no process holds.

        Args:
            run_id: The whole id.

        Returns:
            The thread and context of the run; None if there is no such run.

        Raises:
            RequestError: Another host of the graph started the run (`RUN_OF_ANOTHER_HOST`), or a newer version did,
                whose context this version cannot read (`RUN_UNREADABLE`).
        """
        await self._lease.end_dead_leases()
        row = await self._claim_if_free(_claim_run, {"run_id": run_id})
        if row is None:
            await self._check_host(run_id)
            return None
        try:
            request = row["context"].pop("request", None)
            claimed = Claimed(row["thread_id"], RunContext(**row["context"]), request)
        except TypeError as error:
            await self.release(run_id)
            raise unreadable_run_error() from error
        self._buffer.begin(claimed.thread_id, has_run_row=request is not None, is_fresh=False)
        return claimed

    async def release(self, run_id: str) -> None:
        """Release an interrupted run, so that any process may resume it.

        If the release cannot be stored, this process surrenders its lease, which frees the run too. A cancelled caller
        does not wait; the release completes in the background.
        """
        try:
            await self._lease.release_run(run_id, self._buffer.store)
        finally:
            self._buffer.forget(run_id)

    def finish(self, run_id: str) -> None:
        """Forget a run that has ended."""
        self._lease.runs.discard(run_id)
        self._buffer.forget(run_id)

    async def withdraw(self, run_id: str) -> bool:
        """Delete a run of this process that never started, with its checkpoints and answers; its id is free again.

        Returns:
            False if there was nothing to delete: the run belongs to another process, or was recorded.
        """
        await self._buffer.abandon(run_id)
        values = {"run_id": run_id, "workers": self._lease.lease_ids}
        withdrawn = await fetch_one(self._pool, query("withdraw_run"), values) is not None
        self.finish(run_id)
        return withdrawn

    async def list_cut_off(self) -> list[str]:
        """Return the ids of interrupted runs that no process holds, the oldest first."""
        await self._lease.end_dead_leases()
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("cut_off_runs"))
                return [row["run_id"] for row in await cursor.fetchall()]

    async def require_idle(self, run_id: str) -> str | None:
        """Return the thread of a run that no process holds; None if there is no such run.

        Raises:
            RequestError: A process holds the run, maybe this one (`RUN_AT_WORK`).
        """
        await self._lease.end_dead_leases()
        row = await fetch_one(self._pool, query("run_place"), {"run_id": run_id})
        if run_id in self._lease.runs or (row and row["at_work"]):
            raise run_at_work_error()
        return row["thread_id"] if row else None

    async def list_runs(self, limit: int) -> list[RunSummary]:
        """Return the latest runs, newest first."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_runs"), {"limit": limit})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def find_runs(self, prefix: str) -> list[RunSummary]:
        """Return at most two runs whose id starts with `prefix`, or whose request id it is."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("find_runs"), {"prefix": prefix})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def find_run(self, run_id: str) -> RunSummary | None:
        """Return the run with exactly this id; None if there is none."""
        rows = await fetch_visible(self._pool, query("find_run"), {"run_id": run_id})
        return RunSummary(**rows[0]) if rows else None

    async def list_forks(self, run_id: str) -> list[str]:
        """Return the forks of a run that still hold its texts (CP-5)."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_forks"), {"request_id": fork_request(run_id)})
                return [row["run_id"] for row in await cursor.fetchall()]

    async def erase(self, run_id: str, thread_id: str, *, whole_thread: bool = False) -> bool:
        """Erase the texts and checkpoints of a run, all or nothing; its row and its audit record stay (R5P-3).

        Args:
            run_id: The whole id.
            thread_id: The thread of its checkpoints.
            whole_thread: Whether to erase every other run of the thread too.

        Returns:
            Whether a text was erased.

        Raises:
            RequestError: The thread has other runs, whose checkpoints hold texts of this one (`THREAD_SHARED`), or a
                process holds one of the runs (`RUN_AT_WORK`).
        """
        await self._lease.end_dead_leases()
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("removal_turn"))
                rows = await (
                    await connection.execute(query("lock_runs_of_thread"), {"thread_id": thread_id})
                ).fetchall()
                others = [row["run_id"] for row in rows if row["run_id"] != run_id]
                if not whole_thread and any(row["whole"] for row in rows if row["run_id"] != run_id):
                    raise thread_shared_error(run_id, others)
                run_ids = [run_id, *others] if whole_thread else [run_id]
                active = {row["run_id"] for row in rows if row["at_work"]} | self._lease.runs
                if not active.isdisjoint(run_ids):
                    raise run_at_work_error()
                await connection.execute(query("remove_checkpoints"), {"threads": [thread_id]})
                cursor = await connection.execute(query("erase_runs"), {"run_ids": run_ids})
                row = await cursor.fetchone()
                return bool(row and row["erased"])

    async def require_not_erased(self, thread_id: str, run_id: str | None = None) -> None:
        """Raise an error if the checkpoints of a run were pruned or erased (CP-7, R5P-3).

        Args:
            thread_id: The thread of the run.
            run_id: The run, if the thread may have several.

        Raises:
            RequestError: They were pruned (`RUN_PRUNED`) or erased (`RUN_ERASED`).
        """
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("gone_thread"), {"thread_id": thread_id, "run_id": run_id})
                row = await cursor.fetchone()
        if row is None:
            return
        change = "erased with its texts" if row["erased_at"] else "pruned"
        raise RequestError(
            f"the checkpoints of run {row['run_id']} were {change} on {row['erased_at'] or row['pruned_at']:%Y-%m-%d}.",
            f"Its audit record exists: sourcebound audit show {row['run_id']}",
            code="RUN_ERASED" if row["erased_at"] else "RUN_PRUNED",
        )

    async def _check_host(self, run_id: str) -> None:
        place = await fetch_one(self._pool, query("run_place"), {"run_id": run_id})
        if place and place["of_another_host"]:
            raise RequestError(
                "the run was started by another host of the graph, which must resume it.",
                f"Resume thread {place['thread_id']} in LangGraph Studio, or in the host that started it.",
                code="RUN_OF_ANOTHER_HOST",
            )

    async def _claim_if_free(self, statement: ClaimStatement, values: Row) -> Row | None:
        """Claim a run for this process if it is free."""
        run_id = values["run_id"]
        await self._lease.acquire()  # a new lease is assigned to the active runs; this run is not active yet
        if run_id in self._lease.runs:
            return None
        self._lease.runs.add(run_id)
        try:
            lease_id = await self._lease.acquire()
            with store_faults():
                async with self._pool.connection() as connection:
                    row = await statement(connection, values | {"worker": lease_id})
            if row is not None:
                await self._lease.renew_run(run_id, lease_id)
        except BaseException:
            await self.release(run_id)
            raise
        if row is None:
            self._lease.runs.discard(run_id)
        return row


async def _claim_run(connection: AsyncConnection[Row], values: Row) -> Row | None:
    return await (await connection.execute(query("claim_run"), values)).fetchone()


def _labels_of(request: AskInput) -> list[str] | None:
    """Return the labels of a request as admission reads them; None if they are unreadable, which hides the run most."""
    given: object = request.get("caller_labels")
    try:
        return None if given is None else list(read_labels(given, MAX_CALLER_LABELS))
    except ValueError:
        return None


def _restartable_request(request: AskInput) -> Mapping[str, object] | None:
    """Return a request that can be stored with its run; None for a bundle, which may be large, or invalid JSON."""
    if request.get("retrieval_bundle") is not None or request.get("question") is None:
        return None
    try:
        json.dumps(request, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return request

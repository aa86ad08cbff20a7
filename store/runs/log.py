"""The list of runs, and who is at which (CP-2)."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.admission import requested_collection
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.request import Run, fork_request
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import NEVER_BEGAN
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.connection.database import Pool, Row, fetch_one, on_a_connection, pipelined, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.runs.conversations import take_turn
from sourcebound.store.search.corpus import collection_of

Take = Callable[[AsyncConnection[Row], Row], Awaitable[Row | None]]
"""Takes a run on a connection; None where it is not free."""


class RunSummary(NamedTuple):
    """One line of the list."""

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


class Opened(NamedTuple):
    """A run that was noted, and the collection that it asks as it was then."""

    collection: Collection | None

    async def find_collection(self, name: str) -> Collection | None:
        """The collection; None where there is none of the name that the run gave, or it brings its evidence."""
        return self.collection


class Claimed(NamedTuple):
    """A run that was taken over."""

    thread_id: str
    context: RunContext
    """What its caller chose."""
    request: AskInput | None
    """What its caller asked, where the run can be begun anew from that."""


def unreadable_run_error() -> RequestError:
    """A run that was recorded under other contracts than those of this version."""
    return RequestError(
        "the run was recorded under other contracts than those of this version.",
        "See what was recorded with `sourcebound runs show RUN --json`; resume it with the version that began it.",
        code="RUN_UNREADABLE",
    )


def never_began_error() -> RequestError:
    """A run that was cut off before anything of it was stored."""
    return RequestError(
        "the run ended before it began: nothing of it had been stored.",
        "Ask the question again; the run's id is free.",
        code=NEVER_BEGAN,
    )


def not_resumable_error() -> RequestError:
    """A run of which nothing is left to go on from."""
    return RequestError("the run has no checkpoint to go on from.", "Ask the question again.", code="NOT_RESUMABLE")


class PostgresRunLog:
    """The table `runs`.

    Args:
        pool: Connections to its database.
        worker: This process.
        journal: The checkpoints of its runs.
    """

    def __init__(self, pool: Pool, worker: ProcessLease, journal: CheckpointBuffer) -> None:
        self._pool = pool
        self._worker = worker
        self._journal = journal

    async def open(
        self,
        run_id: str,
        request_id: str,
        context: RunContext,
        request: AskInput | None = None,
        *,
        is_fresh: bool = False,
    ) -> Opened | None:
        """Notes a run before anything of it is stored, as one that this process is at.

        Args:
            run_id: Its id, and that of its thread.
            request_id: The caller's, or a new one.
            context: What the caller chose, with the settings in place of what was left open.
            request: What the caller asked; a question is kept here until the run is over, so that it can be begun anew.
            is_fresh: Nothing of the run can have been stored before.

        Returns:
            What it needs first; None where the id is another run's (S-2). That of a run that came to nothing is free.
        """
        asked = request or {}
        question = _question_form(asked)
        searched = requested_collection(asked, context) if asked.get("retrieval_bundle") is None else None
        values = {
            "run_id": run_id,
            "request_id": request_id,
            "collection": searched,
            "model": context.model,
            "context": json.dumps({**asdict(context), "request": question}),
        }
        found: list[Row] = []

        async def open_run(connection: AsyncConnection[Row], values: Row) -> Row | None:
            async with pipelined(connection):  # one way there and back
                opened = await connection.execute(query("open_run"), values)
                if searched:
                    looked_up = await connection.execute(query("collections"), {"name": searched})
            found.extend(await looked_up.fetchall() if searched else [])
            return await opened.fetchone()

        if await self._take(open_run, values) is None:
            return None
        self._journal.begin(run_id, is_known=question is not None, is_fresh=is_fresh)
        return Opened(collection_of(found[0]) if found else None)

    async def begin(self, run: Run) -> None:
        """Notes what was settled when a run was accepted, at the end of its conversation if it has one.

        Noting it again changes nothing. A run that this process opened is noted already, but for its place in a
        conversation and what its audit record brings.

        Raises:
            RequestError: There is no such conversation.
        """
        if run.conversation_id is None and run.run_id in self._worker.runs:
            return
        values = run.model_dump(mode="json")

        async def note(connection: AsyncConnection[Row]) -> None:
            if run.conversation_id is None:
                await connection.execute(query("begin_run"), values)
                return
            async with connection.transaction():
                await take_turn(connection, run.conversation_id)
                await connection.execute(query("begin_turn"), values)
                await connection.execute(query("begin_run"), values)

        await on_a_connection(self._pool, note)

    async def has_ended(self, run_id: str) -> bool:
        """Whether a run of that id has been recorded, or closed without a record."""
        return await fetch_one(self._pool, query("find_ended_run"), {"run_id": run_id}) is not None

    async def claim(self, run_id: str) -> Claimed | None:
        """Takes over a run that has no response and that nobody is at.

        Args:
            run_id: The whole id.

        Returns:
            Where it is and what its caller chose; None where there is nothing to take over.

        Raises:
            RequestError: Another host of the graph began it (`RUN_OF_ANOTHER_HOST`), or a newer version did, and this
                one cannot tell what its caller chose (`RUN_UNREADABLE`).
        """
        await self._worker.number()  # one that is taken later goes to the runs at work, of which this is none yet
        row = await self._take(_claim_run, {"run_id": run_id})
        if row is None:
            await self._check_host(run_id)
            return None
        try:
            request = row["context"].pop("request", None)
            claimed = Claimed(row["thread_id"], RunContext(**row["context"]), request)
        except TypeError as error:
            await self.let_go(run_id)
            raise unreadable_run_error() from error
        self._journal.begin(claimed.thread_id, is_known=request is not None, is_fresh=False)
        return claimed

    async def let_go(self, run_id: str) -> None:
        """Leaves a run that was cut off to whoever goes on with it.

        Where that cannot be noted, this process gives its number up, so that the run is free all the same. Whoever is
        cancelled meanwhile does not wait for it; it is done for all that.
        """
        try:
            await self._worker.let_go(run_id, self._journal.store)
        finally:
            self._journal.drop(run_id)

    def leave(self, run_id: str) -> None:
        """The work on a run that has ended is over."""
        self._worker.runs.discard(run_id)
        self._journal.drop(run_id)

    async def withdraw(self, run_id: str) -> bool:
        """Takes back a run of this process that came to nothing, with its checkpoints and answers; its id is free.

        Returns:
            False where there was none to take back: it is another process's, or has been recorded.
        """
        await self._journal.abandon(run_id)
        values = {"run_id": run_id, "workers": self._worker.numbers}
        withdrawn = await fetch_one(self._pool, query("withdraw_run"), values) is not None
        self.leave(run_id)
        return withdrawn

    async def list_cut_off(self) -> list[str]:
        """The ids of the runs that have no response and that nobody is at, the oldest first."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("cut_off_runs"))
                return [row["run_id"] for row in await cursor.fetchall()]

    async def find_idle(self, run_id: str) -> str | None:
        """The thread of a run that nobody is at; None where there is no such run.

        Raises:
            RequestError: Some process, this one included, is at it (`RUN_AT_WORK`).
        """
        row = await fetch_one(self._pool, query("run_place"), {"run_id": run_id})
        if run_id in self._worker.runs or (row and row["at_work"]):
            raise _run_at_work_error()
        return row["thread_id"] if row else None

    async def list_runs(self, limit: int) -> list[RunSummary]:
        """The latest runs, newest first."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_runs"), {"limit": limit})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def find_runs(self, prefix: str) -> list[RunSummary]:
        """The runs whose id starts with `prefix` or whose request id it is; two at most."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("find_runs"), {"prefix": prefix})
                return [RunSummary(**row) for row in await cursor.fetchall()]

    async def list_forks(self, run_id: str) -> list[str]:
        """The ids of the runs that answered from the candidates of a run and still hold its texts (CP-5)."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_forks"), {"request_id": fork_request(run_id)})
                return [row["run_id"] for row in await cursor.fetchall()]

    async def erase(self, run_id: str, thread_id: str, *, whole_thread: bool = False) -> bool:
        """Erases the texts of a run and its checkpoints, all or nothing; its row and its audit record stay (R5P-3).

        Args:
            run_id: The whole id.
            thread_id: The thread of its checkpoints.
            whole_thread: Erases every other run of the thread as well.

        Returns:
            Whether there was a text to erase.

        Raises:
            RequestError: The thread has other runs, whose checkpoints hold texts of this one (`THREAD_SHARED`), or some
                process is at a run that is to be erased (`RUN_AT_WORK`).
        """
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("removal_turn"))
                rows = await (
                    await connection.execute(query("lock_runs_of_thread"), {"thread_id": thread_id})
                ).fetchall()
                others = [row["run_id"] for row in rows if row["run_id"] != run_id]
                if not whole_thread and any(row["whole"] for row in rows if row["run_id"] != run_id):
                    raise _shared(run_id, others)
                run_ids = [run_id, *others] if whole_thread else [run_id]
                at_work = {row["run_id"] for row in rows if row["at_work"]} | self._worker.runs
                if not at_work.isdisjoint(run_ids):
                    raise _run_at_work_error()
                await connection.execute(query("remove_checkpoints"), {"threads": [thread_id]})
                cursor = await connection.execute(query("erase_run_texts"), {"run_ids": run_ids})
                await connection.execute(query("mark_erased"), {"run_ids": run_ids})
                return cursor.rowcount > 0

    async def check_kept(self, thread_id: str, run_id: str | None = None) -> None:
        """Says why a run has no checkpoints, where they were pruned or erased (CP-7, R5P-3).

        Args:
            thread_id: The run's thread.
            run_id: The run, where the thread may have more than one.

        Raises:
            RequestError: They were (`RUN_PRUNED`, `RUN_ERASED`).
        """
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("gone_thread"), {"thread_id": thread_id, "run_id": run_id})
                row = await cursor.fetchone()
        if row is None:
            return
        what = "erased with its texts" if row["erased_at"] else "pruned"
        raise RequestError(
            f"the checkpoints of run {row['run_id']} were {what} on {row['erased_at'] or row['pruned_at']:%Y-%m-%d}.",
            f"Its audit record is there: sourcebound audit show {row['run_id']}",
            code="RUN_ERASED" if row["erased_at"] else "RUN_PRUNED",
        )

    async def _check_host(self, run_id: str) -> None:
        place = await fetch_one(self._pool, query("run_place"), {"run_id": run_id})
        if place and place["of_another_host"]:
            raise RequestError(
                "the run was begun by another host of the graph, whose it is to go on with.",
                f"Go on with thread {place['thread_id']} in LangGraph Studio, or wherever it was begun.",
                code="RUN_OF_ANOTHER_HOST",
            )

    async def _take(self, take: Take, values: Row) -> Row | None:
        """Makes a run this process's own, if it is found free."""
        run_id = values["run_id"]
        if run_id in self._worker.runs:
            return None
        self._worker.runs.add(run_id)
        try:
            number = await self._worker.number()
            with store_faults():
                async with self._pool.connection() as connection:
                    row = await take(connection, values | {"worker": number})
            if row is not None:
                await self._worker.settle(run_id, number)
        except BaseException:
            await self.let_go(run_id)
            raise
        if row is None:
            self._worker.runs.discard(run_id)
        return row


async def _claim_run(connection: AsyncConnection[Row], values: Row) -> Row | None:
    return await (await connection.execute(query("claim_run"), values)).fetchone()


def _question_form(request: AskInput) -> Mapping[str, object] | None:
    """A request as the run's row keeps it; None for what is no question, may be large or is not JSON."""
    if request.get("retrieval_bundle") is not None or request.get("question") is None:
        return None
    try:
        json.dumps(request, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return request


def _run_at_work_error() -> RequestError:
    return RequestError(
        "the run is being worked on.",
        "Wait for its end, or for that of the process that works on it.",
        code="RUN_AT_WORK",
    )


def _shared(run_id: str, others: list[str]) -> RequestError:
    return RequestError(
        f"run {run_id} shares its thread, and its texts, with {', '.join(others)}; nothing was erased.",
        f"To erase all of them: sourcebound runs erase {run_id} --thread --yes",
        code="THREAD_SHARED",
    )

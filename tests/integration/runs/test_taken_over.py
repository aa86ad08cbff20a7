"""Runs that two processes are at, or that are erased while one is: nothing is stored that contradicts (CP-2, R5P-3)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import wraps
from itertools import count
from typing import Any, cast

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig

from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError, StoreError
from sourcebound.graph import workflow
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.graph.studio.server import studio_graph
from sourcebound.store.checkpoints import buffer as buffer
from sourcebound.store.checkpoints import pending as pages
from sourcebound.store.checkpoints import process_lease
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.pending import Flush
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.connection.queries import query
from sourcebound.store.runs.model_answers import PostgresAnswerLog
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, row, without
from support.processes.databases import rows, settings_for, single, tables_with
from support.processes.homes import wait_until

WORD = "Featherstonehaugh"
EVIDENCE = without(bundle([row(chunk_text=f"{SEAL} {WORD} does it.")]), "policy_version")
CONTEXT = RunContext(model="extractive")
THREAD: RunnableConfig = {"configurable": {"thread_id": "talk"}}
EXPIRE = "UPDATE leases SET expires_at = '-infinity' WHERE lease_id = ANY(%s)"


@pytest.fixture
async def other(database: str) -> AsyncIterator[Services]:
    """Another process."""
    async with open_services(settings_for(database)) as opened:
        yield opened


def ask(engine: Engine, **more: Any) -> "asyncio.Task[Any]":
    request = {"retrieval_bundle": EVIDENCE, "run_id": "run-1", **more}
    return asyncio.create_task(engine.ask(cast("AskInput", request), CONTEXT))


class Halt:
    """A point at which the first call of a function waits until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, holder: Any, name: str) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        inner = getattr(holder, name)

        @wraps(inner)
        async def halting(*arguments: Any, **options: Any) -> Any:
            if not self.reached.is_set():
                self.reached.set()
                await self.go.wait()
            return await inner(*arguments, **options)

        monkeypatch.setattr(holder, name, halting)


@pytest.fixture
def halt(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Halt]:
    return lambda holder, name: Halt(monkeypatch, holder, name)


@pytest.fixture
def lose_lease(database: str, services: Services, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Expires the lease of the process of `services`, which cannot renew it."""
    acquire = ProcessLease._acquire

    async def never(self: ProcessLease) -> None:
        if self is services.lease:
            raise StoreError("no connection", "Wait.")
        await acquire(self)

    def lose() -> None:
        monkeypatch.setattr(ProcessLease, "_acquire", never)
        rows(database, EXPIRE, services.lease.lease_ids)

    return lose


def kept_checkpoints(database: str) -> list[Any]:
    return rows(database, "SELECT checkpoint_id FROM checkpoints ORDER BY 1")


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("node", ["assemble", "record"])
async def test_whoever_a_run_was_taken_from_stops_and_changes_nothing(
    services: Services, other: Services, database: str, halt: Any, lose_lease: Any, node: str
) -> None:
    at = halt(workflow, node)
    asked = ask(Engine(services))
    await asyncio.wait_for(at.reached.wait(), 30)
    lose_lease()
    taker = Engine(other)
    response = await taker.resume("run-1")
    before = kept_checkpoints(database), rows(database, "SELECT status, reason, finished_at, worker FROM runs")
    at.go.set()
    with pytest.raises(RequestError) as raised:
        await asked
    assert raised.value.failure_code == "RUN_AT_WORK"
    assert (
        kept_checkpoints(database),
        rows(database, "SELECT status, reason, finished_at, worker FROM runs"),
    ) == before
    assert rows(database, "SELECT generation_status FROM validations") == [("OK",)]
    assert await taker.resume("run-1") == response


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R5P-3")
@pytest.mark.parametrize(
    ("change", "code"), [("worker = 1", "RUN_AT_WORK"), ("erased_at = now(), context = NULL", "RUN_ERASED")]
)
async def test_a_checkpoint_waits_for_whoever_is_taking_the_run_over_or_erasing_it(
    services: Services, database: str, halt: Any, change: str, code: str
) -> None:
    at = halt(workflow, "assemble")
    asked = ask(Engine(services))
    await asyncio.wait_for(at.reached.wait(), 30)
    before = kept_checkpoints(database)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with psycopg.connect(database) as taker:
        taker.execute(f"UPDATE runs SET {change}")
        at.go.set()
        await asyncio.to_thread(wait_until, lambda: single(database, waiting) == 1)
    with pytest.raises(RequestError) as raised:
        await asked
    assert (raised.value.failure_code, kept_checkpoints(database)) == (code, before)


@pytest.mark.contract("CP-2")
async def test_a_run_that_was_taken_off_the_list_is_not_gone_on_with(
    services: Services, database: str, halt: Any
) -> None:
    at = halt(workflow, "assemble")
    asked = ask(Engine(services))
    await asyncio.wait_for(at.reached.wait(), 30)
    rows(database, "DELETE FROM runs")
    at.go.set()
    with pytest.raises(RequestError) as raised:
        await asked
    assert raised.value.failure_code == "NEVER_BEGAN"


@pytest.mark.contract("CP-2")
async def test_a_checkpoint_that_waits_while_the_run_gets_another_number_is_saved(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = 7

    def renumbered(name: str) -> Any:
        if given not in services.lease.lease_ids:  # between the numbers that are sent and the row that is found
            rows(database, "UPDATE runs SET worker = %s WHERE run_id = 'run-1'", given)
            services.lease.lease_ids.append(given)
        return query(name)

    monkeypatch.setattr(pages, "query", renumbered)
    assert (await ask(Engine(services))).status == "OK"
    assert given in services.lease.lease_ids


@pytest.mark.contract("CP-2")
async def test_a_run_that_a_crashed_database_has_lost_begins_again(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(services)
    halt = Halt(monkeypatch, Flush, "send")
    asked = ask(engine)
    await halt.reached.wait()
    rows(database, "DELETE FROM runs")
    halt.go.set()
    assert (await asked).status == "OK"
    assert rows(database, "SELECT run_id, status FROM runs") == [("run-1", "OK")]
    assert single(database, "SELECT count(*) FROM validations") == 1


@pytest.mark.contract("CP-2")
async def test_a_lease_that_is_surrendered_before_the_run_has_it_is_replaced(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, acquire, calls = services.lease, ProcessLease.acquire, count(1)

    async def unlucky(self: ProcessLease) -> int:
        number = await acquire(self)
        if next(calls) == 2:  # for the run, which is active by now
            self.surrender()
            await asyncio.to_thread(wait_until, lambda: lease.current_id not in (number, None))
        return number

    monkeypatch.setattr(ProcessLease, "acquire", unlucky)
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    assert rows(database, "SELECT worker, is_lease_active(worker) FROM runs") == [(lease.current_id, True)]
    assert len(lease.lease_ids) == 2


@pytest.mark.contract("CP-2")
async def test_a_lease_holds_no_transaction_and_no_connection_of_its_own(services: Services, database: str) -> None:
    await services.lease.acquire()
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    assert set(rows(database, f"SELECT state, backend_xid, backend_xmin {others}")) == {("idle", None, None)}
    pooled = services.pool.get_stats()["pool_size"]
    await asyncio.to_thread(wait_until, lambda: single(database, f"SELECT count(*) {others}") == pooled)


@pytest.mark.contract("CP-2")
async def test_a_lease_is_renewed_while_a_run_is_active(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_lease, "RENEW_SECONDS", 0.01)
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    number, expires = services.lease.lease_ids[0], "SELECT expires_at FROM leases"
    first = single(database, expires)
    await asyncio.to_thread(wait_until, lambda: single(database, expires) > first)
    rows(database, EXPIRE, [number])
    await asyncio.to_thread(wait_until, lambda: bool(single(database, "SELECT is_lease_active(worker) FROM runs")))
    services.run_log.finish("run-1")
    assert services.lease._keeper is not None
    await asyncio.wait_for(services.lease._keeper, 30)  # an idle process sends nothing
    assert services.lease.lease_ids == [number]


@pytest.mark.contract("CP-2")
async def test_an_idle_process_renews_the_lease_before_its_next_run(services: Services, database: str) -> None:
    number = await services.lease.acquire()
    rows(database, EXPIRE, [number])
    services.lease._expires_at = 0
    assert services.lease.current_id is None
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    assert rows(database, "SELECT worker, is_lease_active(worker) FROM runs") == [(number, True)]


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("statement", [1, 2, 3])
async def test_a_lease_whose_assignment_is_not_confirmed_is_replaced_too(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch, statement: int
) -> None:
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    connect, done = type(services.pool).connection, 0

    @asynccontextmanager
    async def losing(self: Any, *arguments: Any) -> AsyncIterator[Any]:
        nonlocal done
        async with connect(self, *arguments) as connection:
            yield connection
        done += 1
        if done == statement:
            raise psycopg.OperationalError("lost after the commit")

    monkeypatch.setattr(type(services.pool), "connection", losing)
    services.lease.surrender()
    await asyncio.to_thread(wait_until, lambda: services.lease.current_id is not None and done > statement)
    await asyncio.to_thread(wait_until, lambda: single(database, "SELECT count(*) FROM leases") == 1)
    assert rows(database, "SELECT worker, is_lease_active(worker) FROM runs") == [(services.lease.current_id, True)]


@asynccontextmanager
async def busy(services: Services) -> AsyncIterator[None]:
    """No connection of the pool is free."""
    async with AsyncExitStack() as stack:
        for _ in range(services.pool.max_size):
            await stack.enter_async_context(services.pool.connection())
        yield


@pytest.mark.contract("CP-2")
async def test_a_run_is_let_go_although_whoever_is_at_it_is_cancelled_again_meanwhile(
    services: Services, other: Services, database: str, halt: Any
) -> None:
    at = halt(workflow, "assemble")
    asked = ask(Engine(services))
    await asyncio.wait_for(at.reached.wait(), 30)
    async with busy(services):
        while not asked.done():
            asked.cancel()
            await asyncio.wait([asked], timeout=0.01)
    at.go.set()
    await asyncio.to_thread(wait_until, lambda: single(database, "SELECT worker FROM runs") is None)
    assert (await Engine(other).resume("run-1")).status == "OK"


@pytest.mark.contract("CP-2")
async def test_a_run_that_is_released_while_its_process_gets_another_lease_does_not_get_it(
    services: Services, database: str, halt: Any
) -> None:
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    assert await services.run_log.open("run-2", "request-2", CONTEXT)
    at = halt(ProcessLease, "_assign")
    services.lease.surrender()
    await asyncio.wait_for(at.reached.wait(), 30)
    await services.run_log.release("run-1")
    at.go.set()
    await asyncio.to_thread(wait_until, lambda: services.lease.current_id is not None)
    await asyncio.to_thread(wait_until, lambda: single(database, "SELECT count(*) FROM leases") == 1)
    at_work = "SELECT run_id, is_lease_active(worker) FROM runs ORDER BY 1"
    assert rows(database, at_work) == [("run-1", False), ("run-2", True)]


@pytest.mark.contract("CP-2")
async def test_a_process_that_ends_before_it_could_let_a_run_go_is_not_at_it(services: Services, database: str) -> None:
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    async with busy(services):
        letting = asyncio.create_task(services.run_log.release("run-1"))
        await asyncio.wait([letting], timeout=0.1)
        for task in [*services.lease._releases]:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await letting
    assert services.lease.current_id is None
    await asyncio.to_thread(wait_until, lambda: not single(database, "SELECT is_lease_active(worker) FROM runs"))


@pytest.mark.contract("R5P-3")
@pytest.mark.parametrize(
    ("holder", "function"),
    [
        pytest.param(workflow, "accept", id="its question"),
        pytest.param(PostgresAnswerLog, "keep", id="its answer"),
        pytest.param(workflow, "record", id="its texts"),
    ],
)
async def test_nothing_comes_back_of_a_run_that_is_erased_while_it_is_lease_active(
    services: Services, other: Services, database: str, halt: Any, lose_lease: Any, holder: Any, function: str
) -> None:
    at, engine = halt(holder, function), Engine(services)
    asked = ask(engine, conversation_id=await engine.start_conversation())
    await asyncio.wait_for(at.reached.wait(), 30)
    lose_lease()
    await Engine(other).erase("run-1", "run-1")
    assert tables_with(database, WORD) == set()
    at.go.set()
    with pytest.raises(RequestError) as raised:
        await asked
    assert raised.value.failure_code == "RUN_ERASED"
    assert tables_with(database, WORD) == set()
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "model_answers", "run_texts", "turn_texts"):
        assert single(database, f"SELECT count(*) FROM {table}") == 0, table
    assert rows(database, "SELECT run_id, erased_at IS NOT NULL FROM runs") == [("run-1", True)]


@pytest.mark.contract("R5P-3")
@pytest.mark.parametrize("node", ["accept", "validate"])
async def test_nothing_comes_back_of_a_thread_that_is_erased_while_its_host_is_at_it(
    services: Services, database: str, halt: Any, node: str
) -> None:
    engine = Engine(services)
    chat = studio_graph(engine.ports).copy(update={"checkpointer": make_saver(services.pool)})
    said: Any = {"messages": [{"role": "user", "content": f"Who is {WORD}?"}], "retrieval_bundle": EVIDENCE}
    first = await chat.ainvoke(said, THREAD, context=CONTEXT, durability="sync")
    at = halt(workflow, node)
    # The nodes are bound when a graph is built.
    chat = studio_graph(engine.ports).copy(update={"checkpointer": chat.checkpointer})
    second = asyncio.create_task(chat.ainvoke(said, THREAD, context=CONTEXT, durability="sync"))
    await asyncio.wait_for(at.reached.wait(), 30)
    await engine.erase(first["response"]["run_id"], "talk", whole_thread=True)
    at.go.set()
    with pytest.raises(RequestError) as raised:
        await second
    assert raised.value.failure_code == "RUN_ERASED"
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "model_answers", "run_texts"):
        assert single(database, f"SELECT count(*) FROM {table}") == 0, table
    at.reached.set()
    again = await chat.ainvoke({"retrieval_bundle": EVIDENCE}, THREAD, context=CONTEXT, durability="sync")
    assert again["response"]["status"] == "OK"  # the thread itself can be used anew


@pytest.mark.contract("R5P-3")
async def test_what_an_erased_run_failed_with_is_not_stored(services: Services, database: str) -> None:
    saver, place = make_saver(services.pool), {**THREAD["configurable"], "checkpoint_ns": "", "checkpoint_id": "1"}
    rows(
        database,
        "INSERT INTO runs (run_id, request_id, thread_id, model, status, started_at, erased_at) "
        "VALUES ('run-1', 'run-1', 'talk', '', 'RUNNING', now(), now())",
    )
    await saver.aput_writes({"configurable": place}, [("__error__", f"{WORD} is wrong")], "task-1")
    assert single(database, "SELECT count(*) FROM checkpoint_writes") == 0


@pytest.mark.contract("R5P-3")
async def test_a_run_that_is_taken_just_before_it_is_erased_is_not(
    services: Services, other: Services, database: str
) -> None:
    """The erasing process checked the run earlier, and starts only now."""
    assert await other.run_log.open("run-1", "request-1", CONTEXT)
    rows(
        database,
        "INSERT INTO runs (run_id, request_id, thread_id, model, status, started_at, finished_at) "
        "VALUES ('run-2', 'run-2', 'run-1', '', 'OK', now(), now())",
    )
    for run_id in ("run-1", "run-2"):
        with pytest.raises(RequestError) as raised:
            await services.run_log.erase(run_id, "run-1", whole_thread=True)
        assert raised.value.failure_code == "RUN_AT_WORK"
    assert rows(database, "SELECT erased_at FROM runs") == [(None,), (None,)]


@pytest.mark.contract("CP-2")
async def test_a_run_is_taken_back_by_its_own_process_alone_and_with_its_answers(
    services: Services, other: Services, database: str
) -> None:
    assert await services.run_log.open("run-1", "request-1", CONTEXT)
    rows(
        database,
        "INSERT INTO model_answers (run_id, attempt, prompt_sha256, generation) VALUES ('run-1', 0, '0', '{}')",
    )
    assert not await other.run_log.withdraw("run-1")
    assert single(database, "SELECT count(*) FROM runs") == 1
    assert await services.run_log.withdraw("run-1")
    assert not await services.run_log.withdraw("run-1")
    assert (single(database, "SELECT count(*) FROM runs"), single(database, "SELECT count(*) FROM model_answers")) == (
        0,
        0,
    )


@pytest.mark.contract("CP-2")
async def test_the_saver_of_a_host_keeps_few_threads_in_memory(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer, "THREADS", 2)
    kept = CheckpointBuffer(services.pool)
    saver = make_saver(services.pool, kept)
    chat = studio_graph(Engine(services).ports).copy(update={"checkpointer": saver})
    for thread_id in ("edited-1", "edited-2", "edited-3", "edited-2"):
        await chat.aupdate_state({"configurable": {"thread_id": thread_id}}, {"question": "?"}, as_node="__start__")
    assert kept.thread_ids == ["edited-3", "edited-2"]
    await saver.adelete_thread("edited-3")
    assert kept.thread_ids == ["edited-2"]


@pytest.mark.contract("CP-2")
async def test_a_run_that_lost_its_number_is_gone_on_with_by_the_process_that_began_it(
    services: Services, database: str
) -> None:
    """The lease that the process takes to resume the run does not make the run look active."""
    lease = services.lease
    assert await services.run_log.open("run-1", "request-1", CONTEXT, {"retrieval_bundle": EVIDENCE})
    lease.runs.discard("run-1")  # as who lets a run go without a number does
    lease.surrender()
    assert await services.run_log.claim("run-1") is not None
    assert single(database, "SELECT worker FROM runs") == lease.current_id

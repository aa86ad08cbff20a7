"""A failed statement or a cancelled caller leaves the connection usable for the next caller."""

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg.pq import PipelineStatus

from sourcebound.contracts.state import RunContext
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.graph.direct_runner import DirectRunner
from sourcebound.graph.engine import Engine
from sourcebound.store.audit.log import PostgresAuditLog
from sourcebound.store.checkpoints.pending import Blob, PendingCheckpoint
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, row, without
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
EVIDENCE = without(bundle([row(chunk_text=SEAL)]), "policy_version")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
LOCKED = ["audit_head", "checkpoint_blobs", "model_answers"]


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("table", LOCKED)
async def test_who_is_cancelled_in_a_pipeline_leaves_no_connection_in_it(
    library_services: Services, library: str, table: str
) -> None:
    engine = Engine(library_services)
    for number in range(3):  # until statements are prepared, and the end of the audit chain is known
        assert (await engine.ask({"question": QUESTION, "run_id": f"before-{number}"})).status == "OK"
    with psycopg.connect(library) as locker:
        locker.execute(f"LOCK TABLE {table} IN SHARE MODE")
        asked = asyncio.create_task(engine.ask({"question": QUESTION, "run_id": "run-1"}))
        await asyncio.to_thread(wait_until, lambda: single(library, WAITING) == 1)
        asked.cancel()
        await asyncio.wait([asked], timeout=0.1)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asked, 20)
    assert {connection.pgconn.pipeline_status for connection in library_services.pool._pool} <= {PipelineStatus.OFF}
    for number in range(4):
        assert (await engine.ask({"question": QUESTION, "run_id": f"after-{number}"})).status == "OK"
    assert (await engine.resume("run-1")).status == "OK"
    assert single(library, "SELECT count(*) FROM validations") == 8


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("table", LOCKED)
async def test_a_statement_that_fails_costs_no_later_run(library: str, table: str) -> None:
    async with open_services(settings_for(f"{library}&options=-clock_timeout%3D200")) as services:
        engine = Engine(services)
        for number in range(2):  # so that statements are prepared behind the one that fails
            assert (await engine.ask({"question": QUESTION, "run_id": f"before-{number}"})).status == "OK"
        with psycopg.connect(library) as locker:
            locker.execute(f"LOCK TABLE {table} IN SHARE MODE")
            for number in range(3):
                with pytest.raises(StoreError):
                    await engine.ask({"question": QUESTION, "run_id": f"failed-{number}"})
        for number in range(4):
            assert (await engine.ask({"question": QUESTION, "run_id": f"after-{number}"})).status == "OK"
        for run_id in await engine.list_cut_off():
            assert (await engine.resume(run_id)).status == "OK"
    assert single(library, "SELECT count(*) FROM validations") == 9


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R5P-1")
@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_no_record_is_written_for_a_run_that_another_process_has(
    database: str, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    """Even where no checkpoint waits to be stored with it, which would have said so."""
    write = PostgresAuditLog._write
    async with (
        open_services(settings_for(database, durability=durability)) as services,
        open_services(settings_for(database)) as other,
    ):
        engine, number = Engine(services), await other.lease.acquire()

        async def taken(self: PostgresAuditLog, thread_id: str, *arguments: Any, **options: Any) -> Any:
            await services.buffer.store(thread_id)
            rows(database, "UPDATE runs SET worker = %s WHERE run_id = 'run-1' RETURNING 1", number)
            return await write(self, thread_id, *arguments, **options)

        await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-0"})
        monkeypatch.setattr(PostgresAuditLog, "_write", taken)
        with pytest.raises(SourceboundError) as raised:
            await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-1"})
    assert raised.value.failure_code == "RUN_AT_WORK"
    assert rows(database, "SELECT run_id FROM validations") == [("run-0",)]


@pytest.mark.contract("CP-2")
@pytest.mark.contract("P-4")
async def test_a_question_that_accept_would_not_have_is_not_gone_on_with(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(*arguments: Any) -> Any:
        raise asyncio.CancelledError

    engine = Engine(services)
    monkeypatch.setattr(DirectRunner, "run", cut_off)
    with pytest.raises(asyncio.CancelledError):
        await engine.ask({"question": QUESTION, "run_id": "run-1", "conversation_id": "no-such"})
    monkeypatch.undo()
    assert await engine.list_cut_off() == ["run-1"]
    with pytest.raises(SourceboundError) as raised:
        await engine.resume("run-1")
    assert (raised.value.failure_code, await engine.list_cut_off()) == ("CONVERSATION_NOT_FOUND", [])
    assert single(database, "SELECT count(*) FROM runs") == 0


@pytest.mark.contract("CP-6")
async def test_an_id_that_is_begun_anew_has_no_place_in_the_conversation_of_before(
    library_services: Services, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(library_services)
    talk = await engine.start_conversation()

    async def killed(self: PostgresRetriever, *arguments: Any) -> Any:
        library_services.buffer.forget("run-1")  # with the process, all that waits is gone
        raise asyncio.CancelledError

    monkeypatch.setattr(PostgresRetriever, "retrieve", killed)
    with pytest.raises(asyncio.CancelledError):
        await engine.ask({"question": "Who turns it?", "run_id": "run-1", "conversation_id": talk})
    monkeypatch.undo()
    assert [turn.question for turn in await engine.conversation(talk)] == ["Who turns it?"]
    response = await engine.ask({"question": QUESTION, "run_id": "run-1"}, RunContext())
    assert (response.status, await engine.conversation(talk)) == ("OK", [])
    assert rows(library, "SELECT question FROM turn_texts") == []


@pytest.mark.contract("S-2")
async def test_a_run_that_is_withdrawn_leaves_nothing_that_was_being_stored(services: Services, database: str) -> None:
    log, kept = services.run_log, services.buffer
    assert await log.open("run-1", "request-1", RunContext(model="extractive"), {"question": QUESTION})
    page = PendingCheckpoint(
        "", None, '{"id": "1", "checkpoint": {}, "metadata": {}}', [Blob("run", "1", "msgpack", b"x")], "run-1"
    )
    await kept.add("run-1", page, is_begun=True)
    with psycopg.connect(database) as locker:
        locker.execute("INSERT INTO checkpoint_blobs VALUES ('run-1', '', 'run', '1', 'msgpack', '')")
        storing = asyncio.create_task(kept.store("run-1"))
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        withdrawing = asyncio.create_task(log.withdraw("run-1"))
        await asyncio.wait([withdrawing], timeout=0.2)
        locker.rollback()
    await storing
    assert await withdrawing
    for table in ("runs", "checkpoints", "checkpoint_blobs"):
        assert single(database, f"SELECT count(*) FROM {table}") == 0, table

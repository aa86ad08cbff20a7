"""An answer travels while it is validated, and a response goes with its record (CP-2, R5P-6)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from sourcebound.contracts.execution.generation import GenerationKey
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import SourceboundError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.store.audit import log as audit
from sourcebound.store.checkpoints import pending as pages
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.connection.queries import query
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, generation, row, without
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.model_servers import ModelServer

ANSWER = f"{SEAL} [C0]"
EVIDENCE = without(bundle([row(chunk_text=SEAL)]), "policy_version")
ASKED: AskInput = {"retrieval_bundle": EVIDENCE, "run_id": "run-1"}
CONTEXT = RunContext(model="openai:gpt-4.1")
NODES = ["accept", "assemble", "build_prompt", "generate", "validate", "record", "package"]
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
REFUSING = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''it is refused''; END';
CREATE TRIGGER refuse BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@pytest.fixture
async def services(database: str, model_server: ModelServer) -> AsyncIterator[Services]:
    model_server.answer = ANSWER
    settings = settings_for(database, openai_base_url=model_server.openai_url, openai_api_key=SecretStr("sk-0123456"))
    async with open_services(settings) as opened:
        yield opened


def _values(database: str, channel: str) -> int:
    """Count the stored values of a channel."""
    found: int = single(database, "SELECT count(*) FROM checkpoint_blobs WHERE channel = %s", channel)
    return found


def _refuse(database: str, table: str, *, lift: bool = False) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP FUNCTION refuse CASCADE" if lift else REFUSING.format(table))


@pytest.mark.contract("CP-2")
async def test_an_answer_is_validated_while_it_is_stored_and_nothing_is_stored_before_it(
    services: Services, database: str
) -> None:
    engine, passed = Engine(services), list[str]()
    with psycopg.connect(database) as locker:
        locker.execute("LOCK TABLE model_answers IN SHARE MODE")
        asked = asyncio.create_task(engine.ask(ASKED, CONTEXT, on_node=passed.append))
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        await asyncio.to_thread(wait_until, lambda: "validate" in passed)
        await asyncio.sleep(0.5)  # what waits for company goes alone by then, but for what stands on the answer
        assert not asked.done()
        assert (_values(database, "generation"), single(database, "SELECT count(*) FROM validations")) == (0, 0)
    assert (await asked).status == "OK"
    assert passed == NODES
    assert (_values(database, "generation"), single(database, "SELECT count(*) FROM validations")) == (1, 1)


@pytest.mark.contract("CP-2")
async def test_a_sync_run_waits_for_its_answer(database: str, model_server: ModelServer) -> None:
    model_server.answer = ANSWER
    settings = settings_for(
        database, openai_base_url=model_server.openai_url, openai_api_key=SecretStr("sk-0123456"), durability="sync"
    )
    passed = list[str]()
    async with open_services(settings) as services:
        with psycopg.connect(database) as locker:
            locker.execute("LOCK TABLE model_answers IN SHARE MODE")
            asked = asyncio.create_task(Engine(services).ask(ASKED, CONTEXT, on_node=passed.append))
            await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
            await asyncio.sleep(0.1)
            assert passed == NODES[:3]
        assert (await asked).status == "OK"


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R5P-6")
async def test_nothing_that_stands_on_an_answer_is_stored_where_that_is_refused(
    services: Services, database: str, model_server: ModelServer
) -> None:
    engine = Engine(services)
    _refuse(database, "model_answers")
    with pytest.raises(SourceboundError) as raised:
        await engine.ask(ASKED, CONTEXT)
    assert raised.value.failure_code == "STORE_REFUSED"
    assert [_values(database, name) for name in ("prompt", "generation", "validation", "audit", "response")] == [
        *(1, 0, 0, 0, 0)
    ]
    assert single(database, "SELECT count(*) FROM validations") == 0
    assert await engine.list_cut_off() == ["run-1"]
    assert rows(database, "SELECT status, reason FROM runs") == [("RUNNING", None)]
    _refuse(database, "model_answers", lift=True)
    assert (await engine.resume("run-1")).status == "OK"
    assert len(model_server.calls) == 2
    assert single(database, "SELECT count(*) FROM validations") == 1


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("thinking", [0.0, 0.5], ids=["at once", "when all else is stored"])
async def test_an_answer_that_travels_is_kept_for_a_run_that_is_cancelled_meanwhile(
    services: Services, database: str, model_server: ModelServer, thinking: float
) -> None:
    engine = Engine(services)
    model_server.think_seconds = thinking
    with psycopg.connect(database) as locker:
        locker.execute("LOCK TABLE model_answers IN SHARE MODE")
        asked = asyncio.create_task(engine.ask(ASKED, CONTEXT))
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        await asyncio.sleep(0.1)
        asked.cancel()
        await asyncio.wait([asked], timeout=0.1)
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert single(database, "SELECT count(*) FROM model_answers") == 1
    assert ((await engine.resume("run-1")).status, len(model_server.calls)) == ("OK", 1)


@pytest.mark.contract("CP-2")
async def test_a_run_that_is_cancelled_before_its_answer_is_sent_is_free_when_that_is_kept(
    services: Services, database: str, model_server: ModelServer
) -> None:
    """A process that took the run earlier would call the model again."""
    engine, buffer, carried = Engine(services), services.buffer, "SELECT worker IS NOT NULL FROM runs"
    model_server.think_seconds = 0.5
    asked = asyncio.create_task(engine.ask(ASKED, CONTEXT))
    await asyncio.to_thread(wait_until, lambda: _values(database, "prompt") == 1)
    with psycopg.connect(database) as locker:
        locker.execute("LOCK TABLE model_answers IN SHARE MODE")
        async with AsyncExitStack() as held:
            for _ in range(services.pool.max_size):
                await held.enter_async_context(services.pool.connection())
            await asyncio.to_thread(wait_until, lambda: buffer._threads["run-1"].flush_task is not None)
            asked.cancel()
            await asyncio.wait([asked], timeout=0.1)
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        await asyncio.wait([asked], timeout=0.3)
        assert single(database, carried)
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert (single(database, "SELECT count(*) FROM model_answers"), single(database, carried)) == (1, False)
    assert ((await engine.resume("run-1")).status, len(model_server.calls)) == ("OK", 1)


@pytest.mark.contract("CP-2")
@pytest.mark.contract("CP-6")
async def test_a_query_that_a_model_wrote_is_kept_after_the_answer_that_it_is_of(
    services: Services, database: str
) -> None:
    """Other runs of the conversation build on it."""
    kept = services.answers.keep(GenerationKey("run-1", 0, "f" * 64), generation("What is it?"))
    services.buffer.begin("run-1", has_run_row=True, is_fresh=True)
    await services.lease.acquire()
    with psycopg.connect(database) as locker:
        locker.execute("LOCK TABLE model_answers IN SHARE MODE")
        keeping = asyncio.create_task(kept)
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        await asyncio.wait([keeping], timeout=0.1)
        assert not keeping.done()
    await keeping
    services.buffer.forget("run-1")


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R5P-6")
async def test_a_run_that_gets_another_number_at_its_end_stores_no_response_without_its_record(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, given, write, stored = Engine(services), 7, CheckpointBuffer.write, list[int]()
    await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-0"}, CONTEXT)

    def renumbered(name: str) -> Any:
        if name == "append_validation" and given not in services.lease.lease_ids:
            rows(database, "UPDATE runs SET worker = %s WHERE run_id = 'run-1'", given)
        return query(name)

    def noticed(name: str) -> Any:
        if services.buffer._threads["run-1"].final_write and given not in services.lease.lease_ids:
            services.lease.lease_ids.append(given)  # when the numbers are sent that it does not carry any more
        return query(name)

    async def looked_at(self: CheckpointBuffer, *arguments: Any, **options: Any) -> Any:
        stored.append(_values(database, "response"))
        return await write(self, *arguments, **options)

    monkeypatch.setattr(audit, "query", renumbered)
    monkeypatch.setattr(pages, "query", noticed)
    monkeypatch.setattr(CheckpointBuffer, "write", looked_at)
    assert (await engine.ask(ASKED, CONTEXT)).status == "OK"
    assert given in services.lease.lease_ids
    assert stored == [1, 1]
    assert single(database, "SELECT count(*) FROM validations") == 2


@pytest.mark.contract("R5P-6")
async def test_a_refused_record_takes_the_response_back_that_was_to_go_with_it(
    services: Services, database: str
) -> None:
    engine, passed = Engine(services), list[str]()
    _refuse(database, "validations")
    response = await engine.ask(ASKED, CONTEXT, on_node=passed.append)
    assert passed == NODES
    assert (response.status, response.failure_code, response.answer) == ("FAILED", "AUDIT_UNAVAILABLE", "")
    assert [_values(database, name) for name in ("generation", "audit", "response")] == [1, 0, 1]
    assert rows(database, "SELECT status, reason, context FROM runs") == [("FAILED", "AUDIT_UNAVAILABLE", None)]
    assert [trace.node for trace in await engine.trace("run-1")] == NODES
    assert (await engine.resume("run-1")) == response


@pytest.mark.contract("R5P-6")
@pytest.mark.contract("R5-12")
async def test_a_run_whose_first_record_of_two_is_refused_is_listed_with_its_policy(
    services: Services, database: str, model_server: ModelServer
) -> None:
    model_server.answer = "Nothing is cited here."
    _refuse(database, "validations")
    two = bundle([row(0, chunk_text=SEAL), row(1, chunk_text="Rinse the filter of the pump daily.")])
    asked: AskInput = {"retrieval_bundle": without(two, "policy_version")}
    response = await Engine(services).ask(asked, RunContext(policy="SOURCE_BOUNDED_V1", model=CONTEXT.model))
    assert (response.failure_code, len(model_server.calls)) == ("AUDIT_UNAVAILABLE", 2)
    assert rows(database, "SELECT status, reason, policy_version FROM runs") == [
        ("FAILED", "AUDIT_UNAVAILABLE", "SOURCE_BOUNDED_V1")
    ]


@pytest.mark.contract("R5P-3")
async def test_a_run_that_is_erased_before_its_record_gets_none(services: Services, database: str) -> None:
    engine = Engine(services)
    await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-0"}, CONTEXT)
    async with services.audit_log._append_lock:
        asked = asyncio.create_task(engine.ask(ASKED, CONTEXT))
        stored = "SELECT count(*) FROM checkpoint_blobs WHERE channel = 'prompt' AND thread_id = 'run-1'"
        await asyncio.to_thread(wait_until, lambda: single(database, stored) == 1)
        await asyncio.to_thread(
            wait_until, lambda: bool((thread := services.buffer._threads.get("run-1")) and thread.final_write)
        )
        await services.buffer.wait_for_flush("run-1")
        rows(database, "UPDATE runs SET erased_at = now() WHERE run_id = 'run-1' RETURNING 1")
    with pytest.raises(SourceboundError) as raised:
        await asked
    assert raised.value.failure_code == "RUN_ERASED"
    assert rows(database, "SELECT run_id FROM validations") == [("run-0",)]


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("R5P-6")
async def test_no_response_is_stored_where_the_chain_has_another_end_by_now(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement that finds it so stores nothing; the next, which would lock the end, does not come to it here."""
    engine, write, written = Engine(services), CheckpointBuffer.write, list[str]()

    async def once(self: CheckpointBuffer, thread_id: str, *arguments: Any, **options: Any) -> Any:
        if thread_id in written:
            raise StoreError("the store is away.", "Wait.")
        written.append(thread_id)
        return await write(self, thread_id, *arguments, **options)

    await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": "run-0"}, CONTEXT)
    async with open_services(services.settings) as other:
        await Engine(other).ask({"retrieval_bundle": EVIDENCE, "run_id": "other-0"}, CONTEXT)
    monkeypatch.setattr(CheckpointBuffer, "write", once)
    with pytest.raises(StoreError):
        await engine.ask(ASKED, CONTEXT)
    monkeypatch.undo()
    stored = "SELECT count(*) FROM checkpoint_blobs WHERE thread_id = 'run-1' AND channel = %s"
    assert [single(database, stored, name) for name in ("prompt", "audit", "response")] == [1, 0, 0]
    assert single(database, "SELECT count(*) FROM validations WHERE run_id = 'run-1'") == 0
    assert (await engine.resume("run-1")).status == "OK"
    assert (await services.audit_log.verify()).broken is None


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R5P-6")
async def test_what_waits_for_the_record_does_not_go_alone(services: Services, database: str) -> None:
    engine, buffer = Engine(services), services.buffer
    async with services.audit_log._append_lock:
        asked = asyncio.create_task(engine.ask(ASKED, CONTEXT))
        await asyncio.to_thread(wait_until, lambda: _values(database, "prompt") == 1)
        await asyncio.to_thread(wait_until, lambda: buffer._threads["run-1"].final_write is not None)
        await buffer.wait_for_flush("run-1")
        await buffer.store("run-1")
        assert [_values(database, name) for name in ("validation", "audit", "response")] == [1, 0, 0]
    assert (await asked).status == "OK"
    assert [_values(database, name) for name in ("validation", "audit", "response")] == [1, 1, 1]
    assert buffer.thread_ids == []

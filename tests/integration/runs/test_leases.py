"""Leases of processes that are killed, or paused until their lease has expired (CP-2)."""

import asyncio
import json
import signal
from pathlib import Path

import pytest
from pydantic import SecretStr

from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.settings import Settings
from sourcebound.store.checkpoints.process_identity import find_identity
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, row, without
from support.processes.commands import Program, end
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.model_servers import ModelServer

ANSWER = f"{SEAL} [C0]"
MODEL = "openai:gpt-4.1"
KEY = "sk-right-0123456789"
ACTIVE = "SELECT is_lease_active(worker) FROM runs"
needs_identity = pytest.mark.skipif(
    find_identity() is None, reason="the system does not tell the identity of a process"
)
STATE = "SELECT status, reason, finished_at, worker FROM runs"


@pytest.fixture
def settings(database: str, model_server: ModelServer) -> Settings:
    model_server.answer = ANSWER
    return settings_for(database, openai_base_url=model_server.openai_url, openai_api_key=SecretStr(KEY))


@pytest.fixture
def program(database: str, model_server: ModelServer) -> Program:
    return Program({"DATABASE_URL": database, "OPENAI_BASE_URL": model_server.openai_url, "OPENAI_API_KEY": KEY})


@pytest.fixture
def question(tmp_path: Path) -> tuple[str, ...]:
    """The arguments of a command that asks about a bundle."""
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(without(bundle([row(chunk_text=SEAL)]), "policy_version")))
    return ("ask", "--bundle", str(path), "--model", MODEL)


async def found_run(services: Services) -> str:
    (run,) = await services.run_log.list_runs(5)
    return run.run_id


@pytest.mark.contract("CP-2")
@needs_identity
async def test_the_run_of_a_killed_process_is_free_at_once_on_the_same_host(
    settings: Settings, database: str, program: Program, question: tuple[str, ...], model_server: ModelServer
) -> None:
    model_server.think_seconds = 60
    asking = program.start(*question)
    await asyncio.to_thread(wait_until, lambda: bool(model_server.calls))
    async with open_services(settings) as services:
        engine = Engine(services)
        assert await engine.list_cut_off() == []
        end(asking, signal.SIGKILL)
        assert single(database, ACTIVE)  # until a process looks
        (run_id,) = await engine.list_cut_off()
        assert not single(database, ACTIVE)
        model_server.think_seconds = 0
        assert (await engine.resume(run_id)).answer == ANSWER


@pytest.mark.contract("CP-2")
async def test_the_run_of_a_process_that_died_on_another_host_is_free_when_its_lease_expires(
    settings: Settings, database: str, program: Program, question: tuple[str, ...], model_server: ModelServer
) -> None:
    model_server.think_seconds = 60
    asking = program.start(*question)
    await asyncio.to_thread(wait_until, lambda: bool(model_server.calls))
    end(asking, signal.SIGKILL)
    rows(database, "UPDATE leases SET host = 'another', pid = 1, started = 1")
    async with open_services(settings) as services:
        engine = Engine(services)
        run_id = await found_run(services)
        assert await engine.list_cut_off() == []
        with pytest.raises(RequestError) as raised:
            await engine.resume(run_id)
        assert raised.value.failure_code == "RUN_AT_WORK"
        rows(database, "UPDATE leases SET expires_at = now() WHERE host = 'another'")
        assert await engine.list_cut_off() == [run_id]


@pytest.mark.contract("CP-2")
async def test_a_process_that_was_paused_past_its_expiry_changes_nothing_of_a_run_that_was_taken_over(
    settings: Settings, database: str, program: Program, question: tuple[str, ...], model_server: ModelServer
) -> None:
    model_server.think_seconds = 3  # its answer waits for the paused process
    asking = program.start(*question)
    await asyncio.to_thread(wait_until, lambda: bool(model_server.calls))
    asking.send_signal(signal.SIGSTOP)
    async with open_services(settings) as services:
        engine = Engine(services)
        assert await engine.list_cut_off() == []  # a paused process is not dead
        rows(database, "UPDATE leases SET expires_at = now()")
        (run_id,) = await engine.list_cut_off()
        model_server.think_seconds = 0
        response = await engine.resume(run_id)
        assert response.answer == ANSWER
        before = rows(database, STATE), rows(database, "SELECT checkpoint_id FROM checkpoints ORDER BY 1")
        done = end(asking, signal.SIGCONT)
        assert (done.code, "[RUN_AT_WORK]" in done.stderr) == (2, True), done.stderr
        assert (rows(database, STATE), rows(database, "SELECT checkpoint_id FROM checkpoints ORDER BY 1")) == before
        assert single(database, "SELECT count(*) FROM validations") == 1
        assert await engine.resume(run_id) == response


@pytest.mark.contract("CP-2")
async def test_a_process_that_ends_leaves_no_lease(settings: Settings, database: str) -> None:
    async with open_services(settings) as services:
        assert await services.run_log.open("run-1", "request-1", RunContext(model=MODEL))
        assert single(database, ACTIVE)
    assert (single(database, "SELECT count(*) FROM leases"), single(database, ACTIVE)) == (0, False)


@pytest.mark.contract("CP-2")
async def test_a_lease_that_expired_long_ago_is_deleted_with_the_next_one(services: Services, database: str) -> None:
    rows(database, "INSERT INTO leases (lease_id, expires_at) VALUES (1, now() - interval '2 hours'), (2, now())")
    number = await services.lease.acquire()
    assert rows(database, "SELECT lease_id FROM leases ORDER BY expires_at") == [(2,), (number,)]


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("dead", ["surrendered", pytest.param("process", marks=needs_identity)])
async def test_an_id_of_which_nothing_was_stored_is_free_again(services: Services, database: str, dead: str) -> None:
    lease = services.lease
    assert await services.run_log.open("run-1", "request-1", RunContext(model=MODEL))
    assert await services.run_log.open("run-1", "request-2", RunContext(model=MODEL)) is None
    lease.runs.discard("run-1")
    if dead == "process":
        rows(database, "UPDATE leases SET lease_id = 1, started = 1")
        rows(database, "UPDATE runs SET worker = 1")
    else:
        lease.surrender()
    assert await services.run_log.open("run-1", "request-3", RunContext(model=MODEL))
    assert rows(database, "SELECT request_id, worker FROM runs") == [("request-3", lease.current_id)]


@pytest.mark.contract("CP-2")
async def test_a_lease_is_closed_although_the_pool_swallows_the_cancellation(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def stubborn(self: ProcessLease) -> None:
        reached.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise StoreError("no connection in time.", "Wait.") from None

    monkeypatch.setattr(ProcessLease, "_end_leases", stubborn)
    await services.lease.acquire()
    services.lease.surrender()
    await asyncio.wait_for(reached.wait(), 30)
    await asyncio.wait_for(services.lease.close(), 30)

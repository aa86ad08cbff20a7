"""Database faults: each has a message, a code and a next step, and a repaired database serves again."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import AsyncMock
from urllib.parse import urlsplit

import pytest
from psycopg import ConnectionInfo

from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.errors import ConfigurationError, SourceboundError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.wiring import Services, open_services
from support.builders import generation
from support.fakes import FakeModel
from support.processes.databases import MANUALS, ingest, rows, settings_for, single
from support.processes.homes import reachable_folder, stopped_server, wait_until

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
SECRET = "a-very-secret-word"
IMPATIENCE = 0.3
"""Seconds to wait for a server that is known to be gone, instead of ten."""
KILL_BACKENDS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def mortal_server() -> Iterator[EmbeddedServer]:
    """A server that a test may stop or spoil."""
    with reachable_folder() as folder, stopped_server(folder / "home") as home, EmbeddedServer(home) as server:
        yield server


async def _fault(url: str) -> SourceboundError:
    with pytest.raises(SourceboundError) as raised:
        async with open_services(settings_for(url)):
            pass
    assert raised.value.next_step
    return raised.value


async def _ready(url: str) -> None:
    async with open_pool(url) as pool:
        await migrate(pool)


async def test_a_server_that_stops_between_two_runs_is_a_fault_and_one_that_is_back_serves(
    mortal_server: EmbeddedServer,
) -> None:
    url = mortal_server.start()
    await _ready(url)
    async with open_services(settings_for(url)) as services:
        await ingest(services, MANUALS)
        engine = Engine(services)
        mortal_server.stop()
        patience, services.pool.timeout = services.pool.timeout, IMPATIENCE
        with pytest.raises(StoreError) as raised:
            await engine.ask({"question": ANSWERED})
        assert raised.value.failure_code == "STORE_UNAVAILABLE"
        fault = await _fault(url)
        assert (type(fault), fault.failure_code, fault.exit_code) == (StoreError, "STORE_UNAVAILABLE", 1)
        assert "does not answer" in fault.message
        assert "sourcebound db status" in fault.next_step
        assert mortal_server.start() == url
        services.pool.timeout = patience
        assert (await engine.ask({"question": ANSWERED})).status == "OK"


@dataclass
class EndsTheServer(FakeModel):
    """Answers after the database is gone."""

    server: EmbeddedServer | None = None
    services: Services | None = None

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        assert self.server is not None
        assert self.services is not None
        self.services.pool.timeout = IMPATIENCE
        self.server.stop()
        return await super().generate(prompt, policy)


@pytest.mark.contract("S-3")
@pytest.mark.contract("R5P-6")
async def test_a_server_that_stops_in_the_middle_of_a_run_releases_no_answer(
    mortal_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = mortal_server.start()
    await _ready(url)
    async with open_services(settings_for(url)) as services:
        await ingest(services, MANUALS)
        model = EndsTheServer(
            generation("The shaft is turned by hand every 14 days [C0]."), server=mortal_server, services=services
        )
        monkeypatch.setattr(Models, "open", AsyncMock(return_value=model))
        with pytest.raises(StoreError) as raised:
            await Engine(services).ask({"question": ANSWERED})
    assert raised.value.failure_code == "STORE_UNAVAILABLE"
    assert len(model.prompts) == 1
    mortal_server.start()
    assert single(url, "SELECT count(*) FROM validations") == 0


@pytest.mark.parametrize(("another", "kept"), [(False, 1), (True, 0)], ids=["direct", "through a pooler"])
async def test_plans_are_kept_unless_a_pooler_stands_in_between(
    database: str, monkeypatch: pytest.MonkeyPatch, another: bool, kept: int
) -> None:
    if another:  # a pooler names a process of its own
        monkeypatch.setattr(ConnectionInfo, "backend_pid", property(lambda self: 0))
    statement = "SELECT 7 AS seven"
    async with open_pool(database, max_size=1) as pool:
        for _ in range(4):
            async with pool.connection() as connection:
                await connection.execute(statement)
        async with pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT count(*) AS plans FROM pg_prepared_statements WHERE statement = %s", (statement,)
            )
            assert await cursor.fetchone() == {"plans": kept}


async def test_the_connection_that_came_back_last_is_given_out_first(database: str) -> None:
    async with open_pool(database, max_size=3) as pool:
        async with pool.connection() as first, pool.connection() as second, pool.connection() as third:
            there = {first, second, third}
        async with pool.connection() as one, pool.connection() as other:
            assert [one, other] == [first, second]
        for _ in range(3):
            async with pool.connection() as again:
                assert again is one
        async with pool.connection() as one, pool.connection() as other, pool.connection() as another:
            assert {one, other, another} == there


async def test_a_pool_that_shrinks_closes_a_connection_that_is_not_needed(database: str) -> None:
    async with open_pool(database, max_size=3) as pool:
        async with pool.connection() as first, pool.connection() as second, pool.connection() as third:
            there = {first, second, third}
        for _ in range(3):
            await pool._shrink_pool()
            async with pool.connection() as used:
                assert used is first
        assert {connection for connection in there if not connection.closed} == {first}


async def test_a_server_that_is_too_old(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcebound.store.connection.database.MINIMUM_VERSION", 990000)
    fault = await _fault(database)
    assert (type(fault), fault.failure_code) == (StoreError, "STORE_TOO_OLD")
    assert str(single(database, "SELECT current_setting('server_version_num')::int / 10000")) in fault.message


async def test_a_server_without_pgvector(empty_database: str) -> None:
    name = urlsplit(empty_database).path.lstrip("/")
    rows(empty_database, f"ALTER DATABASE {name} SET extension_control_path = '/nonexistent'")
    fault = await _fault(empty_database)
    assert (type(fault), fault.failure_code) == (StoreError, "PGVECTOR_MISSING")
    assert "postgresql-NN-pgvector" in fault.next_step


async def test_a_database_and_an_account_that_are_not_there(database: str) -> None:
    parts = urlsplit(database)
    for url, finding in (
        (parts._replace(path="/nowhere").geturl(), "does not exist"),
        (parts._replace(netloc=f"nobody-we-know:{SECRET}@").geturl(), "password authentication failed"),
    ):
        fault = await _fault(url)
        assert (type(fault), fault.failure_code) == (StoreError, "STORE_UNAVAILABLE")
        assert finding in fault.detail
        assert SECRET not in fault.detail + str(fault)


async def test_a_wrong_password_is_named_and_not_shown(mortal_server: EmbeddedServer) -> None:
    url = mortal_server.start()
    rows(url, "CREATE ROLE guarded LOGIN PASSWORD 'right'")
    guarded = urlsplit(url)._replace(netloc=f"guarded:{SECRET}@").geturl()
    fault = await _fault(guarded)
    assert (type(fault), fault.failure_code) == (StoreError, "STORE_UNAVAILABLE")
    assert "password authentication failed" in fault.detail
    assert SECRET not in fault.detail + str(fault)


@pytest.mark.parametrize("url", ["garbage", f"postgres//user:{SECRET}@host/db", "postgresql://[", "host=a nonsense=b"])
async def test_what_is_no_connection_string_is_bad_configuration(url: str) -> None:
    fault = await _fault(url)
    assert (type(fault), fault.failure_code, fault.exit_code) == (ConfigurationError, "BAD_DATABASE_URL", 2)
    assert "postgresql://" in fault.next_step
    assert SECRET not in str(fault)
    assert SECRET not in repr(fault.__cause__)


async def test_connections_that_are_killed_cost_no_run(engine: Engine, library: str) -> None:
    assert (await engine.ask({"question": ANSWERED})).status == "OK"
    assert rows(library, KILL_BACKENDS) != []
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    wait_until(lambda: single(library, others) == 0)
    assert (await engine.ask({"question": ANSWERED})).status == "OK"


async def test_tables_that_are_gone_are_said_to_be_missing(library_services: Services, library: str) -> None:
    rows(library, "DROP TABLE collections CASCADE")
    with pytest.raises(StoreError) as raised:
        await Engine(library_services).ask({"question": ANSWERED})
    assert raised.value.failure_code == "SCHEMA_MISSING"
    assert "sourcebound db migrate" in raised.value.next_step


async def test_a_full_disk_is_named(services: Services, database: str) -> None:
    """The server cannot be made to run out of space here, so a trigger raises what it would raise."""
    rows(
        database,
        "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$",
    )
    rows(database, "CREATE TRIGGER no_room BEFORE INSERT ON chunks EXECUTE FUNCTION no_space()")
    with pytest.raises(StoreError) as raised:
        await ingest(services, MANUALS)
    assert raised.value.failure_code == "NO_DISK_SPACE"
    assert single(database, "SELECT count(*) FROM documents") == 0


LOSING = """
import contextlib, sys
from sourcebound.cli.console import run_async
from sourcebound.store.connection.database import open_pool, open_pipeline

async def main():
    async with open_pool(sys.argv[1]) as pool:
        async with pool.connection() as connection:
            await connection.close()
        with contextlib.suppress(LookupError):
            async with pool.connection() as connection, open_pipeline(connection):
                await connection.execute("SELECT 1 / 0 AS secret")
                raise LookupError

run_async(main)
"""


def test_a_command_prints_no_word_of_the_client_about_a_connection_it_gave_up(database: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOSING, database], capture_output=True, text=True, check=True)
    assert done.stderr == ""

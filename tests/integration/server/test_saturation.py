"""A server with too many clients is waited for, and named if it stays so."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager

import psycopg
import pytest

from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.store.connection import saturation
from sourcebound.store.connection.database import open_pool, store_faults
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.connection.saturation import is_saturated
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.store.server.postmaster import SETTINGS
from sourcebound.wiring import open_services
from support.processes.asking import ask_at_once
from support.processes.databases import MANUALS, ingest, rows, settings_for
from support.processes.homes import reachable_folder, stopped_server

SLOTS = 8
PROCESSES = 12
QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
IMPATIENCE = 0.3


@pytest.fixture(scope="module")
def small_server() -> Iterator[EmbeddedServer]:
    """A server that accepts few connections, with the example manuals."""
    with pytest.MonkeyPatch.context() as patch, reachable_folder() as folder:
        patch.setitem(SETTINGS, "max_connections", str(SLOTS))
        with stopped_server(folder / "home") as home, EmbeddedServer(home) as server:
            asyncio.run(_fill(server.start()))
            yield server


async def _fill(url: str) -> None:
    async with open_pool(url) as pool:
        await migrate(pool)
    async with open_services(settings_for(url)) as services:
        await ingest(services, MANUALS)


@contextmanager
def saturated(url: str) -> Iterator[ExitStack]:
    """Take every free connection of the server, until the stack is closed."""
    refused = 0
    with ExitStack() as held:
        while refused < 5:  # sessions of earlier clients may still be ending
            try:
                held.enter_context(psycopg.connect(url))
                refused = 0
            except psycopg.OperationalError:
                refused += 1
                time.sleep(0.1)
        yield held


def test_more_processes_than_connections_all_answer(small_server: EmbeddedServer) -> None:
    url = small_server.start()
    answers = ask_at_once(url, QUESTION, PROCESSES, stay=False)
    assert len(answers) == PROCESSES
    assert {"14 days" in answer for answer in answers} == {True}, answers
    assert rows(url, "SELECT status, count(*) FROM runs GROUP BY 1") == [("OK", PROCESSES)]


async def test_a_server_that_stays_saturated_is_named(
    small_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = small_server.start()
    monkeypatch.setattr(saturation, "WAIT_SECONDS", IMPATIENCE)
    with saturated(url):
        with pytest.raises(StoreError) as raised:
            async with open_services(settings_for(url)):
                pass
        assert raised.value.failure_code == "TOO_MANY_CLIENTS"
        assert raised.value.is_unavailable
        assert "too many clients" in raised.value.message
        assert "max_connections" in raised.value.next_step
        assert small_server.start() == url  # it runs, and need not be started


async def test_a_process_waits_for_a_connection_of_a_saturated_server(small_server: EmbeddedServer) -> None:
    url = small_server.start()
    with saturated(url) as held:
        opening = asyncio.create_task(_ask(url))
        await asyncio.wait([opening], timeout=2 * saturation.LONGEST_PAUSE)
        assert not opening.done()
        held.close()
        assert await opening == "OK"


async def _ask(url: str) -> str:
    async with open_services(settings_for(url)) as services:
        return (await Engine(services).ask({"question": QUESTION})).status


async def test_a_pool_that_cannot_grow_waits_longer_than_its_time_limit(
    small_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = small_server.start()
    async with open_pool(url, max_size=2) as pool, AsyncExitStack() as stack:
        first = await stack.enter_async_context(pool.connection())
        pool.timeout = IMPATIENCE
        with saturated(url) as held:
            second = asyncio.create_task(pool.getconn())
            await asyncio.wait([second], timeout=3 * IMPATIENCE)
            assert not second.done()
            assert not pool.is_away
            held.close()
            connection = await second
        assert connection is not first
        await connection.close()
        await pool.putconn(connection)
        with saturated(url):
            monkeypatch.setattr(saturation, "WAIT_SECONDS", IMPATIENCE)
            with pytest.raises(StoreError) as raised, store_faults():
                await pool.getconn()
        assert raised.value.failure_code == "TOO_MANY_CLIENTS"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("FATAL:  sorry, too many clients already", True),
        ('FATAL:  too many connections for role "app"', True),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", True),
        ("FATAL:  no more connections allowed (max_client_conn)", True),
        ("FATAL:  the database system is starting up", False),
    ],
)
def test_the_messages_of_a_saturated_server_are_known(message: str, expected: bool) -> None:
    assert is_saturated(psycopg.OperationalError(f"connection failed: {message}")) is expected

"""A process that outlives its database: it reconnects soon, and restarts an embedded server that has died."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr

from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.settings import Settings
from sourcebound.store.connection.database import SteadyAttempt
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.wiring import open_services
from support.processes.databases import MANUALS, ingest
from support.processes.homes import DEADLINE_SECONDS, reachable_folder, stopped_server, wait_until

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
IMPATIENCE = 0.3
RECOVERY_SECONDS = 2


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """The home folder of a server that tests may kill. Its database holds the example manuals."""
    with reachable_folder() as folder, stopped_server(folder / "home") as made:
        asyncio.run(_fill(Settings(home=made)))
        yield made


async def _fill(settings: Settings) -> None:
    async with open_services(settings, as_owner=True) as services:
        await ingest(services, MANUALS)


def kill(server: EmbeddedServer) -> None:
    """Kill the postmaster, and wait until its last child has ended."""
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not server.status().running)


async def fault(engine: Engine) -> str:
    with pytest.raises(StoreError) as raised:
        await engine.ask({"question": QUESTION})
    return raised.value.failure_code


def test_the_pauses_between_attempts_to_connect_do_not_grow() -> None:
    attempt, now = SteadyAttempt(timeout=300), time.monotonic()
    for _ in range(20):
        attempt.update_delay(now)
        assert 0 < attempt.delay <= 1


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("outage_seconds", [0, 5])
async def test_a_process_reconnects_soon_after_its_server_is_back(home: Path, outage_seconds: int) -> None:
    with EmbeddedServer(home) as server:
        url = server.start()
        async with open_services(Settings(database_url=SecretStr(url), home=Path("/dev/null/unused"))) as services:
            engine = Engine(services)
            async with AsyncExitStack() as busy:
                for _ in range(services.pool.max_size):
                    await busy.enter_async_context(services.pool.connection())
            kill(server)
            services.pool.timeout = IMPATIENCE
            back_at = time.monotonic() + outage_seconds
            while time.monotonic() < back_at:
                assert await fault(engine) == "STORE_UNAVAILABLE"
                assert services.pool.is_away
            assert server.start() == url
            services.pool.timeout = RECOVERY_SECONDS
            assert (await engine.ask({"question": QUESTION})).status == "OK"
            assert not services.pool.is_away


@pytest.mark.contract("CP-2")
async def test_a_process_restarts_its_embedded_server_that_was_killed(home: Path) -> None:
    async with open_services(Settings(home=home)) as services:
        engine, server = Engine(services), EmbeddedServer(home)
        services.pool.timeout = DEADLINE_SECONDS
        for _ in range(2):
            kill(server)
            assert (await engine.ask({"question": QUESTION})).status == "OK"
        server.stop()
        services.pool.timeout = IMPATIENCE
        assert await fault(engine) == "STORE_UNAVAILABLE"
        assert not server.status().running  # because a user stopped it
        with server:
            services.pool.timeout = DEADLINE_SECONDS
            assert (await engine.ask({"question": QUESTION})).status == "OK"
            kill(server)
            assert (await engine.ask({"question": QUESTION})).status == "OK"


@pytest.mark.contract("CP-2")
async def test_a_run_goes_on_while_its_embedded_server_is_restarted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_services(Settings(home=home)) as services:
        server, retrieve, calls = EmbeddedServer(home), type(services.retriever).retrieve, count(1)
        services.pool.timeout = DEADLINE_SECONDS

        async def killed(self: object, *arguments: object) -> object:
            if next(calls) == 1:
                await asyncio.to_thread(kill, server)
            return await retrieve(self, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(type(services.retriever), "retrieve", killed)
        assert (await Engine(services).ask({"question": QUESTION})).status == "OK"

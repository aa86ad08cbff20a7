"""A worker that starts while its database is away answers 503, serves when it is back, and ends cleanly."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sourcebound.api import workers
from sourcebound.api.workers import Worker
from support.processes.databases import rows, settings_for

Messages = list[dict[str, Any]]


class Lifespan:
    """The server's side of the lifespan protocol."""

    def __init__(self, worker: Worker) -> None:
        self.sent: Messages = []
        self._given: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._task = asyncio.create_task(worker({"type": "lifespan"}, self._given.get, self._send))

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def kinds(self) -> list[str]:
        return [message["type"].removeprefix("lifespan.") for message in self.sent]

    async def start(self) -> None:
        self._given.put_nowait({"type": "lifespan.startup"})
        await until(self._has_sent)

    async def _has_sent(self) -> bool:
        return bool(self.sent)

    async def end(self) -> None:
        self._given.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait_for(self._task, 60)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(3000):
        if await condition():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


@asynccontextmanager
async def connections_refused(database: str, beside: str) -> AsyncIterator[Callable[[], None]]:
    """Let the database refuse connections; the yielded function lets it accept them again."""
    name = urlsplit(database).path.lstrip("/")

    def accept(flag: bool) -> None:
        rows(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS {flag}")

    accept(False)
    try:
        yield lambda: accept(True)
    finally:
        accept(True)


@pytest.fixture
def worker(database: str, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setattr(workers, "get_settings", lambda: settings_for(database, embedder="lexical"))
    monkeypatch.setattr(workers, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(workers, "_end_with_supervisor", lambda: None)
    return Worker()


def client_of(worker: Worker) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(worker), base_url="http://127.0.0.1")


async def test_a_worker_waits_for_its_database_and_says_so(worker: Worker, database: str, empty_database: str) -> None:
    async with connections_refused(database, empty_database) as accept, client_of(worker) as client:
        lifespan = Lifespan(worker)
        await lifespan.start()
        assert lifespan.kinds == ["startup.complete"]
        for _ in range(3):
            assert (await client.get("/healthz")).status_code == 200
            for path in ("/readyz", "/v1/collections", "/none"):
                answer = await client.get(path)
                assert (answer.status_code, answer.json()["code"]) == (503, "STORE_UNAVAILABLE")
                assert answer.headers["retry-after"]
            await asyncio.sleep(0.1)
        accept()

        async def is_ready() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await until(is_ready)
        assert (await client.get("/v1/collections")).json()["collections"] == []
        await lifespan.end()
    assert lifespan.kinds == ["startup.complete", "shutdown.complete"]


async def test_a_worker_that_waits_ends_with_the_server(worker: Worker, database: str, empty_database: str) -> None:
    async with connections_refused(database, empty_database):
        lifespan = Lifespan(worker)
        await lifespan.start()
        await lifespan.end()
    assert lifespan.kinds == ["startup.complete", "shutdown.complete"]


async def test_a_worker_with_an_outdated_schema_does_not_start(worker: Worker, database: str) -> None:
    rows(database, "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)")
    lifespan = Lifespan(worker)
    await lifespan.start()
    assert lifespan.kinds == ["startup.failed"]
    assert "SCHEMA_MISSING" in lifespan.sent[0]["message"]


async def test_a_worker_whose_database_comes_back_outdated_ends(
    worker: Worker, database: str, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(database, "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)")
    signals: list[tuple[int, int]] = []
    async with connections_refused(database, empty_database) as accept:
        lifespan = Lifespan(worker)
        await lifespan.start()
        monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number)))
        accept()

        async def is_ended() -> bool:
            return bool(signals)

        await until(is_ended)
        monkeypatch.undo()
        await lifespan.end()
    assert signals == [(os.getpid(), signal.SIGTERM)]
    assert lifespan.kinds == ["startup.complete", "shutdown.complete"]


async def test_a_worker_that_a_fault_of_the_program_stops_ends(
    worker: Worker, database: str, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals: list[int] = []
    async with connections_refused(database, empty_database), client_of(worker) as client:
        lifespan = Lifespan(worker)
        await lifespan.start()
        assert (await client.get("/readyz")).status_code == 503

        async def fail(_: object) -> None:
            raise ValueError("a wrong value")

        monkeypatch.setattr(os, "kill", lambda _, number: signals.append(number))
        monkeypatch.setattr(workers, "_open_app", fail)

        async def is_ended() -> bool:
            return bool(signals)

        await asyncio.wait_for(until(is_ended), 10)
        await lifespan.end()
    assert signals == [signal.SIGTERM]
    assert lifespan.kinds == ["startup.complete", "shutdown.complete"]

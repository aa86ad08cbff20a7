"""A server process does not look at the objects of its start again and again: they outlive every request."""

import gc
import socket
from collections.abc import Iterator

import pytest
import uvicorn

from sourcebound import settings
from sourcebound.api import workers
from sourcebound.api.workers import Worker
from sourcebound.cli import serve
from support.processes.databases import settings_for


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    """Give the objects of the test process back to the garbage collector."""
    gc.unfreeze()
    yield
    gc.unfreeze()


async def test_a_server_keeps_its_start(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []

    async def start(_server: uvicorn.Server, _sockets: list[socket.socket]) -> None:
        kept.append(gc.get_freeze_count())

    monkeypatch.setattr(settings, "get_settings", lambda: settings_for(database))
    monkeypatch.setattr(uvicorn.Server, "serve", start)
    await serve._serve("127.0.0.1", 0)
    assert kept[0] > len(gc.get_objects()), "most objects are of the start"


async def test_a_worker_keeps_its_start(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "get_settings", lambda: settings_for(database))
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    kept: list[int] = []

    async def receive() -> dict[str, str]:
        return next(messages)

    async def send(message: object) -> None:
        kept.append(gc.get_freeze_count())

    await Worker()({"type": "lifespan"}, receive, send)
    assert kept[0] > len(gc.get_objects()), "most objects are of the start"

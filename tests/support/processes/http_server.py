"""A real HTTP server on a free port, in a thread of the test process, over the example manuals."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from uvicorn import Config, Server

from sourcebound.api.app import create_app
from sourcebound.settings import Settings
from sourcebound.wiring import open_services
from support.processes.databases import Cluster, settings_for
from support.processes.homes import DEADLINE_SECONDS, wait_until

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"
ANSWER = "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C."
OFF_TOPIC = "Who won the chess championship of 1972 in Reykjavik?"
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A running server.

    Args:
        url: Its URL.
        database: Its database.
        client: A client of it.
    """

    url: str
    database: str
    client: httpx.Client

    def ask(self, question: str = QUESTION, **fields: object) -> JsonObject:
        """Ask a question that is recorded, and return its response."""
        answer = self.client.post("/v1/ask", json={"question": question, **fields})
        assert answer.status_code == 200, answer.text
        read: JsonObject = answer.json()
        return read


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """Serve until the end of the block, and yield the URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    servers: list[Server] = []

    async def serve() -> None:
        async with open_services(settings) as services:
            servers.append(Server(Config(create_app(services), log_level="error", timeout_graceful_shutdown=5)))
            await servers[0].serve([listener])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        wait_until(lambda: bool(servers and servers[0].started) or not thread.is_alive())
        assert thread.is_alive()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive(), "the server did not end"
        listener.close()


@contextmanager
def served_over(database: str, **settings: Any) -> Iterator[Served]:
    """Serve a database until the end of the block."""
    with (
        serving(settings_for(database, **settings)) as url,
        httpx.Client(base_url=url, timeout=DEADLINE_SECONDS) as client,
    ):
        yield Served(url, database, client)


@pytest.fixture(scope="session")
def served(cluster: Cluster, filled: str) -> Iterator[Served]:
    """The server of the session. A test that changes the documents takes its own."""
    database = cluster.create(filled)
    with served_over(database) as running:
        yield running
    cluster.drop(database)

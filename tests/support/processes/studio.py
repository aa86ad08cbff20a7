"""A real `langgraph dev` over its own database, for the session: the server to which LangGraph Studio connects.

It runs behind a proxy of ours, which records every request that would leave this machine.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.places import ROOT
from support.processes.databases import Cluster
from support.processes.homes import DEADLINE_SECONDS, wait_until
from support.processes.model_servers import ModelServer

GRAPH = "sourcebound"
OFFLINE = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "1", "LANGSMITH_TRACING": "false"}
OPTIONS = ("--host 127.0.0.1", "--no-browser", "--no-reload", "--n-jobs-per-worker 4")
"""The same as in `make studio`. A test compares the two."""
QUIET_IN = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "CIRCLECI")
"""The variables of CI services under which some libraries send no telemetry."""
KEY = "sk-studio-0123456789"
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Studio:
    """A running server.

    Args:
        url: Its URL.
        database: The database in which its runs are recorded; it holds the example manuals.
        models: The model server that it may call.
        left: The first line of every request that would have left this machine.
    """

    url: str
    database: str
    models: ModelServer
    left: list[str] = field(default_factory=list)

    def variables(self) -> dict[str, str]:
        """Return the variables that lead a process to the same database and models."""
        return {
            "DATABASE_URL": self.database,
            "OPENAI_BASE_URL": self.models.openai_url,
            "OPENAI_API_KEY": KEY,
        }

    def post(self, path: str, body: JsonObject) -> JsonObject:
        """Post JSON as an ordinary client does, and return the answer."""
        headers = {"accept": "application/json, text/event-stream"}
        answer = httpx.post(self.url + path, json=body, headers=headers, timeout=DEADLINE_SECONDS)
        assert answer.status_code == 200, answer.text
        read: JsonObject = answer.json()
        return read


@pytest.fixture(scope="session")
def studio(cluster: Cluster, filled: str) -> Iterator[Studio]:
    database = cluster.create(filled)
    with ModelServer() as models, _watched_door() as (door, left), tempfile.TemporaryDirectory() as folder:
        served = Studio(f"http://127.0.0.1:{_free_port()}", database, models, left)
        with _serving(served, door, Path(folder)):
            yield served
    cluster.drop(database)


@pytest.fixture
async def client(studio: Studio) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=studio.url) as opened:
        yield opened


@contextlib.contextmanager
def _serving(studio: Studio, door: str, folder: Path) -> Iterator[None]:
    port = studio.url.rpartition(":")[2]
    config = folder / "langgraph.json"  # the server stores its own files in the same folder
    config.write_text(
        json.dumps({**json.loads((ROOT / "langgraph.json").read_text("utf-8")), "dependencies": [str(ROOT)]})
    )
    proxies = {name: door for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")}
    own = {name: value for name, value in os.environ.items() if name not in QUIET_IN}
    variables = {**own, **OFFLINE, **proxies, "NO_PROXY": "127.0.0.1", **studio.variables()}
    command: list[str | Path] = [Path(sys.executable).with_name("langgraph"), "dev", "--config", config]
    options = ["--port", port, *" ".join(OPTIONS).split()]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, *options], stdout=log, stderr=log, cwd=folder, env=variables, process_group=0
        )
        try:
            wait_until(lambda: process.poll() is not None or _answers(studio.url))
            assert process.poll() is None, (folder / "log").read_text()
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(DEADLINE_SECONDS)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ok", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def _watched_door() -> Iterator[tuple[str, list[str]]]:
    """Open a proxy that forwards nothing and records the requests."""
    left: list[str] = []

    def watch() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = door.accept()
                with connection:
                    left.append(connection.recv(200).decode("latin-1").partition("\r\n")[0])

    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=watch, daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}", left

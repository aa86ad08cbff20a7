"""Many runs at once: all their model calls are under way at the same time, and the event loop is never held up."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from asyncio import StreamWriter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from sourcebound.contracts.state import RunContext
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import SEAL, bundle, row
from support.processes.databases import rows, settings_for
from support.processes.model_servers import ModelServer, Received, WatchedReader

RUNS = 64
ANSWER = f"{SEAL} [C0]"
KEY = "sk-right-0123456789"
MODELS = ("openai:gpt-4.1", "ollama:llama3.2")
THINK_SECONDS = 2.0
LAG_SECONDS = 2.0
"""Generous: loading a provider's client takes about a second on an idle machine."""
TICKS = 10
"""Rounds of the loop while everybody waits; it makes hundreds, and none when it waits in a blocking way."""
MEETING_SECONDS = 60
OPENING = """
import asyncio, json, sys, threading, time
from sourcebound.models.registry import Models
from sourcebound.settings import Settings

name, openai_url, ollama_url = sys.argv[1:]
module = {"openai": "langchain_openai", "ollama": "langchain_ollama"}[name.partition(":")[0]]
threads, lags = [], [0.0]

class Finder:
    def find_spec(self, found, path=None, target=None):
        if found == module:
            threads.append(threading.current_thread() is threading.main_thread())

async def watch():
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - before - 0.005)

async def main():
    watcher = asyncio.create_task(watch())
    models = Models(Settings(openai_base_url=openai_url, openai_api_key="sk-right", ollama_host=ollama_url))
    before = module in sys.modules
    sys.meta_path.insert(0, Finder())
    await models.open(name)
    watcher.cancel()
    await models.close()
    print(json.dumps({"before": before, "in_main_thread": threads, "lag": max(lags)}))

asyncio.run(main())
"""


class MeetingServer(ModelServer):
    """Answers no call before as many as are expected have come in, then thinks."""

    def __init__(self, expected: int) -> None:
        self.meeting = asyncio.Barrier(expected)
        self.is_thinking = False
        """Whether all calls are under way and none is answered yet."""
        super().__init__()

    async def _respond(self, request: Received, reader: WatchedReader, writer: StreamWriter) -> bool:
        if request in self.calls:
            async with asyncio.timeout(MEETING_SECONDS):
                await self.meeting.wait()
            self.is_thinking = True
            await asyncio.sleep(THINK_SECONDS)
            self.is_thinking = False
        return await super()._respond(request, reader, writer)


@contextlib.asynccontextmanager
async def opened(database: str, server: ModelServer) -> AsyncIterator[Engine]:
    settings = settings_for(
        database, openai_base_url=server.openai_url, openai_api_key=SecretStr(KEY), ollama_host=server.url
    )
    async with Engine.open(settings) as engine:
        yield engine


async def watch(server: MeetingServer, ticks: list[int]) -> None:
    """Counts the rounds of the loop, and how many connections there are in each, while every call is under way."""
    while True:
        await asyncio.sleep(0.005)
        if server.is_thinking:
            ticks.append(server.open_connections)


def request_of(number: int) -> Any:
    text = f"{SEAL} Seal number {number}."
    return {"retrieval_bundle": bundle([row(chunk_text=text)]), "request_id": f"request-{number}"}


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize("model", MODELS)
async def test_as_many_calls_are_under_way_as_there_are_runs_and_the_loop_is_free(database: str, model: str) -> None:
    ticks: list[int] = []
    with MeetingServer(RUNS) as server:
        server.answer = ANSWER
        async with opened(database, server) as engine:
            await engine._services.models.open(model)
            watcher = asyncio.create_task(watch(server, ticks))
            context = RunContext(model=model)
            async with asyncio.timeout(MEETING_SECONDS):
                responses = await asyncio.gather(*(engine.ask(request_of(number), context) for number in range(RUNS)))
            watcher.cancel()
        assert len(server.calls) == RUNS
        assert len({call.body for call in server.calls}) == RUNS
    assert [(response.status, response.answer) for response in responses] == [("OK", ANSWER)] * RUNS
    assert [response.request_id for response in responses] == [f"request-{number}" for number in range(RUNS)]
    assert len({response.run_id for response in responses}) == RUNS
    found = rows(database, "SELECT request_id, validation_status FROM validations")
    assert sorted(found) == sorted((f"request-{number}", "PASSED") for number in range(RUNS))
    assert len(ticks) >= TICKS
    assert max(ticks) >= RUNS


async def test_runs_over_different_backends_do_not_wait_for_each_other(database: str) -> None:
    models = (*MODELS, "extractive")
    with MeetingServer(16) as server:
        server.answer = ANSWER
        async with opened(database, server) as engine:
            asked = [(number, RunContext(model=models[number % 3])) for number in range(24)]
            responses = await asyncio.gather(*(engine.ask(request_of(n), context) for n, context in asked))
        assert sorted(call.route for call in server.calls) == ["/api/chat"] * 8 + ["/v1/responses"] * 8
    assert [response.status for response in responses] == ["OK"] * 24


async def test_a_model_is_opened_once_however_many_ask_for_it_at_first(model_server: ModelServer) -> None:
    settings = Settings(
        openai_base_url=model_server.openai_url, openai_api_key=SecretStr(KEY), ollama_host=model_server.url
    )
    models = Models(settings)
    for model in MODELS:
        opened = await asyncio.gather(*(models.open(model) for _ in range(20)))
        assert len({id(generator) for generator in opened}) == 1
    await models.close()
    assert [call.route for call in model_server.received] == ["/v1/models", "/api/tags", "/api/show"]


async def test_a_server_that_hangs_while_it_is_looked_at_holds_up_no_other_model(model_server: ModelServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = Settings(
            openai_base_url=model_server.openai_url,
            openai_api_key=SecretStr(KEY),
            ollama_host=f"http://127.0.0.1:{silent.getsockname()[1]}",
        )
        models = Models(settings)
        await models.open("openai:gpt-4.1")
        hanging = asyncio.create_task(models.open("ollama:llama3.2"))
        connection, _ = await asyncio.get_running_loop().run_in_executor(None, silent.accept)
        with connection:
            for name in ("openai:gpt-4.1", "extractive"):
                await models.open(name)
            assert not hanging.done()
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
        await models.close()


@pytest.mark.parametrize("model", MODELS)
def test_the_client_of_a_provider_is_loaded_beside_the_loop(model_server: ModelServer, model: str) -> None:
    command = [sys.executable, "-c", OPENING, model, model_server.openai_url, model_server.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["before"], found["in_main_thread"]) == (False, [False])
    assert found["lag"] < LAG_SECONDS

"""A run that is cancelled during the model call ends at once, releases the server, and can be resumed."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from pydantic import SecretStr

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.models.generators import ChatGenerator
from support.builders import SEAL, bundle, row
from support.processes.commands import Finished, Program, end
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.model_servers import Fault, ModelServer

ANSWER = f"{SEAL} [C0]"
EVIDENCE = bundle([row(chunk_text=SEAL)])
KEY = "sk-right-0123456789"
RUN = "run-1"
THINK_SECONDS = 30.0
AT_ONCE_SECONDS = 2.0
SHORTLY_SECONDS = 10.0
MODELS = ("openai:gpt-4.1", "openai:chat", "ollama:llama3.2")
"""One for each wire."""
REGISTRY = '[models."openai:chat"]\nwire = "chat_completions"\n[models."openai:patient"]\npause_seconds = 60\n'


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(REGISTRY)
    return path


@pytest.fixture
def thinking(model_server: ModelServer) -> ModelServer:
    """A server that thinks far longer than a test would wait."""
    model_server.models += ["chat", "patient"]
    model_server.answer = ANSWER
    model_server.think_seconds = THINK_SECONDS
    return model_server


@contextlib.asynccontextmanager
async def opened(database: str, server: ModelServer, registry: Path) -> AsyncIterator[Engine]:
    settings = settings_for(
        database,
        openai_base_url=server.openai_url,
        openai_api_key=SecretStr(KEY),
        ollama_host=server.url,
        models_file=registry,
    )
    async with Engine.open(settings) as engine:
        yield engine


def start(engine: Engine, model: str) -> "asyncio.Task[PublicResponse]":
    return asyncio.create_task(engine.ask({"retrieval_bundle": EVIDENCE, "run_id": RUN}, RunContext(model=model)))


async def cancel(task: "asyncio.Task[PublicResponse]") -> None:
    """Cancels a task, which must end at once, and by nothing else."""
    started = perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert perf_counter() - started < AT_ONCE_SECONDS


async def check_it_stands_before_the_call(engine: Engine, database: str) -> None:
    snapshot = await engine._compiled().aget_state({"configurable": {"thread_id": RUN}})
    assert snapshot.next == ("generate",)
    assert {"prompt", "outcome"} < set(snapshot.values)
    assert "generation" not in snapshot.values
    assert single(database, "SELECT count(*) FROM validations") == 0


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R4-5")
@pytest.mark.parametrize("model", MODELS)
async def test_a_cancelled_call_ends_at_once_and_is_resumed_with_one_further_call(
    database: str, thinking: ModelServer, registry: Path, model: str
) -> None:
    async with opened(database, thinking, registry) as engine:
        task = start(engine, model)
        await asyncio.to_thread(wait_until, lambda: bool(thinking.calls))
        await cancel(task)
        assert await asyncio.to_thread(thinking.disconnected.wait, AT_ONCE_SECONDS)
        await check_it_stands_before_the_call(engine, database)
        assert len(thinking.calls) == 1
        thinking.think_seconds = 0
        response = await engine.resume(RUN)
        assert (response.status, response.answer, response.run_id) == ("OK", ANSWER, RUN)
        assert rows(database, "SELECT run_id, attempt FROM validations") == [(RUN, 1)]
        first, second = thinking.calls
        assert first.body == second.body
        assert await engine.resume(RUN) == response
        assert len(thinking.calls) == 2
        assert single(database, "SELECT count(*) FROM validations") == 1


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("model", MODELS)
async def test_a_run_is_resumed_by_another_process_with_the_model_it_began_with(
    database: str, thinking: ModelServer, registry: Path, model: str
) -> None:
    async with opened(database, thinking, registry) as engine:
        task = start(engine, model)
        await asyncio.to_thread(wait_until, lambda: bool(thinking.calls))
        await cancel(task)
    thinking.think_seconds = 0
    async with opened(database, thinking, registry) as engine:
        response = await engine.resume(RUN)
        assert (response.status, response.answer) == ("OK", ANSWER)
        assert (await engine.state(RUN))["run"]["model"] == model
    assert [call.model for call in thinking.calls] == [model.partition(":")[2]] * 2


@pytest.mark.contract("R4-5")
async def test_a_pause_between_requests_is_cancelled_at_once_and_nothing_is_sent_after_it(
    database: str, thinking: ModelServer, registry: Path
) -> None:
    thinking.think_seconds = 0
    thinking.always = Fault.UNAVAILABLE
    pausing = asyncio.Event()

    def draw() -> float:
        pausing.set()  # the pause begins before anything else can run
        return 0.0

    async with opened(database, thinking, registry) as engine:
        generator = await engine._services.models.open("openai:patient")
        assert isinstance(generator, ChatGenerator)
        generator._draw = draw
        task = start(engine, "openai:patient")
        async with asyncio.timeout(SHORTLY_SECONDS):
            await pausing.wait()
        await cancel(task)
        assert len(thinking.calls) == 1
        await check_it_stands_before_the_call(engine, database)
        thinking.always = None
        response = await engine.resume(RUN)
    assert (response.status, response.answer) == ("OK", ANSWER)
    assert len(thinking.calls) == 2
    assert single(database, "SELECT count(*) FROM validations") == 1


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("fault", [None, Fault.FAILED_STATUS])
async def test_a_run_that_has_ended_is_not_asked_again(
    database: str, thinking: ModelServer, registry: Path, fault: Fault | None
) -> None:
    thinking.think_seconds = 0
    thinking.always = fault
    async with opened(database, thinking, registry) as engine:
        response = await start(engine, "openai:gpt-4.1")
        assert response.status == ("FAILED" if fault else "OK")
        thinking.always = None
        assert await engine.resume(RUN) == response
        assert len(thinking.calls) == 1
        assert single(database, "SELECT count(*) FROM validations") == 1


async def test_an_unknown_run_cannot_be_resumed(database: str, thinking: ModelServer, registry: Path) -> None:
    async with opened(database, thinking, registry) as engine:
        with pytest.raises(RequestError, match="no checkpoint to resume from") as raised:
            await engine.resume("no-such-run")
    assert raised.value.failure_code == "NOT_RESUMABLE"
    assert thinking.received == []


async def test_resuming_a_run_whose_server_has_gone_fails_it_and_records_it(
    database: str, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ModelServer() as server:
        server.think_seconds = THINK_SECONDS
        async with opened(database, server, registry) as engine:
            task = start(engine, "ollama:llama3.2")
            await asyncio.to_thread(wait_until, lambda: bool(server.calls))
            await cancel(task)
    async with opened(database, server, registry) as engine:
        response = await engine.resume(RUN)
    assert (response.status, response.failure_code) == ("FAILED", "MODEL_UNAVAILABLE")
    assert "ollama serve" in caplog.text
    assert rows(database, "SELECT generation_status, failure_reason FROM validations") == [
        ("FAILED", "MODEL_UNAVAILABLE")
    ]


async def test_cancelling_one_run_leaves_the_others_alone(database: str, thinking: ModelServer, registry: Path) -> None:
    thinking.think_seconds = 1
    async with opened(database, thinking, registry) as engine:
        contexts = [RunContext(model=model) for model in MODELS]
        tasks = [
            asyncio.create_task(
                engine.ask({"retrieval_bundle": EVIDENCE, "run_id": f"run-{n}", "request_id": f"request-{n}"}, context)
            )
            for n, context in enumerate(contexts * 2)
        ]
        await asyncio.to_thread(wait_until, lambda: len(thinking.calls) == len(tasks))
        for task in tasks[:3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results[:3]] == [asyncio.CancelledError] * 3
    assert [result.answer for result in results[3:] if isinstance(result, PublicResponse)] == [ANSWER] * 3
    assert single(database, "SELECT count(*) FROM validations") == 3


def variables_of(database: str, server: ModelServer, registry: Path) -> dict[str, str]:
    return {
        "DATABASE_URL": database,
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": KEY,
        "OLLAMA_HOST": server.url,
        "SOURCEBOUND_MODELS_FILE": str(registry),
    }


def stop_while_it_thinks(
    program: Program, server: ModelServer, folder: Path, model: str, number: signal.Signals
) -> Finished:
    """Asks by a process of its own and sends it a signal while the model thinks; it must end shortly."""
    path = folder / "bundle.json"
    path.write_text(json.dumps(EVIDENCE))
    with program.start("ask", "--bundle", path, "--model", model) as process:
        try:
            wait_until(lambda: bool(server.calls))
            started = perf_counter()
            done = end(process, number)
            assert perf_counter() - started < SHORTLY_SECONDS
            return done
        finally:
            process.kill()


def check_it_can_be_resumed(program: Program, server: ModelServer) -> None:
    assert len(server.calls) == 1
    (listed,) = [json.loads(line) for line in program("runs", "list", "--json").stdout.splitlines()]
    assert listed["status"] == "RUNNING"
    server.think_seconds = 0
    done = program("runs", "resume", listed["run_id"], "--json")
    assert done.code == 0, done.stderr
    response: dict[str, Any] = json.loads(done.stdout)
    assert (response["status"], response["answer"], response["run_id"]) == ("OK", ANSWER, listed["run_id"])
    assert len(server.calls) == 2


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("model", MODELS)
def test_ctrl_c_ends_the_command_with_130_and_the_next_command(
    database: str, thinking: ModelServer, registry: Path, model: str
) -> None:
    program = Program(variables_of(database, thinking, registry))
    done = stop_while_it_thinks(program, thinking, registry.parent, model, signal.SIGINT)
    assert done.code == 130
    *notices, last = done.stderr.splitlines()
    assert last == "Interrupted. Next: sourcebound runs list, then sourcebound runs resume RUN."
    assert [line for line in notices if "is in no model registry" not in line] == []
    assert thinking.disconnected.wait(AT_ONCE_SECONDS)
    check_it_can_be_resumed(program, thinking)
    assert rows(database, "SELECT attempt FROM validations") == [(1,)]


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_or_killed_leaves_a_run_that_can_be_resumed(
    database: str, thinking: ModelServer, registry: Path, number: signal.Signals
) -> None:
    program = Program(variables_of(database, thinking, registry))
    done = stop_while_it_thinks(program, thinking, registry.parent, "openai:chat", number)
    assert done.code == (128 + number if number == signal.SIGTERM else -number)
    assert "Traceback" not in done.stderr
    assert thinking.disconnected.wait(AT_ONCE_SECONDS)
    check_it_can_be_resumed(program, thinking)
    assert rows(database, "SELECT attempt FROM validations") == [(1,)]

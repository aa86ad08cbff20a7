"""Keys and passwords of model servers reach their server and nothing else: no log, no row, no response, no message."""

import asyncio
import base64
import contextlib
import json
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.state import RunContext
from sourcebound.errors import ConfigurationError, SourceboundError
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from support.builders import SEAL, bundle, row
from support.processes.commands import Program
from support.processes.databases import rows, settings_for
from support.processes.homes import wait_until
from support.processes.model_servers import Fault, ModelServer

KEY = "sk-MARKER-settings-4711"
OWN_KEY = "MARKER-own-0815"
PASSWORD = "MARKER-password-1234"
BASIC = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
ANSWER = f"{SEAL} [C0]"
RUN = "run-1"


class Backend(NamedTuple):
    """A model, and the header with which its server must be asked."""

    model: str
    authorization: str


BACKENDS = {
    "settings": Backend("openai:gpt-4.1", f"Bearer {KEY}"),
    "profile": Backend("openai:own", f"Bearer {OWN_KEY}"),
    "ollama": Backend("ollama:llama3.2", f"Basic {BASIC}"),
}
ENDS = ("answered", "rejected", "refused", "wrong-model", "unauthorised", "busy", "timed-out", "broken", "cancelled")
FAULTS = {
    "wrong-model": Fault.WRONG_MODEL,
    "unauthorised": Fault.UNAUTHORISED,
    "busy": Fault.UNAVAILABLE,
    "timed-out": Fault.HANG,
    "broken": Fault.RESET_DURING,
    "cancelled": Fault.HANG,
}
CODES = {
    "answered": None,
    "rejected": "UNCITED_FACTUAL_STATEMENT",
    "refused": None,
    "wrong-model": "MODEL_IDENTITY_MISMATCH",
    "unauthorised": "MODEL_REJECTED",
    "busy": "MODEL_UNAVAILABLE",
    "timed-out": "MODEL_TIMEOUT",
    "broken": "MODEL_UNAVAILABLE",
}


class Captured(logging.Handler):
    """Keeps everything that any logger says, with its exception and its arguments."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))
        self.names: set[str] = set()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.add(record.name)
        self.lines.append(f"{self.format(record)} {record.args!r}")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def logs() -> Iterator[Captured]:
    """Everything that is logged, at every level, by every logger there is or comes to be."""
    import httpx2  # noqa: F401
    import langchain_ollama  # noqa: F401
    import langchain_openai  # noqa: F401

    captured, root = Captured(), logging.getLogger()
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(logger, logger.level, logger.propagate, logger.disabled) for logger in [root, *loggers]]
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
        logger.propagate, logger.disabled = True, False
    root.setLevel(logging.DEBUG)
    root.addHandler(captured)
    try:
        yield captured
    finally:
        root.removeHandler(captured)
        for logger, level, propagate, disabled in before:
            logger.setLevel(level)
            logger.propagate, logger.disabled = propagate, disabled


@pytest.fixture
def registry(model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Deadlines that a test can wait for, and a model with a server and a key of its own."""
    monkeypatch.setenv("OWN_KEY", OWN_KEY)
    path = tmp_path / "models.toml"
    path.write_text(
        "[providers.openai]\ntimeout_seconds = 0.5\nmax_requests = 2\npause_seconds = 0.01\n"
        "[providers.ollama]\ntimeout_seconds = 0.5\nmax_requests = 2\npause_seconds = 0.01\n"
        f'[models."openai:own"]\nbase_url = "{model_server.openai_url}"\napi_key_env = "OWN_KEY"\n'
        'wire = "chat_completions"\n[models."openai:gpt-4.1"]\n'
    )
    return path


@contextlib.asynccontextmanager
async def opened(database: str, server: ModelServer, registry: Path, **changes: Any) -> AsyncIterator[Engine]:
    usual = {
        "openai_base_url": server.openai_url,
        "openai_api_key": SecretStr(KEY),
        "ollama_host": server.url.replace("//", f"//user:{PASSWORD}@"),
        "models_file": registry,
    }
    server.models.append("own")
    async with Engine.open(settings_for(database, **{**usual, **changes})) as engine:
        yield engine


def variables_of(database: str, server: ModelServer, registry: Path) -> dict[str, str]:
    return {
        "DATABASE_URL": database,
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": KEY,
        "OLLAMA_HOST": server.url.replace("//", f"//user:{PASSWORD}@"),
        "SOURCEBOUND_MODELS_FILE": str(registry),
        "OWN_KEY": OWN_KEY,
    }


def evidence(text: str = SEAL) -> dict[str, Any]:
    return bundle([row(chunk_text=text)])


def dump(database: str) -> str:
    """Every row of every table as text; bytes as they are where they are text, as checkpoints mostly are."""
    tables = rows(
        database,
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
    )
    parts = []
    with psycopg.connect(database, autocommit=True) as connection:
        for schema, table in tables:
            found = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, table))).fetchall()
            parts += [f"{table} {_shown(value)}" for row_ in found for value in row_]
    return "\n".join(parts)


def _shown(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def check_silence(text: str, where: str) -> None:
    found = [secret for secret in (KEY, OWN_KEY, PASSWORD, BASIC, "MARKER") if secret in text]
    assert found == [], f"{where}: {text[max(0, text.find('MARKER') - 300) : text.find('MARKER') + 100]}"


async def run(engine: Engine, server: ModelServer, model: str, end: str) -> Any:
    """Makes a run that ends in a certain way."""
    server.answer = {"rejected": SEAL, "refused": REFUSAL}.get(end, ANSWER)
    server.always = FAULTS.get(end)
    asked = engine.ask({"retrieval_bundle": evidence(), "run_id": RUN}, RunContext(model=model))
    if end != "cancelled":
        return await asked
    task = asyncio.create_task(asked)
    await asyncio.to_thread(wait_until, lambda: bool(server.calls))
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    return "".join(traceback.format_exception(raised.value))


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
async def test_a_secret_reaches_its_server_and_nothing_else_however_a_run_ends(
    database: str, model_server: ModelServer, registry: Path, logs: Captured, backend: Backend, end: str
) -> None:
    async with opened(database, model_server, registry) as engine:
        result = await run(engine, model_server, backend.model, end)
        state = json.dumps(await engine.state(RUN))
    if end != "cancelled":
        assert result.failure_code == CODES[end], result.message
        check_silence(repr(result) + result.model_dump_json(), "response")
    assert {call.headers["authorization"] for call in model_server.received} == {backend.authorization}
    assert len(model_server.calls) >= 1
    check_silence(str(result), "result")
    check_silence(state, "state")
    check_silence(logs.text, "logs")
    dumped = dump(database)
    check_silence(dumped, "database")
    assert SEAL in dumped  # what was asked is found, so a secret would be
    assert {"httpcore" if backend.model.startswith("ollama") else "openai"} <= {
        name.partition(".")[0] for name in logs.names
    }


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("end", ["answered", "unauthorised", "timed-out", "broken"])
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
async def test_the_prompt_is_in_no_log_at_any_level(
    database: str, model_server: ModelServer, registry: Path, logs: Captured, backend: Backend, end: str
) -> None:
    async with opened(database, model_server, registry) as engine:
        await run(engine, model_server, backend.model, end)
        prompt = (await engine.state(RUN))["prompt"]
    contents = [message["content"] for message in prompt["messages"]]
    assert all(any(content in call.prompt for call in model_server.calls) for content in contents)
    sentences = [line.strip() for content in contents for line in content.splitlines() if len(line.strip()) > 20]
    assert SEAL in " ".join(sentences)
    assert [line for line in sentences if line in logs.text or json.dumps(line)[1:-1] in logs.text] == []
    assert "How often must the shaft seal be checked?" not in logs.text
    assert logs.lines


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("name", ["settings", "profile"])
async def test_a_key_that_is_refused_is_not_in_what_is_raised(
    database: str, model_server: ModelServer, registry: Path, logs: Captured, name: str
) -> None:
    model_server.key = "another"
    async with opened(database, model_server, registry) as engine:
        with pytest.raises(ConfigurationError) as raised:
            await run(engine, model_server, BACKENDS[name].model, "answered")
    assert raised.value.failure_code == "MODEL_KEY_REFUSED"
    assert {call.headers["authorization"] for call in model_server.received} == {BACKENDS[name].authorization}
    check_silence("".join(traceback.format_exception(raised.value)) + repr(raised.value), "exception")
    check_silence(logs.text, "logs")
    check_silence(dump(database), "database")


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
async def test_a_server_that_has_gone_is_named_without_its_password(
    database: str, registry: Path, model_server: ModelServer, logs: Captured, backend: Backend
) -> None:
    async with opened(database, model_server, registry) as engine:
        model_server.close()
        with pytest.raises(SourceboundError) as raised:
            await run(engine, model_server, backend.model, "answered")
    assert raised.value.failure_code == "MODEL_UNAVAILABLE"
    check_silence("".join(traceback.format_exception(raised.value)) + logs.text, "exception and logs")


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("end", ["answered", "unauthorised", "timed-out"])
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
async def test_no_stream_of_the_graph_has_a_secret(
    database: str, model_server: ModelServer, registry: Path, logs: Captured, backend: Backend, end: str
) -> None:
    model_server.answer, model_server.always = ANSWER, FAULTS.get(end)
    async with opened(database, model_server, registry) as engine:
        graph = engine._pipeline.copy(update={"checkpointer": make_saver(engine._services.pool)})
        events: list[Any] = [
            event
            async for event in graph.astream(
                {"retrieval_bundle": evidence(), "run_id": RUN},
                {"configurable": {"thread_id": RUN}},
                context=RunContext(model=backend.model),
                stream_mode=["updates", "debug", "messages", "values", "tasks", "checkpoints"],
            )
        ]
    kinds = {str(event[0]) for event in events}
    assert kinds == {"updates", "debug", "values", "tasks", "checkpoints"}  # never a model's words before their check
    check_silence(repr(events), "events")
    assert SEAL in repr(events)
    assert {call.headers["authorization"] for call in model_server.received} == {backend.authorization}


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize("wire", ["responses", "chat_completions"])
async def test_the_key_of_openai_is_sent_to_the_server_of_the_settings_alone(
    database: str, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"{KEY}-{name}")
    registry = tmp_path / "models.toml"
    with ModelServer() as own:
        own.answer = model_server.answer = ANSWER
        own.models.append("free")
        registry.write_text(f'[models."openai:free"]\nbase_url = "{own.openai_url}"\nwire = "{wire}"\n')
        async with opened(database, model_server, registry) as engine:
            for model in ("openai:free", "openai:gpt-4.1"):
                response = await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=model))
                assert response.status == "OK", response.message
        assert len(own.calls) == len(model_server.calls) == 1
        sent = [f"{call.path} {call.headers} {call.body!r}" for call in own.received]
    check_silence("\n".join(sent), "the server of a profile")
    assert {call.headers["authorization"] for call in model_server.received} == {f"Bearer {KEY}"}


@pytest.mark.contract("R4-2")
async def test_the_password_of_ollama_is_sent_to_the_server_of_the_settings_alone(
    database: str, model_server: ModelServer, tmp_path: Path
) -> None:
    registry = tmp_path / "models.toml"
    with ModelServer() as own:
        own.answer = ANSWER
        registry.write_text(f'[models."ollama:llama3.2"]\nbase_url = "{own.url}"\n')
        async with opened(database, model_server, registry) as engine:
            response = await engine.ask({"retrieval_bundle": evidence()}, RunContext(model="ollama:llama3.2"))
        assert response.status == "OK", response.message
        assert [call.headers for call in own.received if "authorization" in call.headers] == []
        check_silence("\n".join(f"{call.path} {call.headers}" for call in own.received), "the server of a profile")
    assert model_server.received == []


@pytest.mark.parametrize("model", ["openai:own", "ollama:own"])
def test_a_profile_takes_no_password_and_does_not_repeat_it(tmp_path: Path, model: str) -> None:
    registry = tmp_path / "models.toml"
    registry.write_text(f'[models."{model}"]\nbase_url = "http://user:{PASSWORD}@127.0.0.1:9/v1"\n')
    with pytest.raises(ConfigurationError, match="contains a user or a password") as raised:
        Models(settings_for("postgresql:///unused", models_file=registry))
    assert raised.value.failure_code == "INVALID_PROFILE"
    check_silence("".join(traceback.format_exception(raised.value)), "exception")


async def test_a_password_in_the_address_of_openai_is_refused_and_not_repeated(logs: Captured) -> None:
    url = f"http://user:{PASSWORD}@127.0.0.1:9/v1"
    settings = settings_for("postgresql:///unused", openai_base_url=url, openai_api_key=SecretStr(KEY))
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL contains a user or a password") as raised:
        await Models(settings).open("openai:gpt-4.1")
    check_silence("".join(traceback.format_exception(raised.value)) + logs.text, "exception and logs")


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("end", ["answered", "unauthorised", "key-refused"])
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_no_command_prints_a_secret(
    database: str, model_server: ModelServer, registry: Path, backend: Backend, end: str
) -> None:
    model_server.models.append("own")
    model_server.answer, model_server.always = ANSWER, FAULTS.get(end)
    if end == "key-refused":
        model_server.key = "another"
    path = registry.parent / "bundle.json"
    path.write_text(json.dumps(evidence()))
    program = Program({**variables_of(database, model_server, registry), "SOURCEBOUND_MODEL": backend.model})
    asked = program("ask", "--json", "--bundle", path)
    printed = [asked, program("doctor"), program("models", "show", backend.model)]
    is_refused = end == "key-refused" and not backend.model.startswith("ollama")
    assert asked.code == (2 if is_refused else 4 if end == "unauthorised" else 0), asked.stderr
    for done in printed:
        check_silence(done.stdout, "stdout")
        check_silence(done.stderr, "stderr")
    assert {call.headers["authorization"] for call in model_server.received} == {backend.authorization}
    check_silence(dump(database), "database")

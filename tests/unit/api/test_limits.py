"""The limits of an upload: they hold for its body, and not for the answer to it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from sourcebound.api import limits
from sourcebound.api.limits import BodySizes, RequestLimits
from sourcebound.api.metrics import Metrics

SCOPE: Scope = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},  # as uvicorn: a streamed answer waits for a disconnect
    "method": "POST",
    "path": "/v1/collections/valves/documents",
    "query_string": b"",
    "headers": [],
}


async def answer_slowly(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the upload, and stream an answer that takes longer than a piece of the upload may take."""
    await Request(scope, receive).body()

    async def events() -> AsyncIterator[str]:
        yield "progress"
        await asyncio.sleep(0.3)
        yield "report"

    await StreamingResponse(events())(scope, receive, send)


@pytest.mark.contract("S-4")
async def test_an_ingest_may_take_longer_than_a_piece_of_the_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.1)
    pieces: list[Message] = [
        {"type": "http.request", "body": b"x", "more_body": True},
        {"type": "http.request", "body": b"y", "more_body": False},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return pieces.pop(0) if pieces else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    await RequestLimits(answer_slowly, BodySizes(request=1, upload=2), Metrics())({**SCOPE}, receive, send)
    assert b"".join(message.get("body", b"") for message in sent) == b"progressreport"
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [200]

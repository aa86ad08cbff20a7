"""The limits that every request passes first: its id, the size and time of its body, and the headers of its answer.

The body is read completely before a route sees it, so that no slow client holds a run, a connection to the database or
a place among the concurrent questions. An upload is larger, so its route checks the caller first and then reads the
body in pieces, within the same kind of limits.
"""

import asyncio
import re
import time
from typing import Final, NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcebound.api.metrics import Metrics
from sourcebound.api.problems import Problem
from sourcebound.graph.workflow import new_id

REQUEST_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
BODY_SECONDS: Final = 30.0
"""The time in which a client must send the body of its request, or the next piece of an upload."""
UPLOAD_SECONDS: Final = 900.0
"""The time in which a client must send an upload."""
UPLOADS: Final = re.compile(r"/v1/collections/[^/]+/documents")
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Headers of every answer, unless a route sets its own."""


class BodySizes(NamedTuple):
    """The most bytes of a body."""

    request: int
    upload: int


class RequestLimits:
    """Middleware that gives each request an id and bounds its body.

    Args:
        app: The application.
        sizes: The most bytes of a body.
        metrics: Counts the requests.
    """

    def __init__(self, app: ASGIApp, sizes: BodySizes, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._sizes = sizes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = headers.get("x-request-id", "")
        request_id = asked if REQUEST_ID.fullmatch(asked) else new_id()
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.count_request(_route_of(scope), message["status"])
                answer = MutableHeaders(scope=message)
                answer["X-Request-ID"] = request_id
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        try:
            _require_text(scope)
            if scope["method"] == "POST" and UPLOADS.fullmatch(scope["path"]):
                await self._app(scope, _limit_upload(headers, receive, self._sizes.upload), send_with_headers)
                return
            body = await self._read_body(headers, receive)
        except Problem as problem:
            await problem.response(request_id)(scope, receive, send_with_headers)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send_with_headers)

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body of a request; None if the client has gone.

        Raises:
            Problem: It is too large, or does not arrive in time.
        """
        is_too_large = _announced_size(headers) > self._sizes.request
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    is_too_large = is_too_large or size > self._sizes.request
                    if is_too_large:  # the rest is read and dropped: a client that still sends reads no answer
                        parts.clear()
                    else:
                        parts.append(part)
        except TimeoutError as error:
            raise _too_slow() from error
        if is_too_large:
            raise _too_large(self._sizes.request)
        return b"".join(parts)


def _limit_upload(headers: Headers, receive: Receive, max_bytes: int) -> Receive:
    """Return a channel that delivers the pieces of an upload, and raises a problem where it exceeds a limit."""
    size, deadline = _announced_size(headers), time.monotonic() + UPLOAD_SECONDS
    is_too_large, received, is_complete = size > max_bytes, 0, False

    async def receive_piece() -> Message:
        nonlocal received, is_too_large, is_complete
        if is_complete:  # a streamed answer waits here for its client to leave, as long as the ingest takes
            return await receive()
        while True:
            seconds = min(BODY_SECONDS, deadline - time.monotonic())
            try:
                async with asyncio.timeout(seconds):
                    message = await receive()
            except TimeoutError as error:
                raise _too_slow() from error
            received += len(message.get("body", b""))
            is_too_large, is_complete = is_too_large or received > max_bytes, not message.get("more_body", False)
            if not is_too_large or message["type"] == "http.disconnect":
                return message
            if is_complete:  # the rest is read and dropped, as above
                raise _too_large(max_bytes)

    return receive_piece


def _announced_size(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdigit() else 0


def _too_slow() -> Problem:
    detail = "the body of the request did not arrive in time."
    return Problem(408, "BODY_TOO_SLOW", detail, "Send it again.", {"Connection": "close"})


def _too_large(max_bytes: int) -> Problem:
    detail = f"the body of the request is over {max_bytes} bytes."
    return Problem(413, "BODY_TOO_LARGE", detail, "Send a smaller one.", {"Connection": "close"})


def _route_of(scope: Scope) -> str:
    """Return the pattern of a request's path; paths without a route are counted together."""
    return str(getattr(scope.get("route"), "path", "other"))


def _require_text(scope: Scope) -> None:
    """Raise a problem for an address with NUL, which no name or id has and the database cannot store."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise Problem(404, "NOT_FOUND", "there is no such address.", "See /openapi.json for the routes.")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a channel that delivers a body that was read already, and then whatever comes next."""
    is_delivered = False

    async def replay() -> Message:
        nonlocal is_delivered
        if is_delivered:
            return await receive()
        is_delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay

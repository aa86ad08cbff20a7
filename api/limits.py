"""The limits that every request passes first: its id, the size and time of its body, and the headers of its answer.

The body is read completely before a route sees it, so that no slow client holds a run, a connection to the database or
a place among the concurrent questions.
"""

import asyncio
import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcebound.api.metrics import Metrics
from sourcebound.api.problems import Problem
from sourcebound.graph.workflow import new_id

REQUEST_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
BODY_SECONDS: Final = 30.0
"""The time in which a client must send the body of its request."""
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Headers of every answer, unless a route sets its own."""


class RequestLimits:
    """Middleware that gives each request an id and bounds its body.

    Args:
        app: The application.
        max_bytes: The most bytes of a body.
        metrics: Counts the requests.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._max_bytes = max_bytes

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
        length = headers.get("content-length", "0")
        is_too_large = length.isdigit() and int(length) > self._max_bytes
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
                    is_too_large = is_too_large or size > self._max_bytes
                    if is_too_large:  # the rest is read and dropped: a client that still sends reads no answer
                        parts.clear()
                    else:
                        parts.append(part)
        except TimeoutError as error:
            detail = "the body of the request did not arrive in time."
            raise Problem(408, "BODY_TOO_SLOW", detail, "Send it again.", {"Connection": "close"}) from error
        if is_too_large:
            detail = f"the body of the request is over {self._max_bytes} bytes."
            raise Problem(413, "BODY_TOO_LARGE", detail, "Send a smaller one.", {"Connection": "close"})
        return b"".join(parts)


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

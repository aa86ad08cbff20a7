"""What passes between us and a model server, watched at the HTTP client itself (R4-1, R4-5).

Every request is compared with the body that the contract makes before a byte of it leaves, and every answer is read no
further than its limit. What was seen is the ground on which a fault is judged: whether an answer had begun, with which
status, and how long the server asks to be left alone.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
import httpx2

PLAIN: Final = "identity"
HEADERS: Final = {"Accept-Encoding": PLAIN}
"""An answer is asked for uncompressed, so that its size on the wire is its size."""
MOST_CONNECTIONS: Final = 1000
MOST_IDLE: Final = 16
"""Connections to a server at once, and kept while idle: the client looks at every idle one at every request."""
BASE_BYTES: Final = 1 << 20
BYTES_PER_TOKEN: Final = 1024
"""Bytes of an answer's body that are read: a base, and for each token of its cap; a stream wraps each in JSON."""


class ExchangeStopped(Exception):
    """We ended it: the request was not the one asked for, or the answer is compressed or goes on past its limit."""


@dataclass
class Exchange:
    """One request and its answer.

    Args:
        find_differences: Compares the body that is about to leave with the one asked for; names the keys that differ.
        limit_bytes: How much of the answer is read.
    """

    find_differences: Callable[[bytes], list[str]]
    limit_bytes: int
    is_made: bool = False
    """Whether the client library came as far as making a request."""
    altered: tuple[str, ...] = ()
    """Where the request differs from the one asked for; it was not sent."""
    sha256: str | None = None
    """Of the body that left."""
    status: int | None = None
    """The HTTP status, once an answer has begun."""
    retry_after: float | None = None
    """Seconds that the server asks to be left alone."""
    is_too_long: bool = False

    @contextmanager
    def watched(self) -> Iterator["Exchange"]:
        """Makes this the exchange that the hooks of the present task report to."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
Hook = Callable[[Any], Coroutine[Any, Any, None]]


def event_hooks() -> dict[str, list[Hook]]:
    """The hooks of an HTTP client that report to the present exchange; httpx and httpx2 take the same."""
    return {"request": [_check_request], "response": [_read_response]}


async def _check_request(request: Any) -> None:
    exchange = _current.get()
    if exchange is None:
        return
    exchange.is_made = True
    exchange.altered = tuple(exchange.find_differences(request.content))
    if exchange.altered:
        raise ExchangeStopped
    exchange.sha256 = hashlib.sha256(request.content).hexdigest()


async def _read_response(response: Any) -> None:
    exchange = _current.get()
    if exchange is None:
        return
    exchange.status = response.status_code
    exchange.retry_after = read_retry_after(response.headers.get("retry-after"))
    if response.headers.get("content-encoding", PLAIN) != PLAIN:
        raise ExchangeStopped  # compressed, a small body could become any amount of text
    response.stream = _Limited(response.stream, exchange)


class _Limited(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """The stream of an answer's body, up to the limit, for both HTTP libraries."""

    def __init__(self, stream: Any, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._exchange.limit_bytes:
                self._exchange.is_too_long = True
                raise ExchangeStopped
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def read_retry_after(value: str | None) -> float | None:
    """Seconds of a `Retry-After` header, in either of its forms; None where it cannot be read or lies in the past."""
    if value is None:
        return None
    try:
        seconds = float(value) if value.strip()[:1].isdigit() else _seconds_until(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()

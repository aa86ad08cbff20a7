"""The HTTP exchange with a model server, observed by hooks of the HTTP client (R4-1, R4-5).

Every request is compared with the body that the contract specifies before a byte of it is sent, and every answer is
read up to a limit. Faults are classified by these observations: whether an answer had begun, its status, and how long
the server asks to wait.
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
"""Requests an uncompressed answer, so that its size on the wire is its real size."""
MAX_CONNECTIONS: Final = 1000
MAX_IDLE_CONNECTIONS: Final = 16
"""Limits of concurrent and of idle connections to a server. The client scans all idle ones at every request."""
BASE_BYTES: Final = 1 << 20
BYTES_PER_TOKEN: Final = 1024
"""The limit of an answer's body: a base, plus an amount per token of its cap. A stream wraps each token in JSON."""


class ExchangeStopped(Exception):
    """A hook stopped the exchange: the request was altered, or the answer is compressed or exceeds its limit."""


@dataclass
class Exchange:
    """One request and its answer.

    Args:
        find_differences: Compares the body to be sent with the required one, and returns the keys that differ.
        limit_bytes: The maximum size of the answer.
    """

    find_differences: Callable[[bytes], list[str]]
    limit_bytes: int
    is_made: bool = False
    """Whether the client library made a request at all."""
    altered: tuple[str, ...] = ()
    """The keys that differ from the required request. If there are any, it was not sent."""
    sha256: str | None = None
    """The digest of the body that was sent."""
    status: int | None = None
    """The HTTP status, once an answer has begun."""
    retry_after: float | None = None
    """The number of seconds that the server asks to wait."""
    is_too_long: bool = False

    @contextmanager
    def watched(self) -> Iterator["Exchange"]:
        """Make this the exchange that the hooks of the current task report to."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
Hook = Callable[[Any], Coroutine[Any, Any, None]]


def event_hooks() -> dict[str, list[Hook]]:
    """Return the HTTP client hooks that report to the current exchange. They work for httpx and httpx2."""
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
    response.stream = _LimitedStream(response.stream, exchange)


class _LimitedStream(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A stream of an answer's body that stops at the limit, for both HTTP libraries."""

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
    """Return the seconds of a `Retry-After` header in either form. None if it is unreadable or in the past."""
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

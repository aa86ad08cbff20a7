"""Server-sent events of a question: stages first, then the validated response (CP-12)."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from fastapi.responses import StreamingResponse

from sourcebound.api.problems import Problem, as_problem
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import SourceboundError

MEDIA_TYPE: Final = "text/event-stream"
QUIET_SECONDS: Final = 15.0
"""After this time without an event a comment is sent, so that no proxy ends the connection."""


async def stream_events(progress: AsyncIterator[str | PublicResponse], request_id: str) -> StreamingResponse:
    """Return the answer that carries the events of a question.

    The answer begins when the first stage has ended, so that a question which cannot be recorded has its own status.

    Args:
        progress: The stages, and the response at the end.
        request_id: The id of the request, for a problem after the beginning.

    Raises:
        Problem: There are too many questions.
        SourceboundError: The run could not be recorded.
    """
    first = await anext(progress)
    return StreamingResponse(_write_events(first, progress, request_id), media_type=MEDIA_TYPE)


async def _write_events(
    first: str | PublicResponse, progress: AsyncIterator[str | PublicResponse], request_id: str
) -> AsyncGenerator[str, None]:
    yield _event_of(first)
    try:
        async with aclosing(with_pauses(progress)) as items:
            async for item in items:
                yield ": \n\n" if item is None else _event_of(item)
    except SourceboundError as error:
        yield write_event("problem", as_problem(error).body(request_id))
    except Problem as problem:
        yield write_event("problem", problem.body(request_id))


async def with_pauses(
    progress: AsyncIterator[str | PublicResponse],
) -> AsyncGenerator[str | PublicResponse | None, None]:
    """Yield the items of a question in progress, and None for each pause, so that no proxy ends the connection."""
    upcoming = asyncio.ensure_future(_next_or_none(progress))
    try:
        while True:
            done, _ = await asyncio.wait([upcoming], timeout=QUIET_SECONDS)
            if not done:
                yield None
                continue
            item = upcoming.result()
            if item is None:
                return
            yield item
            upcoming = asyncio.ensure_future(_next_or_none(progress))
    finally:
        upcoming.cancel()


async def _next_or_none(progress: AsyncIterator[str | PublicResponse]) -> str | PublicResponse | None:
    return await anext(progress, None)


def _event_of(item: str | PublicResponse) -> str:
    if isinstance(item, str):
        return write_event("stage", {"stage": item})
    return write_event("response", item.model_dump(mode="json"))


def write_event(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event with JSON as its data."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

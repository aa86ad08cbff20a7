"""Server-sent events of work in progress: for a question, stages first, then the validated response (CP-12)."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Final, TypeVar

from fastapi.responses import StreamingResponse

from sourcebound.api.problems import Problem, as_problem
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.errors import SourceboundError

MEDIA_TYPE: Final = "text/event-stream"
Item = TypeVar("Item")
QUIET_SECONDS: Final = 15.0
"""After this time without an event a comment is sent, so that no proxy ends the connection."""


async def stream_events(
    progress: AsyncIterator[Item], request_id: str, event_of: Callable[[Item], str]
) -> StreamingResponse:
    """Return the answer that carries the events of work in progress.

    The answer begins with the first item, so that work which cannot begin has its own status.

    Args:
        progress: The steps, and the result at the end.
        request_id: The id of the request, for a problem after the beginning.
        event_of: Returns the event of an item.

    Raises:
        Problem: There is too much work.
        SourceboundError: The work could not begin.
    """
    first = await anext(progress)
    return StreamingResponse(_write_events(first, progress, request_id, event_of), media_type=MEDIA_TYPE)


async def _write_events(
    first: Item, progress: AsyncIterator[Item], request_id: str, event_of: Callable[[Item], str]
) -> AsyncGenerator[str, None]:
    yield event_of(first)
    try:
        async with aclosing(with_pauses(progress)) as items:
            async for item in items:
                yield ": \n\n" if item is None else event_of(item)
    except SourceboundError as error:
        yield write_event("problem", as_problem(error).body(request_id))
    except Problem as problem:
        yield write_event("problem", problem.body(request_id))


async def with_pauses(progress: AsyncIterator[Item]) -> AsyncGenerator[Item | None, None]:
    """Yield the items of work in progress, and None for each pause, so that no proxy ends the connection."""
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


async def _next_or_none(progress: AsyncIterator[Item]) -> Item | None:
    return await anext(progress, None)


def question_event(item: str | PublicResponse) -> str:
    """Return the event of a stage that has ended, or of the response."""
    if isinstance(item, str):
        return write_event("stage", {"stage": item})
    return write_event("response", item.model_dump(mode="json"))


def write_event(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event with JSON as its data."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

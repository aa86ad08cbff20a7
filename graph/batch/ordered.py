"""Maps a stream of items concurrently, keeps their order, and reads only a few items ahead."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar, cast

MAX_CONCURRENCY: Final = 4
Item = TypeVar("Item")
Result = TypeVar("Result")


async def map_ordered(
    items: Iterable[Item] | AsyncIterable[Item],
    work: Callable[[Item], Coroutine[Any, Any, Result]],
    at_once: int = MAX_CONCURRENCY,
) -> AsyncGenerator[Result, None]:
    """Process items concurrently and yield the results in order.

    Args:
        items: The items. A synchronous iterable that blocks delays all work; an asynchronous one does not.
        work: Processes one item.
        at_once: The most items that are read and whose results were not taken yet.

    Yields:
        The results in the order of the items, each as soon as the earlier ones were taken.

    Raises:
        Exception: An error of reading or of the work, after the earlier results. Work in progress is then cancelled,
            as it is when the caller stops.
    """
    source = aiter(_each(items))
    running: deque[asyncio.Future[Result]] = deque()
    reading: asyncio.Task[list[Item]] | None = None
    ended = False
    try:
        while running or not ended:
            if reading is None and not ended and len(running) < at_once:
                reading = asyncio.create_task(_read(source))
            tasks: list[asyncio.Future[Any]] = [*list(running)[:1], *([reading] if reading else [])]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if reading is not None and reading.done():
                started, ended = _start_work(reading, work)
                running.extend(started)
                reading = None
            if running and running[0].done():
                yield running.popleft().result()
    finally:
        pending: list[asyncio.Future[Any]] = [*running, *([reading] if reading else [])]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _start_work(
    reading: "asyncio.Task[list[Item]]", work: Callable[[Item], Coroutine[Any, Any, Result]]
) -> "tuple[list[asyncio.Future[Result]], bool]":
    """Start the work on the items read, and say whether the input ended. A reading error is ordered like a result."""
    if reading.exception() is not None:
        return [cast("asyncio.Future[Result]", reading)], True
    items = reading.result()
    return [asyncio.ensure_future(work(item)) for item in items], not items


async def _read(source: AsyncIterator[Item]) -> list[Item]:
    """Return the next item, or nothing at the end; a task cannot raise `StopAsyncIteration`."""
    async for item in source:
        return [item]
    return []


async def _each(items: Iterable[Item] | AsyncIterable[Item]) -> AsyncIterator[Item]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item

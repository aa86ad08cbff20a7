"""Work on a stream of items: some at once, their results in the order of the items, and few items read ahead."""

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
    """Works on items as they come.

    Args:
        items: The items. An iterable that waits for its next item holds everything up; an asynchronous one does not.
        work: What is done with each.
        at_once: Items at most that are read and whose result has not been taken; those that wait for their turn count.

    Yields:
        The results in the order of the items, each as soon as those before it were taken.

    Raises:
        Exception: What reading or work raised, after the results before it. What is under way then is cancelled, as it
            is where the caller stops.
    """
    source = aiter(_each(items))
    running: deque[asyncio.Future[Result]] = deque()
    reading: asyncio.Task[list[Item]] | None = None
    ended = False
    try:
        while running or not ended:
            if reading is None and not ended and len(running) < at_once:
                reading = asyncio.create_task(_read(source))
            awaited: list[asyncio.Future[Any]] = [*list(running)[:1], *([reading] if reading else [])]
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if reading is not None and reading.done():
                following, ended = _follow(reading, work)
                running.extend(following)
                reading = None
            if running and running[0].done():
                yield running.popleft().result()
    finally:
        left: list[asyncio.Future[Any]] = [*running, *([reading] if reading else [])]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _follow(
    reading: "asyncio.Task[list[Item]]", work: Callable[[Item], Coroutine[Any, Any, Result]]
) -> "tuple[list[asyncio.Future[Result]], bool]":
    """The work on what was read, and whether that was the end; a fault of reading has its turn like a result."""
    if reading.exception() is not None:
        return [cast("asyncio.Future[Result]", reading)], True
    read = reading.result()
    return [asyncio.ensure_future(work(item)) for item in read], not read


async def _read(source: AsyncIterator[Item]) -> list[Item]:
    """The next item; none at the end, which a task cannot say with `StopAsyncIteration`."""
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

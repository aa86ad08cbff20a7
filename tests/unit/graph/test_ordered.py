"""Work in order: some at once, results as the items came, few items read ahead."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from sourcebound.graph.batch.ordered import map_ordered

AT_ONCE = 3


class Outside:
    """Items whose work ends when the test says so, with counts of what was read, begun and ended."""

    def __init__(self, count: int) -> None:
        self.read: list[int] = []
        self.cancelled: list[int] = []
        self.gates = [asyncio.Event() for _ in range(count)]

    def items(self) -> Iterator[int]:
        for number in range(len(self.gates)):
            self.read.append(number)
            yield number

    async def work(self, number: int) -> int:
        try:
            await self.gates[number].wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        if number % 5 == 4:
            raise ValueError(number)
        return number


async def _resolve_context() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def _take(results: AsyncIterator[int], taken: list[int]) -> None:
    async for result in results:
        taken.append(result)


@pytest.mark.contract("R1-1")
@pytest.mark.parametrize("at_once", [1, 2, 7])
async def test_the_reader_is_never_further_ahead_than_that(at_once: int) -> None:
    read = taken = ahead = 0

    def items() -> Iterator[int]:
        nonlocal read
        for number in range(100):
            read += 1
            yield number

    async def work(number: int) -> int:
        await _resolve_context()
        return number

    async for result in map_ordered(items(), work, at_once):
        ahead = max(ahead, read - taken)
        assert result == taken
        taken += 1
        await _resolve_context()
    assert (taken, ahead) == (100, at_once)


async def test_results_come_in_order_whichever_work_ends_first() -> None:
    outside = Outside(4)
    results = map_ordered(outside.items(), outside.work, AT_ONCE)
    first = asyncio.ensure_future(anext(results))
    await _resolve_context()
    for number in (2, 1):
        outside.gates[number].set()
    await _resolve_context()
    assert (outside.read, first.done()) == ([0, 1, 2], False)
    for number in (0, 3):
        outside.gates[number].set()
    assert [await first, *[result async for result in results]] == [0, 1, 2, 3]


async def test_a_result_does_not_wait_for_the_next_item() -> None:
    never = asyncio.Event()

    async def items() -> AsyncIterator[int]:
        yield 0
        await never.wait()

    async def work(number: int) -> int:
        return number

    results = map_ordered(items(), work, AT_ONCE)
    assert await asyncio.wait_for(anext(results), 10) == 0
    await results.aclose()


async def test_a_fault_of_the_work_comes_after_the_results_before_it_and_cancels_what_follows() -> None:
    outside = Outside(9)
    results = map_ordered(outside.items(), outside.work, AT_ONCE)
    for gate in outside.gates[:4]:
        gate.set()
    assert [await anext(results) for _ in range(4)] == [0, 1, 2, 3]
    following = asyncio.ensure_future(anext(results))
    await _resolve_context()
    outside.gates[4].set()
    with pytest.raises(ValueError, match="4"):
        await following
    assert (outside.read, outside.cancelled) == (list(range(7)), [5, 6])


async def test_a_fault_of_reading_comes_after_the_results_of_what_was_read() -> None:
    def items() -> Iterator[int]:
        yield 0
        yield 1
        raise OSError("the pipe broke")

    async def work(number: int) -> int:
        await _resolve_context()
        return number

    taken: list[int] = []
    with pytest.raises(OSError, match="the pipe broke"):
        await _take(map_ordered(items(), work, AT_ONCE), taken)
    assert taken == [0, 1]


async def test_work_under_way_is_cancelled_when_the_caller_stops() -> None:
    outside = Outside(4)
    results = map_ordered(outside.items(), outside.work, AT_ONCE)
    first = asyncio.ensure_future(anext(results))
    await _resolve_context()
    outside.gates[0].set()
    assert await first == 0
    await results.aclose()
    assert outside.cancelled == [1, 2]


async def test_nothing_gives_nothing() -> None:
    assert [result async for result in map_ordered([], Outside(0).work)] == []

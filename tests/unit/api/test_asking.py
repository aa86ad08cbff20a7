"""Questions in progress: as many as allowed, each to its end, and interrupted ones are resumed."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sourcebound.api.asking import Asking, Question
from sourcebound.api.callers import Caller
from sourcebound.api.problems import Problem
from sourcebound.contracts.state import RunContext
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine

RESPONSE: Any = SimpleNamespace(status="OK", refusal_code=None, failure_code=None)
QUESTION = Question({"question": "Why?"}, RunContext(), Caller())


class HeldEngine:
    """An engine whose answers wait for a permission."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.ended: list[str] = []

    async def ask(self, request: Any, context: Any, *, on_node: Callable[[str], None]) -> Any:
        on_node("accept")
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ended.append("interrupted")
            raise
        self.ended.append("answered")
        return RESPONSE


def asking(engine: HeldEngine, limit: int = 1) -> Asking:
    return Asking(cast("Engine", engine), limit)


async def test_a_question_over_the_limit_is_refused_at_once_and_never_queued() -> None:
    engine = HeldEngine()
    questions = asking(engine)
    first = asyncio.create_task(questions.ask(QUESTION))
    await asyncio.sleep(0)
    with pytest.raises(Problem) as caught:
        await questions.ask(QUESTION)
    assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
    engine.go.set()
    assert [await first, await questions.ask(QUESTION)] == [RESPONSE, RESPONSE]


@pytest.mark.contract("CP-2")
async def test_a_client_that_leaves_interrupts_nothing() -> None:
    engine = HeldEngine()
    questions = asking(engine)
    client = asyncio.create_task(questions.ask(QUESTION))
    stream = questions.stream(QUESTION)
    await asyncio.sleep(0)
    client.cancel()
    with pytest.raises(Problem):
        await anext(stream)
    engine.go.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert engine.ended == ["answered"]


@pytest.mark.contract("CP-12")
async def test_a_stream_yields_the_stages_before_the_end() -> None:
    engine = HeldEngine()
    stream = asking(engine).stream(QUESTION)
    assert await anext(stream) == "accept"
    engine.go.set()
    assert [item async for item in stream] == [RESPONSE]


async def test_the_end_of_the_server_interrupts_what_is_left() -> None:
    engine = HeldEngine()
    questions = asking(engine)
    client = asyncio.create_task(questions.ask(QUESTION))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await questions.close()
    assert engine.ended == ["interrupted"]
    with pytest.raises(asyncio.CancelledError):
        await client


async def test_a_database_that_does_not_answer_leaves_interrupted_runs_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unreachable(HeldEngine):
        async def list_cut_off(self) -> list[str]:
            raise StoreError("the database does not answer.")

    questions = asking(Unreachable())
    questions.resume_interrupted()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert "STORE_UNAVAILABLE" in caplog.text
    await questions.close()

"""CP-12: `Engine.astream` yields stages and the validated response, and nothing of a model's text before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import open_services
from support.builders import SEAL, bundle, row
from support.processes.databases import settings_for, single
from support.processes.model_servers import ModelServer

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
STAGES = ["accept", "assemble", "build_prompt", "generate", "validate", "record", "package"]
MODEL = RunContext(model="openai:gpt-4.1")


@pytest.fixture
async def engine(database: str, model_server: ModelServer) -> AsyncIterator[Engine]:
    changes = {"openai_base_url": model_server.openai_url, "openai_api_key": "sk-1"}
    async with open_services(settings_for(database, **changes)) as services:
        yield Engine(services)


@pytest.mark.contract("CP-12")
async def test_stages_come_first_and_then_the_response(engine: Engine, model_server: ModelServer) -> None:
    model_server.answer = f"{SEAL} [C0]"
    items = [item async for item in engine.astream({"retrieval_bundle": EVIDENCE}, MODEL)]
    assert items[:-1] == STAGES
    assert isinstance(items[-1], PublicResponse)
    assert items[-1].answer == f"{SEAL} [C0]"


@pytest.mark.contract("CP-12")
async def test_no_item_carries_a_text_that_is_not_validated(engine: Engine, model_server: ModelServer) -> None:
    model_server.answer = "The shaft seal is checked every 987654 hours. [C7]"
    items = [item async for item in engine.astream({"retrieval_bundle": EVIDENCE}, MODEL)]
    assert isinstance(items[-1], PublicResponse)
    assert (items[-1].failure_code, items[-1].answer) == ("INVALID_CITATION_REFERENCE", "")
    assert "987654" not in repr(items)


@pytest.mark.contract("CP-2")
async def test_a_stream_that_is_closed_interrupts_its_run(
    engine: Engine, model_server: ModelServer, database: str
) -> None:
    model_server.answer = f"{SEAL} [C0]"
    model_server.think_seconds = 60
    async with aclosing(engine.astream({"retrieval_bundle": EVIDENCE}, MODEL)) as stream:
        async for item in stream:
            if item == "build_prompt":
                break
    assert [task for task in asyncio.all_tasks() if "ask" in repr(task.get_coro())] == []
    run_id = single(database, "SELECT run_id FROM runs")
    model_server.think_seconds = 0
    assert (await engine.resume(run_id)).answer == f"{SEAL} [C0]"


async def test_a_request_that_starts_no_run_raises_at_the_first_item(engine: Engine) -> None:
    with pytest.raises(RequestError) as error:
        await anext(engine.astream({"questoin": "How?"}))  # type: ignore[typeddict-unknown-key]
    assert error.value.failure_code == "INVALID_REQUEST"

"""Many bundles over a real database: each is a run with one record, and a fault ends them in order (R1-1, R5P-1)."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from sourcebound.contracts.evidence.intake import unreadable
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.builders import SEAL, bundle, row
from support.processes.databases import rows, single


def requests(count: int) -> Iterator[AskInput]:
    for number in range(count):
        found = bundle([row(chunk_text=SEAL)], request_id=f"request-{number}")
        yield {"retrieval_bundle": found if number % 4 else unreadable(f"line {number}")}


@pytest.mark.contract("R1-1")
@pytest.mark.contract("R5P-1")
async def test_each_bundle_is_one_run_with_one_record(services: Services, database: str) -> None:
    engine = Engine(services)
    found = [response async for response in engine.ask_many(requests(12), at_once=5)]
    assert [response.status for response in found] == (["FAILED"] + ["OK"] * 3) * 3
    assert [response.request_id for response in found if response.status == "OK"] == [
        f"request-{number}" for number in range(12) if number % 4
    ]
    recorded = rows(database, "SELECT run_id, validation_status FROM validations ORDER BY run_id")
    assert sorted(run for run, _ in recorded) == sorted(response.run_id for response in found)
    assert single(database, "SELECT count(*) FROM runs") == 12


@pytest.mark.contract("CP-2")
async def test_who_stops_taking_responses_leaves_no_run_behind_at_work(services: Services, database: str) -> None:
    async with aclosing(Engine(services).ask_many(requests(8), at_once=4)) as responses:
        assert (await anext(responses)).status == "FAILED"
        at_work = asyncio.all_tasks()
        assert any("Engine.ask" in repr(task) for task in at_work)
    assert [task for task in asyncio.all_tasks() if "Engine.ask" in repr(task)] == []
    recorded = {run_id for (run_id,) in rows(database, "SELECT run_id FROM validations")}
    cut_off = await Engine(services).list_cut_off()  # one may have its record and be without a response
    assert recorded.union(cut_off) == {run_id for (run_id,) in rows(database, "SELECT run_id FROM runs")}


@pytest.mark.contract("P-4")
async def test_a_fault_comes_after_the_responses_before_it(services: Services, database: str) -> None:
    def asked() -> Iterator[AskInput]:
        yield from requests(3)
        yield {**next(requests(1)), "limits": {"max_chunks": 99}}
        yield from requests(3)

    responses = Engine(services).ask_many(asked(), RunContext(model="extractive"), at_once=2)
    assert [(await anext(responses)).status for _ in range(3)] == ["FAILED", "OK", "OK"]
    with pytest.raises(RequestError, match="max_chunks is looser"):
        await anext(responses)
    assert single(database, "SELECT count(*) FROM validations") <= 4

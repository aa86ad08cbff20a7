"""S-4: a request of the wrong form is a failed run with the name of the field, or an error, and never a traceback."""

from functools import partial
from typing import Any

import pytest

from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import ReplayStatus, RunReport
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import Services
from support.builders import SEAL, bundle, row
from support.processes.databases import rows

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
CONTEXT = RunContext(model="extractive")
LOOP: list[Any] = []
LOOP.append(LOOP)
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"question": "Why?", "filters": "equipment_id=U-3"}, "INVALID_REQUEST", "filters"),
    ({"question": "Why?", "filters": [1]}, "INVALID_REQUEST", "filters"),
    ({"question": "Why?", "filters": {"equipment_id": float("nan")}}, "INVALID_REQUEST", "filters"),
    ({"question": "Why?", "filters": {"equipment_id": 10**30}}, "INVALID_REQUEST", "filters"),
    ({"question": "Why?", "limits": "top_k=3"}, "INVALID_REQUEST", "limits"),
    ({"question": "Why?", "limits": LOOP}, "INVALID_REQUEST", "limits"),
    ({"question": 5}, "INVALID_REQUEST", "question"),
    ({"question": ["Why?"]}, "INVALID_REQUEST", "question"),
    ({"question": "Why?", "collection": 5}, "INVALID_REQUEST", "collection"),
    ({"retrieval_bundle": EVIDENCE, "limits": "top_k"}, "INVALID_REQUEST", "limits"),
    ({"retrieval_bundle": 5}, "INVALID_SCHEMA", "not an object"),
    ({"retrieval_bundle": {**EVIDENCE, "faiss_id": 10**30}}, "INVALID_SCHEMA", "faiss_id"),
    ({"retrieval_bundle": {**EVIDENCE, "results": LOOP}}, "INVALID_SCHEMA", "nested deeper"),
    ({"retrieval_bundle": {**EVIDENCE, "results": [{"score": float("inf")}]}}, "INVALID_SCHEMA", "results[0].score"),
]


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(("request_", "code", "named"), WRONG, ids=range(len(WRONG)))
async def test_a_wrong_value_is_a_failed_run_that_names_its_field(
    services: Services, database: str, request_: Any, code: str, named: str
) -> None:
    engine = Engine(services)
    response = await engine.ask(request_, CONTEXT)
    assert (response.status.value, response.failure_code, response.answer) == ("FAILED", code, "")
    assert named in response.message
    assert rows(database, "SELECT status, reason FROM runs") == [("FAILED", code)]
    (summary,) = await services.run_log.find_runs(response.run_id)
    report = await verify(await read_run(PostgresHistory(services.pool), summary), load_shipped_release())
    assert isinstance(report, RunReport)
    assert report.verdict is ReplayStatus.MATCH


async def _invoke(engine: Engine, request: Any, context: RunContext) -> Any:
    return await engine.graph.ainvoke(request, context=context)


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    "request_",
    [
        {"question": "Why?", "colection": "a"},
        {"run_id": 5},
        {"request_id": 5},
        {"conversation_id": 5},
        {"messages": 5},
        {"messages": [5]},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["engine", "graph", "search"])
async def test_a_request_that_cannot_be_recorded_is_an_error(
    services: Services, database: str, request_: Any, way: str
) -> None:
    engine = Engine(services)
    ways: dict[str, Any] = {"engine": engine.ask, "search": engine.search, "graph": partial(_invoke, engine)}
    with pytest.raises(RequestError) as raised:
        await ways[way](request_, CONTEXT)
    assert raised.value.failure_code == "INVALID_REQUEST"
    assert rows(database, "SELECT 1 FROM runs") == []


@pytest.mark.contract("S-4")
async def test_a_bad_bundle_stops_no_other_of_its_stream(services: Services) -> None:
    bundles: list[Any] = [request for request, _, _ in WRONG if "retrieval_bundle" in request]
    good: Any = {"retrieval_bundle": EVIDENCE}
    responses = [each async for each in Engine(services).ask_many([good, *bundles, good], CONTEXT)]
    assert [each.status.value for each in responses] == ["OK", *["FAILED"] * len(bundles), "OK"]

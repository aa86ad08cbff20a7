"""The synchronous engine: in a script, in a running loop, from many threads, closed while it works."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError, StoreError, UsageError
from sourcebound.graph.integrations.sync_engine import SyncEngine
from support.builders import SEAL, bundle, row
from support.processes.databases import rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.model_servers import ModelServer

REQUEST: AskInput = {"retrieval_bundle": bundle([row(0, chunk_text=SEAL)], policy_version=None)}
ANSWER = f"{SEAL} [C0]"
MODEL = RunContext(model="openai:gpt-4.1")
STAGES = ["accept", "assemble", "build_prompt", "generate", "validate", "record", "package"]


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "sourcebound"]


@pytest.fixture
def engine(database: str, model_server: ModelServer) -> Iterator[SyncEngine]:
    model_server.answer = ANSWER
    changes = {"openai_base_url": model_server.openai_url, "openai_api_key": "sk-1"}
    with SyncEngine(settings_for(database, **changes)) as opened:
        yield opened
    assert threads() == []


def test_a_script_asks_streams_and_searches(engine: SyncEngine) -> None:
    assert engine.ask(REQUEST, MODEL).answer == ANSWER
    items = list(engine.stream(REQUEST, MODEL))
    assert items[:-1] == STAGES
    assert isinstance(items[-1], PublicResponse)
    assert [response.status for response in engine.ask_many([REQUEST, REQUEST], MODEL)] == ["OK", "OK"]
    assert engine.search({"question": "How?"}).outcome.refusal_code == "collection_not_found"
    assert engine.conversation(engine.start_conversation()) == []
    run_id = items[-1].run_id
    assert len(engine.run(lambda inner: inner.trace(run_id))) == len(STAGES)


async def test_it_works_inside_a_running_loop(engine: SyncEngine) -> None:
    assert engine.ask(REQUEST, MODEL).answer == ANSWER
    assert (await engine.arun(lambda inner: inner.ask(REQUEST, MODEL))).answer == ANSWER


def test_many_threads_share_it(engine: SyncEngine) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = [response.answer for response in pool.map(lambda _: engine.ask(REQUEST, MODEL), range(16))]
    assert answers == [ANSWER] * 16


@pytest.mark.contract("CP-2")
def test_a_stream_that_is_left_interrupts_its_run(engine: SyncEngine, model_server: ModelServer, database: str) -> None:
    model_server.think_seconds = 60
    for stage in engine.stream(REQUEST, MODEL):
        if stage == "build_prompt":
            break
    model_server.think_seconds = 0
    assert engine.resume(single(database, "SELECT run_id FROM runs")).answer == ANSWER


@pytest.mark.contract("CP-2")
def test_closing_interrupts_a_run_in_progress_and_another_engine_resumes_it(
    engine: SyncEngine, model_server: ModelServer, database: str
) -> None:
    model_server.think_seconds = 60
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(engine.ask, REQUEST, MODEL)
        wait_until(lambda: bool(model_server.calls))
        engine.close()
        with pytest.raises(UsageError) as error:
            asked.result()
        assert error.value.failure_code == "ENGINE_CLOSED"
    model_server.think_seconds = 0
    changes = {"openai_base_url": model_server.openai_url, "openai_api_key": "sk-1"}
    with SyncEngine(settings_for(database, **changes)) as other:
        assert other.resume(single(database, "SELECT run_id FROM runs")).answer == ANSWER
    assert rows(database, "SELECT validation_status FROM validations") == [("PASSED",)]


def test_a_closed_engine_says_so(engine: SyncEngine) -> None:
    stream = engine.stream(REQUEST, MODEL)
    assert next(stream) == STAGES[0]
    engine.close()
    engine.close()
    stream.close()
    with pytest.raises(UsageError, match="closed") as error:
        engine.ask(REQUEST)
    assert error.value.failure_code == "ENGINE_CLOSED"


def test_an_error_of_the_engine_is_raised_where_it_is_called(engine: SyncEngine) -> None:
    with pytest.raises(RequestError, match="questoin"):
        engine.ask({"questoin": "How?"})  # type: ignore[typeddict-unknown-key]


def test_services_that_cannot_be_opened_leave_no_thread() -> None:
    with pytest.raises(StoreError):
        SyncEngine(settings_for("postgresql://nobody@127.0.0.1:9/none"))
    assert threads() == []

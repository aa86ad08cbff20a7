"""Checkpoints: every node leaves one, of plain values; a run is closed, and its identity is its own."""

import asyncio
import json
from typing import Any, cast

import ormsgpack
import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncCursor

from sourcebound.contracts.state import AskInput
from sourcebound.errors import RequestError
from sourcebound.graph.checkpoint import make_saver
from sourcebound.graph.engine import Engine
from sourcebound.models.generators import ChatGenerator
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, row
from support.processes.databases import MANUALS, ingest, rows, settings_for, single
from support.processes.homes import wait_until

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
WHOLE = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
RUNS = [
    pytest.param({"question": ANSWERED}, "OK", WHOLE, id="answered"),
    pytest.param(
        {"question": OFF_TOPIC}, "NO_EVIDENCE", ["accept", "retrieve", "assemble", "record", "package"], id="refused"
    ),
    pytest.param(
        {"question": ANSWERED, "collection": "nowhere"}, "NO_EVIDENCE", ["accept", "record", "package"], id="nowhere"
    ),
    pytest.param(
        {"retrieval_bundle": bundle([row(chunk_text=SEAL)])},
        "OK",
        [node for node in WHOLE if node != "retrieve"],
        id="bundle",
    ),
    pytest.param(
        {"retrieval_bundle": bundle([])}, "FAILED", ["accept", "assemble", "record", "package"], id="bad-bundle"
    ),
]


CHECKPOINT: dict[str, Any] = {
    "v": 4,
    "id": "1f0c0000-0000-6000-8000-000000000001",
    "ts": "2026-01-01T00:00:00+00:00",
    "channel_values": {"run_id": "run-1", "nothing": None, "prompt": {"text": "ünïcode \u2028 “”"}, "attempts": []},
    "channel_versions": {"run_id": "1.0", "nothing": "1.0", "prompt": "1.0", "attempts": "1.0"},
    "versions_seen": {},
    "updated_channels": None,
}


@pytest.mark.contract("CP-2")
@pytest.mark.contract("S-1")
@pytest.mark.parametrize(("request_", "status", "nodes"), RUNS)
async def test_every_node_that_ran_has_a_checkpoint(
    engine: Engine, library: str, request_: AskInput, status: str, nodes: list[str]
) -> None:
    response = await engine.ask(request_)
    assert response.status == status, response.message
    trace = await engine.trace(response.run_id)
    assert [node.node for node in trace] == nodes
    assert [node.milliseconds >= 0 for node in trace] == [True] * len(nodes)
    worst = ["OK", "NO_EVIDENCE", "FAILED"]
    severities = [worst.index(node.status) for node in trace]
    assert severities == sorted(severities)
    assert trace[-1].status == status
    checkpoints = single(library, "SELECT count(*) FROM checkpoints WHERE thread_id = %s", response.run_id)
    assert checkpoints == len(nodes) + 2  # the input and the state before the first node have one each


@pytest.mark.contract("CP-1")
async def test_the_state_is_plain_json(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": ANSWERED})
    state = await engine.state(response.run_id)
    assert json.loads(json.dumps(state)) == state
    assert set(state) >= {"run", "policy", "retrieval", "assembly", "prompt", "generation", "validation", "audit"}
    assert state["response"] == response.model_dump(mode="json")


@pytest.mark.contract("CP-1")
@pytest.mark.contract("CP-2")
async def test_no_class_is_serialised(engine: Engine, library: str) -> None:
    await engine.ask({"question": ANSWERED})
    kinds = {kind for (kind,) in rows(library, "SELECT DISTINCT type FROM checkpoint_blobs")}
    assert kinds <= {"msgpack", "empty", "null"}
    blobs = rows(
        library,
        "SELECT blob FROM checkpoint_blobs WHERE type = 'msgpack' "
        "UNION ALL SELECT blob FROM checkpoint_writes WHERE type = 'msgpack' AND channel <> '__no_writes__'",
    )
    assert len(blobs) > len(WHOLE)
    for (blob,) in blobs:
        json.dumps(ormsgpack.unpackb(blob))  # without an extension hook any class would be an error


@pytest.mark.contract("CP-9")
async def test_the_evidence_is_stored_compressed_and_read_as_it_was(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": ANSWERED})
    sizes = "SELECT blob, pg_column_size(blob) FROM checkpoint_blobs WHERE channel = 'assembly'"
    [(blob, stored)] = rows(library, sizes)
    assert stored < 0.7 * len(blob)
    assert ormsgpack.unpackb(blob) == (await engine.state(response.run_id))["assembly"]


@pytest.mark.contract("CP-2")
async def test_what_is_no_plain_value_is_an_error_and_never_pickled(services: Services) -> None:
    with pytest.raises(TypeError):
        make_saver(services.pool).serde.dumps_typed({"outcome": object()})


@pytest.mark.contract("P-2")
async def test_the_whole_policy_is_in_the_first_checkpoint_that_a_node_wrote(engine: Engine) -> None:
    response = await engine.ask({"question": ANSWERED})
    state = await engine.state(response.run_id)
    assert state["policy"]["policy_version"] == response.policy_version == "SOURCEBOUND_V2"
    assert state["policy"]["retrieval"]["top_k"] == state["retrieval"]["top_k"]
    assert state["assembly"]["trace"]["policy_sha256"] == state["run"]["policy_sha256"]


@pytest.mark.contract("S-2")
async def test_a_run_is_listed_and_closed_under_its_three_ids(
    engine: Engine, library_services: Services, library: str
) -> None:
    response = await engine.ask({"question": ANSWERED, "request_id": "request-7"})
    (run,) = await library_services.run_log.list_runs(5)
    assert (run.run_id, run.request_id, run.thread_id) == (response.run_id, "request-7", response.run_id)
    assert (run.status, run.reason, run.question, run.model) == ("OK", None, ANSWERED, "extractive")
    assert run.finished_at is not None
    assert run.finished_at >= run.started_at
    for prefix in (response.run_id, response.run_id[:30], "request-7"):
        assert await library_services.run_log.find_runs(prefix) == [run]
    assert await library_services.run_log.find_runs("request") == []


@pytest.mark.contract("S-2")
async def test_two_runs_have_nothing_of_each_other(engine: Engine) -> None:
    refused = await engine.ask({"question": OFF_TOPIC})
    answered = await engine.ask({"question": ANSWERED})
    assert refused.run_id < answered.run_id  # a UUIDv7 begins with the time
    assert [node.node for node in await engine.trace(answered.run_id)] == WHOLE
    assert "generation" not in await engine.state(refused.run_id)


@pytest.mark.contract("S-2")
async def test_the_id_of_a_run_is_not_given_twice(engine: Engine, library: str) -> None:
    first = await engine.ask({"question": ANSWERED, "run_id": "run-1"})
    state = await engine.state("run-1")
    with pytest.raises(RequestError) as raised:
        await engine.ask({"question": OFF_TOPIC, "run_id": "run-1"})
    assert (first.run_id, raised.value.failure_code) == ("run-1", "RUN_EXISTS")
    assert await engine.state("run-1") == state
    assert single(library, "SELECT count(*) FROM validations") == 1


async def test_a_run_that_is_not_there_has_no_trace(engine: Engine) -> None:
    assert (await engine.trace("missing"), await engine.state("missing")) == ([], {})


ODD_TEXT = "a\0b\ud800c"


@pytest.mark.contract("CP-1")
@pytest.mark.parametrize(
    "request_",
    [
        {"question": f"How often is the shaft turned? {ODD_TEXT}"},
        {"question": ANSWERED, "request_id": ODD_TEXT, "run_id": ODD_TEXT, "collection": ODD_TEXT},
        {"question": ANSWERED, "filters": {"equipment_id": ODD_TEXT}},
        {"retrieval_bundle": bundle(request_id=ODD_TEXT, index_version=ODD_TEXT, user_question=f"Pump {ODD_TEXT}?")},
        {"retrieval_bundle": bundle([{"chunk_text": ODD_TEXT, ODD_TEXT: [ODD_TEXT]}])},
    ],
    ids=["question", "ids", "filter", "bundle", "rows"],
)
async def test_characters_that_cannot_be_stored_break_no_run(engine: Engine, library: str, request_: AskInput) -> None:
    response = await engine.ask(request_)
    response.model_dump_json().encode()
    state = json.dumps(await engine.state(response.run_id))
    assert ("\\u0000" in state, "\\ud800" in state) == (False, False)
    assert single(library, "SELECT count(*) FROM validations WHERE run_id = %s", response.run_id) == 1


async def test_many_runs_at_once_keep_apart(services: Services, database: str) -> None:
    await ingest(services, MANUALS)
    engine = Engine(services)
    responses = await asyncio.gather(*(engine.ask({"question": question}) for question in [ANSWERED, OFF_TOPIC] * 10))
    assert [response.status.value for response in responses] == ["OK", "NO_EVIDENCE"] * 10
    assert len({response.answer for response in responses}) == 2
    assert single(database, "SELECT count(DISTINCT run_id) FROM validations") == 20
    with psycopg.connect(database) as connection:
        open_runs = connection.execute("SELECT count(*) FROM runs WHERE status = 'RUNNING'").fetchone()
    assert open_runs == (0,)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Count the checkpoints of each statement, and note whether its commit is asynchronous."""
    told: list[tuple[int, bool]] = []
    execute = AsyncCursor.execute

    async def watched(self: AsyncCursor[Any], statement: Any, parameters: Any = None, **options: Any) -> Any:
        if isinstance(parameters, dict) and "pages" in parameters:
            told.append((len(json.loads(parameters["pages"])), parameters["lazy"]))
        return await execute(self, statement, parameters, **options)

    monkeypatch.setattr(AsyncCursor, "execute", watched)
    return told


def _place(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


@pytest.mark.contract("CP-2")
async def test_a_checkpoint_is_read_as_the_stock_saver_reads_its_own(services: Services) -> None:
    ours = make_saver(services.pool)
    stock = AsyncPostgresSaver(services.pool, serde=ours.serde)
    read = []
    for saver, thread in ((ours, "ours"), (stock, "stock")):
        versions = dict(CHECKPOINT["channel_versions"])
        told = await saver.aput(_place(thread), cast("Checkpoint", CHECKPOINT), {"source": "loop", "step": 1}, versions)
        assert told["configurable"]["checkpoint_id"] == CHECKPOINT["id"]
        found = await saver.aget_tuple(_place(thread))
        assert found is not None
        read.append((found.checkpoint, {**found.metadata}, found.parent_config, found.pending_writes))
    assert read[0] == read[1]
    assert read[0][0]["channel_values"] == CHECKPOINT["channel_values"]


@pytest.mark.contract("CP-2")
async def test_saving_a_checkpoint_again_changes_nothing_but_what_is_new(services: Services) -> None:
    saver, place = make_saver(services.pool), _place("again")
    for step in (1, 2):
        metadata: CheckpointMetadata = {"source": "loop", "step": step}
        await saver.aput(place, cast("Checkpoint", CHECKPOINT), metadata, dict(CHECKPOINT["channel_versions"]))
    found = await saver.aget_tuple(place)
    assert found is not None
    assert (found.metadata["step"], found.checkpoint["channel_values"]) == (2, CHECKPOINT["channel_values"])
    url = services.settings.database_url
    assert url is not None
    assert single(url.get_secret_value(), "SELECT count(*) FROM checkpoint_blobs") == 2


@pytest.mark.contract("CP-2")
@pytest.mark.parametrize(
    ("request_", "stored"),
    [
        pytest.param({"question": ANSWERED}, [(6, False), (4, False)], id="answered"),
        pytest.param({"question": OFF_TOPIC}, [(7, False)], id="refused"),
        pytest.param(
            {"retrieval_bundle": bundle([row(chunk_text=SEAL)])},
            [(1, False), (4, False), (4, False)],
            id="bundle",
        ),
    ],
)
async def test_checkpoints_go_with_what_depends_on_them(
    engine: Engine,
    sent: list[tuple[int, bool]],
    request_: AskInput,
    stored: list[tuple[int, bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the model's answer, and with the record, which the response goes with; on a busy machine too."""
    monkeypatch.setattr("sourcebound.store.checkpoints.buffer.BEHIND_SECONDS", 60)
    await engine.ask(request_)
    assert sent == stored


@pytest.mark.contract("CP-2")
async def test_checkpoints_that_have_waited_for_long_go_alone(
    engine: Engine, library: str, sent: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose model takes its time can be looked at."""
    generate = ChatGenerator.generate

    async def take_time(self: ChatGenerator, *arguments: Any) -> Any:
        await asyncio.to_thread(wait_until, lambda: single(library, "SELECT count(*) FROM checkpoints") == 6)
        return await generate(self, *arguments)

    monkeypatch.setattr(ChatGenerator, "generate", take_time)
    assert (await engine.ask({"question": ANSWERED})).status == "OK"
    assert (sum(pages for pages, _ in sent), sent[0][1], sent[-1]) == (len(WHOLE) + 2, True, (4, False))


@pytest.mark.contract("CP-2")
async def test_a_sync_journal_stores_every_checkpoint_at_once(library: str, sent: list[tuple[int, bool]]) -> None:
    async with open_services(settings_for(library, durability="sync")) as services:
        await Engine(services).ask({"question": ANSWERED})
    assert sent == [(1, True)] * (len(WHOLE) + 2)


@pytest.mark.contract("CP-2")
async def test_the_writes_of_a_node_that_failed_are_kept_and_the_others_are_not(services: Services) -> None:
    saver, place = make_saver(services.pool), _place("failed")
    saved = await saver.aput(
        place, cast("Checkpoint", CHECKPOINT), {"source": "loop", "step": 1}, dict(CHECKPOINT["channel_versions"])
    )
    await saver.aput_writes(saved, [("prompt", {"text": "x"})], "task-1")
    await saver.aput_writes(saved, [("__error__", "it failed")], "task-2")
    found = await saver.aget_tuple(place)
    assert found is not None
    assert found.pending_writes == [("task-2", "__error__", "it failed")]

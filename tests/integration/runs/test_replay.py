"""Replay over a real database: every kind of run computes again to the same bytes, and whatever is changed is named."""

from collections.abc import AsyncIterator
from typing import Any, cast

import psycopg
import pytest

from sourcebound.contracts.replay.report import NotReplayable, RecordedRun
from sourcebound.contracts.replay.run_file import read_run_file, write_run_file
from sourcebound.contracts.state import State
from sourcebound.errors import RequestError, StoreError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run, verify_history
from sourcebound.graph.replay.recorded_run import read_recorded
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import PostgresHistory
from support.processes.databases import overwrite_byte, rows, single
from support.processes.model_servers import ModelServer
from support.replaying import (
    ANSWERED,
    BROUGHT,
    BUNDLE,
    GOOD,
    UNCITED,
    Case,
    Policies,
    cases,
    changed,
    drifts,
    opened,
    record,
    recorded,
    stored,
    verified,
)

MENDED: Case = Case({"retrieval_bundle": BUNDLE}, "OK", (UNCITED, GOOD))


@pytest.fixture
async def engine(library: str, model_server: ModelServer, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    async with opened(library, model_server, minilm) as engine:
        yield engine


@pytest.fixture
async def run(engine: Engine, model_server: ModelServer) -> RecordedRun:
    """A run whose answer a model gave over a brought bundle."""
    return await recorded(engine, await record(engine, model_server, BROUGHT))


async def _mended(engine: Engine, server: ModelServer, policies: Policies) -> RecordedRun:
    """A run that was answered at the second attempt."""
    return await recorded(engine, await record(engine, server, MENDED._replace(policy=policies.twice)))


@pytest.mark.contract("CP-3")
async def test_every_kind_of_run_is_computed_again_to_the_same_bytes(
    engine: Engine, model_server: ModelServer, policies: Policies
) -> None:
    for name, case in cases(policies).items():
        run = await recorded(engine, await record(engine, model_server, case))
        report = await verified(run)
        assert drifts(report) == {}, name
        assert [layer.layer for layer in report.layers] == ["rules", *(step.node for step in run.steps)], name
        read = read_run_file(write_run_file(run, "1.0"))
        assert read == run, name
        if name == "bad filter":
            other = changed(run, "accept", "outcome", lambda outcome: {**outcome, "message": "another"})
            assert "accept" in drifts(await verified(other))
    assert len(model_server.calls) == 13  # replays ask no model
    history = [result async for result in verify_history(PostgresHistory(engine._services.pool))]
    assert [getattr(result, "verdict", result) for result in history] == ["MATCH"] * len(cases(policies))


@pytest.mark.contract("CP-3")
async def test_a_run_that_retrieval_or_the_record_failed_is_computed_again(
    engine: Engine, library: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("the disk is full.", "Free some space.", code="NO_DISK_SPACE")

    with monkeypatch.context() as patch:
        patch.setattr(engine._services.retriever, "retrieve", fail)
        unretrieved = await record(engine, model_server, Case({"question": ANSWERED}, "RETRIEVAL_FAILED"))
    rows(library, "ALTER TABLE validations RENAME TO hidden")
    unrecorded = await record(engine, model_server, BROUGHT._replace(ends="AUDIT_UNAVAILABLE"))
    rows(library, "ALTER TABLE hidden RENAME TO validations")
    for run_id in (unretrieved, unrecorded):
        assert drifts(await verified(await recorded(engine, run_id))) == {}


@pytest.mark.contract("CP-3")
async def test_one_byte_of_a_stored_chunk_is_found_where_the_evidence_is_chosen(engine: Engine, library: str) -> None:
    run_id = (await engine.ask({"question": ANSWERED})).run_id
    before = await recorded(engine, run_id)
    text = before.final_state()["assembly"]["selected_evidence"][0]["sanitized_text"]
    place = text.index("turn")
    _set_byte(library, run_id, text[place : place + 40], 3, "m")
    report = await verified(await recorded(engine, run_id))
    assert drifts(report) == {"assemble": ["assembly.selected_evidence[0].sanitized_text"]}
    (difference,) = next(layer for layer in report.layers if layer.layer == "assemble").differences
    assert difference.character == place + 3
    assert "turn" in difference.recorded
    assert difference.computed == difference.recorded.replace("turn", "turm", 1)


def _set_byte(library: str, run_id: str, where: str, offset: int, character: str) -> None:
    """Overwrites one byte of the stored candidates."""
    overwrite_byte(library, run_id, "retrieval", where, offset, character)


@pytest.mark.contract("CP-3")
async def test_one_byte_of_a_chunk_that_was_dropped_is_found_too(engine: Engine, library: str) -> None:
    run_id = (await engine.ask({"question": ANSWERED, "limits": {"max_chunks": 3}})).run_id
    state = (await recorded(engine, run_id)).final_state()
    dropped = next(entry for entry in state["assembly"]["drop_ledger"] if entry["outcome"] != "ADMITTED")
    text = next(row["chunk_text"] for row in state["retrieval"]["results"] if row["chunk_id"] == dropped["chunk_id"])
    _set_byte(library, run_id, text[:60], 1, "~")
    assert drifts(await verified(await recorded(engine, run_id))) == {"assemble": ["assembly.trace.retrieval_sha256"]}


@pytest.mark.contract("CP-3")
async def test_candidates_for_another_question_are_not_those_of_the_run(engine: Engine, library: str) -> None:
    run_id = (await engine.ask({"question": ANSWERED})).run_id
    _set_byte(library, run_id, ANSWERED, 0, "N")
    paths = drifts(await verified(await recorded(engine, run_id)))
    assert paths["retrieve"] == ["retrieval.user_question"]


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    "damage",
    ["SET blob = '\\xc1'", "SET blob = substr(blob, 1, 20)", "SET channel = 'elsewhere'"],
)
async def test_a_value_that_cannot_be_read_differs_and_ends_the_report(
    engine: Engine, library: str, run: RecordedRun, damage: str
) -> None:
    rows(library, f"UPDATE checkpoint_blobs {damage} WHERE thread_id = '{run.run_id}' AND channel = 'generation'")
    report = await verified(await recorded(engine, run.run_id))
    assert drifts(report) == {"generate": ["generation"]}
    assert report.layers[-1].layer == "generate"


@pytest.mark.contract("CP-3")
@pytest.mark.contract("R5P-4")
@pytest.mark.parametrize(
    ("statement", "path"),
    [
        ("UPDATE validations SET total_tokens = 7", "validations[0].total_tokens"),
        ("UPDATE validations SET timestamp_utc = now()", "validations[0].row_hash"),
        ("UPDATE validations SET row_hash = repeat('0', 64)", "validations[0].row_hash"),
        ("DELETE FROM validations", "validations[0]"),
        ("UPDATE run_texts SET raw_model_text = 'another'", "run_texts[0].raw_model_text"),
    ],
)
async def test_the_row_of_the_audit_table_and_its_texts_are_compared_too(
    engine: Engine, library: str, run: RecordedRun, statement: str, path: str
) -> None:
    with psycopg.connect(library) as connection:
        connection.execute("SET session_replication_role = replica")  # no trigger fires
        assert connection.execute(statement.encode()).rowcount == 1
    assert drifts(await verified(await recorded(engine, run.run_id))) == {"record": [path]}


@pytest.mark.contract("CP-3")
@pytest.mark.contract("R5-12")
async def test_each_attempt_is_computed_again_from_its_own_input(
    engine: Engine, model_server: ModelServer, policies: Policies
) -> None:
    run = await _mended(engine, model_server, policies)
    loop = ["build_prompt", "generate", "validate"]
    assert [step.node for step in run.steps] == ["accept", "assemble", *loop, *loop, "record", "package"]
    assert [row.columns["attempt"] for row in run.records] == [1, 2]
    rejected = run.steps[4]
    assert drifts(await verified(run)) == {}
    (attempt,) = rejected.changes["attempts"]
    forged = {**attempt, "generation": {**attempt["generation"], "response_id": "another"}}
    altered = rejected.model_copy(update={"changes": {**rejected.changes, "attempts": [forged]}})
    steps = tuple(altered if step is rejected else step for step in run.steps)
    assert drifts(await verified(run.model_copy(update={"steps": steps}))) == {
        "validate": ["attempts[0].generation.response_id"],
        "record": ["validations[0].generation_digest"],
    }


@pytest.mark.contract("CP-3")
async def test_a_state_that_was_changed_by_hand_is_named(engine: Engine, run: RecordedRun) -> None:
    thread: Any = {"configurable": {"thread_id": run.run_id}}
    await engine._compiled().aupdate_state(
        thread, cast("State", {"response": {"answer": "Bananas."}}), as_node="package"
    )
    report = await verified(await recorded(engine, run.run_id))
    assert report.verdict == "EDITED"
    assert drifts(report) == {"package": ["next node"], "(update)": ["response[0]"]}


@pytest.mark.contract("CP-3")
async def test_a_run_that_was_erased_is_not_replayable(engine: Engine, run: RecordedRun) -> None:
    await engine.erase(run.run_id, run.run_id)
    found = read_recorded(await stored(engine, run.run_id))
    assert isinstance(found, NotReplayable)
    assert found.code == "RUN_ERASED"
    history = PostgresHistory(engine._services.pool)
    with pytest.raises(RequestError) as raised:
        await read_run(history, (await engine._services.run_log.find_runs(run.run_id))[0])
    assert raised.value.failure_code == "RUN_ERASED"
    assert [result async for result in verify_history(history)] == [found]


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("DELETE FROM checkpoints", "CHECKPOINTS_MISSING"),
        ("DELETE FROM checkpoints WHERE (metadata->>'step')::int = 3", "CHECKPOINTS_MISSING"),
        ("DELETE FROM checkpoints WHERE (metadata->>'step')::int > 4", "CHECKPOINTS_MISSING"),
        ("DELETE FROM checkpoints WHERE (metadata->>'step')::int > -1", "CHECKPOINTS_MISSING"),
    ],
)
async def test_a_run_without_all_of_its_checkpoints_is_not_replayable(
    engine: Engine, library: str, run: RecordedRun, statement: str, code: str
) -> None:
    rows(library, statement)
    found = read_recorded(await stored(engine, run.run_id))
    assert isinstance(found, NotReplayable)
    assert found.code == code


@pytest.mark.contract("CP-3")
async def test_a_branch_that_was_left_is_no_part_of_the_run(engine: Engine, library: str, run: RecordedRun) -> None:
    rows(
        library,
        "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata) "
        "SELECT thread_id, '', '1', parent_checkpoint_id, checkpoint, metadata FROM checkpoints "
        "WHERE (metadata->>'step')::int = 5",
    )
    assert await recorded(engine, run.run_id) == run


@pytest.mark.contract("CP-3")
async def test_a_history_is_read_page_by_page_and_by_processes(
    engine: Engine, library: str, model_server: ModelServer
) -> None:
    run_ids = [await record(engine, model_server, BROUGHT) for _ in range(5)]
    rows(library, "UPDATE runs SET started_at = '2024-03-01'")  # pages of runs that began at one moment
    history = PostgresHistory(engine._services.pool)
    pages = [[stored.summary.run_id for stored in page] async for page in history.pages(size=2)]
    assert pages == [run_ids[:2], run_ids[2:4], run_ids[4:]]
    rows(library, "UPDATE runs SET started_at = '2024-03-02' WHERE run_id = %s", run_ids[3])
    since = single(library, "SELECT '2024-03-02'::timestamptz")
    assert await history.count() == 5
    assert await history.count(since) == 1
    (only,) = [result async for result in verify_history(history, since, jobs=2)]
    assert (only.run_id, getattr(only, "verdict", only)) == (run_ids[3], "MATCH")

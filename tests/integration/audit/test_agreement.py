"""R5P-7, R5P-8: what an owner of the database can change is found by `audit verify`, and the run is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import dict_row

from sourcebound.contracts.audit.hash_chain import record_hash
from sourcebound.contracts.state import RunContext, State
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.record_check import check_runs
from sourcebound.nodes.package import package
from sourcebound.nodes.validate import validate
from sourcebound.store.audit.signing_key import SigningKey
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import Services
from support.builders import SEAL, bundle, row
from support.processes.commands import Program
from support.processes.databases import rows, single

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
CONTEXT = RunContext(model="extractive")
RUNS = ["run-1", "run-2", "run-3"]
SERIALIZER = JsonPlusSerializer()
Connection = psycopg.Connection[Any]


def _blob(connection: Connection, channel: str) -> Any:
    found = connection.execute(
        "SELECT type, blob FROM checkpoint_blobs WHERE thread_id = 'run-2' AND channel = %s "
        "ORDER BY version DESC LIMIT 1",
        (channel,),
    ).fetchone()
    assert found is not None
    return SERIALIZER.loads_typed((found["type"], found["blob"]))


def _store(connection: Connection, channel: str, value: object) -> None:
    kind, blob = SERIALIZER.dumps_typed(value)
    connection.execute(
        "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = 'run-2' AND channel = %s",
        (kind, blob, channel),
    )


def _edit(channel: str, change: Callable[[Any], Any]) -> Callable[[Connection], None]:
    """Change a channel of the run's state in every checkpoint."""
    return lambda connection: _store(connection, channel, change(_blob(connection, channel)))


def _set(**values: Any) -> Callable[[Any], Any]:
    return lambda channel: {**channel, **values}


def _sql(statement: str) -> Callable[[Connection], None]:
    def execute(connection: Connection) -> None:
        assert connection.execute(statement.encode()).rowcount > 0

    return execute


async def _invert(connection: Connection) -> None:
    """Invert the released answer everywhere, with the nodes of the product, as a forger would."""
    generation = _blob(connection, "generation")
    text = generation["raw_model_text"].replace("Check", "Never check", 1)
    assert text != generation["raw_model_text"]
    channels = ("run", "policy", "retrieval", "assembly", "prompt", "outcome", "audit", "retrieval_bundle")
    state = {name: _blob(connection, name) for name in channels}
    state["generation"] = {**generation, "raw_model_text": text}
    state |= await validate(cast("State", state))
    state |= await package(cast("State", state))
    for name in ("generation", "validation", "response"):
        _store(connection, name, state[name])
    connection.execute(
        "UPDATE run_texts SET raw_model_text = %s, validated_answer_text = %s WHERE run_id = 'run-2'",
        (text, state["validation"]["validated_answer_text"]),
    )


def _other_evidence(assembly: Any) -> Any:
    chunk = {**assembly["selected_evidence"][0], "page_number": 99}
    return {**assembly, "selected_evidence": [chunk]}


CHANGES: dict[str, Any] = {
    "status": _sql("UPDATE runs SET status = 'NO_EVIDENCE' WHERE run_id = 'run-2'"),
    "reason": _sql("UPDATE runs SET reason = 'model_refused' WHERE run_id = 'run-2'"),
    "model": _sql("UPDATE runs SET model = 'openai:gpt-5' WHERE run_id = 'run-2'"),
    "policy": _sql("UPDATE runs SET policy_version = 'OTHER_V1' WHERE run_id = 'run-2'"),
    "run deleted": _sql("DELETE FROM runs WHERE run_id = 'run-2'"),
    "question": _sql("UPDATE run_texts SET question = question || '?' WHERE run_id = 'run-2'"),
    "raw text": _sql("UPDATE run_texts SET raw_model_text = 'Never. [C0]' WHERE run_id = 'run-2'"),
    "raw text gone": _sql("UPDATE run_texts SET raw_model_text = NULL WHERE run_id = 'run-2'"),
    "answer": _sql("UPDATE run_texts SET validated_answer_text = 'Never. [C0]' WHERE run_id = 'run-2'"),
    "salt": _sql("UPDATE run_texts SET salt = repeat('0', 32) WHERE run_id = 'run-2'"),
    "salt gone": _sql("UPDATE run_texts SET salt = NULL WHERE run_id = 'run-2'"),
    "texts deleted": _sql("DELETE FROM run_texts WHERE run_id = 'run-2'"),
    "texts of no attempt": _sql(
        "INSERT INTO run_texts SELECT run_id, question, raw_model_text, validated_answer_text, 2, salt FROM run_texts "
        "WHERE run_id = 'run-2'"
    ),
    "answer inverted everywhere": _invert,
    "response": _edit("response", _set(answer="Never. [C0]")),
    "response refused": _edit("response", _set(status="NO_EVIDENCE")),
    "verdict": _edit("validation", _set(validated_answer_text="Never. [C0]")),
    "generation": _edit("generation", _set(raw_model_text="Never. [C0]")),
    "evidence": _edit("assembly", _other_evidence),
    "identity": _edit("run", _set(model="openai:gpt-5")),
    "start": _edit("run", _set(started_at="2020-01-01T00:00:00+00:00")),
    "salt of the state": _edit("run", _set(salt="0" * 32)),
    "attempts": _edit("generation", lambda _: None),
    "checkpoints deleted": _sql("DELETE FROM checkpoints WHERE thread_id = 'run-2'"),
    "values deleted": _sql("DELETE FROM checkpoint_blobs WHERE thread_id = 'run-2' AND channel = 'run'"),
    "checkpoint poisoned": _sql("UPDATE checkpoint_blobs SET type = 'pickle' WHERE thread_id = 'run-2'"),
    "faked pruning of an altered run": _sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2'), altered AS (UPDATE run_texts SET "
        "validated_answer_text = 'Never. [C0]' WHERE run_id = 'run-2') "
        "UPDATE runs SET pruned_at = now() WHERE run_id = 'run-2'"
    ),
    "faked pruning": _sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2') "
        "UPDATE runs SET pruned_at = now() WHERE run_id = 'run-2'"
    ),
    "faked erasure": _sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2'), "
        "texts AS (DELETE FROM run_texts WHERE run_id = 'run-2') "
        "UPDATE runs SET erased_at = now() WHERE run_id = 'run-2'"
    ),
}


@pytest.fixture
async def asked(services: Services) -> Engine:
    """Three answered runs."""
    engine = Engine(services)
    for run_id in RUNS:
        response = await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": run_id}, CONTEXT)
        assert response.status.value == "OK"
    return engine


@pytest.fixture
def program(database: str, tmp_path: Path) -> Program:
    """The program over the database, with a signing key."""
    key = tmp_path / "keys" / "receipts.pem"
    SigningKey.create(key)
    return Program({"DATABASE_URL": database, "SOURCEBOUND_SIGNING_KEY": str(key)})


def _owner(database: str) -> Connection:
    """Connect as the owner of the database can: no trigger fires."""
    connection: Connection = psycopg.connect(database, row_factory=dict_row)
    connection.execute("SET session_replication_role = replica")
    return connection


@pytest.mark.contract("R5P-7")
async def test_unchanged_runs_agree_with_their_records(asked: Engine) -> None:
    found = {check.run_id: check.findings async for check in check_runs(PostgresHistory(asked._services.pool))}
    assert found == dict.fromkeys(RUNS, ())


@pytest.mark.contract("R5P-7")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_each_change_of_a_run_is_found_and_names_it(asked: Engine, database: str, change: Any) -> None:
    with _owner(database) as connection:
        if (pending := change(connection)) is not None:
            await pending
    found = {check.run_id: check.findings async for check in check_runs(PostgresHistory(asked._services.pool))}
    assert found.pop("run-2")
    assert found == {"run-1": (), "run-3": ()}


@pytest.mark.contract("R5P-7")
@pytest.mark.contract("CP-8")
async def test_a_forged_answer_is_named_and_gets_no_receipt(asked: Engine, database: str, program: Program) -> None:
    assert program("audit", "verify").code == 0
    assert program("runs", "receipt", "run-2").code == 0
    with _owner(database) as connection:
        await _invert(connection)
    verified = program("audit", "verify")
    assert (verified.code, "run run-2: the text of the model is not the one that was recorded" in verified.stdout) == (
        4,
        True,
    )
    receipt = program("runs", "receipt", "run-2")
    assert (receipt.code, receipt.stdout) == (1, "")
    assert "[RECEIPT_REFUSED]" in receipt.stderr


@pytest.mark.contract("R5P-7")
@pytest.mark.contract("R5P-3")
async def test_erased_and_pruned_runs_agree_and_leave_nothing_to_guess_from(
    asked: Engine, database: str, program: Program
) -> None:
    await asked.erase("run-2", "run-2")
    assert program("runs", "prune", "--older-than", "0d", "--keep-last", "0", "--yes").code == 0
    assert program("audit", "verify").code == 0
    assert single(database, "SELECT count(*) FROM run_texts WHERE run_id = 'run-2'") == 0
    salts = rows(database, "SELECT t.salt FROM run_texts t ORDER BY run_id")
    assert len(set(salts)) == 2
    digests = rows(database, "SELECT question_digest FROM validations ORDER BY position")
    assert len(set(digests)) == 3  # one question, three salts


@pytest.mark.contract("R5P-7")
@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("UPDATE removals SET kind = 'pruned' WHERE position = 1", "its values do not give its row_hash"),
        ("UPDATE removals SET removed_at = now() WHERE position = 1", "its values do not give its row_hash"),
        ("DELETE FROM removals WHERE position = 1", "it does not follow position 0"),
        ("DELETE FROM removals WHERE position = 2", "this was not noted"),
        ("UPDATE runs SET erased_at = NULL WHERE run_id = 'run-2'", "its row does not say so"),
    ],
    ids=["kind", "time", "first", "last", "mark"],
)
async def test_a_changed_note_of_an_erasure_is_found(
    asked: Engine, database: str, program: Program, change: str, finding: str
) -> None:
    for run_id in ("run-2", "run-3"):
        await asked.erase(run_id, run_id)
    assert program("audit", "verify").code == 0
    with _owner(database) as connection:
        _sql(change)(connection)
    found = program("audit", "verify")
    assert (found.code, finding in found.stdout) == (4, True), found.stdout


def _chain_anew(connection: Connection) -> None:
    """Compute the whole chain again over the rows that are left, with the product's own function."""
    columns = "*, to_char(timestamp_utc AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"+00:00\"') AS stamp"
    stored = connection.execute(f"SELECT {columns} FROM validations ORDER BY position").fetchall()
    previous = "0" * 64
    for position, record in enumerate(stored, start=1):
        old, record["timestamp_utc"] = record.pop("position"), record.pop("stamp")
        for name in ("previous_hash", "row_hash"):
            del record[name]
        digest = record_hash(record, previous)
        values = (position, previous, digest, old)
        connection.execute(
            "UPDATE validations SET position=%s, previous_hash=%s, row_hash=%s WHERE position=%s", values
        )
        previous = digest
    connection.execute("UPDATE audit_head SET position = %s, row_hash = %s", (len(stored), previous))


def _forget(connection: Connection, run_id: str) -> None:
    for table in ("validations", "runs", "run_texts"):
        connection.execute(f"DELETE FROM {table} WHERE run_id = %s", (run_id,))


@pytest.mark.contract("R5P-8")
@pytest.mark.parametrize("gone", ["run-2", "run-3"], ids=["middle", "end"])
@pytest.mark.parametrize("kept", ["head", "receipt", "export"])
async def test_a_chain_that_was_written_anew_is_found_by_what_was_kept_elsewhere(
    asked: Engine, database: str, program: Program, tmp_path: Path, gone: str, kept: str
) -> None:
    file = tmp_path / "kept.jsonl"
    commands = {
        "head": ("audit", "head", "--output", file),
        "receipt": ("runs", "receipt", "run-3", "--output", file),
        "export": ("audit", "export", "--output", str(file)),
    }
    assert program(*commands[kept]).code == 0
    assert program("audit", "verify", "--against", file).code == 0
    with _owner(database) as connection:
        _forget(connection, gone)
        _chain_anew(connection)
    assert program("audit", "verify").code == 0  # the database alone cannot show it
    found = program("audit", "verify", "--against", file)
    assert found.code == 4
    assert f"{file}: the chain had" in found.stdout


@pytest.mark.contract("R5P-8")
async def test_a_head_that_was_altered_is_no_proof(asked: Engine, program: Program, tmp_path: Path) -> None:
    file = tmp_path / "head.json"
    head = json.loads(program("audit", "head").stdout)
    for change in ({"position": 2}, {"row_hash": "0" * 64}, {"signature": "0" * 128}, {"head_version": "2"}):
        file.write_text(json.dumps({**head, **change}))
        done = program("audit", "verify", "--against", file)
        assert (done.code, done.stdout) == (2, "")
        assert "[ANCHOR_UNREADABLE]" in done.stderr
    for text in ("{", "[]", "{}", '{"receipt_version": "1"}'):
        file.write_text(text)
        assert "[ANCHOR_UNREADABLE]" in program("audit", "verify", "--against", file).stderr
    unsigned = Program({**program.environment, "SOURCEBOUND_SIGNING_KEY": str(tmp_path / "none.pem")})("audit", "head")
    assert unsigned.code == 2

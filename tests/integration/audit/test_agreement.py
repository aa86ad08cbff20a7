"""R5P-7, R5P-8: what an owner of the database can change is found by `audit verify`, and the run is named."""

import json
from pathlib import Path

import pytest

from sourcebound.contracts.audit.hash_chain import record_hash
from sourcebound.contracts.state import RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.record_check import check_runs
from sourcebound.store.audit.signing_key import SigningKey
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import Services, open_services
from support.builders import SEAL, bundle, row
from support.processes.commands import Program
from support.processes.databases import rows, settings_for, single
from support.tampering import RUNS, Connection, forged, owner, run_sql

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
CONTEXT = RunContext(model="extractive")


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


@pytest.mark.contract("R5P-7")
async def test_unchanged_runs_agree_with_their_records(asked: Engine) -> None:
    found = {check.run_id: check.findings async for check in check_runs(PostgresHistory(asked._services.pool))}
    assert found == dict.fromkeys(RUNS, ())


@pytest.mark.contract("R5P-7")
@pytest.mark.contract("CP-8")
async def test_a_forged_answer_is_named_and_gets_no_receipt(asked: Engine, database: str, program: Program) -> None:
    assert program("audit", "verify").code == 0
    assert program("runs", "receipt", "run-2").code == 0
    with owner(database) as connection:
        await forged(connection)
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
    with owner(database) as connection:
        run_sql(change)(connection)
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
    with owner(database) as connection:
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


@pytest.mark.contract("R5P-8")
async def test_heads_are_signed_at_an_interval_and_always_compared(
    database: str, program: Program, tmp_path: Path
) -> None:
    heads = tmp_path / "heads.jsonl"
    key = Path(program.environment["SOURCEBOUND_SIGNING_KEY"])
    async with open_services(settings_for(database, heads=heads, heads_every=2, signing_key=key)) as services:
        for number in range(5):
            await Engine(services).ask({"retrieval_bundle": EVIDENCE, "run_id": f"run-{number}"}, CONTEXT)
    assert [json.loads(line)["position"] for line in heads.read_text().splitlines()] == [2, 4]
    watched = Program({**program.environment, "SOURCEBOUND_HEADS": str(heads)})
    assert watched("audit", "verify").code == 0
    with owner(database) as connection:
        _forget(connection, "run-1")
        _chain_anew(connection)
    assert program("audit", "verify").code == 0
    done = watched("audit", "verify")
    assert (done.code, f"{heads}: the chain had" in done.stdout) == (4, True)


@pytest.mark.contract("R5P-8")
async def test_a_head_that_cannot_be_signed_fails_no_run(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(database, heads=tmp_path / "heads.jsonl", heads_every=1, signing_key=tmp_path / "no.pem")
    async with open_services(settings) as services:
        response = await Engine(services).ask({"retrieval_bundle": EVIDENCE}, CONTEXT)
    assert response.status.value == "OK"
    assert "could not be signed: there is no signing key" in caplog.text

"""S-4: a run whose stored rows are damaged has a code of its own, and every other run goes on."""

import json

import pytest

from sourcebound.contracts.state import RunContext
from sourcebound.graph.batch.resume_all import ResumeOutcome, resume_all
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.builders import SEAL, bundle, row
from support.processes.commands import Program
from support.processes.databases import rows

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
CONTEXT = RunContext(model="extractive")
RUNS = ["run-1", "run-2", "run-3"]
BLOB = "UPDATE checkpoint_blobs SET {} WHERE thread_id = 'run-2' AND channel = 'run' RETURNING 1"
PAGE = "UPDATE checkpoints SET checkpoint = {} WHERE thread_id = 'run-2' RETURNING 1"
DAMAGE = {
    "pickle": BLOB.format("type = 'pickle'"),
    "no msgpack": BLOB.format("blob = '\\xc1ff'"),
    "a constructor": BLOB.format(
        'type = \'json\', blob = \'{"lc": 2, "type": "constructor", "id": ["os", "system"]}\''
    ),
    "a number": BLOB.format("blob = '\\x05'"),
    "no versions": PAGE.format("checkpoint - 'channel_versions'"),
    "versions of another kind": PAGE.format("jsonb_set(checkpoint, '{channel_versions}', '[1, 2]')"),
    "a text": PAGE.format("to_jsonb('x'::text)"),
}


@pytest.fixture
def program(database: str) -> Program:
    """The program over the database."""
    return Program({"DATABASE_URL": database})


@pytest.mark.contract("S-4")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_run_stops_no_other(services: Services, database: str, program: Program, damage: str) -> None:
    engine = Engine(services)
    for run_id in RUNS:
        await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": run_id}, CONTEXT)
    assert rows(database, damage)
    verified = program("replay", "verify", "--all", "--json")
    results = {line["run_id"]: line for line in map(json.loads, verified.stdout.splitlines())}
    assert verified.code == 4
    assert [results[run].get("verdict") for run in ("run-1", "run-3")] == ["MATCH", "MATCH"]
    damaged = results["run-2"]
    assert damaged.get("verdict") == "DRIFT" or damaged["code"] in ("RUN_UNREADABLE", "RUN_NEWER")
    exported = program("runs", "export", "--all")
    written = [json.loads(line)["run"]["run_id"] for line in exported.stdout.splitlines()]
    assert {"run-1", "run-3"} <= set(written)
    assert (exported.code == 4) == ("run-2" not in written)
    for command in (["runs", "show"], ["runs", "receipt"], ["runs", "evidence"], ["runs", "resume"]):
        done = program(*command, "run-2", *(["C0"] if command[1] == "evidence" else []))
        assert done.code in (1, 2, 4), done.stdout
        assert "Traceback" not in done.stdout + done.stderr
        assert "[" in done.stderr  # a code


@pytest.mark.contract("S-4")
async def test_an_unexpected_error_of_one_run_stops_no_other(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, resume = Engine(services), Engine.resume

    async def list_cut_off(_: Engine) -> list[str]:
        return RUNS

    async def poisoned(self: Engine, run_id: str) -> object:
        if run_id == "run-2":
            raise IndexError("a defect")
        return await resume(self, run_id)

    for run_id in RUNS:
        await engine.ask({"retrieval_bundle": EVIDENCE, "run_id": run_id}, CONTEXT)
    monkeypatch.setattr(Engine, "list_cut_off", list_cut_off)
    monkeypatch.setattr(Engine, "resume", poisoned)
    found = {each.run_id: each async for each in resume_all(engine)}
    assert {run: each.ending for run, each in found.items()} == {
        "run-1": ResumeOutcome.ENDED,
        "run-2": ResumeOutcome.CUT_OFF,
        "run-3": ResumeOutcome.ENDED,
    }
    fault = found["run-2"].fault
    assert fault is not None
    assert (fault.failure_code, str(fault.__cause__)) == ("RUN_UNREADABLE", "a defect")

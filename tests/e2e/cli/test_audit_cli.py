"""`sourcebound audit` and `runs erase` as real processes: what is tampered with is named, what is erased is gone."""

import asyncio
import json
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow.parquet
import pytest

from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.wiring import open_services
from support.builders import audit_entry, run
from support.processes.commands import Finished, Program
from support.processes.databases import settings_for

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
PERSONAL = "Did Ottoline Featherstonehaugh grease the bearings of the HP-200?"
Asked = tuple[Program, list[dict[str, Any]]]


@pytest.fixture
def asked(library: str) -> Asked:
    """The program over a database of the test's own that holds the manuals, and two responses from it."""
    program = Program({"DATABASE_URL": library})
    return program, [json.loads(program("ask", question, "--json").stdout) for question in (ANSWERED, PERSONAL)]


def _tamper(program: Program, statement: str) -> None:
    """Execute as the owner of the database can: no trigger fires."""
    with psycopg.connect(program.environment["DATABASE_URL"]) as connection:
        connection.execute("SET session_replication_role = replica")
        assert connection.execute(statement.encode()).rowcount == 1


def _check_fault(done: Finished, exit_code: int, failure_code: str) -> None:
    """A fault is two lines on stderr, a message with its code and the next step, and nothing on stdout."""
    assert (done.code, done.stdout) == (exit_code, ""), done.stderr
    message, next_step = done.stderr.splitlines()
    assert message.startswith("Error: ")
    assert message.endswith(f"[{failure_code}]")
    assert next_step.startswith("  Next: ")


@pytest.mark.contract("R5P-4")
def test_verify_counts_the_records_and_names_the_end(asked: Asked) -> None:
    program, (_, last) = asked
    done = program("audit", "verify")
    assert (done.code, done.stderr) == (0, "")
    record = json.loads(program("audit", "show", last["run_id"], "--json").stdout)
    assert done.stdout == f"2 records, all unchanged\nend  position 2  {record['row_hash']}\n"


@pytest.mark.contract("R5P-4")
def test_verify_names_the_first_record_that_was_tampered_with(asked: Asked) -> None:
    program, (first, _) = asked
    _tamper(program, f"UPDATE validations SET total_tokens = 7 WHERE run_id = '{first['run_id']}'")
    done = program("audit", "verify")
    assert done.code == 4
    assert f"broken at position 1, run {first['run_id']}: its columns do not give its row_hash" in done.stdout
    assert "  Next: " in done.stderr


@pytest.mark.contract("R5P-4")
def test_verify_names_what_is_missing_from_the_end(asked: Asked) -> None:
    program, (_, last) = asked
    _tamper(program, f"DELETE FROM validations WHERE run_id = '{last['run_id']}'")
    done = program("audit", "verify")
    assert done.code == 4
    assert "broken at position 2, run (none): the last 1 records are missing\n1 records before it match" in done.stdout


def test_verify_says_how_many_records_it_does_not_cover(library: str) -> None:
    program = Program({"DATABASE_URL": library})
    _tamper(program, "UPDATE audit_head SET unchained = 1")
    with psycopg.connect(library) as connection:
        connection.execute("ALTER TABLE validations DROP CONSTRAINT validations_chained")
    program("ask", ANSWERED)
    _tamper(program, "UPDATE audit_head SET position = 0, row_hash = repeat('0', 64)")
    _tamper(program, "UPDATE validations SET position = NULL, previous_hash = NULL, row_hash = NULL")
    done = program("audit", "verify")
    assert (done.code, done.stdout.splitlines()[0]) == (0, "0 records, all unchanged")
    assert done.stderr == "1 records are older than the chain, which does not cover them.\n"


@pytest.mark.contract("R5P-2")
def test_show_prints_one_record(asked: Asked) -> None:
    program, (first, _) = asked
    shown = program("audit", "show", first["run_id"])
    lines = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())
    assert (shown.code, shown.stderr) == (0, "")
    assert (lines["position"], lines["run_id"], lines["validation_status"]) == ("1", first["run_id"], "PASSED")
    assert (lines["refusal_code"], lines["suspicious_new_ids"], lines["refusal_detected"]) == ("-", "-", "False")
    assert lines["validated_citations"] == " ".join(citation["anchor"] for citation in first["citations"])
    record = json.loads(program("audit", "show", first["request_id"], "--json").stdout)
    assert set(record) == set(lines)
    assert (record["refusal_code"], record["attempt"], record["timestamp_utc"][-6:]) == (None, 1, "+00:00")
    _check_fault(program("audit", "show", "nothing"), 2, "RUN_NOT_FOUND")
    _check_fault(program("audit", "show", first["run_id"][:6]), 2, "RUN_NOT_FOUND")
    _check_fault(program("audit", "show", first["run_id"], "--attempt", "2"), 2, "RUN_NOT_FOUND")
    assert json.loads(program("audit", "show", first["run_id"], "--attempt", "1", "--json").stdout) == record


async def _append(url: str, *entries: AuditRecord) -> None:
    async with open_services(settings_for(url)) as services:
        for entry in entries:
            await services.audit_log.append(entry, run(run_id=entry.run_id, request_id=entry.request_id), "", "")


def test_show_prints_the_last_attempt_or_the_one_that_is_named(database: str) -> None:
    asyncio.run(_append(database, audit_entry(1), audit_entry(1, attempt=2), audit_entry(2)))
    program = Program({"DATABASE_URL": database})
    shown = [
        json.loads(program("audit", "show", "run-1", *extra, "--json").stdout) for extra in ((), ("--attempt", "1"))
    ]
    assert [(record["position"], record["attempt"]) for record in shown] == [(2, 2), (1, 1)]
    missing = program("audit", "show", "run-1", "--attempt", "3")
    _check_fault(missing, 2, "RUN_NOT_FOUND")
    assert "Attempts: 1, 2." in missing.stderr


@pytest.mark.contract("R5P-5")
def test_export_writes_every_format_and_adds_only_what_is_new(asked: Asked, tmp_path: Path) -> None:
    program, responses = asked
    expected = [response["run_id"] for response in responses]
    for form in ("jsonl", "parquet", "delta"):
        output = tmp_path / form
        done = program("audit", "export", "--format", form, "--output", output)
        assert (done.code, done.stderr) == (0, "")
        assert done.stdout == f"2 records added to {output}, which now ends at position 2\n"
        again = program("audit", "export", "--format", form, "--output", output)
        assert again.stdout.startswith("0 records added")
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text("utf-8").splitlines()]
    assert [line["run_id"] for line in lines] == expected
    assert pyarrow.parquet.read_table(tmp_path / "parquet")["run_id"].to_pylist() == expected
    assert deltalake.DeltaTable(tmp_path / "delta").to_pyarrow_table()["run_id"].to_pylist() == expected
    since = program("audit", "export", "--output", tmp_path / "late", "--since", "2999-01-01")
    assert since.stdout.startswith("0 records added")
    _check_fault(program("audit", "export", "--output", tmp_path / "late", "--since", "soon"), 2, "BAD_REQUEST")
    _check_fault(program("audit", "export", "--output", tmp_path / "late", "--format", "xlsx"), 2, "BAD_REQUEST")


@pytest.mark.contract("R5P-5")
def test_export_does_not_touch_a_table_of_another_schema(asked: Asked, tmp_path: Path) -> None:
    program, _ = asked
    deltalake.write_deltalake(tmp_path / "table", pyarrow.table({"position": pyarrow.array([1], pyarrow.int64())}))
    done = program("audit", "export", "--format", "delta", "--output", tmp_path / "table")
    _check_fault(done, 2, "DELTA_SCHEMA_MISMATCH")
    assert deltalake.DeltaTable(tmp_path / "table").version() == 0


@pytest.mark.contract("R5P-3")
def test_erase_asks_first_then_erases_the_texts_and_leaves_the_record(
    asked: Asked,
) -> None:
    program, (_, last) = asked
    run = last["run_id"]
    refused = program("runs", "erase", run)
    _check_fault(refused, 2, "NOT_CONFIRMED")
    assert f"sourcebound runs erase {run} --yes" in refused.stderr
    assert "Featherstonehaugh" in program("runs", "list").stdout
    erased = program("runs", "erase", run, "--yes")
    assert (erased.code, erased.stderr) == (0, "")
    assert f"run {run}; it can no longer be shown in full or replayed" in erased.stdout
    assert "Featherstonehaugh" not in program("runs", "list").stdout
    shown = program("runs", "show", run)
    assert (shown.code, "the text of this run was erased" in shown.stdout) == (0, True)
    assert program("audit", "verify").stdout.startswith("2 records, all unchanged")
    assert program("audit", "show", run).code == 0
    _check_fault(program("runs", "erase", "nothing", "--yes"), 2, "RUN_NOT_FOUND")


def test_erasing_a_run_that_has_not_ended_says_so(asked: Asked) -> None:
    program, (first, _) = asked
    _tamper(program, f"UPDATE runs SET status = 'RUNNING' WHERE run_id = '{first['run_id']}'")
    erased = program("runs", "erase", first["run_id"], "--yes")
    assert (erased.code, "erase it again after it ends" in erased.stderr) == (0, True)


def test_the_group_is_listed_with_its_commands() -> None:
    program = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})
    assert "\n  audit " in program("--help").stdout
    listed = program("audit").stdout + program("audit").stderr
    assert [name for name in ("verify", "show", "export") if f"\n  {name} " not in listed] == []

"""The chain over PostgreSQL: written in turns, computed again from the table alone, every touch named (R5P-4)."""

import asyncio
import hashlib
import json
from datetime import UTC
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from sourcebound.contracts.audit.hash_chain import BrokenRow, ChainReport, Link, audit_columns, record_hash
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.store.audit.log import PostgresAuditLog
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import list_migrations, migrate
from sourcebound.wiring import Services, open_services
from support.builders import audit_entry, run
from support.processes.databases import rows, settings_for, tables_with

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
PERSONAL = "Did Ottoline Featherstonehaugh grease the bearings of the HP-200?"
CHANGED = "its columns do not give its row_hash: one of them was changed"
AWKWARD: list[dict[str, Any]] = [
    {"llm_latency_ms": 0.1 + 0.2, "retrieval_latency_ms": 5e-324},
    {"llm_latency_ms": 1.7976931348623157e308, "retrieval_latency_ms": -0.0},
    {"llm_latency_ms": 1e16, "retrieval_latency_ms": 123456789.12345679},
    {"llm_latency_ms": 7, "timestamp_utc": "2024-03-03T17:30:05.000001+05:30"},
    {"timestamp_utc": "1969-12-31T23:59:59.999999Z"},
    {"timestamp_utc": "2024-03-03T12:00:05"},
    {"validated_citations": ["C0", "C10"], "model_name": 'µ "quoted", \\ and {braces}\n', "response_id": ""},
]


async def _append(log: PostgresAuditLog, *entries: AuditRecord) -> None:
    for entry in entries:
        await log.append(entry, run(run_id=entry.run_id, request_id=entry.request_id), "", "")


@pytest.fixture
async def three(services: Services) -> Services:
    """Services over a chain of three records, `run-1`, `run-2` and `run-3`."""
    await _append(services.audit_log, *(audit_entry(number) for number in (1, 2, 3)))
    return services


def _stored(url: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute("SELECT * FROM validations ORDER BY position").fetchall()


def _tamper(url: str, *statements: str) -> None:
    """Execute as the owner of the database can: no trigger fires."""
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            assert connection.execute(statement.encode()).rowcount != 0


@pytest.mark.contract("R5P-4")
async def test_the_chain_can_be_computed_again_from_the_table_alone(engine: Engine, library: str) -> None:
    for request in ({"question": ANSWERED}, {"question": PERSONAL}, {"question": " "}):
        await engine.ask(request)  # type: ignore[arg-type]
    previous = "0" * 64
    for number, row in enumerate(_stored(library), 1):
        position, before, row_hash = (row.pop(name) for name in ("position", "previous_hash", "row_hash"))
        moment = row["timestamp_utc"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")
        form = row | {"timestamp_utc": moment, "previous_hash": previous}
        text = json.dumps(
            {name: value for name, value in form.items() if value is not None},
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        assert (position, before) == (number, previous)
        assert row_hash == hashlib.sha256(text.encode()).hexdigest()
        previous = row_hash
    assert rows(library, "SELECT position, row_hash, unchained FROM audit_head") == [(3, previous, 0)]
    report = await engine._services.audit_log.verify()
    assert report == ChainReport(3, Link(3, previous), 0, None)


@pytest.mark.contract("R5P-4")
async def test_an_empty_chain_holds(services: Services) -> None:
    assert await services.audit_log.verify() == ChainReport(0, Link(0, "0" * 64), 0, None)


@pytest.mark.contract("R5P-4")
async def test_every_value_is_hashed_as_it_is_stored_whatever_the_server_shows(database: str) -> None:
    name = database.rpartition("/")[2].partition("?")[0]
    for setting in ("extra_float_digits = 0", "timezone = 'Asia/Kolkata'", "datestyle = 'German'"):
        rows(database, f"ALTER DATABASE {name} SET {setting}")
    entries = [audit_entry(number, **changes) for number, changes in enumerate(AWKWARD, 1)]
    async with open_services(settings_for(database)) as services:
        await _append(services.audit_log, *entries, *entries)
        read = [row.columns for row in await services.audit_log.find_records("run-")]
        report = await services.audit_log.verify()
    assert (report.records, report.broken) == (len(entries), None)
    assert json.dumps(read, sort_keys=True) == json.dumps([audit_columns(entry) for entry in entries], sort_keys=True)


@pytest.mark.contract("R5P-4")
async def test_sixteen_appends_at_once_make_one_chain(services: Services, database: str) -> None:
    await asyncio.gather(*(_append(services.audit_log, audit_entry(number)) for number in range(16)))
    assert [row["position"] for row in _stored(database)] == list(range(1, 17))
    report = await services.audit_log.verify()
    assert (report.records, report.broken) == (16, None)


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("R5P-4")
async def test_the_same_record_sixteen_times_at_once_is_one_record(services: Services, database: str) -> None:
    await asyncio.gather(*(_append(services.audit_log, audit_entry()) for _ in range(16)))
    assert [row["position"] for row in _stored(database)] == [1]
    assert (await services.audit_log.verify()).broken is None


@pytest.mark.contract("R5P-4")
async def test_an_append_that_fails_leaves_the_chain_as_it_was(three: Services, database: str) -> None:
    before = rows(database, "SELECT * FROM audit_head")
    with pytest.raises(StoreError, match="a different audit record"):
        await _append(three.audit_log, audit_entry(2, model_name="another"))
    with pytest.raises(StoreError):
        await _append(three.audit_log, audit_entry(4, prompt_tokens=2**40))
    assert rows(database, "SELECT * FROM audit_head") == before
    await _append(three.audit_log, audit_entry(5))
    assert (await three.audit_log.verify()).records == 4


@pytest.mark.contract("R5P-4")
@pytest.mark.parametrize(
    ("statements", "broken"),
    [
        (["UPDATE validations SET validation_status = 'PASSED' WHERE run_id = 'run-2'"], (2, "run-2", CHANGED)),
        (["UPDATE validations SET failure_reason = NULL WHERE run_id = 'run-1'"], (1, "run-1", CHANGED)),
        (["UPDATE validations SET timestamp_utc = timestamp_utc + '1 microsecond'"], (1, "run-1", CHANGED)),
        (["UPDATE validations SET timestamp_utc = 'infinity' WHERE position = 3"], (3, "run-3", CHANGED)),
        (["UPDATE validations SET validated_citations = '{C0}' WHERE position = 2"], (2, "run-2", CHANGED)),
        (
            ["UPDATE validations SET attribution_coverage = 'NaN' WHERE position = 2"],
            (2, "run-2", "one of its columns holds a number that is none"),
        ),
        (["DELETE FROM validations WHERE run_id = 'run-2'"], (3, "run-3", "position 2 is missing before it")),
        (["DELETE FROM validations WHERE run_id = 'run-1'"], (2, "run-2", "position 1 is missing before it")),
        (["DELETE FROM validations WHERE run_id = 'run-3'"], (3, None, "the last 1 records are missing")),
        (["DELETE FROM validations"], (1, None, "the last 3 records are missing")),
        (["UPDATE validations SET row_hash = repeat('a', 64) WHERE position = 1"], (1, "run-1", CHANGED)),
        (
            [
                "UPDATE validations SET position = 9 WHERE position = 2",
                "UPDATE validations SET position = 2 WHERE position = 3",
                "UPDATE validations SET position = 3 WHERE position = 9",
            ],
            (2, "run-3", "its previous_hash is not the row_hash of the record before it"),
        ),
        (
            [
                "ALTER TABLE validations DROP CONSTRAINT validations_chained",
                "UPDATE validations SET position = NULL WHERE position = 2",
            ],
            (3, "run-3", "position 2 is missing before it"),
        ),
        (["UPDATE validations SET position = -1 WHERE position = 3"], (3, None, "the last 1 records are missing")),
    ],
    ids=lambda value: value[-1][:60] if isinstance(value, list) else "",
)  # fmt: skip
async def test_whatever_is_touched_is_named(
    three: Services, database: str, statements: list[str], broken: tuple[int, str | None, str]
) -> None:
    assert (await three.audit_log.verify()).broken is None
    _tamper(database, *statements)
    report = await three.audit_log.verify()
    assert report.broken == BrokenRow(*broken)
    assert report.records == report.end.position < broken[0]


@pytest.mark.contract("R5P-4")
async def test_a_last_record_that_was_written_anew_does_not_fit_the_head(three: Services, database: str) -> None:
    *_, last = await three.audit_log.find_records("run-3")
    forged = last.columns | {"failure_reason": None}
    digest = record_hash(forged, str(last.previous_hash))
    _tamper(database, f"UPDATE validations SET failure_reason = NULL, row_hash = '{digest}' WHERE position = 3")
    report = await three.audit_log.verify()
    assert report.broken is not None
    assert (report.broken.position, report.broken.run_id) == (3, None)
    assert str(last.row_hash) in report.broken.finding


@pytest.mark.contract("R5P-4")
async def test_a_record_beside_the_chain_is_found(three: Services, database: str) -> None:
    _tamper(
        database,
        "ALTER TABLE validations DROP CONSTRAINT validations_chained",
        "CREATE TEMP TABLE forged AS SELECT * FROM validations WHERE position = 1",
        "UPDATE forged SET run_id = 'forged', position = NULL",
        "INSERT INTO validations SELECT * FROM forged",
    )
    report = await three.audit_log.verify()
    assert report.broken == BrokenRow(0, None, "1 records have no place in the chain; 0 should")


@pytest.mark.contract("R5P-4")
@pytest.mark.parametrize("statement", ["DELETE FROM audit_head", "TRUNCATE audit_head"])
async def test_the_end_of_the_chain_cannot_be_removed(three: Services, database: str, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        rows(database, statement)


@pytest.mark.contract("R5P-6")
async def test_no_answer_is_released_where_the_chain_has_lost_its_end(
    engine: Engine, library: str, caplog: pytest.LogCaptureFixture
) -> None:
    _tamper(library, "DELETE FROM audit_head")
    response = await engine.ask({"question": ANSWERED})
    assert (response.status, response.failure_code, response.answer) == ("FAILED", "AUDIT_UNAVAILABLE", "")
    assert "audit_head" in caplog.text
    with pytest.raises(StoreError) as raised:
        await engine._services.audit_log.verify()
    assert raised.value.failure_code == "AUDIT_HEAD_MISSING"


@pytest.fixture
async def before_the_chain(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with one record, which was written before there was a chain, brought up to date since."""
    earlier = list_migrations()[:2]
    with monkeypatch.context() as patch:
        patch.setattr("sourcebound.store.connection.migrations.list_migrations", lambda: earlier)
        async with open_pool(empty_database, max_size=1) as pool:
            await migrate(pool)
    columns = audit_columns(audit_entry(0))
    names = ", ".join(columns)
    values = ", ".join(f"%({name})s" for name in columns)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(f"INSERT INTO validations ({names}) VALUES ({values})".encode(), columns)
    async with open_pool(empty_database, max_size=1) as pool:
        await migrate(pool)
    return empty_database


@pytest.mark.contract("R5P-4")
async def test_the_chain_begins_after_the_records_that_were_there(before_the_chain: str) -> None:
    async with open_services(settings_for(before_the_chain)) as services:
        await _append(services.audit_log, audit_entry(0), audit_entry(1))
        assert [(row.position, row.columns["run_id"]) for row in await services.audit_log.find_records("run-")] == [
            (1, "run-1"),
            (None, "run-0"),
        ]
        report = await services.audit_log.verify()
    assert (report.records, report.unchained, report.broken) == (1, 1, None)


@pytest.mark.contract("R5P-3")
@pytest.mark.contract("R5P-4")
async def test_erasing_a_run_erases_its_texts_and_leaves_the_record_and_the_chain(
    engine: Engine, library_services: Services, library: str
) -> None:
    kept = await engine.ask({"question": ANSWERED})
    erased = await engine.ask({"question": PERSONAL})
    before = _stored(library)
    assert tables_with(library, "Featherstonehaugh") >= {"run_texts", "checkpoint_blobs"}
    await engine.erase(erased.run_id, erased.run_id)
    assert tables_with(library, "Featherstonehaugh") == set()
    assert _stored(library) == before
    report = await library_services.audit_log.verify()
    assert (report.records, report.broken) == (2, None)
    assert {run.run_id: run.question for run in await library_services.run_log.list_runs(5)} == {
        kept.run_id: ANSWERED,
        erased.run_id: None,
    }
    assert (await engine.state(kept.run_id), await engine.state(erased.run_id))[1] == {}
    assert await library_services.run_log.erase(kept.run_id, kept.run_id)
    assert not await library_services.run_log.erase(kept.run_id, kept.run_id)


@pytest.mark.contract("R5P-3")
@pytest.mark.contract("R5-12")
async def test_the_texts_of_every_attempt_are_kept_and_erased(services: Services, database: str) -> None:
    asked = run(run_id="run-1", request_id="request-1")
    await services.run_log.begin(asked)
    for attempt, (raw, validated) in enumerate([("rejected", ""), ("released", "released")], 1):
        for _ in range(2):
            await services.audit_log.append(audit_entry(1, attempt=attempt), asked, raw, validated)
    kept = rows(database, "SELECT attempt, raw_model_text, validated_answer_text FROM run_texts ORDER BY attempt")
    assert kept == [(1, "rejected", None), (2, "released", "released")]
    assert [summary.question for summary in await services.run_log.list_runs(5)] == [asked.question]
    assert [summary.question for summary in await services.run_log.find_runs("run-1")] == [asked.question]
    assert await services.run_log.erase("run-1", asked.thread_id)
    assert rows(database, "SELECT * FROM run_texts") == []
    report = await services.audit_log.verify()
    assert (report.records, report.broken) == (2, None)

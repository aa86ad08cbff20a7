"""R5P over PostgreSQL: one append-only row a run, text apart from it, and no answer without it."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import AsyncMock
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from sourcebound.contracts.audit.digests import salted_digest
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import RunContext
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.wiring import Services, find_policy, open_services
from support.builders import bundle, generation
from support.fakes import FakeModel
from support.processes.databases import PASSWORD, rows, settings_for, url_of_role

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
UNSUPPORTED = "The shaft is turned by hand every 99 weeks [C0]."


def _rows(url: str, table: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        statement = sql.SQL("SELECT * FROM {} ORDER BY run_id").format(sql.Identifier(table))
        return connection.execute(statement).fetchall()


def _row(url: str, table: str) -> dict[str, Any]:
    (row,) = _rows(url, table)
    return row


def _say(monkeypatch: pytest.MonkeyPatch, text: str) -> FakeModel:
    """Makes the generator say one thing."""
    model = FakeModel(generation(text))
    monkeypatch.setattr(Models, "open", AsyncMock(return_value=model))
    return model


async def _state(engine: Engine, response: PublicResponse) -> dict[str, Any]:
    return dict(await engine.state(response.run_id))


@pytest.mark.contract("R5P-1")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE validations SET failure_reason = NULL",
        "UPDATE validations SET validation_status = 'PASSED' WHERE run_id <> ''",
        "DELETE FROM validations",
        "TRUNCATE validations",
        "TRUNCATE validations, runs CASCADE",
        "INSERT INTO validations SELECT * FROM validations "
        "ON CONFLICT (request_id, run_id, attempt) DO UPDATE SET model_name = 'another'",
    ],
)
async def test_the_database_itself_refuses_to_change_a_record(engine: Engine, library: str, statement: str) -> None:
    await engine.ask({"question": ANSWERED})
    before = _row(library, "validations")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        rows(library, statement)
    assert _row(library, "validations") == before


@pytest.fixture
async def recorded(engine: Engine, library_services: Services) -> tuple[AuditRecord, Run]:
    """The record of a run that was answered, and the run."""
    state = await _state(engine, await engine.ask({"question": ANSWERED}))
    return AuditRecord.model_validate(state["audit"]), Run.model_validate(state["run"])


@pytest.mark.contract("R5P-1")
async def test_the_same_record_again_changes_nothing(
    library_services: Services, library: str, recorded: tuple[AuditRecord, Run]
) -> None:
    record, run = recorded
    before = [_row(library, table) for table in ("validations", "runs", "run_texts")]
    later = record.model_copy(update={"timestamp_utc": "2031-01-01T00:00:00+00:00"})
    await library_services.audit_log.append(later, run, "another text", "another text")
    assert [_row(library, table) for table in ("validations", "runs", "run_texts")] == before


@pytest.mark.contract("R5P-1")
@pytest.mark.parametrize(
    "change",
    [
        {"failure_reason": FailureCode.EMPTY_ANSWER},
        {"validated_citations": ("C9",)},
        {"llm_latency_ms": 1.0},
        {"prompt_sha256": None},
    ],
)
async def test_another_record_of_the_same_run_is_a_conflict(
    library_services: Services, library: str, recorded: tuple[AuditRecord, Run], change: dict[str, Any]
) -> None:
    record, run = recorded
    before = [_row(library, table) for table in ("validations", "runs", "run_texts")]
    with pytest.raises(StoreError) as raised:
        await library_services.audit_log.append(record.model_copy(update=change), run, "", "")
    assert raised.value.failure_code == "AUDIT_CONFLICT"
    assert next(iter(change)) in raised.value.message
    assert [_row(library, table) for table in ("validations", "runs", "run_texts")] == before


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("S-2")
async def test_every_outcome_has_one_record(engine: Engine, library: str) -> None:
    answered = await engine.ask({"question": ANSWERED, "request_id": "mine"})
    refused = await engine.ask({"question": OFF_TOPIC})
    failed = await engine.ask({"retrieval_bundle": bundle([])})
    unacceptable = await engine.ask({"question": "  "})
    responses = [answered, refused, failed, unacceptable]
    assert [response.status.value for response in responses] == ["OK", "NO_EVIDENCE", "FAILED", "FAILED"]
    recorded = {(row["request_id"], row["run_id"], row["generation_status"]) for row in _rows(library, "validations")}
    assert recorded == {(response.request_id, response.run_id, response.status.value) for response in responses}
    closed = {(row["run_id"], row["status"], row["reason"]) for row in _rows(library, "runs")}
    assert closed == {(r.run_id, r.status.value, r.failure_code or r.refusal_code) for r in responses}
    assert all(row["finished_at"] for row in _rows(library, "runs"))
    assert (answered.request_id, failed.request_id) == ("mine", "request-1")
    assert all(row["thread_id"] == row["run_id"] for row in _rows(library, "runs"))


@pytest.mark.contract("R5P-2")
@pytest.mark.contract("P-2")
async def test_the_record_of_an_answer_holds_every_figure(
    library_services: Services, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (await Engine(library_services).ask({"question": ANSWERED})).answer
    _say(monkeypatch, text)
    engine = Engine(library_services)
    response = await engine.ask({"question": ANSWERED})
    state = await _state(engine, response)
    (row,) = [row for row in _rows(library, "validations") if row["run_id"] == response.run_id]
    policy, salt = find_policy("SOURCEBOUND_V2", embedding_model=None), state["run"]["salt"]
    assert row.pop("timestamp_utc").isoformat() >= state["run"]["started_at"]
    assert (row.pop("position"), len(row.pop("previous_hash")), len(row.pop("row_hash"))) == (2, 64, 64)
    assert row == {
        "request_id": response.request_id,
        "run_id": response.run_id,
        "thread_id": state["run"]["thread_id"],
        "attempt": 1,
        "generation_status": "OK",
        "validation_status": "PASSED",
        "failure_reason": None,
        "refusal_code": None,
        "refusal_source": None,
        **state["validation"]["grounding_metrics"],
        "validated_citations": [citation.anchor for citation in response.citations],
        "model_name": "model-1-2024-03-03",
        "response_id": "response-1",
        "prompt_sha256": state["prompt"]["prompt_sha256"],
        "retrieval_latency_ms": state["retrieval"]["retrieval_latency_ms"],
        "llm_latency_ms": 12.5,
        "prompt_tokens": 300,
        "completion_tokens": 20,
        "total_tokens": 320,
        "embedding_model": state["retrieval"]["embedding_model"],
        "index_version": state["retrieval"]["index_version"],
        "policy_version": "SOURCEBOUND_V2",
        "policy_sha256": policy.sha256,
        "support_level": response.support_level,
        "run_digest": salted_digest(salt, state["run"]),
        "question_digest": salted_digest(salt, ANSWERED),
        "raw_text_digest": salted_digest(salt, text),
        "answer_digest": salted_digest(salt, text),
        "evidence_digest": salted_digest(salt, state["assembly"]["selected_evidence"]),
        "generation_digest": salted_digest(salt, {"generation": state["generation"]}),
        "evidence_supplied_by_hand": None,
    }
    assert row["citation_count"] == text.count("[C")
    assert row["attribution_coverage"] == 1.0


@pytest.mark.contract("R5P-2")
async def test_the_record_of_a_refusal_by_the_gate_says_that_no_model_was_asked(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": OFF_TOPIC})
    row = _row(library, "validations")
    assert (row["refusal_code"], row["refusal_source"]) == ("below_similarity_gate", "GATE")
    assert (row["generation_status"], row["validation_status"]) == ("NO_EVIDENCE", "NOT_RUN")
    model_columns = (
        "prompt_sha256",
        "response_id",
        "llm_latency_ms",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
    )
    assert [row[column] for column in model_columns] == [None] * 6
    assert row["index_version"].startswith("ix-")
    assert response.answer == REFUSAL


@pytest.mark.contract("R5P-2")
@pytest.mark.contract("R5-2")
async def test_the_record_of_a_refusal_by_the_model_says_so(
    library_services: Services, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(monkeypatch, REFUSAL)
    response = await Engine(library_services).ask({"question": ANSWERED})
    row = _row(library, "validations")
    assert (row["refusal_code"], row["refusal_source"], row["refusal_detected"]) == ("model_refused", "MODEL", True)
    assert (row["generation_status"], row["validation_status"]) == ("NO_EVIDENCE", "PASSED")
    assert (response.answer, response.citations) == (REFUSAL, ())


@pytest.mark.contract("R5-13")
@pytest.mark.contract("R5P-3")
async def test_a_rejected_answer_is_kept_as_raw_text_only_and_is_not_released(
    library_services: Services, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(monkeypatch, UNSUPPORTED)
    response = await Engine(library_services).ask({"question": ANSWERED}, RunContext(policy="SOURCEBOUND_V1"))
    assert (response.status, response.failure_code) == ("FAILED", "UNSUPPORTED_LITERAL")
    assert (response.answer, response.citations, response.token_usage.total) == ("", (), 320)
    texts, row = _row(library, "run_texts"), _row(library, "validations")
    assert (texts["raw_model_text"], texts["validated_answer_text"]) == (UNSUPPORTED, None)
    assert (row["validation_status"], row["failure_reason"]) == ("FAILED", "UNSUPPORTED_LITERAL")
    assert (row["unsupported_literal_count"], row["validated_citations"]) == (1, [])


@pytest.mark.contract("R5P-3")
async def test_text_that_can_be_personal_is_in_the_erasable_table_only(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": ANSWERED})
    texts = _row(library, "run_texts")
    assert texts["question"] == ANSWERED
    assert texts["raw_model_text"] == texts["validated_answer_text"] == response.answer
    for table in ("validations", "runs"):
        shown = repr(_row(library, table)).casefold()
        found = [word for word in ("shaft", "turned", "stored", "14 days") if word in shown]
        assert found == [], table


@pytest.mark.contract("R5P-3")
async def test_erasing_the_texts_leaves_the_record_and_the_list_of_runs(
    engine: Engine, library_services: Services, library: str
) -> None:
    await engine.ask({"question": ANSWERED})
    before = _row(library, "validations")
    rows(library, "DELETE FROM run_texts")
    assert _row(library, "validations") == before
    (run,) = await library_services.run_log.list_runs(5)
    assert (run.question, run.status) == (None, "OK")


@pytest.fixture
def reader(library: str) -> Iterator[str]:
    """The library for an account that may do everything but add to the record."""
    name = f"reader_{uuid4().hex[:8]}"
    role = sql.Identifier(name)
    with psycopg.connect(library, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, PASSWORD))
        connection.execute(
            sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}").format(role)
        )
        yield url_of_role(library, name)
        connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
        connection.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.mark.contract("R5P-6")
async def test_no_answer_is_released_where_the_account_may_not_add_a_record(
    reader: str, library: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_services(settings_for(reader)) as services:
        response = await Engine(services).ask({"question": ANSWERED})
    _check_withheld(response, library)
    assert "permission denied for function lock_audit_head" in caplog.text
    assert "permission denied" not in response.message
    assert _rows(library, "validations") == []


@pytest.mark.contract("R5P-6")
async def test_no_answer_is_released_where_the_table_is_gone(engine: Engine, library: str) -> None:
    rows(library, "DROP TABLE validations")
    _check_withheld(await engine.ask({"question": ANSWERED}), library)


@pytest.mark.contract("R5P-6")
async def test_no_answer_is_released_where_the_record_is_refused(engine: Engine, library: str) -> None:
    rows(library, "ALTER TABLE validations ADD CHECK (citation_count < 0)")
    _check_withheld(await engine.ask({"question": ANSWERED}), library)


def _check_withheld(response: PublicResponse, library: str) -> None:
    assert (response.status, response.failure_code) == ("FAILED", "AUDIT_UNAVAILABLE")
    assert (response.answer, response.citations, response.support_level) == ("", (), None)
    assert [(row["status"], row["reason"]) for row in _rows(library, "runs")] == [("FAILED", "AUDIT_UNAVAILABLE")]
    assert _rows(library, "run_texts") == []

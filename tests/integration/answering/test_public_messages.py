"""S-5: what a fault tells the public names no address, variable, path or database error; the operator's log does."""

import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from sourcebound.contracts.state import RunContext
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.nodes._faults import PUBLIC_MESSAGES
from support.builders import SEAL, bundle, row
from support.processes.databases import rows, settings_for
from support.processes.model_servers import Fault, ModelServer

EVIDENCE = bundle([row(0, chunk_text=SEAL)], policy_version=None)
KEY = "sk-hidden-0123456789"
INTERNALS = (
    "127.0.0.1",
    "localhost",
    "http",
    "OPENAI",
    "OLLAMA",
    "DATABASE_URL",
    "permission denied",
    "/v1",
    "ollama serve",
)
"""What only the operator may read."""
MODES: list[Any] = ["values", "updates", "custom", "messages", "tasks", "checkpoints", "debug"]


@pytest.fixture
async def engine(database: str, model_server: ModelServer) -> AsyncIterator[Engine]:
    settings = settings_for(database, openai_base_url=model_server.openai_url, openai_api_key=SecretStr(KEY))
    async with Engine.open(settings) as engine:
        yield engine


async def _public(engine: Engine, database: str, run_id: str) -> str:
    """Everything of a run that leaves for others: its state, its texts, its audit row and its page of the list."""
    state = await engine.state(run_id, run_id)
    stored = [rows(database, f"SELECT row_to_json(t)::text FROM {table} t") for table in ("validations", "run_texts")]
    return json.dumps([{**state, "retrieval_bundle": None}, stored], default=str)


FAULTS = {
    "key refused": (Fault.UNAUTHORISED, "MODEL_REJECTED", "set OPENAI_API_KEY"),
    "no such page": (Fault.UNKNOWN_MODEL, "MODEL_REJECTED", "HTTP status 404"),
    "request refused": (Fault.BAD_REQUEST, "MODEL_REJECTED", "HTTP status 400"),
    "server fails": (Fault.SERVER_ERROR, "MODEL_UNAVAILABLE", "HTTP status 500"),
    "too many": (Fault.RATE_LIMITED, "MODEL_RATE_LIMITED", "HTTP status 429"),
    "closed": (Fault.RESET_BEFORE, "MODEL_UNAVAILABLE", "cannot be reached"),
    "not JSON": (Fault.INVALID_JSON, "MODEL_UNAVAILABLE", "does not follow the protocol"),
}


@pytest.mark.contract("S-5")
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_a_model_is_public_without_internals(
    engine: Engine, database: str, model_server: ModelServer, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    fault, code, detail = FAULTS[name]
    model_server.always = fault
    response = await engine.ask({"retrieval_bundle": EVIDENCE}, RunContext(model="openai:gpt-4.1"))
    assert (response.failure_code, response.message) == (code, PUBLIC_MESSAGES[response.failure_code])  # type: ignore[index]
    public = response.model_dump_json() + await _public(engine, database, response.run_id)
    assert [part for part in (*INTERNALS, KEY) if part in public] == []
    assert response.run_id in caplog.text
    assert detail in caplog.text
    assert KEY not in caplog.text


@pytest.mark.contract("S-5")
@pytest.mark.contract("CP-12")
async def test_no_stream_carries_the_details_of_a_fault(
    engine: Engine, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model_server.always = Fault.UNAUTHORISED
    context = RunContext(model="openai:gpt-4.1")
    for mode in MODES:
        parts = engine.graph.astream({"retrieval_bundle": EVIDENCE}, context=context, stream_mode=mode)
        text = str([part async for part in parts])
        assert [part for part in (*INTERNALS, KEY) if part in text] == [], mode
    assert caplog.text.count("set OPENAI_API_KEY") == len(MODES)


@pytest.mark.contract("S-5")
@pytest.mark.contract("R5P-6")
async def test_a_refusal_of_the_database_is_public_without_its_words(
    engine: Engine, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER TABLE validations RENAME COLUMN row_hash TO row_hash_of_yesterday"))
    response = await engine.ask({"retrieval_bundle": EVIDENCE}, RunContext(model="extractive"))
    assert (response.failure_code, response.answer) == ("AUDIT_UNAVAILABLE", "")
    assert response.message == PUBLIC_MESSAGES[response.failure_code]  # type: ignore[index]
    assert "row_hash" not in response.model_dump_json()
    assert "row_hash" in caplog.text
    assert response.run_id in caplog.text


@pytest.mark.contract("S-5")
async def test_an_error_without_a_run_keeps_the_words_of_the_database_apart() -> None:
    with pytest.raises(StoreError) as raised:
        async with Engine.open(settings_for("postgresql://somebody:hidden-password@127.0.0.1:1/nowhere")):
            pass
    assert "127.0.0.1" not in str(raised.value)
    assert "127.0.0.1" in raised.value.detail
    assert "hidden-password" not in raised.value.detail

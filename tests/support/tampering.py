"""Changes that an owner of a database can make to the run `run-2`, with the triggers switched off."""

from collections.abc import Callable
from typing import Any, cast

import psycopg
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import dict_row

from sourcebound.contracts.state import State
from sourcebound.nodes.package import package
from sourcebound.nodes.validate import validate

RUNS = ["run-1", "run-2", "run-3"]
SERIALIZER = JsonPlusSerializer()
Connection = psycopg.Connection[Any]


def _read_channel(connection: Connection, channel: str) -> Any:
    found = connection.execute(
        "SELECT type, blob FROM checkpoint_blobs WHERE thread_id = 'run-2' AND channel = %s "
        "ORDER BY version DESC LIMIT 1",
        (channel,),
    ).fetchone()
    assert found is not None
    return SERIALIZER.loads_typed((found["type"], found["blob"]))


def _write_channel(connection: Connection, channel: str, value: object) -> None:
    kind, blob = SERIALIZER.dumps_typed(value)
    connection.execute(
        "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = 'run-2' AND channel = %s",
        (kind, blob, channel),
    )


def edit(channel: str, change: Callable[[Any], Any]) -> Callable[[Connection], None]:
    """Change a channel of the run's state in every checkpoint."""
    return lambda connection: _write_channel(connection, channel, change(_read_channel(connection, channel)))


def set_values(**values: Any) -> Callable[[Any], Any]:
    return lambda channel: {**channel, **values}


def run_sql(statement: str) -> Callable[[Connection], None]:
    def execute(connection: Connection) -> None:
        assert connection.execute(statement.encode()).rowcount > 0

    return execute


async def forged(connection: Connection) -> None:
    """Invert the released answer everywhere, with the nodes of the product, as a forger would."""
    generation = _read_channel(connection, "generation")
    raw = generation["raw_model_text"]
    text = raw.replace("Check", "Never check", 1) if "Check" in raw else raw.replace(" is ", " is never ", 1)
    assert text != raw
    channels = ["run", "policy", "retrieval", "assembly", "prompt", "outcome", "audit"]
    state = {name: _read_channel(connection, name) for name in channels}
    state["generation"] = {**generation, "raw_model_text": text}
    state |= await validate(cast("State", state))
    state |= await package(cast("State", state))
    for name in ("generation", "validation", "response"):
        _write_channel(connection, name, state[name])
    connection.execute(
        "UPDATE run_texts SET raw_model_text = %s, validated_answer_text = %s WHERE run_id = 'run-2'",
        (text, state["validation"]["validated_answer_text"]),
    )


def _other_evidence(assembly: Any) -> Any:
    chunk = {**assembly["selected_evidence"][0], "page_number": 99}
    return {**assembly, "selected_evidence": [chunk]}


CHANGES: dict[str, Any] = {
    "status": run_sql("UPDATE runs SET status = 'NO_EVIDENCE' WHERE run_id = 'run-2'"),
    "reason": run_sql("UPDATE runs SET reason = 'model_refused' WHERE run_id = 'run-2'"),
    "model": run_sql("UPDATE runs SET model = 'openai:gpt-5' WHERE run_id = 'run-2'"),
    "policy": run_sql("UPDATE runs SET policy_version = 'OTHER_V1' WHERE run_id = 'run-2'"),
    "run deleted": run_sql("DELETE FROM runs WHERE run_id = 'run-2'"),
    "question": run_sql("UPDATE run_texts SET question = question || '?' WHERE run_id = 'run-2'"),
    "raw text": run_sql("UPDATE run_texts SET raw_model_text = 'Never. [C0]' WHERE run_id = 'run-2'"),
    "raw text gone": run_sql("UPDATE run_texts SET raw_model_text = NULL WHERE run_id = 'run-2'"),
    "answer": run_sql("UPDATE run_texts SET validated_answer_text = 'Never. [C0]' WHERE run_id = 'run-2'"),
    "salt": run_sql("UPDATE run_texts SET salt = repeat('0', 32) WHERE run_id = 'run-2'"),
    "salt gone": run_sql("UPDATE run_texts SET salt = NULL WHERE run_id = 'run-2'"),
    "texts deleted": run_sql("DELETE FROM run_texts WHERE run_id = 'run-2'"),
    "texts of no attempt": run_sql(
        "INSERT INTO run_texts SELECT run_id, question, raw_model_text, validated_answer_text, 2, salt FROM run_texts "
        "WHERE run_id = 'run-2'"
    ),
    "answer inverted everywhere": forged,
    "response": edit("response", set_values(answer="Never. [C0]")),
    "response refused": edit("response", set_values(status="NO_EVIDENCE")),
    "verdict": edit("validation", set_values(validated_answer_text="Never. [C0]")),
    "generation": edit("generation", set_values(raw_model_text="Never. [C0]")),
    "evidence": edit("assembly", _other_evidence),
    "identity": edit("run", set_values(model="openai:gpt-5")),
    "start": edit("run", set_values(started_at="2020-01-01T00:00:00+00:00")),
    "salt of the state": edit("run", set_values(salt="0" * 32)),
    "attempts": edit("generation", lambda _: None),
    "checkpoints deleted": run_sql("DELETE FROM checkpoints WHERE thread_id = 'run-2'"),
    "values deleted": run_sql("DELETE FROM checkpoint_blobs WHERE thread_id = 'run-2' AND channel = 'run'"),
    "checkpoint poisoned": run_sql("UPDATE checkpoint_blobs SET type = 'pickle' WHERE thread_id = 'run-2'"),
    "faked pruning of an altered run": run_sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2'), altered AS (UPDATE run_texts SET "
        "validated_answer_text = 'Never. [C0]' WHERE run_id = 'run-2') "
        "UPDATE runs SET pruned_at = now() WHERE run_id = 'run-2'"
    ),
    "faked pruning": run_sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2') "
        "UPDATE runs SET pruned_at = now() WHERE run_id = 'run-2'"
    ),
    "faked erasure": run_sql(
        "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2'), "
        "texts AS (DELETE FROM run_texts WHERE run_id = 'run-2') "
        "UPDATE runs SET erased_at = now() WHERE run_id = 'run-2'"
    ),
}


def owner(database: str) -> Connection:
    """Connect as the owner of the database can: no trigger fires."""
    connection: Connection = psycopg.connect(database, row_factory=dict_row)
    connection.execute("SET session_replication_role = replica")
    return connection

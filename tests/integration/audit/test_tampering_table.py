"""Every kind of tampering by an owner of the database, in one table: the command that finds it, and the row it names.

`docs/security.md` shows the table. Triggers are switched off, as an owner can.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

import pytest

from sourcebound.contracts.replay.report import VERIFIED, NotReplayable
from sourcebound.contracts.state import AskInput
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import verify_history
from sourcebound.graph.replay.record_check import check_runs
from sourcebound.ingest.chunking.searchable_text import further_words
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.search.contents import ContentsCheck
from support.processes.databases import COLLECTION, settings_for
from support.replaying import ANSWERED
from support.tampering import CHANGES, RUNS, Connection, edit, owner, run_sql

AUDIT: Final = "audit verify"
REPLAY: Final = "replay verify --all"
CONTENTS: Final = "index check --contents"
DOCUMENT: Final = "hp-300-manual-rev-a.pdf"
FIRST: Final = f"ordinal = 0 AND document_id = (SELECT document_id FROM documents WHERE knowledge_id = '{DOCUMENT}')"
ROW: Final = "WHERE run_id = 'run-2'"


class Tampering(NamedTuple):
    """A change, the command that finds it, and what the command names."""

    change: Callable[[Connection], Any]
    found_by: str
    named: str


def _first_candidate(**values: Any) -> Callable[[Any], Any]:
    def change(retrieval: Any) -> Any:
        first, *others = retrieval["results"]
        return {**retrieval, "results": [{**first, **values}, *others]}

    return change


def _last_candidate(retrieval: Any) -> Any:
    *others, last = retrieval["results"]
    return {**retrieval, "results": [*others, {**last, "title": "Another"}]}


TABLE: Final = {
    **{name: Tampering(change, AUDIT, "run-2") for name, change in CHANGES.items()},
    "audit row altered": Tampering(run_sql(f"UPDATE validations SET model_name = 'x' {ROW}"), AUDIT, "run-2"),
    "audit row marked as edited": Tampering(
        run_sql(f"UPDATE validations SET evidence_supplied_by_hand = true {ROW}"), AUDIT, "run-2"
    ),
    "audit row deleted": Tampering(run_sql(f"DELETE FROM validations {ROW}"), AUDIT, "run-2"),
    "last audit row deleted": Tampering(
        run_sql("DELETE FROM validations WHERE run_id = 'run-3'"), AUDIT, "the last 1 records are missing"
    ),
    "audit row moved": Tampering(run_sql(f"UPDATE validations SET position = 9 {ROW}"), AUDIT, "run-3"),
    "head of the chain altered": Tampering(run_sql("UPDATE audit_head SET position = 9"), AUDIT, "records are missing"),
    "faked pruning": Tampering(
        run_sql(
            f"WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2') UPDATE runs SET pruned_at = now() {ROW}"
        ),
        AUDIT,
        "run-2",
    ),
    "faked erasure": Tampering(
        run_sql(
            "WITH gone AS (DELETE FROM checkpoints WHERE thread_id = 'run-2'), "
            f"texts AS (DELETE FROM run_texts {ROW}) UPDATE runs SET erased_at = now() {ROW}"
        ),
        AUDIT,
        "run-2",
    ),
    "run said to be replaced": Tampering(run_sql(f"UPDATE runs SET status = 'REPLACED' {ROW}"), AUDIT, "run-2"),
    "run said to be cancelled": Tampering(run_sql(f"UPDATE runs SET status = 'CANCELLED' {ROW}"), AUDIT, "run-2"),
    "collection of a run": Tampering(run_sql(f"UPDATE runs SET collection = 'x' {ROW}"), AUDIT, "run-2"),
    "labels of a run's caller": Tampering(run_sql(f"UPDATE runs SET caller_labels = '{{qa}}' {ROW}"), AUDIT, "run-2"),
    "conversation of a run": Tampering(
        run_sql(f"UPDATE runs SET conversation_id = NULL, ordinal = NULL {ROW}"), AUDIT, "run-2"
    ),
    "question in a conversation": Tampering(
        run_sql(f"UPDATE turn_texts SET question = question || '?' {ROW}"), AUDIT, "run-2"
    ),
    "search query in a conversation": Tampering(
        run_sql(f"UPDATE turn_texts SET search_query = 'oil' {ROW}"), AUDIT, "run-2"
    ),
    "answer that a resumed run would take": Tampering(
        run_sql(
            "UPDATE model_answers SET generation = "
            f"jsonb_set(generation::jsonb, '{{raw_model_text}}', '\"Never. [C0]\"')::json {ROW}"
        ),
        AUDIT,
        "run-2",
    ),
    "selected candidate": Tampering(edit("retrieval", _first_candidate(chunk_text="Never.")), REPLAY, "run-2"),
    "candidate that was not selected": Tampering(edit("retrieval", _last_candidate), REPLAY, "run-2"),
    "prompt": Tampering(edit("prompt", lambda prompt: {**prompt, "prompt_tokens": 1}), REPLAY, "run-2"),
    "policy": Tampering(edit("policy", lambda policy: {**policy, "description": "x"}), REPLAY, "run-2"),
    "versions": Tampering(edit("run", lambda run: {**run, "made_by": None}), REPLAY, "run-2"),
    "request": Tampering(edit("__start__", lambda request: {**request, "question": "Why?"}), REPLAY, "run-2"),
    "last checkpoint deleted": Tampering(
        run_sql(
            "DELETE FROM checkpoints WHERE thread_id = 'run-2' AND checkpoint_id = "
            "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'run-2')"
        ),
        REPLAY,
        "run-2",
    ),
    "chunk": Tampering(run_sql(f"UPDATE chunks SET text = text || ' Never.' WHERE {FIRST}"), CONTENTS, DOCUMENT),
    "place of a chunk": Tampering(run_sql(f"UPDATE chunks SET page_number = 99 WHERE {FIRST}"), CONTENTS, DOCUMENT),
    "chunk deleted": Tampering(run_sql(f"DELETE FROM chunks WHERE {FIRST}"), CONTENTS, DOCUMENT),
    "title of a document": Tampering(
        run_sql(f"UPDATE documents SET title = 'x' WHERE knowledge_id = '{DOCUMENT}'"), CONTENTS, DOCUMENT
    ),
    "page": Tampering(
        run_sql(
            "UPDATE pages SET text = 'x' WHERE document_id = "
            f"(SELECT document_id FROM documents WHERE knowledge_id = '{DOCUMENT}') AND page_index = 0"
        ),
        CONTENTS,
        DOCUMENT,
    ),
    "document deleted": Tampering(
        run_sql(f"DELETE FROM documents WHERE knowledge_id = '{DOCUMENT}'"), CONTENTS, "INDEX_VERSION_ALTERED"
    ),
    "posting": Tampering(run_sql("UPDATE lexemes SET chunks = chunks + 1 WHERE lexeme = 'torqu'"), CONTENTS, "torqu"),
}


@pytest.fixture
async def asked(library: str, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    """Three answered runs of one conversation over a collection."""
    async with Engine.open(settings_for(library)) as engine:
        engine._services._embedders["minilm"] = minilm
        talk = await engine.start_conversation()
        for run_id in RUNS:
            response = await engine.ask(AskInput(question=ANSWERED, run_id=run_id, conversation_id=talk))
            assert response.status.value == "OK"
        yield engine


async def _find(engine: Engine, command: str) -> list[str]:
    """Return a line for each finding of a command."""
    services = engine._services
    if command == AUDIT:
        broken = (await services.audit_log.verify()).broken
        chain = [f"{broken.run_id} at {broken.position}: {broken.finding}"] if broken else []
        checks = [check async for check in check_runs(PostgresHistory(services.pool))]
        return chain + [f"{check.run_id}: {finding}" for check in checks for finding in check.findings]
    if command == REPLAY:
        results = [result async for result in verify_history(PostgresHistory(services.pool))]
        return [
            f"{result.run_id}: {result.code if isinstance(result, NotReplayable) else result.verdict}"
            for result in results
            if result.verdict not in VERIFIED
        ]
    collection = await services.index.find_collection(COLLECTION)
    assert collection is not None
    check = ContentsCheck(services.pool, collection, further_words)
    return [f"{finding.code} {finding.name}: {finding.found}" async for finding in check.run()]


def test_the_table_is_long_enough_and_has_every_command() -> None:
    assert len(TABLE) >= 30
    assert {tampering.found_by for tampering in TABLE.values()} == {AUDIT, REPLAY, CONTENTS}


@pytest.mark.contract("R5P-7")
@pytest.mark.contract("IX-3")
async def test_nothing_is_found_where_nothing_was_changed(asked: Engine) -> None:
    assert [await _find(asked, command) for command in (AUDIT, REPLAY, CONTENTS)] == [[], [], []]


@pytest.mark.contract("R5P-4")
@pytest.mark.contract("R5P-7")
@pytest.mark.contract("CP-3")
@pytest.mark.contract("IX-3")
@pytest.mark.parametrize("name", TABLE)
async def test_each_tampering_is_found_and_named(asked: Engine, library: str, name: str) -> None:
    change, found_by, named = TABLE[name]
    with owner(library) as connection:
        if (pending := change(connection)) is not None:
            await pending
    findings = await _find(asked, found_by)
    assert [finding for finding in findings if named in finding], findings
    others = [finding for finding in findings if "run-1:" in finding]
    assert others == []

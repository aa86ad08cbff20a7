"""IX-3: `index check --contents` and `doctor` as real processes over a database that its owner altered."""

import json
from pathlib import Path

import pytest

from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.schema_check import expected_objects, find_missing_objects, list_objects
from support.processes.commands import Finished, Program
from support.processes.databases import rows, single

FIRST = "SELECT chunk_id FROM chunks ORDER BY chunk_id LIMIT 1"
DROPPED = {
    "DROP TABLE chunks CASCADE": "table chunks",
    "DROP TABLE validations": "table validations",
    "DROP TABLE checkpoint_blobs": "table checkpoint_blobs",
    "DROP TABLE run_texts": "table run_texts",
    "ALTER TABLE documents DROP COLUMN contents_digest": "column documents.contents_digest bytea",
    "DROP INDEX chunks_document": "index chunks_document on chunks",
    "DROP TRIGGER chunks_added ON chunks": "trigger chunks_added on chunks calls count_added_chunks",
    "ALTER TABLE validations DISABLE TRIGGER validations_append_only": "trigger validations_append_only on validations",
    "ALTER TABLE validations DROP CONSTRAINT validations_pkey": "constraint validations_pkey on validations",
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'": (
        "function refuse_change"
    ),
}


@pytest.fixture
def program(library: str, tmp_path: Path) -> Program:
    return Program({"DATABASE_URL": library, "SOURCEBOUND_HOME": str(tmp_path)})


def _line(done: Finished, subject: str) -> str:
    return next(line for line in done.stdout.splitlines() if line[4:].startswith(subject))


async def test_the_list_of_objects_is_what_the_migrations_make(database: str) -> None:
    """If this fails after a new migration: `make schema-objects`."""
    async with open_pool(database, max_size=1) as pool:
        assert await list_objects(pool) == sorted(expected_objects())
        assert await find_missing_objects(pool) == []


@pytest.mark.contract("IX-3")
@pytest.mark.parametrize("statement", DROPPED)
def test_doctor_names_what_is_gone_from_the_schema(program: Program, library: str, statement: str) -> None:
    rows(library, statement)
    done = program("doctor")
    assert done.code == 1
    assert _line(done, "schema").startswith("NO  schema      gone or altered: ")
    assert DROPPED[statement] in _line(done, "schema")
    assert "Next: Restore the database from a backup" in done.stdout


@pytest.mark.contract("IX-3")
def test_doctor_finds_a_sound_database_sound(program: Program) -> None:
    done = program("doctor")
    assert done.code == 0, done.stdout
    assert _line(done, "schema").startswith("ok ")
    assert _line(done, "audit") == "ok  audit       the last 0 records match, up to position 0"
    assert _line(done, "contents").startswith("ok  contents    default: 9 of 9 documents are what was ingested")


@pytest.mark.contract("IX-3")
@pytest.mark.contract("R5P-4")
def test_doctor_recomputes_the_end_of_the_audit_chain(program: Program, library: str) -> None:
    for _ in range(2):
        program("ask", "How often is the filter changed?")
    assert "the last 2 records match, up to position 2" in _line(program("doctor"), "audit")
    rows(library, "ALTER TABLE validations DISABLE TRIGGER validations_append_only")
    rows(library, "UPDATE validations SET model_name = 'another' WHERE position = 2")
    rows(library, "ALTER TABLE validations ENABLE TRIGGER validations_append_only")
    done = program("doctor")
    assert done.code == 1
    assert _line(done, "audit").startswith("NO  audit       broken at position 2")


@pytest.mark.contract("IX-3")
def test_doctor_names_an_altered_chunk_of_its_sample(program: Program, library: str) -> None:
    chunk = single(library, FIRST)
    rows(library, "UPDATE chunks SET text = ' ' || text WHERE chunk_id = %s", chunk)
    done = program("doctor")
    assert done.code == 1
    assert f"{chunk} (CHUNK_ALTERED)" in _line(done, "contents")
    assert "Next: sourcebound index check --contents --collection default" in done.stdout


@pytest.mark.contract("IX-3")
def test_the_check_of_contents_says_that_everything_is_what_was_ingested(program: Program) -> None:
    done = program("index", "check", "--contents", "--vectors", "20")
    assert (done.code, done.stdout.count("\n")) == (0, 1), done.stderr
    assert done.stdout.endswith("chunks checked, everything is what was ingested\n")
    found = json.loads(program("index", "check", "--contents", "--json").stdout)
    assert (found["documents"], found["findings"]) == (9, [])


@pytest.mark.contract("IX-3")
@pytest.mark.contract("S-4")
def test_the_check_of_contents_names_each_finding_and_goes_on(program: Program, library: str) -> None:
    chunk = single(library, FIRST)
    rows(library, "UPDATE chunks SET text = ' ' || text, embedding = '[1]' WHERE chunk_id = %s", chunk)
    rows(library, "UPDATE lexemes SET chunks = chunks + 1 WHERE lexeme = 'torqu'")
    done = program("index", "check", "--contents")
    assert done.code == 1
    lines = [line.split(":")[0] for line in done.stdout.splitlines()]
    named = [f"CHUNK_ALTERED  {chunk}", f"CHUNK_MISPLACED  {chunk}", f"VECTOR_ALTERED  {chunk}"]
    assert lines[:-1] == [*named, "POSTINGS_ALTERED  torqu"]
    assert "4 findings" in done.stdout
    assert "Next: " in done.stderr
    found = program("index", "check", "--contents", "--json")
    assert found.code == 1
    assert len(json.loads(found.stdout)["findings"]) == 4


@pytest.mark.contract("IX-3")
def test_a_vector_of_another_text_is_found_by_embedding_again(program: Program, library: str) -> None:
    chunk = single(library, FIRST)
    other = "(SELECT embedding FROM chunks ORDER BY chunk_id DESC LIMIT 1)"
    rows(library, f"UPDATE chunks SET embedding = {other} WHERE chunk_id = %s", chunk)
    assert program("index", "check", "--contents").code == 0
    done = program("index", "check", "--contents", "--vectors", "1000")
    assert done.code == 1
    assert f"VECTOR_ALTERED  {chunk}" in done.stdout


@pytest.mark.contract("IX-3")
@pytest.mark.parametrize(
    ("statement", "code"),
    [("DROP TABLE chunks CASCADE", "SCHEMA_MISSING"), ("UPDATE chunks SET embedding = NULL", "INDEX_DAMAGED")],
)
def test_index_check_never_says_that_nothing_is_missed_where_vectors_are_gone(
    program: Program, library: str, statement: str, code: str
) -> None:
    assert "nothing is missed" in program("index", "check").stdout
    rows(library, statement)
    done = program("index", "check")
    assert (done.code, done.stdout) == (1, "")
    assert f"[{code}]" in done.stderr


def test_vectors_are_embedded_again_only_in_a_check_of_contents(program: Program) -> None:
    done = program("index", "check", "--vectors", "5")
    assert done.code == 2
    assert "--contents" in done.stderr

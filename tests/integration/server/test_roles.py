"""R5P-8: the role of the application answers questions, and can do nothing to the audit record but append to it."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from psycopg import errors

from sourcebound.contracts.audit.hash_chain import GENESIS
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.store.connection import migrations
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import Migration, list_migrations
from sourcebound.store.connection.rights import TABLE_RIGHTS, find_excess, grant_runtime
from sourcebound.wiring import open_services
from support.processes.commands import Program
from support.processes.databases import MANUALS, rows, settings_for, single

pytestmark = pytest.mark.contract("R5P-8")
QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
KEPT = ("validations", "audit_head", "removals", "model_certificates", "schema_migrations")
CORPUS = ("collections", "documents", "pages", "chunks", "lexemes", "postings", "vector_indexes")
FORBIDDEN = (
    "UPDATE validations SET generation_status = 'OK'",
    "UPDATE validations SET row_hash = row_hash",
    "UPDATE audit_head SET position = 0",
    "UPDATE removals SET kind = 'pruned'",
    "UPDATE model_certificates SET model = 'another'",
    "UPDATE schema_migrations SET sha256 = ''",
    *(f"DELETE FROM {table}" for table in (*KEPT, *CORPUS)),
    *(f"TRUNCATE {table}" for table in (*KEPT, *CORPUS, "runs", "run_texts", "checkpoints", "checkpoint_blobs")),
    *(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in (*KEPT, "chunks")),
    *(f"DROP TABLE {table}" for table in (*KEPT, "runs")),
    "DROP TRIGGER validations_append_only ON validations",
    "CREATE TRIGGER mine BEFORE INSERT ON validations FOR EACH ROW EXECUTE FUNCTION refuse_change()",
    "ALTER TABLE validations ADD COLUMN mine text",
    "INSERT INTO validations SELECT * FROM validations",
    "INSERT INTO removals VALUES (99, 'run', 'erased', now(), 'a', 'b')",
    "SELECT note_removals(ARRAY['run'], 'erased', ARRAY[now()])",
    "DROP FUNCTION append_validation(json)",
    "CREATE OR REPLACE FUNCTION append_validation(record json) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "ALTER FUNCTION append_validation(json) RESET search_path",
    "CREATE TABLE public.mine (number integer)",
    "SET session_replication_role = replica",
    "UPDATE runs SET erased_at = now()",
    "UPDATE runs SET pruned_at = now()",
    "UPDATE runs SET run_id = 'another'",
    "UPDATE run_texts SET validated_answer_text = 'another answer'",
    "DELETE FROM run_texts",
    "UPDATE chunks SET text = 'another text'",
    "INSERT INTO chunks OVERRIDING SYSTEM VALUE SELECT * FROM chunks",
    "UPDATE collections SET documents_digest = ''",
    "CREATE ROLE mine",
    "SET ROLE {owner}",
    "GRANT {owner} TO {role}",
    "COPY validations TO PROGRAM 'true'",
)


async def _ask(url: str) -> str:
    async with open_services(settings_for(url)) as services:
        response = await Engine(services).ask({"question": QUESTION})
    assert response.status == "OK", response
    return response.run_id


def _rows_of(url: str) -> list[object]:
    return [rows(url, f"SELECT * FROM {table} ORDER BY 1, 2") for table in (*KEPT, *CORPUS, "runs", "run_texts")]


def _role(url: str) -> str:
    return urlsplit(url).username or ""


async def test_the_application_may_do_nothing_but_append(application: str, library: str) -> None:
    await _ask(application)
    owner, before = single(library, "SELECT current_user"), _rows_of(library)
    for statement in FORBIDDEN:
        with pytest.raises(errors.InsufficientPrivilege, match=r"permission denied|must be owner"):
            rows(application, statement.replace("{owner}", owner).replace("{role}", _role(application)))
    assert _rows_of(library) == before


async def test_a_record_is_appended_only_at_the_end_of_the_chain(application: str, library: str) -> None:
    await _ask(application)
    stored = json.loads(single(library, "SELECT row_to_json(v)::text FROM validations v"))
    end = {"position": stored["position"] + 1, "previous_hash": stored["row_hash"], "row_hash": "1" * 64}
    for place in ({"previous_hash": GENESIS}, {"position": 7}, {"run_id": stored["run_id"]}):
        record = json.dumps({**stored, "run_id": "another", **end, **place})
        assert single(application, "SELECT append_validation(%s::json)", record) is None, place
    assert single(library, "SELECT count(*) FROM validations") == 1


async def test_a_table_of_the_callers_own_does_not_replace_the_chain(application: str, library: str) -> None:
    await _ask(application)
    head = rows(library, "SELECT position, row_hash FROM audit_head")
    shadow = "CREATE TEMPORARY TABLE audit_head AS SELECT 99::bigint AS position, 'x' AS row_hash; "
    assert single(application, "SELECT row_hash FROM lock_audit_head()") == head[0][1]
    async with open_pool(application, max_size=1) as pool, pool.connection() as connection:
        await connection.execute(shadow + "SET search_path = pg_temp, public")
        cursor = await connection.execute("SELECT position, row_hash FROM public.lock_audit_head()")
        assert [tuple(row.values()) for row in await cursor.fetchall()] == head


@pytest.mark.contract("CP-2")
@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-7")
@pytest.mark.contract("CP-8")
@pytest.mark.contract("R5P-3")
@pytest.mark.contract("R5P-4")
def test_the_whole_product_works_with_the_rights_of_the_application(application: str, tmp_path: Path) -> None:
    program = Program({"DATABASE_URL": application, "SOURCEBOUND_SIGNING_KEY": str(tmp_path / "key.pem")})

    def run(*arguments: str | Path, stdin: str = "", code: int = 0) -> str:
        done = program(*arguments, stdin=stdin)
        assert done.code == code, (arguments, done)
        return done.stdout

    run("doctor")
    run("keys", "init")
    first, second, third = (json.loads(run("ask", QUESTION, "--json"))["run_id"] for _ in range(3))
    run("ask", "What is the capital of Peru?", code=3)
    run("chat", stdin=f"{QUESTION}\nand how much oil does it take?\n")
    run("search", "shaft")
    run("documents", "list")
    run("index", "check")
    run("models", "test", "extractive")
    assert first in run("runs", "list", "--limit", "100")
    run("runs", "show", first)
    run("runs", "resume", "--all")
    run("replay", "verify", "--all")
    run("runs", "receipt", first, "--output", tmp_path / "receipt.json")
    run("receipt", "verify", tmp_path / "receipt.json")
    run("audit", "head", "--output", tmp_path / "head.json")
    run("audit", "export", "--output", tmp_path / "audit.jsonl")
    run("runs", "erase", second, "--yes")
    run("runs", "prune", "--older-than", "0d", "--yes")
    run("audit", "verify", "--against", tmp_path / "head.json", "--against", tmp_path / "audit.jsonl")
    assert run("audit", "show", third)
    run("db", "migrate", code=1)


def test_a_collection_is_changed_by_its_owner_only(application: str) -> None:
    done = Program({"DATABASE_URL": application})("ingest", MANUALS / "hp-200-manual-rev-c.pdf", "--collection", "mine")
    assert done.code == 1
    assert "[STORE_FORBIDDEN]" in done.stderr
    assert "owner" in done.stderr.splitlines()[-1]


def test_every_table_has_rights(library: str) -> None:
    """A table that a migration adds must be named."""
    assert {name for (name,) in rows(library, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")} == {
        *TABLE_RIGHTS
    }


async def test_a_migration_renews_the_rights(application: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later = Migration(9998, "later", "CREATE TABLE later (number integer)")
    monkeypatch.setattr(migrations, "list_migrations", lambda: [*list_migrations(), later])
    monkeypatch.setitem(TABLE_RIGHTS, "later", "SELECT")
    async with open_pool(library, max_size=1) as pool:
        assert await migrations.migrate(pool) == [later]
    assert rows(application, "SELECT * FROM later") == []
    with pytest.raises(errors.InsufficientPrivilege):
        rows(application, "DELETE FROM later")


@pytest.mark.parametrize(
    ("role", "code"),
    [("nobody_of_this_name", "ROLE_UNKNOWN"), ("{owner}", "ROLE_TOO_STRONG")],
    ids=["unknown", "owner"],
)
async def test_a_role_that_no_grant_can_limit_is_refused(library: str, role: str, code: str) -> None:
    async with open_pool(library, max_size=1) as pool:
        with pytest.raises(ConfigurationError) as refused:
            await grant_runtime(pool, role.replace("{owner}", _role(library)))
    assert refused.value.failure_code == code


async def test_many_connections_grant_the_rights_at_once(library: str, application: str) -> None:
    async with open_pool(library, max_size=8) as pool, asyncio.timeout(30), asyncio.TaskGroup() as grants:
        for _ in range(8):
            grants.create_task(grant_runtime(pool, _role(application)))
    with pytest.raises(errors.InsufficientPrivilege):
        rows(application, "DELETE FROM removals")


def test_the_owner_grants_the_rights_on_the_command_line(library: str, application: str) -> None:
    role = _role(application)
    rows(library, f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    rows(application, "DELETE FROM removals")
    done = Program({"DATABASE_URL": library})("db", "grant", role)
    assert (done.code, done.stdout) == (0, f"{role} has the rights of the application\n"), done.stderr
    with pytest.raises(errors.InsufficientPrivilege):
        rows(application, "DELETE FROM removals")
    refused = Program({"DATABASE_URL": application})("db", "grant", role)
    assert (refused.code, "[STORE_FORBIDDEN]" in refused.stderr) == (1, True)


async def test_a_role_that_can_change_the_chain_is_named(application: str, library: str) -> None:
    found = []
    for url in (library, application):
        async with open_pool(url, max_size=1) as pool:
            found.append(await find_excess(pool))
    assert found == ["a superuser", None]

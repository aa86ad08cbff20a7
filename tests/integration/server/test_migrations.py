"""Migrations: each is applied once, by one process, and never over the schema of another version."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sourcebound.errors import StoreError
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import Migration, list_migrations, migrate, pending_migrations
from sourcebound.wiring import open_services
from support.processes.databases import rows, settings_for, single

PROGRAM = Path(sys.executable).with_name("sourcebound")
APPLIED = "SELECT version FROM schema_migrations ORDER BY version"
OURS = {"collections", "documents", "pages", "chunks", "runs", "run_texts", "validations"}
LANGGRAPH = {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"}


async def _migrate(url: str) -> list[Migration]:
    async with open_pool(url, max_size=1) as pool:
        return await migrate(pool)


def _versions() -> list[tuple[int]]:
    return [(migration.version,) for migration in list_migrations()]


async def test_eight_tasks_migrate_at_once_and_each_migration_is_applied_once(empty_database: str) -> None:
    applied = await asyncio.gather(*(_migrate(empty_database) for _ in range(8)))
    assert sorted(migration.version for found in applied for migration in found) == [v for (v,) in _versions()]
    assert rows(empty_database, APPLIED) == _versions()


def test_eight_processes_migrate_at_once(empty_database: str) -> None:
    command = [str(PROGRAM), "db", "migrate"]
    environment = os.environ | {"DATABASE_URL": empty_database}
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(8)
    ]
    printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, printed
    lines = [line for output in printed for line in output.splitlines()]
    expected = [f"applied {migration.version:04}_{migration.name}" for migration in list_migrations()]
    assert sorted(lines) == sorted(expected + ["up to date"] * 8)
    assert rows(empty_database, APPLIED) == _versions()


async def test_a_second_migration_has_nothing_to_do(empty_database: str) -> None:
    first, second = await _migrate(empty_database), await _migrate(empty_database)
    assert (len(first), second) == (len(list_migrations()), [])


@pytest.mark.contract("CP-2")
async def test_our_tables_and_those_of_the_checkpoints_are_there(database: str) -> None:
    found = {name for (name,) in rows(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert found >= OURS | LANGGRAPH


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE schema_migrations SET sha256 = repeat('0', 64) WHERE version = 1",
        "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', repeat('0', 64))",
    ],
    ids=["changed", "unknown"],
)
async def test_a_schema_of_another_version_is_left_alone(database: str, change: str) -> None:
    rows(database, change)
    before = rows(database, "SELECT * FROM schema_migrations ORDER BY version")
    with pytest.raises(StoreError) as migrated:
        await _migrate(database)
    with pytest.raises(StoreError) as opened:
        async with open_services(settings_for(database)):
            pass
    assert {migrated.value.failure_code, opened.value.failure_code} == {"SCHEMA_FOREIGN"}
    assert "another database" in opened.value.next_step
    assert rows(database, "SELECT * FROM schema_migrations ORDER BY version") == before


async def test_a_database_of_your_own_is_migrated_only_when_you_say_so(empty_database: str) -> None:
    with pytest.raises(StoreError) as raised:
        async with open_services(settings_for(empty_database)):
            pass
    assert raised.value.failure_code == "SCHEMA_MISSING"
    assert "`sourcebound db migrate`" in raised.value.next_step
    assert single(empty_database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


async def test_a_migration_that_fails_leaves_nothing_behind(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = list_migrations()
    broken = Migration(2, "broken", "CREATE TABLE half (id int); SELECT 1 / 0")
    monkeypatch.setattr("sourcebound.store.connection.migrations.list_migrations", lambda: [first, broken])
    with pytest.raises(StoreError) as raised:
        await _migrate(empty_database)
    assert raised.value.failure_code == "STORE_REFUSED"
    assert rows(empty_database, APPLIED) == [(first.version,)]
    assert single(empty_database, "SELECT to_regclass('half') IS NULL")
    async with open_pool(empty_database, max_size=1) as pool:
        assert await pending_migrations(pool) == [broken]


async def test_a_migration_that_dies_before_the_checkpoints_are_ready_is_finished_by_the_next(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(connection: object) -> None:
        raise StoreError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("sourcebound.store.connection.migrations._prepare_checkpoints", die)
        with pytest.raises(StoreError, match="killed"):
            await _migrate(empty_database)
    async with open_pool(empty_database, max_size=1) as pool:
        assert await pending_migrations(pool) != []
    await _migrate(empty_database)
    found = {name for (name,) in rows(empty_database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert found >= OURS | LANGGRAPH


@pytest.mark.contract("CP-9")
def test_versions_of_earlier_checkpoints_get_the_width_of_the_stock_savers(database: str) -> None:
    (migration,) = [each for each in list_migrations() if each.name == "stock_checkpoints"]
    old, wide, text = "000012.0a1b2c3d", f"{12:032}.0a1b2c3d", '"000012.0a1b2c3d"'
    stored: dict[str, Any] = {
        "id": "1",
        "channel_values": {"question": text},
        "channel_versions": {"run": old, "newer": f"{13:032}.0000000000000001"},
        "versions_seen": {"accept": {"branch:to:accept": old}, "__input__": {}},
    }
    rows(database, "INSERT INTO checkpoints VALUES ('t', '', '1', NULL, NULL, %s) RETURNING 1", json.dumps(stored))
    rows(database, "INSERT INTO checkpoint_blobs VALUES ('t', '', 'run', %s, 'msgpack', 'x') RETURNING 1", old)
    with psycopg.connect(database) as connection:
        connection.execute(migration.sql)
    changed = {
        **stored,
        "channel_versions": {**stored["channel_versions"], "run": wide},
        "versions_seen": {"accept": {"branch:to:accept": wide}, "__input__": {}},
    }
    assert single(database, "SELECT checkpoint FROM checkpoints") == changed
    assert single(database, "SELECT version FROM checkpoint_blobs") == wide


REDUNDANT = """
SELECT short.indexrelid::regclass::text
FROM pg_index short JOIN pg_index long USING (indrelid)
WHERE short.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
  AND NOT short.indisunique AND short.indpred IS NULL AND short.indexprs IS NULL
  AND long.indpred IS NULL AND long.indexprs IS NULL AND short.indnatts < long.indnatts
  AND starts_with(long.indkey::text, short.indkey::text || ' ')
"""


def test_no_index_is_the_beginning_of_another(database: str) -> None:
    assert rows(database, REDUNDANT) == []

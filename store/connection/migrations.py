"""Ordered migrations: `schema/NNNN_name.sql`, each applied once, in one transaction, by the first process that starts.

Many processes may start at once. They take turns by polling a lock instead of blocking on it, because a session that
waits inside a statement would block the concurrent index builds of LangGraph's own migrations.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final, LiteralString, NamedTuple

from psycopg import AsyncConnection, errors

from sourcebound.errors import StoreError
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.rights import CATALOGUE_LOCK, POLL_SECONDS, renew_grants

ATTEMPTS: Final = 5
COLLISION: Final = "tuple concurrently updated"
"""What the server says if two sessions change one row of its catalogue. The later one fails instead of waiting."""


class Migration(NamedTuple):
    """One file of `schema/`."""

    version: int
    name: str
    sql: LiteralString

    @property
    def sha256(self) -> str:
        """The digest of the file, stored when it is applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def list_migrations() -> list[Migration]:
    """Return all migrations in order."""
    folder = files("sourcebound.store") / "schema"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [
        Migration(int(name[:4]), name.removesuffix(".sql")[5:], (folder / name).read_text("utf-8")) for name in names
    ]


async def pending_migrations(pool: Pool) -> list[Migration]:
    """Return the migrations that have not been applied to this database.

    Raises:
        StoreError: An applied migration is unknown to this version, or differs from its own.
    """
    with store_faults():
        async with pool.connection() as connection:
            return await _list_pending(connection)


async def migrate(pool: Pool) -> list[Migration]:
    """Bring the database up to date. Many processes may safely do so at once.

    Returns:
        The migrations that this call applied.
    """
    applied: list[Migration] = []
    with store_faults():
        async with pool.connection() as connection, _hold_migration_lock(connection):
            for attempt in range(ATTEMPTS):
                try:
                    await _apply_pending(connection, applied)
                    break
                except errors.InternalError_ as error:
                    if COLLISION not in str(error) or attempt + 1 == ATTEMPTS:
                        raise
                    await asyncio.sleep(POLL_SECONDS)
    return applied


async def _apply_pending(connection: AsyncConnection[Row], applied: list[Migration]) -> None:
    pending = await _list_pending(connection)
    await _prepare_checkpoints(connection)
    for migration in pending:
        await _apply_migration(connection, migration, is_last=migration is pending[-1])
        applied.append(migration)


async def _prepare_checkpoints(connection: AsyncConnection[Row]) -> None:
    """Create LangGraph's own tables before ours, so that a process which dies in between leaves our migrations pending.

    The import is local because only a migration needs it.
    """
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    await AsyncPostgresSaver(connection).setup()


async def _list_pending(connection: AsyncConnection[Row]) -> list[Migration]:
    cursor = await connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL AS there")
    row = await cursor.fetchone()
    known = {migration.version: migration for migration in list_migrations()}
    applied: dict[int, str] = {}
    if row and row["there"]:
        cursor = await connection.execute("SELECT version, sha256 FROM schema_migrations ORDER BY version")
        applied = {row["version"]: row["sha256"] for row in await cursor.fetchall()}
    for version, digest in applied.items():
        if version not in known or known[version].sha256 != digest:
            raise StoreError(
                f"the database has migration {version} of another version of sourcebound.",
                "Use the version that created it, or another database (SOURCEBOUND_HOME or DATABASE_URL).",
                code="SCHEMA_FOREIGN",
            )
    return [migration for version, migration in known.items() if version not in applied]


async def _apply_migration(connection: AsyncConnection[Row], migration: Migration, *, is_last: bool) -> None:
    async with connection.transaction():
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL, "
            "sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        await connection.execute(migration.sql)
        await connection.execute(
            "INSERT INTO schema_migrations (version, name, sha256) VALUES (%s, %s, %s)",
            (migration.version, migration.name, migration.sha256),
        )
        if is_last:
            await renew_grants(connection)


@asynccontextmanager
async def _hold_migration_lock(connection: AsyncConnection[Row]) -> AsyncIterator[None]:
    while True:
        cursor = await connection.execute("SELECT pg_try_advisory_lock(%s) AS got", (CATALOGUE_LOCK,))
        row = await cursor.fetchone()
        if row and row["got"]:
            break
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (CATALOGUE_LOCK,))

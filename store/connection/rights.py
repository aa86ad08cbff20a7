"""R5P-8: the rights of the role that the application connects with.

The owner of the tables migrates and maintains the collections. The runtime role answers questions. It can append to the
audit chain only through `append_validation`, and it can neither change nor delete a record.
"""

import asyncio
from typing import Final, LiteralString

from psycopg import AsyncConnection, sql

from sourcebound.errors import ConfigurationError, StoreError
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query

CATALOGUE_LOCK: Final = 0x536F75726365
"""The advisory lock of a process that changes tables or rights: the server fails the later of two at once."""
POLL_SECONDS: Final = 0.05
READ: Final = "SELECT"
CHANGED_RUN_COLUMNS: Final = (
    "request_id, collection, policy_version, model, status, reason, started_at, finished_at, context, worker, "
    "conversation_id, ordinal, caller_labels"
)
TABLE_RIGHTS: Final[dict[str, LiteralString]] = {
    "audit_head": READ,
    "validations": READ,
    "removals": READ,
    "schema_migrations": READ,
    "checkpoint_migrations": READ,
    "collections": READ,
    "documents": READ,
    "pages": READ,
    "source_files": READ,
    "chunks": READ,
    "lexical_statistics": READ,
    "lexemes": READ,
    "posting_segments": READ,
    "postings": READ,
    "removed_chunks": READ,
    "vector_indexes": READ,
    "model_certificates": "SELECT, INSERT",
    "feedback": "SELECT, INSERT",
    "api_keys": READ,
    "run_texts": "SELECT, INSERT",
    "runs": f"SELECT, INSERT, DELETE, UPDATE ({CHANGED_RUN_COLUMNS})",
    "conversations": "SELECT, INSERT, UPDATE (started_at)",  # never changed: the right to lock a row
    "turn_texts": "SELECT, INSERT, DELETE, UPDATE (search_query)",
    "model_answers": "SELECT, INSERT, DELETE, UPDATE (attempt)",
    "leases": "SELECT, INSERT, DELETE, UPDATE",
    "checkpoints": "SELECT, INSERT, DELETE, UPDATE",
    "checkpoint_blobs": "SELECT, INSERT, DELETE, UPDATE",
    "checkpoint_writes": "SELECT, INSERT, DELETE, UPDATE",
}
"""The rights on each table. A right to UPDATE names its columns, except for the tables whose rows are replaced."""
FUNCTIONS: Final = ("append_validation(json)", "lock_audit_head()", "erase_runs(text[])", "prune_runs(text[])")
"""The functions that run with the rights of the owner."""
VACUUMED: Final = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
MAINTAIN_VERSION: Final = 170000
"""The first version with the right MAINTAIN, which `runs prune` needs to free space at once."""


async def grant_runtime(pool: Pool, role: str) -> None:
    """Give a role the rights of the application, and take every other right on our tables from it.

    Many processes may safely do so at once: they take turns, with one another and with migrations. The lock ends with
    its transaction, so that it works through a pooler.

    Args:
        pool: Connections of the owner of the tables.
        role: An existing role, neither a superuser nor the owner of the tables.

    Raises:
        ConfigurationError: The role does not exist, or its own rights cannot be limited.
        StoreError: This account is not the owner of the tables, or the database does not answer.
    """
    with store_faults():
        async with pool.connection() as connection:
            while True:
                if await _try_grant(connection, role):
                    break
                await asyncio.sleep(POLL_SECONDS)


async def renew_grants(connection: AsyncConnection[Row]) -> None:
    """Give each role that `grant_runtime` has named the current rights, after a migration has added tables."""
    cursor = await connection.execute(query("runtime_roles"))
    for row in await cursor.fetchall():
        await _grant(connection, row["role"])


async def find_excess(pool: Pool) -> str | None:
    """Describe what the role of a pool can do to the audit chain beyond appending to it; None if nothing."""
    with store_faults():
        async with pool.connection() as connection:
            cursor = await connection.execute(query("find_excess"))
            row = await cursor.fetchone()
    return row["excess"] if row else None


async def _try_grant(connection: AsyncConnection[Row], role: str) -> bool:
    """Give the rights, unless another process changes the catalogue now."""
    async with connection.transaction():
        cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s) AS got", (CATALOGUE_LOCK,))
        row = await cursor.fetchone()
        if row is None or not row["got"]:
            return False
        await _check_role(connection, role)
        await _grant(connection, role)
    return True


async def _check_role(connection: AsyncConnection[Row], role: str) -> None:
    row = await (await connection.execute(query("find_role"), {"role": role})).fetchone()
    if row is None:
        raise ConfigurationError(
            f"the server has no role {role!r}.",
            f"Create it: CREATE ROLE \"{role}\" LOGIN PASSWORD '…'",
            code="ROLE_UNKNOWN",
        )
    if not row["is_granted_by_owner"]:
        raise StoreError(
            "this account is not the owner of the tables, so it cannot grant rights on them.",
            "Run this with a DATABASE_URL of the account that ran `sourcebound db migrate`.",
            code="STORE_FORBIDDEN",
        )
    if row["is_too_strong"]:
        raise ConfigurationError(
            f"the role {role!r} is a superuser, or has the rights of the owner of the tables: no grant can limit it.",
            "Create another role for the application, without these rights.",
            code="ROLE_TOO_STRONG",
        )


async def _grant(connection: AsyncConnection[Row], role: str) -> None:
    row = await (await connection.execute("SELECT current_schema() AS schema")).fetchone()
    assert row is not None
    to = sql.Identifier(role)
    statements = [sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(row["schema"]), to)]
    for name, rights in TABLE_RIGHTS.items():
        table = sql.Identifier(name)
        statements.append(sql.SQL("REVOKE ALL ON TABLE {} FROM {}").format(table, to))
        statements.append(sql.SQL("GRANT {} ON TABLE {} TO {}").format(sql.SQL(rights), table, to))
    for function in FUNCTIONS:
        statements.append(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL(function), to))
    if connection.info.server_version >= MAINTAIN_VERSION:
        tables = sql.SQL(", ").join(map(sql.Identifier, VACUUMED))
        statements.append(sql.SQL("GRANT MAINTAIN ON TABLE {} TO {}").format(tables, to))
    await connection.execute(sql.SQL("; ").join(statements))

"""R5P-5: exports the audit records as a Delta table, a Parquet file or JSON lines.

An export only appends. The existing content is read first: its schema must be exactly ours, and its last record must
belong to this chain; otherwise nothing is written. Each record carries its position and hashes, so that the chain can
be recomputed from the export alone.
"""

import asyncio
from datetime import datetime
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from sourcebound.contracts.audit.hash_chain import START, Link, link_of
from sourcebound.errors import RequestError, StoreError
from sourcebound.store.audit.export_formats import ExportTarget
from sourcebound.store.audit.log import read_chained
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query

BATCH: Final = 5000
"""Records in one commit."""
EXPORT_LOCK: Final = 0x536F75724558


class Exported(NamedTuple):
    """The result of an export."""

    records: int
    end: Link
    """The last record of the target; position 0 if there is none."""


async def export_records(pool: Pool, target: ExportTarget, since: datetime | None) -> Exported:
    """Append the records that the target does not hold yet, in the order of the chain.

    Args:
        pool: Connections to the database.
        target: The target of the export.
        since: Skip records before this time, which has a zone; None for all.

    Returns:
        The number of records added, and the end.

    Raises:
        RequestError: The target has another schema, another chain or another file format.
        StoreError: Another export is running, or the database does not answer.
    """
    with store_faults():
        async with pool.connection() as connection, connection.transaction():
            cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s) AS got", (EXPORT_LOCK,))
            row = await cursor.fetchone()
            if not (row and row["got"]):
                raise StoreError(
                    "another export of this database is running.", "Wait until it ends.", code="EXPORT_BUSY"
                )
            try:
                return await _export(connection, target, since)
            finally:
                target.close()


async def _export(connection: AsyncConnection[Row], target: ExportTarget, since: datetime | None) -> Exported:
    end = await asyncio.to_thread(target.find_end) or START
    await _require_same_chain(connection, end)
    added = 0
    values = {"prefix": None, "after": end.position, "since": since}
    async with connection.cursor("audit_export", binary=True) as cursor:
        await cursor.execute(query("read_validations"), values)
        while batch := [read_chained(row) for row in await cursor.fetchmany(BATCH)]:
            await asyncio.to_thread(target.append, batch)
            added, end = added + len(batch), link_of(batch[-1])
    await asyncio.to_thread(target.finish)
    return Exported(added, end)


async def _require_same_chain(connection: AsyncConnection[Row], end: Link) -> None:
    """Check that the target ends with a record of this chain, not of another database."""
    if end == START:
        return
    cursor = await connection.execute("SELECT row_hash FROM validations WHERE position = %s", (end.position,))
    row = await cursor.fetchone()
    if row is None or row["row_hash"] != end.row_hash:
        raise RequestError(
            f"the last record of the target, position {end.position}, is not a record of this database.",
            "Run `sourcebound audit verify`. If it finds nothing, export to another path.",
            code="EXPORT_FOREIGN",
        )

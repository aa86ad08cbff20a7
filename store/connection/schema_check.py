"""The check of the schema: every table, column, index, constraint, trigger and function of the migrations exists.

`schema/objects.txt` lists them. `make schema-objects` writes it, and a test compares it with a migrated database.
"""

from importlib.resources import files
from typing import Final

from sourcebound.store.connection.database import Pool, store_faults
from sourcebound.store.connection.queries import query

TABLE: Final = "table"
COLUMN: Final = "column"


async def list_objects(pool: Pool) -> list[str]:
    """Return a line for each object of the database's schema, sorted. A disabled trigger is left out."""
    with store_faults():
        async with pool.connection() as connection:
            cursor = await connection.execute(query("schema_objects"))
            return sorted(row["object"] for row in await cursor.fetchall())


async def find_missing_objects(pool: Pool) -> list[str]:
    """Return what is gone from the schema, or is another than the migrations make, tables first.

    What belongs to a table that is gone is left out. Additional objects are no finding.

    Raises:
        StoreError: The database does not answer.
    """
    found = set(await list_objects(pool))
    missing = [line for line in expected_objects() if line not in found]
    tables = [line for line in missing if line.startswith(f"{TABLE} ")]
    gone = {line.split()[1] for line in tables}
    return tables + [line for line in missing if line not in tables and _table_of(line) not in gone]


def expected_objects() -> list[str]:
    """Return the lines of `schema/objects.txt`."""
    return (files("sourcebound.store") / "schema" / "objects.txt").read_text("utf-8").splitlines()


def _table_of(line: str) -> str:
    """Return the table that an object belongs to; empty for a function."""
    kind, name, *rest = line.split()
    if kind == COLUMN:
        return name.split(".")[0]
    return rest[1] if rest[:1] == ["on"] else ""

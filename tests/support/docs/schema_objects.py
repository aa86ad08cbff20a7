"""A program that prints store/schema/objects.txt: every object of a database that was just migrated."""

import asyncio
import tempfile
from pathlib import Path

from sourcebound.settings import Settings
from sourcebound.store.connection.schema_check import list_objects
from sourcebound.wiring import open_services


async def print_objects() -> None:
    """Migrate a new embedded database and print its objects."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        async with open_services(Settings(home=Path(folder) / "home")) as services:
            print("\n".join(await list_objects(services.pool)))


if __name__ == "__main__":
    asyncio.run(print_objects())

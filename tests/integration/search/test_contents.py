"""IX-3: the stored contents of a collection are authenticated."""

from collections.abc import Sequence

import psycopg
import pytest

from sourcebound.contracts.corpus.contents import ContentsFinding
from sourcebound.ingest.chunking.searchable_text import joined_words
from sourcebound.store.search.contents import ContentsCheck
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, rows, single

CHUNK = "(SELECT chunk_id FROM chunks WHERE position('5.5' in text) > 0 ORDER BY chunk_id LIMIT 1)"


def alter(url: str, *statements: str) -> None:
    """Run statements as an owner of the database who switches its triggers and foreign keys off."""
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            assert connection.execute(statement.encode()).rowcount > 0, statement


async def check(services: Services, documents: int | None = None) -> Sequence[ContentsFinding]:
    collection = await services.index.open_collection(COLLECTION)
    return [found async for found in ContentsCheck(services.pool, collection, joined_words).run(documents)]


@pytest.mark.contract("IX-3")
async def test_nothing_is_found_in_what_was_ingested(library_services: Services) -> None:
    assert await check(library_services) == []

"""Collections of chunks with known vectors, for tests of vector search. No model embeds anything."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import hypot
from random import Random
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from sourcebound.contracts.corpus.collection import Collection, StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.store.connection.queries import query
from sourcebound.store.search import chunk_queries as search
from sourcebound.store.search.vector_index import near_candidates
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, rows

NAME: Final = "placed"
DIMENSIONS: Final = 16


class PlacedEmbedder:
    """An embedder that gives each text its own vector, the same one each time.

    Args:
        dimensions: The dimensions of the vectors.
    """

    name = NAME
    max_tokens = 200

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.dimensions = dimensions

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [place(text, self.dimensions) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return place(text, self.dimensions)


def place(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Draw a unit vector, with the text as the seed."""
    draw = Random(text)
    vector = [draw.gauss() for _ in range(dimensions)]
    length = hypot(*vector)
    return [value / length for value in vector]


async def place_chunks(
    services: Services, chunks: int, collection: str = COLLECTION, dimensions: int = DIMENSIONS, each: int = 20
) -> Collection:
    """Create a collection with `each` chunks in every document. Every tenth document has the equipment `RARE`."""
    services._embedders[NAME] = PlacedEmbedder(dimensions)
    made = await services.index.create_collection(collection, NAME, NAME, dimensions, "test")
    documents = [
        _document(f"{collection}-{number}", each, dimensions, "RARE" if number % 10 == 0 else "COMMON")
        for number in range(chunks // each)
    ]
    await services.index.replace_documents(made.collection_id, documents)
    return await services.index.open_collection(collection)


def _document(name: str, chunks: int, dimensions: int, equipment: str) -> StoredDocument:
    texts = [f"{name} part {number}." for number in range(chunks)]
    metadata = DocumentMetadata(title=name, equipment_id=equipment)
    return StoredDocument(
        knowledge_id=name,
        source_path=f"/{name}",
        source_reference=name,
        source_digest=name.encode(),
        parsed=ParsedDocument(
            media_type="text/plain", metadata=metadata, pages=(Page(index=0, number=None, text="\n".join(texts)),)
        ),
        metadata=metadata,
        chunks=[_chunk(name, number, text) for number, text in enumerate(texts)],
        vectors=[place(text, dimensions) for text in texts],
        further_words=[""] * chunks,
    )


def _chunk(name: str, number: int, text: str) -> Chunk:
    return Chunk(
        chunk_id=f"{name}-{number}",
        ordinal=number,
        page_index=0,
        page_number=None,
        heading_path=(),
        char_start=0,
        char_end=len(text),
        text=text,
    )


def prefer_indexes(url: str, **settings: object) -> None:
    """Make connections that are opened from now on use an index, even on a small table."""
    chosen = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", **settings}
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in chosen.items():
            statement = sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                sql.Identifier(connection.info.dbname), sql.SQL(name), sql.Literal(str(value))
            )  # fmt: skip
            connection.execute(statement)


def indexes(url: str) -> list[tuple[str, bool]]:
    """Return the vector indexes by name, and whether each is valid."""
    return rows(
        url,
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE starts_with(c.relname, 'chunks_vectors_') ORDER BY c.relname",
    )


@contextmanager
def standing_in_the_way(url: str) -> Iterator[None]:
    """Hold a write transaction open. An index build waits for it before it reads anything."""
    with psycopg.connect(url) as writer:
        writer.execute("LOCK TABLE chunks IN ROW EXCLUSIVE MODE")
        yield


class Asked:
    """A recorder of the names of the statements that searches send, in order.

    Args:
        patch: Replaces the functions that return the statements.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []

        def note_query(name: str) -> Any:
            self.names.append(name)
            return query(name)

        def note_near(dimensions: int) -> sql.Composed:
            self.names.append("near_candidates")
            return near_candidates(dimensions)

        patch.setattr(search, "query", note_query)
        patch.setattr(search, "near_candidates", note_near)

    def lists(self) -> list[str]:
        """Return how the nearest chunks were searched since the last call: by index, by comparing all, or in memory."""
        found = [name for name in self.names if name.endswith("_candidates") and name != "count_candidates"]
        self.names.clear()
        return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)

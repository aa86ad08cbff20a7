"""The index in PostgreSQL: collections, documents, pages and chunks.

A document is written in one transaction or not at all.
"""

import hashlib
from collections.abc import Sequence

from pgvector import Vector
from psycopg import AsyncConnection

from sourcebound.contracts.index import Collection, KnownDocument, StoredDocument
from sourcebound.store.database import Pool, Row, store_faults
from sourcebound.store.queries import query

NO_DOCUMENTS = bytes(32)


class PostgresIndex:
    """The collections of one database.

    Args:
        pool: Connections to it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_collection(self, name: str) -> Collection | None:
        """The collection of that name, or None."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("find_collection"), {"name": name})
                row = await cursor.fetchone()
        return _collection(row) if row else None

    async def list_collections(self) -> list[Collection]:
        """All collections by name."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_collections"))
                return [_collection(row) for row in await cursor.fetchall()]

    async def create_collection(
        self, name: str, embedder: str, embedding_model: str, dimensions: int, chunker: str
    ) -> Collection:
        """Makes a collection; one that is already there is left as it is and returned."""
        values = {
            "name": name,
            "embedder": embedder,
            "embedding_model": embedding_model,
            "dimensions": dimensions,
            "metric": "cosine" if dimensions else "lexical",
            "chunker": chunker,
            "digest": NO_DOCUMENTS,
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("create_collection"), values)
        collection = await self.find_collection(name)
        assert collection is not None
        return collection

    async def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """Every document of a collection by its knowledge id."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("known_documents"), {"collection_id": collection_id})
                rows = await cursor.fetchall()
        return {row["knowledge_id"]: KnownDocument(**row) for row in rows}

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        """Whether the document is still in the collection (R6-7); a machine without accounts does not ask who."""
        values = {"collection": collection, "knowledge_id": knowledge_id}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("document_is_there"), values)
                return await cursor.fetchone() is not None

    async def replace_document(self, collection_id: int, document: StoredDocument) -> None:
        """Stores a document in place of the one with the same knowledge id, in one transaction."""
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                before = await _lock(connection, collection_id)
                removed = await _delete(connection, collection_id, document.knowledge_id)
                await _insert(connection, collection_id, document)
                added = document_digest(document.knowledge_id, document.source_digest)
                await _write_digest(connection, collection_id, exclusive_or(exclusive_or(before, removed), added))


def document_digest(knowledge_id: str, source_digest: bytes) -> bytes:
    """What one document contributes to the digest of its collection."""
    return hashlib.sha256(knowledge_id.encode() + b"\0" + source_digest).digest()


def exclusive_or(first: bytes, second: bytes) -> bytes:
    """Bytewise exclusive or: adding a document's digest a second time takes it out again."""
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


async def _lock(connection: AsyncConnection[Row], collection_id: int) -> bytes:
    cursor = await connection.execute(query("lock_collection"), {"collection_id": collection_id})
    row = await cursor.fetchone()
    assert row is not None
    return bytes(row["documents_digest"])


async def _delete(connection: AsyncConnection[Row], collection_id: int, knowledge_id: str) -> bytes:
    cursor = await connection.execute(
        query("delete_document"), {"collection_id": collection_id, "knowledge_id": knowledge_id}
    )
    row = await cursor.fetchone()
    return document_digest(knowledge_id, bytes(row["source_digest"])) if row else NO_DOCUMENTS


async def _insert(connection: AsyncConnection[Row], collection_id: int, document: StoredDocument) -> None:
    values = {
        "collection_id": collection_id,
        "knowledge_id": document.knowledge_id,
        "source_path": document.source_path,
        "source_reference": document.source_reference,
        "source_digest": document.source_digest,
        "media_type": document.parsed.media_type,
        **document.metadata.model_dump(),
    }
    cursor = await connection.execute(query("insert_document"), values)
    row = await cursor.fetchone()
    assert row is not None
    document_id = row["document_id"]
    pages = [
        {"document_id": document_id, "page_index": page.index, "page_number": page.number, "text": page.text}
        for page in document.parsed.pages
    ]
    chunks = [
        {
            **chunk.model_dump(),
            "heading_path": list(chunk.heading_path),
            "collection_id": collection_id,
            "document_id": document_id,
            "context": " ".join([document.metadata.title, *chunk.heading_path]),
            "embedding": _vector(document.vectors, position),
        }
        for position, chunk in enumerate(document.chunks)
    ]
    async with connection.cursor() as writer:
        await writer.executemany(query("insert_page"), pages)
        await writer.executemany(query("insert_chunk"), chunks)


async def _write_digest(connection: AsyncConnection[Row], collection_id: int, digest: bytes) -> None:
    await connection.execute(query("update_digest"), {"collection_id": collection_id, "digest": digest})


def _vector(vectors: Sequence[Sequence[float]] | None, position: int) -> str | None:
    return None if vectors is None else vector_text(vectors[position])


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return str(Vector(list(vector)).to_text())


def _collection(row: Row) -> Collection:
    return Collection(**{**row, "documents_digest": bytes(row["documents_digest"]).hex()})

"""The index in PostgreSQL: collections, documents, pages and chunks.

Documents are written in one transaction or not at all: rows by COPY, what they are found by in one statement over all
of them. The digest of a collection is kept up as documents come and go, and never computed over all of them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import repeat
from typing import Final

from pgvector import Vector
from psycopg import AsyncConnection, AsyncCursor

from sourcebound.contracts.index import Collection, KnownDocument, StoredDocument
from sourcebound.store.database import Pool, Row, store_faults
from sourcebound.store.queries import query

NO_DOCUMENTS = bytes(32)
PAGE_TYPES: Final = ("int8", "int4", "int4", "text")
"""Types of `copy_pages`, in its order."""
CHUNK_TYPES: Final = (
    *("text", "int8", "int4", "int4", "int4", "text[]", "int4", "int4", "text", "text", "text"),
    "bytea",  # the bytes of a vector, as pgvector receives them
)
"""Types of `copy_chunks`, in its order."""


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

    async def replace_documents(self, collection_id: int, documents: Sequence[StoredDocument]) -> None:
        """Stores documents in place of those with the same knowledge ids, in one transaction."""
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                digest = await _lock(connection, collection_id)
                digests = await _delete(connection, collection_id, [document.knowledge_id for document in documents])
                await _insert(connection, collection_id, documents)
                digests += [document_digest(document.knowledge_id, document.source_digest) for document in documents]
                await _write_digest(connection, collection_id, reduce(exclusive_or, digests, digest))

    async def remove_documents(self, collection_id: int, knowledge_ids: Sequence[str]) -> None:
        """Removes documents with their pages and chunks, in one transaction: from then on nothing finds them."""
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                digest = await _lock(connection, collection_id)
                digests = await _delete(connection, collection_id, knowledge_ids)
                await _write_digest(connection, collection_id, reduce(exclusive_or, digests, digest))


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


async def _delete(connection: AsyncConnection[Row], collection_id: int, knowledge_ids: Sequence[str]) -> list[bytes]:
    """Deletes what is there of these documents and returns what each contributed to the collection's digest."""
    values = {"collection_id": collection_id, "knowledge_ids": list(knowledge_ids)}
    cursor = await connection.execute(query("delete_documents"), values)
    return [document_digest(row["knowledge_id"], bytes(row["source_digest"])) for row in await cursor.fetchall()]


async def _insert(connection: AsyncConnection[Row], collection_id: int, documents: Sequence[StoredDocument]) -> None:
    async with connection.cursor() as writer:
        ids = [await _insert_document(writer, collection_id, document) for document in documents]
        async with writer.copy(query("copy_pages")) as copy:
            copy.set_types(PAGE_TYPES)
            for document_id, document in zip(ids, documents, strict=True):
                for page in document.parsed.pages:
                    await copy.write_row((document_id, page.index, page.number, page.text))
        await writer.execute(query("stage_chunks"))
        async with writer.copy(query("copy_chunks")) as copy:
            copy.set_types(CHUNK_TYPES)
            for document_id, document in zip(ids, documents, strict=True):
                for row in _chunk_rows(document_id, document):
                    await copy.write_row(row)
        await writer.execute(query("insert_staged_chunks"), {"collection_id": collection_id})


async def _insert_document(writer: AsyncCursor[Row], collection_id: int, document: StoredDocument) -> int:
    values = {
        "collection_id": collection_id,
        "knowledge_id": document.knowledge_id,
        "source_path": document.source_path,
        "source_reference": document.source_reference,
        "source_digest": document.source_digest,
        "media_type": document.parsed.media_type,
        **document.metadata.model_dump(),
    }
    await writer.execute(query("insert_document"), values)
    row = await writer.fetchone()
    assert row is not None
    return int(row["document_id"])


def _chunk_rows(document_id: int, document: StoredDocument) -> Iterator[tuple[object, ...]]:
    """The document's chunks in the order of `copy_chunks`."""
    vectors = document.vectors or repeat(None, len(document.chunks))
    for chunk, joined_words, vector in zip(document.chunks, document.joined_words, vectors, strict=True):
        yield (
            chunk.chunk_id,
            document_id,
            chunk.ordinal,
            chunk.page_index,
            chunk.page_number,
            list(chunk.heading_path),
            chunk.char_start,
            chunk.char_end,
            chunk.text,
            joined_words,
            " ".join([document.metadata.title, *chunk.heading_path]),
            None if vector is None else Vector(list(vector)).to_binary(),
        )


async def _write_digest(connection: AsyncConnection[Row], collection_id: int, digest: bytes) -> None:
    await connection.execute(query("update_digest"), {"collection_id": collection_id, "digest": digest})


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return str(Vector(list(vector)).to_text())


def _collection(row: Row) -> Collection:
    return Collection(**{**row, "documents_digest": bytes(row["documents_digest"]).hex()})

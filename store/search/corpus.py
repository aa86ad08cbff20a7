"""The index in PostgreSQL: collections, documents, pages and chunks.

Documents are written in one transaction or not at all: COPY writes the rows, and one statement builds their search
data. The digest of a collection is computed over the digests of its documents, never over their contents.
"""

import hashlib
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final

from pgvector import Vector
from psycopg import AsyncConnection, AsyncCursor, errors
from psycopg.types.json import Json

from sourcebound.contracts.corpus.collection import (
    ENGLISH,
    Collection,
    DocumentSummary,
    KnownDocument,
    KnownVector,
    StoredDocument,
)
from sourcebound.contracts.corpus.digests import EMPTY_DIGEST, PageText, digest_document, seal_chunks
from sourcebound.contracts.corpus.vector_index import VectorIndex
from sourcebound.contracts.labels import settle_labels
from sourcebound.errors import ConfigurationError, StoreError
from sourcebound.store.connection.database import Pool, Row, fetch_visible, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.search.vector_index import INDEX_BUSY, INDEX_UNSUPPORTED, VectorIndexes

PAGE_TYPES: Final = ("int8", "int4", "int4", "text")
"""The column types of `copy_pages`, in its order."""
CHUNK_TYPES: Final = (
    *("text", "int8", "int4", "int4", "int4", "text[]", "int4", "int4", "text", "int4[]", "text[]", "text", "text"),
    "bytea",  # a vector in pgvector's binary format
)
"""The column types of `copy_chunks`, in its order."""
UNINDEXED_CODES: Final = (INDEX_BUSY, INDEX_UNSUPPORTED, "STORE_FORBIDDEN")
"""Failure codes with which a collection stays without an index. Its search is slower, but finds every neighbour."""


class PostgresIndex:
    """The collections of one database.

    Args:
        pool: Connections to the database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.vectors = VectorIndexes(pool)

    async def find_collection(self, name: str) -> Collection | None:
        """Return the collection of that name, or None."""
        rows = await fetch_visible(self._pool, query("collections"), {"name": name})
        return to_collection(rows[0]) if rows else None

    async def open_collection(self, name: str) -> Collection:
        """Return the collection of that name.

        Raises:
            ConfigurationError: There is no such collection.
        """
        collection = await self.find_collection(name)
        if collection is None:
            raise _collection_not_found_error(name)
        return collection

    async def list_collections(self) -> list[Collection]:
        """Return all collections, ordered by name."""
        return [to_collection(row) for row in await fetch_visible(self._pool, query("collections"), {"name": None})]

    async def create_collection(
        self,
        name: str,
        embedder: str,
        embedding_model: str,
        dimensions: int,
        chunker: str,
        language: str = ENGLISH,
    ) -> Collection:
        """Create a collection. Return an existing one of that name unchanged."""
        await self.check_language(language)
        values = {
            "name": name,
            "embedder": embedder,
            "embedding_model": embedding_model,
            "dimensions": dimensions,
            "metric": "cosine" if dimensions else "lexical",
            "chunker": chunker,
            "language": language,
            "digest": EMPTY_DIGEST,
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("create_collection"), values)
        collection = await self.find_collection(name)
        assert collection is not None
        return collection

    async def missing_documents(self, collection: Collection, other: Collection) -> list[str]:
        """Return the knowledge ids of the documents that a collection holds and another does not."""
        values = {"collection_id": collection.collection_id, "other_id": other.collection_id}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("missing_documents"), values)
                return [row["knowledge_id"] for row in await cursor.fetchall()]

    async def promote(self, candidate: str, name: str) -> str:
        """Give a collection the name of another one, in one transaction: a reader finds either the old or the new one.

        Args:
            candidate: The collection to promote.
            name: The name that it takes over.

        Returns:
            The archive name of the replaced collection: its name and its index version.

        Raises:
            ConfigurationError: One of the two does not exist, or the archive name is taken.
        """
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("lock_collections"), {"names": [candidate, name]})
                new, old = await _find_collection(connection, candidate), await _find_collection(connection, name)
                if new is None or old is None:
                    raise _collection_not_found_error(name if new else candidate)
                archive = f"{name}@{old.index_version}"
                try:
                    for collection_id, new_name in ((old.collection_id, archive), (new.collection_id, name)):
                        values = {"collection_id": collection_id, "name": new_name}
                        await connection.execute(query("rename_collection"), values)
                except errors.UniqueViolation as error:
                    raise ConfigurationError(
                        f"a collection {archive!r} already exists.",
                        f"Remove it first: sourcebound index drop {archive}",
                        code="COLLECTION_EXISTS",
                    ) from error
        return archive

    async def drop_collection(self, collection: Collection) -> None:
        """Remove a collection with its documents, its chunks and its vector index."""
        await self.vectors.drop(collection)
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(
                    "DELETE FROM collections WHERE collection_id = %s", (collection.collection_id,)
                )

    async def check_language(self, language: str) -> None:
        """Raise `ConfigurationError` if the server has no text search configuration for a language."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_languages"))
                known = [row["language"] for row in await cursor.fetchall()]
        if language not in known:
            raise ConfigurationError(
                f"the database does not know the language {language!r}.",
                f"It knows {', '.join(known)}. Use simple for any other language.",
                code="UNKNOWN_LANGUAGE",
            )

    async def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """Return every document of a collection by its knowledge id."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("known_documents"), {"collection_id": collection_id})
                rows = await cursor.fetchall()
        return {row["knowledge_id"]: KnownDocument(**row) for row in rows}

    async def list_documents(self, collection_id: int) -> list[DocumentSummary]:
        """Return the documents of a collection, ordered by knowledge id."""
        rows = await fetch_visible(self._pool, query("list_documents"), {"collection_id": collection_id})
        return [DocumentSummary(**row) for row in rows]

    async def known_vectors(self, collection_id: int, chunk_ids: Sequence[str]) -> dict[str, KnownVector]:
        """Return the stored vectors of these chunks by chunk id, leaving out the chunks without one."""
        values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("known_vectors"), values, binary=True)
                return {row["chunk_id"]: _to_known_vector(row) async for row in cursor}

    async def sample_vectors(self, collection_id: int, count: int) -> dict[str, KnownVector]:
        """Return the stored vectors of chunks that are drawn by chance, by chunk id."""
        with store_faults():
            async with self._pool.connection() as connection:
                values = {"collection_id": collection_id, "count": count}
                cursor = await connection.execute(query("sample_chunks"), values)
                drawn = [row["chunk_id"] for row in await cursor.fetchall()]
        return await self.known_vectors(collection_id, drawn)

    async def count_vectors(self, collection_id: int) -> int:
        """Count the vectors that an exact search compares."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("count_vectors"), {"collection_id": collection_id})
                (row,) = await cursor.fetchall()
                return int(row["vectors"])

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        """Tell whether the document is still in the collection (R6-7). There are no accounts: `caller` is ignored."""
        return await self.find_labels(collection, knowledge_id) is not None

    async def find_labels(self, collection: str, knowledge_id: str) -> Sequence[str] | None:
        """Return the labels of a document; None if it is not in the collection."""
        values = {"collection": collection, "knowledge_id": knowledge_id}
        rows = await fetch_visible(self._pool, query("document_labels"), values)
        return rows[0]["labels"] if rows else None

    async def list_hidden(self, collection: str, knowledge_ids: Sequence[str], labels: Names[str]) -> list[str]:
        """Return those of the documents that a caller with these labels may not read; removed ones are not among them.

        This sees more than the caller, because it decides what the caller may read.
        """
        values = {"collection": collection, "knowledge_ids": list(knowledge_ids), "labels": sorted(labels)}
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("hidden_documents"), values)
                return [row["knowledge_id"] for row in await cursor.fetchall()]

    async def count_visible(self, labels: Iterable[str]) -> dict[int, tuple[int, int]]:
        """Return the number of documents and of chunks that a caller with these labels may read, by collection id."""
        rows = await fetch_visible(self._pool, query("count_visible"), {"labels": sorted(labels)})
        return {row["collection_id"]: (row["documents"], row["chunks"]) for row in rows}

    async def replace_documents(self, collection_id: int, documents: Sequence[StoredDocument]) -> None:
        """Store documents in one transaction, replacing those with the same knowledge ids (`DocumentStore`)."""
        knowledge_ids = [document.knowledge_id for document in documents]
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await _lock_collection(connection, collection_id)
                values = {"collection_id": collection_id, "knowledge_ids": knowledge_ids}
                rows = await (await connection.execute(query("labels_of_documents"), values)).fetchall()
                kept = {row["knowledge_id"]: row["labels"] for row in rows}
                await _delete_rows(connection, collection_id, knowledge_ids)
                labelled = [
                    each._replace(labels=settle_labels(each.labels, each.seen_labels, kept.get(each.knowledge_id)))
                    for each in documents
                ]
                await _insert_rows(connection, collection_id, labelled)
                await _write_digest(connection, collection_id)

    async def label_documents(
        self,
        collection_id: int,
        knowledge_ids: Sequence[str],
        labels: Sequence[str],
        seen: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Replace the labels of documents in one transaction, and return how many had others (`DocumentStore`)."""
        values = {"collection_id": collection_id, "knowledge_ids": list(knowledge_ids), "labels": list(labels)}
        values["seen"] = None if seen is None else Json({name: list(each) for name, each in seen.items()})
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await _lock_collection(connection, collection_id)
                changed = (await connection.execute(query("label_documents"), values)).rowcount
                await _write_digest(connection, collection_id)  # a new version of the row, which no cache knows
        return changed

    async def remove_documents(self, collection_id: int, knowledge_ids: Sequence[str]) -> None:
        """Remove documents with their pages and chunks in one transaction. No later search finds them."""
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await _lock_collection(connection, collection_id)
                await _delete_rows(connection, collection_id, knowledge_ids)
                await _write_digest(connection, collection_id)

    async def index_vectors(self, collection: str) -> VectorIndex | None:
        """Index the vectors of a collection that has outgrown exact search.

        Returns:
            The index that was built or measured. None where there was nothing to do, and where an index is impossible
            or another process is building one: then all vectors are compared. `VectorIndexes.build` raises the reason.
        """
        stored = await self.find_collection(collection)
        try:
            return await self.vectors.ensure_index(stored) if stored else None
        except StoreError as error:
            if error.failure_code not in UNINDEXED_CODES:
                raise
            return None


async def _lock_collection(connection: AsyncConnection[Row], collection_id: int) -> None:
    await connection.execute(query("lock_collection"), {"collection_id": collection_id})


async def _delete_rows(connection: AsyncConnection[Row], collection_id: int, knowledge_ids: Sequence[str]) -> None:
    values = {"collection_id": collection_id, "knowledge_ids": list(knowledge_ids)}
    await connection.execute(query("delete_documents"), values)


async def _insert_rows(
    connection: AsyncConnection[Row], collection_id: int, documents: Sequence[StoredDocument]
) -> None:
    async with connection.cursor() as writer:
        await _insert_files(writer, documents)
        ids = [await _insert_document(writer, collection_id, document) for document in documents]
        await writer.execute(query("stage_pages"))
        async with writer.copy(query("copy_pages")) as copy:
            copy.set_types(PAGE_TYPES)
            for document_id, document in zip(ids, documents, strict=True):
                for page in document.parsed.pages:
                    await copy.write_row((document_id, page.index, page.number, page.text))
        await writer.execute(query("insert_staged_pages"))
        await writer.execute(query("stage_chunks"))
        async with writer.copy(query("copy_chunks")) as copy:
            copy.set_types(CHUNK_TYPES)
            for document_id, document in zip(ids, documents, strict=True):
                for row in _chunk_rows(document_id, document):
                    await copy.write_row(row)
        await writer.execute(query("insert_staged_chunks"), {"collection_id": collection_id})


async def _insert_files(writer: AsyncCursor[Row], documents: Sequence[StoredDocument]) -> None:
    """Store the bytes that are kept, which documents with equal bytes share."""
    files = {hashlib.sha256(document.file).digest(): document.file for document in documents if document.file}
    if files:
        await writer.execute(query("lock_source_files"))
    for sha256, content in files.items():
        await writer.execute(query("insert_source_file"), {"sha256": sha256, "content": content})


async def _insert_document(writer: AsyncCursor[Row], collection_id: int, document: StoredDocument) -> int:
    pages = [PageText(page.index, page.number, page.text) for page in document.parsed.pages]
    chunk_digests = b"".join(chunk.digest for chunk in seal_chunks(document))
    values = {
        "collection_id": collection_id,
        "knowledge_id": document.knowledge_id,
        "source_path": document.source_path,
        "source_reference": document.source_reference,
        "source_digest": document.source_digest,
        "media_type": document.parsed.media_type,
        **document.metadata.model_dump(),
        "chunk_digests": chunk_digests,
        "contents_digest": digest_document(document.knowledge_id, document.source_digest, pages, chunk_digests),
        "file_sha256": hashlib.sha256(document.file).digest() if document.file else None,
        "digest_suffix": document.digest_suffix if document.file else None,
        "labels": list(document.labels or ()),
    }
    await writer.execute(query("insert_document"), values)
    row = await writer.fetchone()
    assert row is not None
    return int(row["document_id"])


def _chunk_rows(document_id: int, document: StoredDocument) -> Iterator[tuple[object, ...]]:
    """Yield the document's chunks with the columns of `copy_chunks`."""
    vectors = document.vectors or repeat(None, len(document.chunks))
    for chunk, further_words, vector in zip(document.chunks, document.further_words, vectors, strict=True):
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
            chunk.section_starts,
            chunk.section_names,
            further_words,
            " ".join([document.metadata.title, *chunk.heading_path]),
            None if vector is None else Vector(list(vector)).to_binary(),
        )


async def _write_digest(connection: AsyncConnection[Row], collection_id: int) -> None:
    await connection.execute(query("update_digest"), {"collection_id": collection_id, "empty": EMPTY_DIGEST})


async def _find_collection(connection: AsyncConnection[Row], name: str) -> Collection | None:
    row = await (await connection.execute(query("collections"), {"name": name})).fetchone()
    return to_collection(row) if row else None


def _collection_not_found_error(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"there is no collection {name!r}.",
        f"Run `sourcebound ingest PATH --collection {name}`, or `sourcebound collections` to list those that exist.",
        code="COLLECTION_NOT_FOUND",
    )


def _to_known_vector(row: Row) -> KnownVector:
    vector = Vector.from_binary(row["vector"]).to_list()
    return KnownVector(**{**row, "heading_path": tuple(row["heading_path"]), "vector": vector})


def to_collection(row: Row) -> Collection:
    """Convert a row of the query `collections`."""
    return Collection(**{**row, "documents_digest": bytes(row["documents_digest"]).hex()})

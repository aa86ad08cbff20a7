"""The check of a whole collection against its digests (IX-3): documents, pages, chunks, words, postings and vectors.

It reads one snapshot, and goes on after each finding (S-4). Altered functions of the database cannot hide an altered
chunk, because digests are computed here.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from random import sample
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.corpus.contents import (
    ContentsCode,
    ContentsFinding,
    KeptFile,
    StoredContents,
    check_document,
    check_file,
)
from sourcebound.contracts.corpus.digests import PageText, digest_documents
from sourcebound.store.connection.database import Pool, Row, store_faults
from sourcebound.store.connection.queries import query
from sourcebound.store.search.altered import to_sealed
from sourcebound.store.search.bm25 import CHUNK_NO

BATCH_DOCUMENTS: Final = 16
"""The number of documents in memory at a time."""
POSTING_BYTES: Final = 8
CHUNK_NO_SHIFT: Final = 32
"""The place of the chunk number in a posting, in bits."""
FETCHED_WORDS: Final = 2000
STATISTICS: Final = ("chunks", "length", "removed", "documents")


class ContentsCheck:
    """The check of one collection.

    Args:
        pool: Connections to the database.
        collection: The collection.
        further_words: Returns the search words of a chunk's text that are not in it, as ingest computed them with the
            collection's chunker.
    """

    def __init__(self, pool: Pool, collection: Collection, further_words: Callable[[str, str], str]) -> None:
        self._pool = pool
        self._collection = collection
        self._further_words = further_words
        self.documents = 0
        """The number of documents checked so far."""
        self.chunks = 0
        """The number of their chunks."""

    async def run(self, documents: int | None = None) -> AsyncIterator[ContentsFinding]:
        """Yield everything that is not what ingest stored.

        Args:
            documents: Check only so many documents, drawn by chance, with their chunks, and the digest of the
                collection. None checks everything.

        Raises:
            StoreError: The database does not answer, or a table is gone.
        """
        with store_faults():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(query("one_state"))
                rows = await self._fetch(connection, "contents_digests")
                for finding in self._check_version(rows):
                    yield finding
                ids = [row["document_id"] for row in rows]
                chosen = ids if documents is None else sample(ids, min(documents, len(ids)))
                for start in range(0, len(chosen), BATCH_DOCUMENTS):
                    for finding in await self._check_batch(connection, chosen[start : start + BATCH_DOCUMENTS]):
                        yield finding
                if documents is None:
                    for finding in await self._check_chunks(connection):
                        yield finding
                    async for finding in self._check_postings(connection):
                        yield finding

    def _check_version(self, rows: Sequence[Row]) -> Iterator[ContentsFinding]:
        if digest_documents(bytes(row["contents_digest"]) for row in rows).hex() != self._collection.documents_digest:
            message = f"{self._collection.index_version} is not the index version of its {len(rows)} documents"
            yield ContentsFinding(ContentsCode.INDEX_VERSION_ALTERED, self._collection.name, message)

    async def _check_batch(self, connection: AsyncConnection[Row], ids: list[int]) -> list[ContentsFinding]:
        pages: dict[int, list[PageText]] = defaultdict(list)
        chunks: dict[int, list[Row]] = defaultdict(list)
        for row in await self._fetch(connection, "contents_pages", document_ids=ids):
            pages[row["document_id"]].append(PageText(row["page_index"], row["page_number"], row["text"]))
        for row in await self._fetch(connection, "contents_chunks", document_ids=ids):
            chunks[row["document_id"]].append(row)
        found: list[ContentsFinding] = []
        for row in await self._fetch(connection, "contents_documents", document_ids=ids):
            own = chunks[row["document_id"]]
            stored = StoredContents(
                row["knowledge_id"],
                bytes(row["source_digest"]),
                bytes(row["chunk_digests"]),
                bytes(row["contents_digest"]),
                pages[row["document_id"]],
                [to_sealed({**row, **chunk}) for chunk in own],
            )
            found += check_document(stored)
            found += await self._check_words(connection, row["title"], own)
            if row["file_sha256"] is not None:
                (file,) = await self._fetch(connection, "contents_file", document_id=row["document_id"])
                found += check_file(KeptFile(**file))
            self.documents, self.chunks = self.documents + 1, self.chunks + len(own)
        return found

    async def _check_words(
        self, connection: AsyncConnection[Row], title: str, chunks: Sequence[Row]
    ) -> list[ContentsFinding]:
        values: dict[str, list[Any]] = {
            "chunk_nos": [row["chunk_no"] for row in chunks],
            "joined": [self._further_words(row["text"], self._collection.chunker) for row in chunks],
            "contexts": [" ".join([title, *row["heading_path"]]) for row in chunks],
        }
        message = "its search words are not those of its text, title and headings"
        return [
            ContentsFinding(ContentsCode.WORDS_ALTERED, row["chunk_id"], message)
            for row in await self._fetch(connection, "contents_words", **values)
        ]

    async def _check_chunks(self, connection: AsyncConnection[Row]) -> list[ContentsFinding]:
        """Check what is not a matter of one document: stray chunks, the form of vectors, and counts."""
        found = [
            ContentsFinding(ContentsCode.CHUNK_STRAY, row["chunk_id"], "it belongs to no document of the collection")
            for row in await self._fetch(connection, "contents_strays")
        ]
        dimensions = self._collection.dimensions
        found += [
            ContentsFinding(
                ContentsCode.VECTOR_ALTERED,
                row["chunk_id"],
                f"its vector has {row['dimensions'] or 0} dimensions, and the collection has {dimensions}",
            )
            for row in await self._fetch(connection, "contents_vectors", dimensions=dimensions)
        ]
        (counts,) = await self._fetch(connection, "contents_statistics")
        found += [
            ContentsFinding(
                ContentsCode.STATISTICS_ALTERED,
                self._collection.name,
                f"the stored count of {name} is {counts[name]}, and the true one {counts[f'true_{name}']}",
            )
            for name in STATISTICS
            if counts[name] != counts[f"true_{name}"]
        ]
        return found

    async def _check_postings(self, connection: AsyncConnection[Row]) -> AsyncIterator[ContentsFinding]:
        (row,) = await self._fetch(connection, "removed_chunks")
        removed = np.frombuffer(row["packed"] or b"", CHUNK_NO)
        async with connection.cursor("contents_postings", binary=True) as cursor:
            await cursor.execute(query("contents_postings"), {"collection_id": self._collection.collection_id})
            while batch := await cursor.fetchmany(FETCHED_WORDS):
                for word in batch:
                    message = _compare_postings(word, removed)
                    if message:
                        yield ContentsFinding(ContentsCode.POSTINGS_ALTERED, word["lexeme"], message)

    async def _fetch(self, connection: AsyncConnection[Row], name: str, **values: object) -> list[Row]:
        all_values = {"collection_id": self._collection.collection_id, **values}
        return await (await connection.execute(query(name), all_values, binary=True)).fetchall()


def _compare_postings(word: Row, removed: NDArray[Any]) -> str | None:
    """Describe the difference between the stored postings of a word and those of the chunks; None if there is none."""
    packed = word["packed"] or b""
    if len(packed) % POSTING_BYTES:
        return f"its stored postings have {len(packed)} bytes, which is not a whole number of postings"
    stored, expected = np.frombuffer(packed, ">i8"), np.frombuffer(word["true_packed"] or b"", ">i8")
    stored = stored[~np.isin(stored >> CHUNK_NO_SHIFT, removed)]
    differing = np.setxor1d(stored, expected)
    if len(differing) or len(stored) != len(expected):
        chunks = len(np.unique(differing >> CHUNK_NO_SHIFT))
        return f"its stored postings are not those of the text, in {chunks} chunks"
    if word["chunks"] != word["true_chunks"]:
        return f"it is counted in {word['chunks']} chunks, and is in {word['true_chunks']}"
    return None

"""Reads the stored pages of documents, so that a citation opens at its place (§13)."""

import asyncio
from collections.abc import Collection as Names
from datetime import date
from typing import NamedTuple

from sourcebound.contracts.corpus.collection import DocumentSummary
from sourcebound.contracts.corpus.contents import ContentsCode, KeptFile
from sourcebound.contracts.presentation.source_view import StoredPassage
from sourcebound.errors import StoreError
from sourcebound.store.connection.database import Pool, fetch_visible
from sourcebound.store.connection.queries import query


class StoredPage(NamedTuple):
    """A page of a document, as text."""

    title: str
    revision: str | None
    source_reference: str
    media_type: str
    event_date: date | None
    equipment_id: str | None
    number: int
    text: str
    pages: int
    """The number of pages of the document."""
    has_image: bool
    """Whether the page can be shown as it was printed."""


class ListedDocuments(NamedTuple):
    """A part of the list of documents, in the order of their knowledge ids."""

    total: int
    """The number of documents in the whole list."""
    documents: list[DocumentSummary]
    has_more: bool


class PostgresSources:
    """The tables `documents`, `pages`, `chunks` and `source_files`, for readers.

    Args:
        pool: Connections to their database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_place(self, collection: str, knowledge_id: str, chunk_id: str) -> StoredPassage | None:
        """Return the place of a chunk; None if the document no longer has it."""
        values = {"collection": collection, "knowledge_id": knowledge_id, "chunk_id": chunk_id}
        rows = await fetch_visible(self._pool, query("chunk_place"), values)
        return StoredPassage(**rows[0]) if rows else None

    async def list_documents(
        self, collection_id: int, labels: Names[str] | None, contains: str | None, after: str | None, limit: int
    ) -> ListedDocuments:
        """Return the next documents of a collection.

        Args:
            collection_id: The collection.
            labels: Those of the caller, which lists what it may read; None: labels do not restrict it.
            contains: A text that the title, the knowledge id, the revision or the labels have, in letters of any case.
            after: The knowledge id of the last document that is known. None: from the first one.
            limit: The most documents that are returned.
        """
        values = {
            "collection_id": collection_id,
            "labels": None if labels is None else sorted(labels),
            "contains": contains or None,
            "after": after,
            "limit": limit + 1,
        }
        rows = await fetch_visible(self._pool, query("page_documents"), values)
        total = int(rows[0]["total"])
        fields = DocumentSummary._fields
        found = [DocumentSummary(**{name: row[name] for name in fields}) for row in rows if row["knowledge_id"]]
        return ListedDocuments(total, found[:limit], len(found) > limit)

    async def read_page(self, collection: str, knowledge_id: str, number: int) -> StoredPage | None:
        """Return a page by its number, from 1; None if the document has no such page, or does not exist."""
        values = {"collection": collection, "knowledge_id": knowledge_id, "number": number}
        rows = await fetch_visible(self._pool, query("read_page"), values)
        return StoredPage(**rows[0]) if rows else None

    async def read_file(self, collection: str, knowledge_id: str) -> bytes | None:
        """Return the bytes of a document's file; None if they are not kept.

        Raises:
            StoreError: They are not what was ingested (`FILE_ALTERED`, IX-3).
        """
        values = {"collection": collection, "knowledge_id": knowledge_id}
        rows = await fetch_visible(self._pool, query("read_source_file"), values)
        if not rows:
            return None
        file = KeptFile(**rows[0])
        if await asyncio.to_thread(lambda: file.is_altered):
            raise StoreError(
                f"the kept file of {knowledge_id!r} is not what was ingested.",
                "Run `sourcebound index check --contents`. Then remove the document, and ingest its file again, "
                "with its labels (--label).",
                code=ContentsCode.FILE_ALTERED,
            )
        return file.content

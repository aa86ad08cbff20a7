"""From paths to stored documents: hash, parse, chunk, embed, store; each document whole or not at all.

A file that cannot be ingested is reported and the rest goes on. A file whose digest is already stored costs one read.
While documents are embedded and stored the next ones are parsed, in child processes and in their order, and only a few
of them are ever held in memory.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import ENGLISH, Collection, KnownDocument, KnownVector, StoredDocument
from sourcebound.contracts.corpus.vector_index import VectorIndex
from sourcebound.contracts.ports import DocumentParser, DocumentStore, Embedder
from sourcebound.errors import ConfigurationError
from sourcebound.ingest.changes import Change, Surveyor
from sourcebound.ingest.discovery import NOTHING_FOUND, Found, Skipped, SourceFile, find_files
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.prepare import Preparer
from sourcebound.ingest.pruning import gone_documents
from sourcebound.ingest.sandbox.deadline import Clock

LEXICAL: Final = "lexical"
INDEXING: Final = "vector index"
"""The progress description while the vector index is built."""
LOOKED_AT: Final = 256
"""Files that are hashed in one go."""
BATCH_CHUNKS: Final = 64
BATCH_DOCUMENTS: Final = 64
BATCH_SECONDS: Final = 1.0
"""Documents are embedded and stored together: until they have this many chunks, or are this many, or have waited this
long, so that an interruption costs little."""
LEXICAL_BATCH_CHUNKS: Final = 1024


class Progress(NamedTuple):
    """The progress of an ingest: `files_done` were examined, and stored if they had changed."""

    files_done: int
    files: int
    name: str
    chunks_done: int = 0


class IngestSummary(NamedTuple):
    """The result of an ingest, or its plan if nothing was written."""

    collection: str
    embedding_model: str
    added: int
    replaced: int
    unchanged: int
    chunks: int
    skipped: tuple[Skipped, ...]
    removed: tuple[str, ...] = ()
    """Knowledge ids of the documents whose files are gone."""
    kept: int = 0
    """Those of the chunks that had their vectors already."""
    vector_index: VectorIndex | None = None
    """The approximate index, where it was made or measured again."""


class _Tally:
    """The counts so far."""

    def __init__(self, known: dict[str, KnownDocument], found: Found) -> None:
        self.known = known
        self.files = len(found.files)
        self.skipped = list(found.skipped)
        self.looked_at = self.added = self.replaced = self.unchanged = self.chunks = self.kept = 0
        self.named: dict[str, str] = {}
        """By its path, the id of each stored file whose operator gave it one."""

    def count(self, is_new: bool) -> None:
        if is_new:
            self.added += 1
        else:
            self.replaced += 1

    def note_name(self, knowledge_id: str, source_path: str, overrides: Sidecar) -> None:
        if overrides.knowledge_id:
            self.named[source_path] = knowledge_id

    def summary(
        self, collection: str, model: str, removed: tuple[str, ...], index: VectorIndex | None
    ) -> IngestSummary:
        counts = (self.added, self.replaced, self.unchanged, self.chunks)
        return IngestSummary(collection, model, *counts, tuple(self.skipped), removed, self.kept, index)


class Ingest:
    """Ingests into the collections of one embedder.

    Args:
        store: Stores the documents.
        embedder: The embedder of the collections; None for lexical ones.
        embedder_name: How the embedder is opened again, `minilm` for instance.
        max_bytes: Larger files are skipped.
        parser: Reads the files.
        report: Called with the progress.
        language: The language of a collection that is made and for which none is named.
        clock: Measures the time that a file takes.
    """

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder | None,
        embedder_name: str,
        max_bytes: int,
        parser: DocumentParser,
        report: Callable[[Progress], None] = lambda _: None,
        language: str = ENGLISH,
        clock: Clock = monotonic,
    ) -> None:
        self._store = store
        self._embedder_name = embedder_name
        self._max_bytes = max_bytes
        self._parser = parser
        self._report = report
        self._language = language
        self._model = embedder.name if embedder else LEXICAL
        self._dimensions = embedder.dimensions if embedder else 0
        self._preparer = Preparer(parser, embedder, max_bytes, clock)
        self._batch_chunks = BATCH_CHUNKS if embedder else LEXICAL_BATCH_CHUNKS

    async def run(
        self,
        paths: Sequence[Path],
        collection_name: str,
        metadata: Sidecar,
        *,
        language: str | None = None,
        prune: bool = False,
        dry_run: bool = False,
    ) -> IngestSummary:
        """Ingests files and folders.

        Args:
            paths: Files and folders.
            collection_name: The collection; it is created if it does not exist.
            metadata: Metadata of every file of this ingest; it overrides sidecars.
            language: The language of the collection; None for the one that it has.
            prune: Whether documents under these paths whose files are gone are removed.
            dry_run: Whether nothing is written; then nothing is parsed either.

        Returns:
            Counts, and every file that was skipped with the reason.

        Raises:
            ConfigurationError: The collection was made with another embedder, chunk size or language, or the database
                does not know the language.
            SourceboundError: The store or the embedder failed; documents stored before stay.
        """
        found = await asyncio.to_thread(find_files, paths)
        collection = await self._open_collection(collection_name, language, dry_run)
        known = await self._store.known_documents(collection.collection_id) if collection else {}
        tally = _Tally(known, found)
        surveyor = Surveyor(dict(known), metadata, self._preparer.chunker, self._max_bytes)
        async with aclosing(self._changes(found.files, surveyor, tally)) as changes:
            if collection and not dry_run:
                await self._ingest(collection.collection_id, changes, surveyor, tally)
            else:
                async for change in changes:
                    tally.count(change.is_new)
        gone = await asyncio.to_thread(gone_documents, known.values(), paths, tally.named) if prune else []
        removed = tuple(document.knowledge_id for document in gone)
        if collection and removed and not dry_run:
            await self._store.remove_documents(collection.collection_id, removed)
        index = None
        if collection and not dry_run:
            self._report(Progress(tally.files, tally.files, INDEXING, tally.chunks))
            index = await self._store.index_vectors(collection_name)
        self._report(Progress(tally.files, tally.files, "", tally.chunks))
        if removed:  # finding nothing is then as it should be
            tally.skipped = [skipped for skipped in tally.skipped if skipped.code != NOTHING_FOUND]
        return tally.summary(collection_name, self._model, removed, index)

    async def _open_collection(self, name: str, language: str | None, dry_run: bool) -> Collection | None:
        chunker, chosen = self._preparer.chunker, self._language if language is None else language
        if dry_run:
            await self._store.check_language(chosen)
            collection = await self._store.find_collection(name)
        else:
            collection = await self._store.create_collection(
                name, self._embedder_name, self._model, self._dimensions, chunker, chosen
            )
        if collection and (collection.embedding_model, collection.chunker) != (self._model, chunker):
            raise ConfigurationError(
                f"the collection {name!r} was made with {collection.embedding_model} ({collection.chunker}), and this "
                f"ingest would use {self._model} ({chunker}).",
                f"Ingest into another collection, or set SOURCEBOUND_EMBEDDER={collection.embedder}.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        if collection and language not in (None, collection.language):
            raise ConfigurationError(
                f"the collection {name!r} is in {collection.language}, and this ingest names {language}.",
                f"Ingest into another collection, or leave the language out to go on in {collection.language}.",
                code="INDEX_LANGUAGE_MISMATCH",
            )
        return collection

    async def _changes(
        self, files: Sequence[SourceFile], surveyor: Surveyor, tally: _Tally
    ) -> AsyncGenerator[Change, None]:
        """The files that have changed, in their order."""
        for start in range(0, len(files), LOOKED_AT):
            for result in await asyncio.to_thread(surveyor.look, files[start : start + LOOKED_AT]):
                tally.looked_at += 1
                if isinstance(result, Change):
                    yield result
                elif isinstance(result, Skipped):
                    tally.skipped.append(result)
                else:
                    tally.unchanged += 1
                    tally.note_name(result.knowledge_id, result.file.resolved, result.overrides)
            self._report(Progress(tally.looked_at, tally.files, files[start].knowledge_id, tally.chunks))

    async def _ingest(
        self, collection_id: int, changes: AsyncIterator[Change], surveyor: Surveyor, tally: _Tally
    ) -> None:
        batch: list[StoredDocument] = []
        began = 0.0
        async with aclosing(self._preparer.prepare(changes, surveyor)) as prepared:
            async for result in prepared:
                if isinstance(result, Skipped):
                    tally.skipped.append(result)
                    continue
                began = began if batch else monotonic()
                batch.append(result.document)
                tally.note_name(result.document.knowledge_id, result.change.file.resolved, result.change.overrides)
                self._report(Progress(tally.looked_at, tally.files, result.document.knowledge_id, tally.chunks))
                if self._is_full(batch, began):
                    await self._keep(collection_id, batch, tally)
                    batch = []
        if batch:
            await self._keep(collection_id, batch, tally)

    def _is_full(self, batch: Sequence[StoredDocument], began: float) -> bool:
        chunks = sum(len(document.chunks) for document in batch)
        return len(batch) >= BATCH_DOCUMENTS or chunks >= self._batch_chunks or monotonic() - began > BATCH_SECONDS

    async def _keep(self, collection_id: int, documents: Sequence[StoredDocument], tally: _Tally) -> None:
        """Embeds and stores documents, all of them or none."""

        def report(chunks: int) -> None:
            self._report(Progress(tally.looked_at, tally.files, documents[0].knowledge_id, tally.chunks + chunks))

        known = await self._known_vectors(collection_id, documents, tally)
        embedded = await self._preparer.embed(documents, known, report)
        await self._store.replace_documents(collection_id, embedded.documents)
        tally.kept += embedded.kept
        for document in embedded.documents:
            tally.count(document.knowledge_id not in tally.known)
            tally.chunks += len(document.chunks)
            tally.known[document.knowledge_id] = KnownDocument(
                document.knowledge_id, document.source_path, document.source_digest
            )

    async def _known_vectors(
        self, collection_id: int, documents: Sequence[StoredDocument], tally: _Tally
    ) -> dict[str, KnownVector]:
        """Return the stored vectors of the documents that are replaced."""
        replacing = [document for document in documents if document.knowledge_id in tally.known]
        chunk_ids = [chunk.chunk_id for document in replacing for chunk in document.chunks]
        if not chunk_ids or not self._dimensions:
            return {}
        return await self._store.known_vectors(collection_id, chunk_ids)

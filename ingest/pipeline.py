"""The ingest of files: hash, parse, chunk, embed, store. A document is stored completely or not at all.

A file that cannot be ingested is reported, and the ingest continues with the next one. A file whose digest is already
stored is only read and hashed. While documents are embedded and stored, child processes parse the next ones in order.
Only a few documents are in memory at a time.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from collections.abc import Collection as Names
from contextlib import aclosing
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import ENGLISH, Collection, KnownDocument, KnownVector, StoredDocument
from sourcebound.contracts.ports import DocumentParser, DocumentStore, Embedder
from sourcebound.errors import ConfigurationError
from sourcebound.ingest.changes import Change, ChangeDetector
from sourcebound.ingest.discovery import NOTHING_FOUND, FoundFiles, Skipped, SourceFile, find_files
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.prepare import Preparer
from sourcebound.ingest.pruning import find_obsolete_documents
from sourcebound.ingest.sandbox.deadline import Clock
from sourcebound.ingest.summary import IngestSummary, Tally

LEXICAL: Final = "lexical"
INDEXING: Final = "vector index"
"""The progress description while the vector index is built."""
HASH_BATCH_FILES: Final = 256
"""The number of files that are hashed together."""
BATCH_CHUNKS: Final = 64
BATCH_DOCUMENTS: Final = 64
BATCH_SECONDS: Final = 1.0
"""The limits of a batch, which is embedded and stored together: its chunks, its documents, and the age of its first
document. An interruption loses at most one batch."""
LEXICAL_BATCH_CHUNKS: Final = 1024
BATCH_BYTES: Final = 64 << 20
"""The bytes of kept files that a batch has in memory."""
KEEP_BYTES: Final = 50 << 20
"""The largest PDF that is kept, unless the operator sets another size."""


class Progress(NamedTuple):
    """The progress of an ingest: `files_done` were examined, and stored if they had changed."""

    files_done: int
    files: int
    name: str
    chunks_done: int = 0


class _Target:
    """The collection of an ingest. The first batch makes it, so that an ingest that stores nothing makes none.

    Args:
        collection: The collection; None if it does not exist.
        chunker: The name of its chunker.
        create: Makes it.
    """

    def __init__(
        self, collection: Collection | None, chunker: str, create: Callable[[], Awaitable[Collection]]
    ) -> None:
        self.collection = collection
        self.chunker = chunker
        self._create = create

    async def open(self) -> int:
        """Return the id of the collection, which exists now."""
        self.collection = self.collection or await self._create()
        return self.collection.collection_id


class Ingest:
    """The ingest into collections of one embedder.

    Args:
        store: Stores the documents.
        embedder: The embedder of the collections; None for lexical ones.
        embedder_name: The name by which the embedder is opened again, such as `minilm`.
        max_bytes: Larger files are skipped.
        parser: Reads the files.
        report: Called with the progress.
        language: The language of a new collection, unless `run` names one.
        clock: Measures the time that a file takes.
        keep_bytes: PDFs up to this size are kept, so that their pages are shown as images. 0 keeps none.
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
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self._store = store
        self._embedder_name = embedder_name
        self._max_bytes = max_bytes
        self._parser = parser
        self._report = report
        self._language = language
        self._model = embedder.name if embedder else LEXICAL
        self._dimensions = embedder.dimensions if embedder else 0
        self._preparer = Preparer(parser, embedder, max_bytes, clock, keep_bytes)
        self._batch_chunks = BATCH_CHUNKS if embedder else LEXICAL_BATCH_CHUNKS

    async def run(
        self,
        paths: Sequence[Path],
        collection_name: str,
        metadata: Sidecar,
        *,
        language: str | None = None,
        labels: Sequence[str] | None = None,
        prune: bool = False,
        dry_run: bool = False,
    ) -> IngestSummary:
        """Ingest files and folders.

        Args:
            paths: Files and folders.
            collection_name: The collection; it is created with its first document if it does not exist.
            metadata: Metadata of every file of this ingest; it overrides sidecars.
            language: The language of the collection; None for its current one.
            labels: The labels of each document, also of unchanged and skipped files (R6-7). None for those of its
                sidecar; a document without any there keeps those that are stored.
            prune: Whether to remove documents under these paths whose files no longer exist.
            dry_run: Whether to plan the ingest only: nothing is parsed or written.

        Returns:
            Counts, and every skipped file with the reason.

        Raises:
            ConfigurationError: The collection was made with another embedder, chunk size or language, or the database
                does not know the language.
            SourceboundError: The store or the embedder failed. Documents that are already stored stay.
        """
        found = await asyncio.to_thread(find_files, paths)
        return await self.run_files(
            found,
            collection_name,
            metadata,
            language=language,
            labels=labels,
            pruned=paths if prune else (),
            dry_run=dry_run,
        )

    async def run_files(
        self,
        found: FoundFiles,
        collection_name: str,
        metadata: Sidecar,
        *,
        language: str | None = None,
        labels: Sequence[str] | None = None,
        held: Names[str] | None = None,
        pruned: Sequence[Path] = (),
        dry_run: bool = False,
    ) -> IngestSummary:
        """Ingest files that were found already, as `run` does.

        Args:
            found: The files.
            collection_name: The collection.
            metadata: Metadata of every file.
            language: The language of the collection; None for its current one.
            labels: As for `run`.
            held: The labels of the caller, which replaces no document that is hidden from it, and removes no label.
                None: labels do not restrict it.
            pruned: Paths whose documents are removed if their files no longer exist.
            dry_run: Whether to plan the ingest only.
        """
        collection = await self._find_collection(collection_name, language)
        chunker = collection.chunker if collection else self._preparer.chunker(self._language_of_new(language))
        target = _Target(collection, chunker, partial(self._create_collection, collection_name, language))
        if labels is not None:
            metadata = metadata.model_copy(update={"labels": tuple(labels)})
        known = await self._store.known_documents(collection.collection_id) if collection else {}
        tally = Tally(known, found)
        await self._relabel(collection, tally, labels, held, dry_run=dry_run)  # first: an ingest may be interrupted
        detector = ChangeDetector(dict(known), metadata, chunker, self._max_bytes, held)
        relabel = None
        if labels is None:
            relabel = partial(self._relabel_by_sidecars, collection, tally, detector, dry_run=dry_run)
        async with aclosing(self._find_changes(found.files, detector, tally, relabel)) as changes:
            if not dry_run:
                await self._ingest(target, changes, detector, tally)
            else:
                async for change in changes:
                    tally.count_document(change.is_new)
        await self._relabel(collection, tally, labels, held, dry_run=dry_run)  # unchanged files that have moved
        removed: tuple[str, ...] = ()
        if pruned:
            obsolete = await asyncio.to_thread(find_obsolete_documents, known.values(), pruned, tally.operator_ids)
            removed = tuple(document.knowledge_id for document in obsolete)
        if collection and removed and not dry_run:
            await self._store.remove_documents(collection.collection_id, removed)
        index = None
        if target.collection and not dry_run:
            self._report(Progress(tally.files, tally.files, INDEXING, tally.chunks))
            index = await self._store.index_vectors(collection_name)
        self._report(Progress(tally.files, tally.files, "", tally.chunks))
        if removed:  # an empty folder is then a reason to prune, and not an error
            tally.skipped = [skipped for skipped in tally.skipped if skipped.code != NOTHING_FOUND]
        return tally.summary(collection_name, self._model, removed, index)

    async def _relabel(
        self,
        collection: Collection | None,
        tally: Tally,
        labels: Sequence[str] | None,
        held: Names[str] | None,
        *,
        dry_run: bool,
    ) -> None:
        """Give the stored documents of the files these labels, whether or not their files can be read now."""
        others = tally.find_with_other(labels, held) if collection and labels is not None else []
        if collection and labels is not None and others:
            await self._give_labels(collection, tally, others, labels, dry_run=dry_run)

    async def _relabel_by_sidecars(
        self, collection: Collection | None, tally: Tally, detector: ChangeDetector, *, dry_run: bool
    ) -> None:
        """Give stored documents the labels of their sidecars, whether or not their files can be read now."""
        for labels, names in tally.find_with_other_sidecar(detector.labels).items():
            if collection:
                await self._give_labels(collection, tally, names, labels, dry_run=dry_run)

    async def _give_labels(
        self, collection: Collection, tally: Tally, names: Sequence[str], labels: Sequence[str], *, dry_run: bool
    ) -> None:
        """Give stored documents labels. Those whose labels were changed meanwhile keep them: that decision is later."""
        seen = {name: tally.known[name].labels for name in names}
        if not dry_run:
            await self._store.label_documents(collection.collection_id, names, labels, seen)
        tally.record_labels(names, labels)

    async def _find_collection(self, name: str, language: str | None) -> Collection | None:
        """Return the collection, or None if it does not exist: the first batch makes it."""
        await self._store.check_language(self._language_of_new(language))
        collection = await self._store.find_collection(name)
        if collection:
            self._check_collection(collection, language)
        return collection

    async def _create_collection(self, name: str, language: str | None) -> Collection:
        """Create the collection, unless another process has created it meanwhile."""
        new_language = self._language_of_new(language)
        chunker = self._preparer.chunker(new_language)
        collection = await self._store.create_collection(
            name, self._embedder_name, self._model, self._dimensions, chunker, new_language
        )
        self._check_collection(collection, language, chunker)
        return collection

    def _language_of_new(self, language: str | None) -> str:
        return self._language if language is None else language

    def _check_collection(self, collection: Collection, language: str | None, prepared: str | None = None) -> None:
        """Check that documents fit a collection; `prepared` is the chunker of those that are cut already."""
        name, chunker = collection.name, prepared or self._preparer.chunker(collection.language)
        fits = collection.chunker == prepared if prepared else self._preparer.fits(collection.chunker)
        if collection.embedding_model != self._model or not fits:
            raise ConfigurationError(
                f"the collection {name!r} was made with {collection.embedding_model} ({collection.chunker}), and this "
                f"ingest would use {self._model} ({chunker}).",
                f"Ingest into another collection, or set SOURCEBOUND_EMBEDDER={collection.embedder}.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        if language not in (None, collection.language):
            raise ConfigurationError(
                f"the language of the collection {name!r} is {collection.language}, and this ingest names {language}.",
                f"Ingest into another collection, or omit the language to use {collection.language}.",
                code="INDEX_LANGUAGE_MISMATCH",
            )

    async def _find_changes(
        self,
        files: Sequence[SourceFile],
        detector: ChangeDetector,
        tally: Tally,
        relabel: Callable[[], Awaitable[None]] | None,
    ) -> AsyncGenerator[Change, None]:
        """Yield the files that have changed, in order."""
        for start in range(0, len(files), HASH_BATCH_FILES):
            results = await asyncio.to_thread(detector.classify, files[start : start + HASH_BATCH_FILES])
            if relabel:
                await relabel()  # before anything is read: an ingest may be interrupted
            for result in results:
                tally.examined += 1
                if isinstance(result, Change):
                    yield result
                elif isinstance(result, Skipped):
                    tally.skipped.append(result)
                else:
                    tally.record_unchanged(result)
            self._report(Progress(tally.examined, tally.files, files[start].knowledge_id, tally.chunks))

    async def _ingest(
        self, target: _Target, changes: AsyncIterator[Change], detector: ChangeDetector, tally: Tally
    ) -> None:
        batch: list[StoredDocument] = []
        batch_started = 0.0
        async with aclosing(self._preparer.prepare(changes, detector)) as prepared:
            async for result in prepared:
                if isinstance(result, Skipped):
                    tally.skipped.append(result)
                    continue
                batch_started = batch_started if batch else monotonic()
                document, change = result.document, result.change
                batch.append(document)
                tally.record_operator_id(document.knowledge_id, change.file.resolved, change.overrides)
                self._report(Progress(tally.examined, tally.files, document.knowledge_id, tally.chunks))
                if self._is_full(batch, batch_started):
                    await self._store_batch(target, batch, tally)
                    batch = []
        if batch:
            await self._store_batch(target, batch, tally)

    def _is_full(self, batch: Sequence[StoredDocument], started: float) -> bool:
        chunks = sum(len(document.chunks) for document in batch)
        if sum(len(document.file or b"") for document in batch) >= BATCH_BYTES:
            return True
        return len(batch) >= BATCH_DOCUMENTS or chunks >= self._batch_chunks or monotonic() - started > BATCH_SECONDS

    async def _store_batch(self, target: _Target, documents: Sequence[StoredDocument], tally: Tally) -> None:
        """Embed and store documents, all or none."""

        def report(chunks: int) -> None:
            self._report(Progress(tally.examined, tally.files, documents[0].knowledge_id, tally.chunks + chunks))

        known = await self._read_known_vectors(target, documents, tally)
        embedded = await self._preparer.embed(documents, known, report, target.chunker)
        labelled = [
            document._replace(seen_labels=tally.seen_labels(document.knowledge_id)) for document in embedded.documents
        ]
        await self._store.replace_documents(await target.open(), labelled)
        tally.reused_vectors += embedded.reused_vectors
        for document in embedded.documents:
            tally.record_stored(document)
            tally.chunks += len(document.chunks)
            tally.known[document.knowledge_id] = KnownDocument(
                document.knowledge_id, document.source_path, document.source_digest
            )

    async def _read_known_vectors(
        self, target: _Target, documents: Sequence[StoredDocument], tally: Tally
    ) -> dict[str, KnownVector]:
        """Return the stored vectors of the documents that this batch replaces."""
        replacing = [document for document in documents if document.knowledge_id in tally.known]
        chunk_ids = [chunk.chunk_id for document in replacing for chunk in document.chunks]
        if not chunk_ids or not self._dimensions:
            return {}
        return await self._store.known_vectors(await target.open(), chunk_ids)

"""From paths to stored documents: hash, parse, chunk, embed, store; each document whole or not at all.

A file that cannot be ingested is reported and the rest goes on. A file whose digest is already stored costs one read.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.document import Chunk, DocumentMetadata
from sourcebound.contracts.index import Collection, KnownDocument, StoredDocument
from sourcebound.contracts.ports import DocumentStore, Embedder
from sourcebound.contracts.sanitize import storable
from sourcebound.contracts.tokens import estimate_tokens
from sourcebound.errors import ConfigurationError, DocumentError
from sourcebound.ingest.chunking import chunk_document
from sourcebound.ingest.loader import SUPPORTED_SUFFIXES, load_document
from sourcebound.ingest.sidecar import SIDECAR_SUFFIX, Sidecar, read_sidecar, sidecar_path

LEXICAL: Final = "lexical"
CONTEXT_TOKENS: Final = 50
"""Room in the embedder's window for a chunk's title and headings."""
MAX_CHUNK_TOKENS: Final = 320
"""A chunk's size where the embedder's window is larger; several must fit one prompt."""
EMBEDDING_BATCH: Final = 64


class SourceFile(NamedTuple):
    """A file to ingest and the name it gets."""

    path: Path
    knowledge_id: str


class Skipped(NamedTuple):
    """A file that was not ingested, and why."""

    path: Path
    code: str
    message: str
    next_step: str


class Progress(NamedTuple):
    """Where an ingest stands; `chunks` counts within the present file."""

    files_done: int
    files: int
    name: str
    chunks_done: int = 0
    chunks: int = 0


class IngestSummary(NamedTuple):
    """What an ingest did."""

    collection: str
    embedding_model: str
    added: int
    replaced: int
    unchanged: int
    chunks: int
    skipped: tuple[Skipped, ...]


class LexicalCounter:
    """Sizes chunks where there is no embedder."""

    max_tokens = MAX_CHUNK_TOKENS

    def count_tokens(self, text: str) -> int:
        """The prompt's own token estimate."""
        return estimate_tokens(text)


def find_files(paths: Sequence[Path]) -> tuple[list[SourceFile], list[Skipped]]:
    """Lists the files to ingest.

    Args:
        paths: Files, and folders that are searched for supported formats.

    Returns:
        The files, each once, in a stable order, and what was named but cannot be ingested.
    """
    files: dict[Path, SourceFile] = {}
    skipped: list[Skipped] = []
    for path in paths:
        if path.is_dir():
            for entry in _walk(path, skipped):
                files.setdefault(entry.resolve(), SourceFile(entry, entry.relative_to(path).as_posix()))
        elif path.is_file():
            files.setdefault(path.resolve(), SourceFile(path, path.name))
        else:
            skipped.append(Skipped(path, "PATH_MISSING", f"{path} does not exist.", "Check the path."))
    if not files and not skipped:
        suffixes = ", ".join(sorted(SUPPORTED_SUFFIXES))
        skipped.append(Skipped(paths[0], "NOTHING_FOUND", "no supported file was found.", f"Supported: {suffixes}."))
    return list(files.values()), skipped


def _walk(folder: Path, skipped: list[Skipped]) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        skipped.append(_unreadable(folder, error))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith(SIDECAR_SUFFIX):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry, skipped)
        elif entry.is_file() and entry.suffix.lower() in SUPPORTED_SUFFIXES:
            yield entry


class Ingest:
    """One ingest into one collection.

    Args:
        store: Where documents go.
        embedder: The embedder of the collection; None for a lexical one.
        embedder_name: How the embedder is opened again, `minilm` for instance.
        max_bytes: Larger files are skipped.
        report: Called with the progress.
    """

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder | None,
        embedder_name: str,
        max_bytes: int,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._embedder_name = embedder_name
        self._max_bytes = max_bytes
        self._report = report
        window = embedder.max_tokens - CONTEXT_TOKENS if embedder else MAX_CHUNK_TOKENS
        self._chunk_tokens = min(window, MAX_CHUNK_TOKENS)
        self._chunker = f"structure_v1:{self._chunk_tokens}"

    async def run(self, paths: Sequence[Path], collection_name: str, metadata: Sidecar) -> IngestSummary:
        """Ingests files and folders.

        Args:
            paths: Files and folders.
            collection_name: The collection; made when it is not there.
            metadata: What holds for every file of this ingest; stronger than sidecars.

        Returns:
            Counts, and every file that was skipped with the reason.

        Raises:
            ConfigurationError: The collection was made with another embedder or chunk size.
            SourceboundError: The store or the embedder failed; documents stored before stay.
        """
        files, skipped = await asyncio.to_thread(find_files, paths)
        collection = await self._open_collection(collection_name)
        known = await self._store.known_documents(collection.collection_id)
        counts = {"added": 0, "replaced": 0, "unchanged": 0}
        chunks = 0
        for position, file in enumerate(files):
            progress = Progress(position, len(files), file.knowledge_id)
            self._report(progress)
            try:
                document = await self._prepare(file, metadata, known, progress)
            except DocumentError as error:
                skipped.append(Skipped(file.path, error.failure_code, error.message, error.next_step))
                continue
            except OSError as error:
                skipped.append(_unreadable(file.path, error))
                continue
            if document is None:
                counts["unchanged"] += 1
                continue
            await self._store.replace_document(collection.collection_id, document)
            counts["replaced" if document.knowledge_id in known else "added"] += 1
            known[document.knowledge_id] = KnownDocument(
                document.knowledge_id, document.source_path, document.source_digest
            )
            chunks += len(document.chunks)
        self._report(Progress(len(files), len(files), ""))
        return IngestSummary(
            collection.name, collection.embedding_model, **counts, chunks=chunks, skipped=tuple(skipped)
        )

    async def _open_collection(self, name: str) -> Collection:
        model = self._embedder.name if self._embedder else LEXICAL
        dimensions = self._embedder.dimensions if self._embedder else 0
        collection = await self._store.create_collection(name, self._embedder_name, model, dimensions, self._chunker)
        if (collection.embedding_model, collection.chunker) != (model, self._chunker):
            raise ConfigurationError(
                f"the collection {name!r} was made with {collection.embedding_model} ({collection.chunker}), and this "
                f"ingest would use {model} ({self._chunker}).",
                f"Ingest into another collection, or set SOURCEBOUND_EMBEDDER={collection.embedder}.",
                code="INDEX_EMBEDDER_MISMATCH",
            )
        return collection

    async def _prepare(
        self, file: SourceFile, metadata: Sidecar, known: dict[str, KnownDocument], progress: Progress
    ) -> StoredDocument | None:
        """The document ready to be stored, or None where it is stored already."""
        _check_encoding(file.path)
        sidecar = read_sidecar(file.path)
        overrides = Sidecar(**{**sidecar.model_dump(exclude_none=True), **metadata.model_dump(exclude_none=True)})
        knowledge_id = overrides.knowledge_id or file.knowledge_id
        digest = await asyncio.to_thread(self._digest, file.path, overrides)
        before = known.get(knowledge_id)
        _check_name(file.path, knowledge_id, before)
        if before and before.source_digest == digest:
            return None
        parsed = await asyncio.to_thread(load_document, file.path, self._max_bytes)
        described = _described(parsed.metadata, overrides)
        counter = self._embedder or LexicalCounter()
        chunks = await asyncio.to_thread(chunk_document, parsed, knowledge_id, counter, self._chunk_tokens)
        return StoredDocument(
            knowledge_id=knowledge_id,
            source_path=str(file.path.resolve()),
            source_reference=overrides.source_reference or file.path.name,
            source_digest=digest,
            parsed=parsed,
            metadata=described,
            chunks=chunks,
            vectors=await self._embed(described.title, chunks, progress),
        )

    def _digest(self, path: Path, overrides: Sidecar) -> bytes:
        if path.stat().st_size > self._max_bytes:
            return b""  # too large to read: the loader says so
        digest = hashlib.sha256(path.read_bytes())
        digest.update(overrides.model_dump_json().encode())
        digest.update(self._chunker.encode())
        return digest.digest()

    async def _embed(self, title: str, chunks: Sequence[Chunk], progress: Progress) -> list[list[float]] | None:
        if self._embedder is None:
            return None
        texts = [self._in_context(title, chunk) for chunk in chunks]
        vectors: list[list[float]] = []
        for start in range(0, len(texts), EMBEDDING_BATCH):
            self._report(progress._replace(chunks_done=start, chunks=len(texts)))
            vectors.extend(await self._embedder.embed_documents(texts[start : start + EMBEDDING_BATCH]))
        return vectors

    def _in_context(self, title: str, chunk: Chunk) -> str:
        """A chunk under its title and headings, so that near-identical documents stay apart.

        The deepest headings stay.
        """
        assert self._embedder is not None
        headings = list(dict.fromkeys([title, *chunk.heading_path]))
        while headings and self._embedder.count_tokens(" - ".join(headings)) > CONTEXT_TOKENS - 2:
            headings.pop(0)
        return f"{' - '.join(headings)}\n{chunk.text}" if headings else chunk.text


def _unreadable(path: Path, error: OSError) -> Skipped:
    return Skipped(path, "UNREADABLE", f"{path} cannot be read: {error.strerror}.", "Check its permissions.")


def _check_encoding(path: Path) -> None:
    """A name becomes an id and is quoted in answers, so it must be text."""
    resolved = str(path.resolve())
    if storable(resolved) != resolved:
        raise DocumentError(
            f"the name of {path} is not UTF-8.", "Rename the file, or the folder it is in.", code="BAD_NAME"
        )


def _check_name(path: Path, knowledge_id: str, before: KnownDocument | None) -> None:
    """Two files must not take turns under one name; a file that moved keeps its name."""
    if before and before.source_path != str(path.resolve()) and Path(before.source_path).exists():
        raise DocumentError(
            f"{path} would replace {before.source_path}: both are called {knowledge_id!r} in this collection.",
            f'Ingest their common folder, or write knowledge_id = "..." into {sidecar_path(path).name}.',
            code="KNOWLEDGE_ID_TAKEN",
        )


def _described(found: DocumentMetadata, overrides: Sidecar) -> DocumentMetadata:
    stated = overrides.model_dump(exclude_none=True, exclude={"knowledge_id", "source_reference"})
    return DocumentMetadata(**{**found.model_dump(), **stated})

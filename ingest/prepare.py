"""Prepares a changed file for storage: parses it in a child process, cuts it into chunks, embeds them.

Of a document that is stored already, only what the embedder has not read yet is embedded: a chunk keeps its vector as
long as everything that the vector was made of is as it was.

As many files are read ahead as the parser can read at a time; they come out in the order in which they went in.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import KnownVector, StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata
from sourcebound.contracts.ports import DocumentParser, Embedder
from sourcebound.contracts.text.tokens import estimate_tokens
from sourcebound.errors import DocumentError
from sourcebound.ingest.changes import Change, Surveyor
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.chunking.searchable_text import joined_words, unbroken
from sourcebound.ingest.discovery import Skipped, unreadable
from sourcebound.ingest.loaders.select import read_bytes
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.sandbox.deadline import Clock, Deadline

CONTEXT_TOKENS: Final = 50
"""Room in the embedder's window for a chunk's title and headings."""
MAX_CHUNK_TOKENS: Final = 320
"""A chunk's size where the embedder's window is larger; several must fit one prompt."""
EMBEDDING_BATCH: Final = 64


class Prepared(NamedTuple):
    """A document that lacks nothing but its vectors, and the change that it answers."""

    document: StoredDocument
    change: Change


class Embedded(NamedTuple):
    """Complete documents, and the number of vectors that were reused."""

    documents: Sequence[StoredDocument]
    kept: int


class LexicalCounter:
    """Sizes chunks where there is no embedder."""

    max_tokens = MAX_CHUNK_TOKENS

    def count_tokens(self, text: str) -> int:
        """The prompt's own token estimate."""
        return estimate_tokens(text)


class Preparer:
    """Prepares documents for one embedder.

    Args:
        parser: Reads the files.
        embedder: None for lexical collections.
        max_bytes: Larger files are skipped.
        clock: Measures the time that a file takes.
    """

    def __init__(self, parser: DocumentParser, embedder: Embedder | None, max_bytes: int, clock: Clock) -> None:
        self._parser = parser
        self._embedder = embedder
        self._counter = embedder or LexicalCounter()
        self._max_bytes = max_bytes
        self._clock = clock
        window = embedder.max_tokens - CONTEXT_TOKENS if embedder else MAX_CHUNK_TOKENS
        self._chunk_tokens = min(window, MAX_CHUNK_TOKENS)

    @property
    def chunker(self) -> str:
        """The name of the way in which documents are cut."""
        return f"structure_v1:{self._chunk_tokens}"

    async def prepare(
        self, changes: AsyncIterator[Change], surveyor: Surveyor
    ) -> AsyncGenerator[Prepared | Skipped, None]:
        """Each changed file as a document without vectors, in order, or why there is none."""
        ahead: deque[asyncio.Task[Prepared | Skipped]] = deque()
        try:
            async for change in changes:
                ahead.append(asyncio.create_task(asyncio.to_thread(self._read, change, surveyor)))
                if len(ahead) > self._parser.processes:
                    yield await ahead.popleft()
            while ahead:
                yield await ahead.popleft()
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def embed(
        self, documents: Sequence[StoredDocument], known: Mapping[str, KnownVector], report: Callable[[int], None]
    ) -> Embedded:
        """Documents with their vectors; as they are where there is no embedder.

        Args:
            documents: Documents without vectors.
            known: Vectors that are stored, by the ids of their chunks.
            report: Called with the number of chunks that are done.
        """
        if self._embedder is None:
            return Embedded(documents, 0)
        kept = {
            chunk.chunk_id: known[chunk.chunk_id].vector
            for document in documents
            for chunk in document.chunks
            if _is_known(document.metadata.title, chunk, known)
        }
        texts = [
            self._in_context(document.metadata.title, chunk)
            for document in documents
            for chunk in document.chunks
            if chunk.chunk_id not in kept
        ]
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), EMBEDDING_BATCH):
            report(len(kept) + start)
            vectors.extend(await self._embedder.embed_documents(texts[start : start + EMBEDDING_BATCH]))
        new = iter(vectors)
        embedded = [
            document._replace(
                vectors=[kept[i] if (i := chunk.chunk_id) in kept else next(new) for chunk in document.chunks]
            )
            for document in documents
        ]
        return Embedded(embedded, len(kept))

    def _read(self, change: Change, surveyor: Surveyor) -> Prepared | Skipped:
        file = change.file
        try:
            data = read_bytes(file.path, self._max_bytes)
            return Prepared(self._document(change, data, surveyor.digest(data, change.overrides)), change)
        except DocumentError as error:
            return Skipped(file.path, error.failure_code, error.message, error.next_step)
        except OSError as error:
            return unreadable(file.path, error)

    def _document(self, change: Change, data: bytes, digest: bytes) -> StoredDocument:
        """Parse the bytes that were read, even if the file changes meanwhile."""
        file, overrides = change.file, change.overrides
        parsed = self._parser.parse(file.path, data, self._max_bytes)
        check = Deadline(file.path, self._parser.seconds, self._clock).check
        chunks = chunk_document(parsed, change.knowledge_id, self._counter, self._chunk_tokens, check=check)
        return StoredDocument(
            knowledge_id=change.knowledge_id,
            source_path=file.resolved,
            source_reference=overrides.source_reference or file.path.name,
            source_digest=digest,
            parsed=parsed,
            metadata=_described(parsed.metadata, overrides),
            chunks=chunks,
            vectors=None,
            joined_words=[joined_words(chunk.text) for chunk in chunks],
        )

    def _in_context(self, title: str, chunk: Chunk) -> str:
        """A chunk under its title and headings, so that near-identical documents stay apart.

        The deepest headings stay. A change of the text that is made of a chunk needs a new chunker name, because stored
        vectors are kept for what they were made of, and `_is_known` must compare all of it.
        """
        headings = list(dict.fromkeys([title, *chunk.heading_path]))
        while headings and self._counter.count_tokens(" - ".join(headings)) > CONTEXT_TOKENS - 2:
            headings.pop(0)
        text = unbroken(chunk.text)
        return f"{' - '.join(headings)}\n{text}" if headings else text


def _is_known(title: str, chunk: Chunk, known: Mapping[str, KnownVector]) -> bool:
    """Whether a stored vector was made of just what this chunk's would be made of; an id alone is no proof of that."""
    old = known.get(chunk.chunk_id)
    return old is not None and (old.title, old.heading_path, old.text) == (title, chunk.heading_path, chunk.text)


def _described(found: DocumentMetadata, overrides: Sidecar) -> DocumentMetadata:
    stated = overrides.model_dump(exclude_none=True, exclude={"knowledge_id", "source_reference"})
    return DocumentMetadata(**{**found.model_dump(), **stated})

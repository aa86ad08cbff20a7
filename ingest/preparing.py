"""Makes a stored document of a changed file: parsed in a child process, cut into chunks, embedded.

As many files are read ahead as the parser can read at a time; they come out in the order in which they went in.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.document import Chunk, DocumentMetadata
from sourcebound.contracts.index import StoredDocument
from sourcebound.contracts.ports import DocumentParser, Embedder
from sourcebound.contracts.tokens import estimate_tokens
from sourcebound.errors import DocumentError
from sourcebound.ingest.changes import Change, Surveyor
from sourcebound.ingest.chunking import chunk_document
from sourcebound.ingest.deadline import Clock, Deadline
from sourcebound.ingest.discovery import Skipped, unreadable
from sourcebound.ingest.loader import read_bytes
from sourcebound.ingest.searching import joined_words, unbroken
from sourcebound.ingest.sidecar import Sidecar

CONTEXT_TOKENS: Final = 50
"""Room in the embedder's window for a chunk's title and headings."""
MAX_CHUNK_TOKENS: Final = 320
"""A chunk's size where the embedder's window is larger; several must fit one prompt."""
EMBEDDING_BATCH: Final = 64


class Prepared(NamedTuple):
    """A document that lacks nothing but its vectors, and the change that it answers."""

    document: StoredDocument
    change: Change


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
        clock: What tells how long a file has taken.
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

    async def embed(self, documents: Sequence[StoredDocument], report: Callable[[int], None]) -> list[StoredDocument]:
        """Documents with their vectors; as they are where there is no embedder.

        Args:
            documents: Documents without vectors.
            report: Called with the number of chunks that are done.
        """
        if self._embedder is None:
            return list(documents)
        texts = [
            self._in_context(document.metadata.title, chunk) for document in documents for chunk in document.chunks
        ]
        vectors: list[list[float]] = []
        for start in range(0, len(texts), EMBEDDING_BATCH):
            report(start)
            vectors.extend(await self._embedder.embed_documents(texts[start : start + EMBEDDING_BATCH]))
        rest = iter(vectors)
        return [document._replace(vectors=[next(rest) for _ in document.chunks]) for document in documents]

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
        """The document of these very bytes, whatever becomes of the file meanwhile."""
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

        The deepest headings stay.
        """
        headings = list(dict.fromkeys([title, *chunk.heading_path]))
        while headings and self._counter.count_tokens(" - ".join(headings)) > CONTEXT_TOKENS - 2:
            headings.pop(0)
        text = unbroken(chunk.text)
        return f"{' - '.join(headings)}\n{text}" if headings else text


def _described(found: DocumentMetadata, overrides: Sidecar) -> DocumentMetadata:
    stated = overrides.model_dump(exclude_none=True, exclude={"knowledge_id", "source_reference"})
    return DocumentMetadata(**{**found.model_dump(), **stated})

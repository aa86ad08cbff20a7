"""The preparation of a changed file for storage: it is parsed in a child process, cut into chunks and embedded.

A chunk of a document that is already stored keeps its vector while the text that the vector was computed from is
unchanged. Only the other chunks are embedded.

The preparation reads ahead as many files as the parser can read at a time, and yields them in their order.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import ENGLISH, KnownVector, StoredDocument
from sourcebound.contracts.corpus.digests import digest_source
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, ParsedDocument
from sourcebound.contracts.ports import DocumentParser, Embedder
from sourcebound.contracts.text.tokens import estimate_tokens
from sourcebound.errors import DocumentError
from sourcebound.ingest.changes import Change, ChangeDetector
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.chunking.searchable_text import (
    AS_IT_STANDS,
    IN_ENGLISH_TOO,
    further_words,
    in_english,
    join_broken_words,
)
from sourcebound.ingest.discovery import Skipped, skip_unreadable
from sourcebound.ingest.loaders.pdf.load import MEDIA_TYPE as PDF
from sourcebound.ingest.loaders.select import read_bytes
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.sandbox.deadline import Clock, Deadline

CONTEXT_TOKENS: Final = 50
"""The tokens of the embedder's window that are reserved for a chunk's title and headings."""
MAX_CHUNK_TOKENS: Final = 320
"""The largest size of a chunk, also for a larger window, because several chunks must fit into one prompt."""
EMBEDDING_BATCH: Final = 64
ENGLISH_ONLY: Final = "minilm:"
"""The beginning of the name of the embedder that knows English only."""


class Prepared(NamedTuple):
    """A document that is complete except for its vectors, and the change that it results from."""

    document: StoredDocument
    change: Change


class Embedded(NamedTuple):
    """Complete documents, and the number of reused vectors."""

    documents: Sequence[StoredDocument]
    reused_vectors: int


class LexicalCounter:
    """The token counter of lexical collections, which have no embedder."""

    max_tokens = MAX_CHUNK_TOKENS

    def count_tokens(self, text: str) -> int:
        """Return the token estimate that the prompt uses too."""
        return estimate_tokens(text)


class Preparer:
    """The preparation of documents for one embedder.

    Args:
        parser: Reads the files.
        embedder: None for lexical collections.
        max_bytes: Larger files are skipped.
        clock: Measures the time that a file takes.
        keep_bytes: The bytes of larger PDFs are not kept.
    """

    def __init__(
        self, parser: DocumentParser, embedder: Embedder | None, max_bytes: int, clock: Clock, keep_bytes: int = 0
    ) -> None:
        self._parser = parser
        self._embedder = embedder
        self._counter = embedder or LexicalCounter()
        self._max_bytes = max_bytes
        self._clock = clock
        self._keep_bytes = keep_bytes
        window = embedder.max_tokens - CONTEXT_TOKENS if embedder else MAX_CHUNK_TOKENS
        self._chunk_tokens = min(window, MAX_CHUNK_TOKENS)

    def chunker(self, language: str) -> str:
        """Return the name of the chunker of a new collection, with its chunk size."""
        return f"{IN_ENGLISH_TOO if language == ENGLISH else AS_IT_STANDS}{self._chunk_tokens}"

    def fits(self, chunker: str) -> bool:
        """Return whether documents can be added to a collection with this chunker."""
        return chunker in (f"{AS_IT_STANDS}{self._chunk_tokens}", f"{IN_ENGLISH_TOO}{self._chunk_tokens}")

    async def prepare(
        self, changes: AsyncIterator[Change], detector: ChangeDetector
    ) -> AsyncGenerator[Prepared | Skipped, None]:
        """Yield each changed file in order, as a document without vectors or as a skipped file with the reason."""
        ahead: deque[asyncio.Task[Prepared | Skipped]] = deque()
        try:
            async for change in changes:
                ahead.append(asyncio.create_task(asyncio.to_thread(self._read, change, detector)))
                if len(ahead) > self._parser.processes:
                    yield await ahead.popleft()
            while ahead:
                yield await ahead.popleft()
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def embed(
        self,
        documents: Sequence[StoredDocument],
        known: Mapping[str, KnownVector],
        report: Callable[[int], None],
        chunker: str,
    ) -> Embedded:
        """Return the documents with their vectors; without an embedder, the documents unchanged.

        Args:
            documents: Documents without vectors.
            known: The stored vectors, by chunk id.
            report: Called with the number of chunks that have a vector.
            chunker: The name of the collection's chunker.
        """
        if self._embedder is None:
            return Embedded(documents, 0)
        reused_vectors = {
            chunk.chunk_id: known[chunk.chunk_id].vector
            for document in documents
            for chunk in document.chunks
            if _is_reusable(document.metadata.title, chunk, known)
        }
        texts = [
            embedded_text(document.metadata.title, chunk.heading_path, chunk.text, self._embedder, chunker)
            for document in documents
            for chunk in document.chunks
            if chunk.chunk_id not in reused_vectors
        ]
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), EMBEDDING_BATCH):
            report(len(reused_vectors) + start)
            vectors.extend(await self._embedder.embed_documents(texts[start : start + EMBEDDING_BATCH]))
        new_vectors = iter(vectors)
        embedded = [
            document._replace(
                vectors=[
                    reused_vectors[chunk.chunk_id] if chunk.chunk_id in reused_vectors else next(new_vectors)
                    for chunk in document.chunks
                ]
            )
            for document in documents
        ]
        return Embedded(embedded, len(reused_vectors))

    def _read(self, change: Change, detector: ChangeDetector) -> Prepared | Skipped:
        file = change.file
        try:
            data = read_bytes(file.path, self._max_bytes)
            return Prepared(self._make_document(change, data, detector), change)
        except DocumentError as error:
            return Skipped(file.path, error.failure_code, error.message, error.next_step)
        except OSError as error:
            return skip_unreadable(file.path, error)

    def _make_document(self, change: Change, data: bytes, detector: ChangeDetector) -> StoredDocument:
        """Make a document of the bytes that were read, even if the file changes meanwhile."""
        file, overrides = change.file, change.overrides
        suffix = detector.digest_suffix(overrides)
        parsed = self._parser.parse(file.path, data, self._max_bytes)
        check = Deadline(file.path, self._parser.seconds, self._clock).check
        chunks = chunk_document(parsed, change.knowledge_id, self._counter, self._chunk_tokens, check=check)
        return StoredDocument(
            knowledge_id=change.knowledge_id,
            source_path=file.resolved,
            source_reference=name_source(overrides.source_reference or file.path.name, parsed),
            source_digest=digest_source(data, suffix),
            parsed=parsed,
            metadata=_merge_metadata(parsed.metadata, overrides),
            chunks=chunks,
            vectors=None,
            further_words=[further_words(chunk.text, detector.chunker) for chunk in chunks],
            file=data if parsed.media_type == PDF and len(data) <= self._keep_bytes else None,
            digest_suffix=suffix,
            labels=overrides.labels,
        )


def embedded_text(title: str, heading_path: Sequence[str], text: str, embedder: Embedder, chunker: str) -> str:
    """Return a chunk's text under its title and headings, which keep the vectors of similar documents apart.

    The deepest headings take precedence. MiniLM reads a text in another language word by word in English. Stored
    vectors are reused by their input, so a change to this text needs a new chunker name, and `_is_reusable` must
    compare everything that this text is made of.

    Args:
        title: The title of its document.
        heading_path: Its headings, the highest first.
        text: Its text.
        embedder: The embedder.
        chunker: The name of the collection's chunker.
    """
    headings = list(dict.fromkeys([title, *heading_path]))
    while headings and embedder.count_tokens(" - ".join(headings)) > CONTEXT_TOKENS - 2:
        headings.pop(0)
    text = join_broken_words(text)
    text = f"{' - '.join(headings)}\n{text}" if headings else text
    return in_english(text, chunker) if embedder.name.startswith(ENGLISH_ONLY) else text


def _is_reusable(title: str, chunk: Chunk, known: Mapping[str, KnownVector]) -> bool:
    """Whether the stored vector of a chunk was computed from the same text; an equal id alone does not prove it."""
    old = known.get(chunk.chunk_id)
    return old is not None and (old.title, old.heading_path, old.text) == (title, chunk.heading_path, chunk.text)


def name_source(source: str, parsed: ParsedDocument) -> str:
    """Return the reference of a source as every citation and the ledger show it.

    It says if the text of pages was recognized in pictures, because its words may be wrong.

    Args:
        source: The reference of the operator, or the name of the file.
        parsed: The document.
    """
    if not parsed.recognized_pages:
        return source
    if len(parsed.recognized_pages) == sum(bool(page.text) for page in parsed.pages):
        return f"{source} (text by OCR)"
    numbers = ", ".join(map(str, parsed.recognized_pages))
    return f"{source} (text by OCR on page{'s' if ',' in numbers else ''} {numbers})"


def _merge_metadata(parsed: DocumentMetadata, overrides: Sidecar) -> DocumentMetadata:
    operator_values = overrides.model_dump(exclude_none=True, exclude={"knowledge_id", "source_reference", "labels"})
    return DocumentMetadata(**{**parsed.model_dump(), **operator_values})

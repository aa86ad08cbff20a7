"""The check of a stored document against its digests, and of each chunk against its page (IX-3). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from sourcebound.contracts.corpus.digests import (
    DIGEST_BYTES,
    PageText,
    SealedChunk,
    digest_document,
    digest_source,
)


class ContentsCode(StrEnum):
    """The kinds of altered contents. Codes are stable."""

    CHUNK_ALTERED = "CHUNK_ALTERED"
    """A chunk, or what its document says of it, differs from the chunk's digest."""
    CHUNK_MISPLACED = "CHUNK_MISPLACED"
    """A chunk is not the slice of its page that it says."""
    CHUNK_GONE = "CHUNK_GONE"
    """A document has the digest of a chunk, but not the chunk."""
    CHUNK_STRAY = "CHUNK_STRAY"
    """A chunk belongs to no document of its collection."""
    DOCUMENT_ALTERED = "DOCUMENT_ALTERED"
    """A page, the digest of the source or the digest of a chunk differs from the document's digest."""
    INDEX_VERSION_ALTERED = "INDEX_VERSION_ALTERED"
    """A document is gone, new or altered with its digest: the collection's digest is that of other documents."""
    WORDS_ALTERED = "WORDS_ALTERED"
    """The search words of a chunk are not those of its text."""
    FILE_ALTERED = "FILE_ALTERED"
    """The kept file of a document is not the one that was ingested, or is gone."""
    POSTINGS_ALTERED = "POSTINGS_ALTERED"
    """The postings of a word are not those of the chunks."""
    STATISTICS_ALTERED = "STATISTICS_ALTERED"
    """The stored counts of a collection are not those of its chunks."""
    VECTOR_ALTERED = "VECTOR_ALTERED"
    """A chunk has no vector, one of another length, or one that is not that of its text."""


class ContentsFinding(NamedTuple):
    """Altered contents: the code, and the chunk, document, word or collection."""

    code: ContentsCode
    name: str
    found: str


class StoredContents(NamedTuple):
    """A document as it is stored."""

    knowledge_id: str
    source_digest: bytes
    chunk_digests: bytes
    contents_digest: bytes
    pages: Sequence[PageText]
    chunks: Sequence[SealedChunk]


class KeptFile(NamedTuple):
    """The bytes of an ingested file, as they are stored."""

    knowledge_id: str
    source_digest: bytes
    """That of the document, which its contents digest binds."""
    digest_suffix: bytes | None
    sha256: bytes | None
    content: bytes | None

    @property
    def is_altered(self) -> bool:
        """Whether it is not the file that was ingested."""
        content, suffix = self.content, self.digest_suffix
        return content is None or suffix is None or digest_source(content, suffix) != self.source_digest


def check_file(file: KeptFile) -> list[ContentsFinding]:
    """Return the finding if a kept file is not the one that was ingested."""
    if not file.is_altered:
        return []
    message = "its kept file, or the digest of its source, is not what was ingested"
    return [ContentsFinding(ContentsCode.FILE_ALTERED, file.knowledge_id, message)]


def check_document(document: StoredContents) -> list[ContentsFinding]:
    """Return everything in a document that differs from its digests, or from its own pages."""
    pages = {page.page_index: page for page in document.pages}
    found = [finding for chunk in document.chunks for finding in _check_chunk(chunk, pages, document.chunk_digests)]
    there = {chunk.ordinal for chunk in document.chunks}
    found += [
        ContentsFinding(ContentsCode.CHUNK_GONE, document.knowledge_id, f"its chunk at the place {ordinal} is gone")
        for ordinal in range(len(document.chunk_digests) // DIGEST_BYTES)
        if ordinal not in there
    ]
    sealed = digest_document(document.knowledge_id, document.source_digest, document.pages, document.chunk_digests)
    if sealed != document.contents_digest:
        message = "a page, the digest of its source or of a chunk, or its own digest is not what was ingested"
        found.append(ContentsFinding(ContentsCode.DOCUMENT_ALTERED, document.knowledge_id, message))
    return found


def _check_chunk(chunk: SealedChunk, pages: Mapping[int, PageText], digests: bytes) -> Iterator[ContentsFinding]:
    start = chunk.ordinal * DIGEST_BYTES
    if chunk.ordinal < 0 or chunk.digest != digests[start : start + DIGEST_BYTES]:
        message = f"its text, place or document ({chunk.knowledge_id}) is not what was ingested"
        yield ContentsFinding(ContentsCode.CHUNK_ALTERED, chunk.chunk_id, message)
    page = pages.get(chunk.page_index)
    if page is None:
        message = f"its page (index {chunk.page_index}) is gone"
        yield ContentsFinding(ContentsCode.CHUNK_MISPLACED, chunk.chunk_id, message)
    elif chunk.page_number != page.page_number:
        message = f"its page has the number {page.page_number}, not {chunk.page_number}"
        yield ContentsFinding(ContentsCode.CHUNK_MISPLACED, chunk.chunk_id, message)
    elif chunk.char_start < 0 or page.text[chunk.char_start : chunk.char_end] != chunk.text:
        message = f"its text is not that of its page from {chunk.char_start} to {chunk.char_end}"
        yield ContentsFinding(ContentsCode.CHUNK_MISPLACED, chunk.chunk_id, message)

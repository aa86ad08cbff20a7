"""Digests that bind the stored contents of a collection, so that an altered chunk is found (IX-3).

The digest of a chunk binds its text, its place and everything that a row of evidence shows with it. The digest of a
document binds its file, its pages and its chunks. The digest of a collection binds its documents, in any order, and is
part of the `index_version`. `store/schema/0016_contents.sql` computes the same values for older databases.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import StoredDocument

DIGEST_BYTES: Final = 32
EMPTY_DIGEST: Final = bytes(DIGEST_BYTES)
"""The digest of a collection without documents."""
CHUNK_FORM: Final = "chunk_v1"
SECTIONED_FORM: Final = "chunk_v2"
"""The form of a chunk in which further sections begin. The digests of all other chunks are those of `chunk_v1`."""
DOCUMENT_FORM: Final = "document_v1"


class PageText(NamedTuple):
    """A page as it is stored."""

    page_index: int
    page_number: int | None
    text: str


class SealedChunk(NamedTuple):
    """Everything that the digest of a chunk binds. The first seven values are those of its document."""

    knowledge_id: str
    title: str
    source_reference: str
    event_date: date | str | None
    equipment_id: str | None
    knowledge_type: str
    authority: str | None
    chunk_id: str
    ordinal: int
    page_index: int
    page_number: int | None
    char_start: int
    char_end: int
    heading_path: Sequence[str]
    text: str
    section_starts: Sequence[int] = ()
    """The offsets in the text at which further sections begin."""
    section_names: Sequence[str] = ()
    """Their heading paths, as readers see them."""

    @property
    def digest(self) -> bytes:
        """The SHA-256 over all values, each with its length, so that no two chunks have the same input."""
        *values, headings, text, starts, names = self
        fields = [*values, len(headings), *headings, text]
        if starts or names:
            fields = [SECTIONED_FORM, *fields, len(starts), *starts, len(names), *names]
        else:
            fields = [CHUNK_FORM, *fields]
        return hashlib.sha256(b"".join(map(_write_field, fields))).digest()


def digest_source(data: bytes, suffix: bytes) -> bytes:
    """Return the digest of a source: of its file's bytes and of everything else that decides what is stored.

    Args:
        data: The bytes of the file.
        suffix: The metadata of the operator, the chunker and the version of the readers.
    """
    digest = hashlib.sha256(data)
    digest.update(suffix)
    return digest.digest()


def seal_chunks(document: StoredDocument) -> list[SealedChunk]:
    """Return the chunks of a document in their order, as they will be read."""
    metadata = document.metadata
    return [
        SealedChunk(
            document.knowledge_id,
            metadata.title,
            document.source_reference,
            metadata.event_date,
            metadata.equipment_id,
            metadata.knowledge_type,
            metadata.authority,
            chunk.chunk_id,
            chunk.ordinal,
            chunk.page_index,
            chunk.page_number,
            chunk.char_start,
            chunk.char_end,
            chunk.heading_path,
            chunk.text,
            chunk.section_starts,
            chunk.section_names,
        )
        for chunk in sorted(document.chunks, key=lambda chunk: chunk.ordinal)
    ]


def digest_document(knowledge_id: str, source_digest: bytes, pages: Iterable[PageText], chunk_digests: bytes) -> bytes:
    """Return the digest of a document.

    Args:
        knowledge_id: The document.
        source_digest: The digest of its file and metadata.
        pages: Its pages.
        chunk_digests: The digests of its chunks in their order, 32 bytes each.
    """
    fields = [DOCUMENT_FORM, knowledge_id, source_digest.hex()]
    digest = hashlib.sha256(b"".join(map(_write_field, fields)))
    for page in sorted(pages, key=lambda page: page.page_index):
        digest.update(hashlib.sha256(b"".join(map(_write_field, page))).digest())
    digest.update(chunk_digests)
    return digest.digest()


def digest_documents(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a collection from those of its documents, in any order."""
    ordered = sorted(digests)
    return hashlib.sha256(b"".join(ordered)).digest() if ordered else EMPTY_DIGEST


def _write_field(value: object) -> bytes:
    if value is None:
        return b"-"
    data = str(value).encode()
    return b"%d:%b" % (len(data), data)

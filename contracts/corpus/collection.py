"""Collections, their documents, and the fingerprint of their state (§13)."""

import hashlib
import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, ParsedDocument
from sourcebound.contracts.corpus.vector_index import VectorIndex

ENGLISH: Final = "english"
"""The default language of a collection."""


class Collection(Contract):
    """A named set of documents with one chunker and one embedder."""

    collection_id: int
    name: str
    embedder: str
    """The name by which the embedder is opened: `minilm`, `lexical`, `ollama:MODEL`, `openai:MODEL`."""
    embedding_model: str
    """The embedder's exact name."""
    dimensions: int
    metric: str
    chunker: str
    language: str = ENGLISH
    """The text search configuration of PostgreSQL that gives stems and stop words."""
    documents: int
    chunks: int
    documents_digest: str
    """The digest of the set of documents, in hexadecimal."""
    vector_index: VectorIndex | None = None
    """The approximate index over its vectors; None for exact search."""

    @property
    def index_version(self) -> str:
        """The fingerprint of chunker, embedder, dimensions, metric, documents, and of a language other than English."""
        parts = [self.chunker, self.embedding_model, self.dimensions, self.metric, self.documents_digest]
        if self.language != ENGLISH:  # policies name fingerprints from before the option
            parts.append(self.language)
        return "ix-" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class KnownDocument(NamedTuple):
    """The stored digest of a document, to detect changes."""

    knowledge_id: str
    source_path: str
    source_digest: bytes
    labels: Sequence[str] = ()


class DocumentSummary(NamedTuple):
    """A row of the list of documents."""

    knowledge_id: str
    title: str
    source_path: str
    chunks: int
    revision: str | None
    event_date: date | None
    ingested_at: datetime
    labels: Sequence[str] = ()
    """A caller with labels sees the document if it holds all of these (R6-7)."""
    pages: int = 0


class KnownVector(NamedTuple):
    """The vector of a stored chunk, with everything that it was computed from."""

    chunk_id: str
    title: str
    """The title of its document."""
    heading_path: tuple[str, ...]
    text: str
    vector: Sequence[float]


class StoredDocument(NamedTuple):
    """A document ready to be stored."""

    knowledge_id: str
    source_path: str
    source_reference: str
    source_digest: bytes
    """The digest of the file, its metadata and the chunker. An equal digest means that nothing changed."""
    parsed: ParsedDocument
    metadata: DocumentMetadata
    chunks: Sequence[Chunk]
    vectors: Sequence[Sequence[float]] | None
    """One vector for each chunk; None for a lexical collection."""
    further_words: Sequence[str]
    """For each chunk, the joined forms of hyphenated words, and the English words of a text in another language: search
    finds them, and nothing shows them."""
    file: bytes | None = None
    """The bytes of the file, if they are kept: its pages are shown as images."""
    digest_suffix: bytes = b""
    """The rest of what `source_digest` covers, after the bytes of the file."""
    labels: Sequence[str] | None = None
    """Its labels (R6-7); None to keep those of the document that it replaces. A new one then has none."""
    seen_labels: Sequence[str] | None = None
    """The labels that the ingest last read or wrote; None: there was no document. Other labels are a later decision."""

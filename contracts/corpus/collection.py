"""The index: what a collection is made of, and the fingerprint that names its state (contract §13)."""

import hashlib
import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, ParsedDocument
from sourcebound.contracts.corpus.vector_index import VectorIndex

ENGLISH: Final = "english"
"""The language of a collection for which none was chosen."""


class Collection(Contract):
    """A named set of documents, chunked and embedded in one way."""

    collection_id: int
    name: str
    embedder: str
    """How to open the embedder: `minilm`, `lexical`, `ollama:MODEL`, `openai:MODEL`."""
    embedding_model: str
    """The embedder's exact name."""
    dimensions: int
    metric: str
    chunker: str
    language: str = ENGLISH
    """Whose stems and stop words full text goes by: a text search configuration of PostgreSQL."""
    documents: int
    chunks: int
    documents_digest: str
    """Digest of the set of documents, in hexadecimal."""
    vector_index: VectorIndex | None = None
    """The approximate index over its vectors; None where they are compared all."""

    @property
    def index_version(self) -> str:
        """Fingerprint of chunker, embedder, dimensions, metric, documents, and the language where it is not English."""
        parts = [self.chunker, self.embedding_model, self.dimensions, self.metric, self.documents_digest]
        if self.language != ENGLISH:  # collections are older than the choice, and policies name their fingerprints
            parts.append(self.language)
        return "ix-" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class KnownDocument(NamedTuple):
    """What tells whether a document has changed."""

    knowledge_id: str
    source_path: str
    source_digest: bytes


class DocumentSummary(NamedTuple):
    """One line of the list of documents."""

    knowledge_id: str
    title: str
    source_path: str
    chunks: int
    revision: str | None
    event_date: date | None
    ingested_at: datetime


class KnownVector(NamedTuple):
    """A stored chunk's vector, and all that it was made of."""

    chunk_id: str
    title: str
    """Its document's."""
    heading_path: tuple[str, ...]
    text: str
    vector: Sequence[float]


class StoredDocument(NamedTuple):
    """A document ready to be stored."""

    knowledge_id: str
    source_path: str
    source_reference: str
    source_digest: bytes
    """Digest of the file, its metadata and the chunker: where it is equal there is nothing to do."""
    parsed: ParsedDocument
    metadata: DocumentMetadata
    chunks: Sequence[Chunk]
    vectors: Sequence[Sequence[float]] | None
    """One vector a chunk; None where the collection is lexical."""
    joined_words: Sequence[str]
    """For each chunk, words that are hyphenated in its text, joined: found by search, and shown nowhere."""

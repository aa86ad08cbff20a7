"""The ports: the interfaces between the graph and its services, as Protocols.

Other packages implement them, and `wiring` passes them to the nodes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from sourcebound.contracts.audit.record import AuditLog as AuditLog
from sourcebound.contracts.conversation.turns import Conversations as Conversations
from sourcebound.contracts.corpus.collection import Collection, KnownDocument, KnownVector, StoredDocument
from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.contracts.corpus.vector_index import VectorIndex
from sourcebound.contracts.execution.generation import AnswerLog as AnswerLog
from sourcebound.contracts.execution.generation import AnswerModel as AnswerModel
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle


class AnswerModels(Protocol):
    """The models that a run may name."""

    def check(self, name: str, policy: Policy) -> None:
        """Check that a model can hold the prompts of a policy.

        Raises:
            SourceboundError: The model does not exist, or its context window is too small.
        """
        ...

    async def open(self, name: str) -> AnswerModel:
        """Open the generator of a model.

        Raises:
            SourceboundError: Its server, its key or its parameters are invalid.
        """
        ...


class TokenCounter(Protocol):
    """A counter of tokens that counts exactly as an embedder's own tokenizer, without special tokens."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


class Embedder(TokenCounter, Protocol):
    """An embedder, which turns text into unit vectors."""

    @property
    def name(self) -> str:
        """The stable name, `provider:model`, with its digest if known; part of the index fingerprint."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """The most tokens that one vector covers, without special tokens."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector of `dimensions` floats for each text, in order."""
        ...

    async def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a passage together, and scores the passage (R1-6)."""

    @property
    def name(self) -> str:
        """The stable name with its digest; a policy names it."""
        ...

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text for a question, in order; higher is better."""
        ...


class Catalog(Protocol):
    """The list of collections."""

    async def find_collection(self, name: str) -> Collection | None:
        """Return the collection of that name, or None."""
        ...


class DocumentStore(Catalog, Protocol):
    """The store of documents and their chunks."""

    async def create_collection(
        self, name: str, embedder: str, embedding_model: str, dimensions: int, chunker: str, language: str
    ) -> Collection:
        """Create a collection, or return the existing one unchanged.

        Raises:
            ConfigurationError: As `check_language`.
        """
        ...

    async def check_language(self, language: str) -> None:
        """Check that full text supports a language.

        Raises:
            ConfigurationError: The language is unknown; the message lists the known ones.
        """
        ...

    async def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """Return every document of a collection by its knowledge id."""
        ...

    async def known_vectors(self, collection_id: int, chunk_ids: Sequence[str]) -> dict[str, KnownVector]:
        """Return the stored vectors of these chunks."""
        ...

    async def replace_documents(self, collection_id: int, documents: Sequence[StoredDocument]) -> None:
        """Replace the documents with the same knowledge ids, all or none.

        Args:
            collection_id: The collection.
            documents: The documents, with distinct knowledge ids.
        """
        ...

    async def label_documents(
        self,
        collection_id: int,
        knowledge_ids: Sequence[str],
        labels: Sequence[str],
        seen: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Replace the labels of documents, all or none, and return the number of documents that had others.

        Args:
            collection_id: The collection.
            knowledge_ids: The documents.
            labels: Their labels.
            seen: The labels that each document must still have. None: whatever it has.
        """
        ...

    async def remove_documents(self, collection_id: int, knowledge_ids: Sequence[str]) -> None:
        """Remove documents with all their data, and ignore missing ones."""
        ...

    async def index_vectors(self, collection: str) -> VectorIndex | None:
        """Build or measure the vector index of a collection that is too large for exact search; None if not needed."""
        ...


class DocumentParser(Protocol):
    """A parser of untrusted files that runs in a sandbox."""

    @property
    def processes(self) -> int:
        """The number of files that are parsed concurrently."""
        ...

    @property
    def seconds(self) -> float:
        """The time limit of a file: for parsing, and again for chunking."""
        ...

    def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
        """Parse a file. The call blocks, and many threads may make it at once.

        Args:
            path: The name of the file, which helps to detect its format; the file itself is not opened.
            data: Its bytes.
            max_bytes: The size limit; a compressed format may unpack to some times that.

        Raises:
            DocumentError: The file cannot be read: broken, hostile, encrypted, without text …
            SourceboundError: No file can be parsed on this machine.
        """
        ...


class Retriever(Protocol):
    """A search for the candidates of a question (R1)."""

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """Return the ranked candidates of the run's question in the run's collection.

        Raises:
            SourceboundError: The database or the embedder did not answer.
        """
        ...


class Access(Protocol):
    """The decision who may read which document, made again whenever evidence text is served (R6-7)."""

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        """Return whether `caller` (None: a local caller) may read the document now."""
        ...


class RunLog(Protocol):
    """The run registry."""

    async def begin(self, run: Run) -> None:
        """Register a run. A repeated call changes nothing."""
        ...

    async def find_end(self, run_id: str) -> str | None:
        """Return the status in which a run ended, with a record or without; None while it has not ended."""
        ...

    async def end_unfinished(self, thread_id: str, replaced_by: str | None = None) -> None:
        """End the unfinished runs of a thread: because another run began on it, or because its host cancelled them."""
        ...


class StartPoint(NamedTuple):
    """The checkpoint from which a node starts."""

    is_branch: bool
    """Whether it begins a branch of the thread, and no node wrote it."""
    is_edited: bool
    """Whether a person changed the state since a node wrote it."""


class Lineage(Protocol):
    """The ancestors of checkpoints."""

    async def find_start(
        self, thread_id: str, checkpoint_id: str, *, wait: bool = False, is_first: bool = False
    ) -> StartPoint:
        """Describe a checkpoint; with `wait`, wait for one that is not stored yet; `is_first` for the first node."""
        ...

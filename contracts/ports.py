"""The ports: what the graph asks of the outside, as Protocols.

Rooms below implement them; wiring hands them to nodes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

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
    """Every model that a run may name."""

    def check(self, name: str, policy: Policy) -> None:
        """Makes sure that a model can hold the prompts of a policy.

        Raises:
            SourceboundError: There is no such model, or its window is too small.
        """
        ...

    async def open(self, name: str) -> AnswerModel:
        """The generator of a model, ready to be asked.

        Raises:
            SourceboundError: Its server, its key or its parameters are not as they must be.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens exactly as an embedder's own tokenizer does, special tokens left out."""

    def count_tokens(self, text: str) -> int:
        """Number of tokens of `text`."""
        ...


class Embedder(TokenCounter, Protocol):
    """Turns text into unit vectors."""

    @property
    def name(self) -> str:
        """Stable name, `provider:model`, with a digest where one is known; part of the index fingerprint."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of text that one vector can see, special tokens left out."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector of `dimensions` floats a text, in order."""
        ...

    async def embed_query(self, text: str) -> list[float]:
        """The unit vector of a question."""
        ...


class Catalog(Protocol):
    """Knows the collections."""

    async def find_collection(self, name: str) -> Collection | None:
        """The collection of that name, or None."""
        ...


class DocumentStore(Catalog, Protocol):
    """Keeps documents and their chunks."""

    async def create_collection(
        self, name: str, embedder: str, embedding_model: str, dimensions: int, chunker: str, language: str
    ) -> Collection:
        """Makes a collection; one that is already there is left as it is and returned.

        Raises:
            ConfigurationError: As `check_language`.
        """
        ...

    async def check_language(self, language: str) -> None:
        """Whether full text can go by that language.

        Raises:
            ConfigurationError: It is not known here; the message lists those that are.
        """
        ...

    async def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """Every document of a collection by its knowledge id."""
        ...

    async def known_vectors(self, collection_id: int, chunk_ids: Sequence[str]) -> dict[str, KnownVector]:
        """The vectors of those of these chunks that are stored with one."""
        ...

    async def replace_documents(self, collection_id: int, documents: Sequence[StoredDocument]) -> None:
        """Stores documents in place of those with the same knowledge ids, all of them whole or none at all.

        No two of them have the same knowledge id.
        """
        ...

    async def remove_documents(self, collection_id: int, knowledge_ids: Sequence[str]) -> None:
        """Removes documents with all that is kept of them; one that is not there is nothing to do."""
        ...

    async def index_vectors(self, collection: str) -> VectorIndex | None:
        """Indexes the vectors of a collection that has outgrown the exact search; what was done, or None."""
        ...


class DocumentParser(Protocol):
    """Reads files that nobody vouches for, where they can do no harm."""

    @property
    def processes(self) -> int:
        """How many files it reads at a time."""
        ...

    @property
    def seconds(self) -> float:
        """The most time for one file: to read it, and as much again to cut it into chunks."""
        ...

    def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
        """What stands in a file; blocks, and may be called from many threads.

        Args:
            path: The file's name, which helps to tell its format; the file itself is not opened.
            data: Its bytes.
            max_bytes: The size limit; a compressed format may unpack to some times that.

        Raises:
            DocumentError: The file cannot be read: broken, hostile, encrypted, without text …
            SourceboundError: No file can be read here.
        """
        ...


class Retriever(Protocol):
    """Finds candidates for a question (R1)."""

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """The ranked candidates of the run's question in the run's collection.

        Raises:
            SourceboundError: The store or the embedder did not answer.
        """
        ...


class Access(Protocol):
    """Says who may read which document; asked again whenever evidence text is served (R6-7)."""

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        """Whether `caller` (None: the person at this machine) may read the document now."""
        ...


class RunLog(Protocol):
    """Keeps the list of runs."""

    async def begin(self, run: Run) -> None:
        """Notes that a run has begun; noting it again changes nothing."""
        ...

    async def has_ended(self, run_id: str) -> bool:
        """Whether a run of that id has been recorded, or closed without a record."""
        ...

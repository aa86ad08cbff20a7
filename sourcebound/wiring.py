"""Creates the live services from the settings. This is the only module that knows every implementation."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sourcebound.contracts.policy.lock import FoundPolicy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import Embedder, Reranker
from sourcebound.errors import StoreError
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from sourcebound.models.registry import Models
from sourcebound.policies import look_up_policy
from sourcebound.settings import Settings
from sourcebound.store.audit.log import PostgresAuditLog
from sourcebound.store.audit.signed_heads import SignedHeads
from sourcebound.store.checkpoints.buffer import CheckpointBuffer
from sourcebound.store.checkpoints.lineage import PostgresLineage
from sourcebound.store.checkpoints.process_lease import ProcessLease
from sourcebound.store.checkpoints.retention import Retention
from sourcebound.store.connection.database import Pool, open_pool
from sourcebound.store.connection.migrations import Migration, migrate, pending_migrations
from sourcebound.store.connection.rights import grant_runtime
from sourcebound.store.keys.api_keys import ApiKeys
from sourcebound.store.runs.conversations import PostgresConversations
from sourcebound.store.runs.feedback import PostgresFeedback
from sourcebound.store.runs.log import PostgresRunLog
from sourcebound.store.runs.model_answers import PostgresAnswerLog
from sourcebound.store.search.corpus import PostgresIndex
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.store.search.sources import PostgresSources

if TYPE_CHECKING:
    from sourcebound.ingest.pipeline import Ingest, Progress

DEFAULT_POLICY = "SOURCEBOUND_V2"
LEXICAL_POLICY = "SOURCEBOUND_LEXICAL_V2"
BUNDLE_POLICY = "R2_POLICY_V1"


@dataclass
class Services:
    """The external services of a command, opened once.

    Args:
        settings: The settings.
        pool: Connections to PostgreSQL.
    """

    settings: Settings
    pool: Pool
    _embedders: dict[str, Embedder | None] = field(default_factory=dict)
    _reranker: Reranker | None = None

    def __post_init__(self) -> None:
        self.index = PostgresIndex(self.pool)
        self.retriever = PostgresRetriever(self.pool, self.open_embedder, self.open_reranker)
        self.lease = ProcessLease(self.pool)
        self.buffer = CheckpointBuffer(self.pool, self.lease, is_sync=self.settings.durability == "sync")
        self.run_log = PostgresRunLog(self.pool, self.lease, self.buffer)
        self.lineage = PostgresLineage(self.pool)
        self.conversations = PostgresConversations(self.pool)
        self.audit_log = PostgresAuditLog(self.pool, self.buffer, self._signed_heads())
        self.answers = PostgresAnswerLog(self.pool, self.buffer)
        self.retention = Retention(self.pool)
        self.feedback = PostgresFeedback(self.pool)
        self.api_keys = ApiKeys(self.pool)
        self.sources = PostgresSources(self.pool)
        self.models = Models(self.settings)
        seconds = self.settings.ocr_seconds if self.settings.ocr else self.settings.parse_seconds
        self.parser = ParserPool(seconds, self.settings.parse_memory_megabytes, ocr=self.settings.ocr)

    def _signed_heads(self) -> SignedHeads | None:
        file, key_file = self.settings.heads, self.settings.signing_key_file
        return SignedHeads(file.expanduser(), key_file, self.settings.heads_every) if file else None

    async def open_embedder(self, name: str) -> Embedder | None:
        """Return the embedder of a name, opened once, or None for lexical retrieval."""
        from sourcebound.models.embedders.by_name import open_embedder

        if name not in self._embedders:
            self._embedders[name] = await open_embedder(name, self.settings)
        return self._embedders[name]

    async def open_reranker(self, name: str) -> Reranker:
        """Return the reranker of the settings, opened once.

        Args:
            name: The name that the policy has for it.

        Raises:
            ConfigurationError: The settings have no reranker, or another one (`RERANKER_MISMATCH`).
            ModelError: Its files are missing or damaged.
        """
        from sourcebound.models.rerankers import check_reranker, open_reranker

        self._reranker = self._reranker or await open_reranker(self.settings.reranker)
        return check_reranker(self._reranker, name)

    async def open_ingest(
        self,
        report: "Callable[[Progress], None]" = lambda _: None,
        *,
        index: PostgresIndex | None = None,
        embedder: str | None = None,
    ) -> "Ingest":
        """Return an ingest with the limits, the language and the embedder of the settings.

        Args:
            report: Called with the progress.
            index: The collections; None for those of these services.
            embedder: The name of another embedder than that of the settings.

        Raises:
            SourceboundError: The embedder cannot be opened.
        """
        from sourcebound.ingest.pipeline import Ingest
        from sourcebound.models.embedders.by_name import resolve_embedder

        settings, name = self.settings, embedder or resolve_embedder(self.settings.embedder)
        return Ingest(
            index or self.index,
            await self.open_embedder(name),
            name,
            settings.max_file_megabytes << 20,
            self.parser,
            report,
            settings.language,
            keep_bytes=settings.keep_file_megabytes << 20,
        )


@asynccontextmanager
async def open_services(settings: Settings, *, as_owner: bool = False) -> AsyncIterator[Services]:
    """Open the services on the database of DATABASE_URL or, if it is not set, on the embedded one.

    The embedded database is migrated. Your own database must already be up to date.

    Args:
        settings: The settings.
        as_owner: Whether to connect to the embedded database as the owner of its tables, who may change collections.
            Otherwise the connection has the rights of the application (R5P-8).

    Yields:
        The services, which are closed at the end. The embedded server stops with its last client.

    Raises:
        StoreError: The database cannot be opened, or your own database is not up to date.
    """
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_database(settings, as_owner=as_owner))
        if not settings.database_url:
            if not await _is_migrated(pool):
                await migrate_embedded(settings)
        elif await pending_migrations(pool):
            raise schema_missing_error()
        services = Services(settings, pool)
        stack.push_async_callback(services.lease.close)
        stack.callback(services.buffer.close)
        stack.callback(services.parser.close)
        stack.push_async_callback(services.models.close)
        yield services


@asynccontextmanager
async def open_database(settings: Settings, max_size: int = 8, *, as_owner: bool = False) -> AsyncIterator[Pool]:
    """Open a pool on the database of DATABASE_URL, or on the embedded one, which is held and restarted meanwhile.

    Args:
        settings: The settings.
        max_size: The maximum number of connections.
        as_owner: Whether to connect to the embedded database as the owner of its tables.

    Yields:
        The pool, closed at the end.

    Raises:
        StoreError: The database cannot be opened.
    """
    if settings.database_url:
        async with open_pool(settings.database_url.get_secret_value(), max_size) as pool:
            yield pool
        return
    from sourcebound.store.server.access import OWNER, RUNTIME, url_for
    from sourcebound.store.server.embedded import EmbeddedServer

    server = EmbeddedServer(settings.home)
    url = url_for(await asyncio.to_thread(server.start), OWNER if as_owner else RUNTIME)
    try:
        async with open_pool(url, max_size, restart=lambda: asyncio.to_thread(server.restart)) as pool:
            yield pool
    finally:
        await asyncio.to_thread(server.release)


@asynccontextmanager
async def open_corpus(settings: Settings) -> AsyncIterator[PostgresIndex]:
    """Open the collections with the right to change them, for one ingest of a process that has fewer rights otherwise.

    Args:
        settings: The settings. On your own database, `ingest_database_url` names the account.

    Yields:
        The collections.

    Raises:
        StoreError: The database cannot be opened.
    """
    if settings.ingest_database_url:
        settings = settings.model_copy(update={"database_url": settings.ingest_database_url})
    async with open_database(settings, max_size=2, as_owner=True) as pool:
        yield PostgresIndex(pool)


async def migrate_embedded(settings: Settings) -> list[Migration]:
    """Bring the embedded database up to date as its owner, and give the runtime role its rights (R5P-8).

    Args:
        settings: The settings, without `database_url`.

    Returns:
        The migrations that this call applied.

    Raises:
        StoreError: The database cannot be opened or migrated.
    """
    from sourcebound.store.server.access import RUNTIME

    async with open_database(settings, max_size=1, as_owner=True) as pool:
        applied = await migrate(pool)
        await grant_runtime(pool, RUNTIME)
        return applied


async def _is_migrated(pool: Pool) -> bool:
    """Whether the schema is up to date and this role may use it."""
    try:
        return not await pending_migrations(pool)
    except StoreError as error:
        if error.failure_code == "STORE_FORBIDDEN":
            return False
        raise


def schema_missing_error() -> StoreError:
    """Build the error for your own database whose schema is not up to date."""
    return StoreError(
        "the schema of the database in DATABASE_URL is not up to date.",
        "Run `sourcebound db migrate` with a DATABASE_URL of the owner of its tables.",
        code="SCHEMA_MISSING",
    )


def find_policy(name: str | None, *, embedding_model: str | None, folder: Path | None = None) -> Policy:
    """Return the policy of a run (P-1, P-6): the result of `resolve_policy` without its release status."""
    return resolve_policy(name, embedding_model=embedding_model, folder=folder).policy


def resolve_policy(name: str | None, *, embedding_model: str | None, folder: Path | None = None) -> FoundPolicy:
    """Return the policy of a run with its release status (P-1, P-6).

    Args:
        name: A policy's name, the path of a policy file, or None for the default.
        embedding_model: The embedding model of the collection; None for an external bundle.
        folder: The folder of your own policies (`SOURCEBOUND_POLICIES`).

    Raises:
        ConfigurationError: There is no such policy, its file is invalid, or it was changed after its release.
    """
    if name is None:
        name = BUNDLE_POLICY if embedding_model is None else DEFAULT_POLICY
        name = LEXICAL_POLICY if embedding_model == "lexical" else name
    return look_up_policy(name, folder)

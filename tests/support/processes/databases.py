"""Real databases: one embedded PostgreSQL for the whole session, and a fresh database on it for each test.

A database is a copy of a template that was migrated once (`database`), or that holds the example manuals (`library`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from sourcebound.contracts.ports import DocumentParser
from sourcebound.graph.engine import Engine
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import KEEP_BYTES, Ingest
from sourcebound.ingest.sandbox.deadline import Clock
from sourcebound.ingest.sandbox.parser_pool import ParserPool
from sourcebound.ingest.summary import IngestSummary
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.settings import Settings
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.connection.rights import grant_runtime
from sourcebound.store.server import postmaster
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.wiring import Services, open_services
from support.places import ROOT
from support.processes.homes import reachable_folder, stopped_server

MANUALS = ROOT / "examples" / "manuals"
MAX_BYTES = 2_000_000
COLLECTION = "default"
PASSWORD = "the-password-of-every-role-of-a-test"
PARSER = ParserPool(seconds=30, memory_megabytes=2048)
"""One pool for all tests. It starts its processes when they are first needed."""


class Cluster:
    """The database server of the session.

    Args:
        url: The URL of the server's own database.
        folder: A folder that every account can enter.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self._url = url
        self._numbers = count()

    def create(self, template: str = "template0") -> str:
        """Create a database as a copy of another, given by its URL or its name, and return the new URL."""
        name = f"test_{next(self._numbers)}"
        source = urlsplit(template).path.lstrip("/")
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(source))
        self._run(statement)
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()

    def drop(self, url: str) -> None:
        """Drop a database and end the connections to it."""
        name = sql.Identifier(urlsplit(url).path.lstrip("/"))
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement)


def rows(url: str, statement: str, *values: object) -> list[Any]:
    """Run one statement on its own connection and return its rows, if it has any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def single(url: str, statement: str, *values: object) -> Any:
    """Return the only value of a statement's only row."""
    ((value,),) = rows(url, statement, *values)
    return value


def url_of_role(url: str, role: str) -> str:
    """Return the URL of a database for a role whose password is `PASSWORD`."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{PASSWORD}@{parts.netloc.partition('@')[2]}").geturl()


def stored_value(url: str, run_id: str, channel: str) -> bytes:
    """Return the latest value of a channel as msgpack."""
    latest = "SELECT blob FROM checkpoint_blobs WHERE thread_id = %s AND channel = %s ORDER BY version DESC LIMIT 1"
    return bytes(single(url, latest, run_id, channel))


def overwrite_byte(url: str, run_id: str, channel: str, near: str, offset: int, character: str) -> None:
    """Overwrite one byte of the latest value of a channel, at an offset from the beginning of some words in it."""
    form = bytearray(stored_value(url, run_id, channel))
    assert near.encode() in form
    form[form.index(near.encode()) + offset] = ord(character)
    changed = rows(
        url,
        "UPDATE checkpoint_blobs SET type = 'msgpack', blob = %s WHERE (thread_id, channel, version) = ("
        "SELECT thread_id, channel, version FROM checkpoint_blobs WHERE thread_id = %s AND channel = %s "
        "ORDER BY version DESC LIMIT 1) RETURNING 1",
        *(bytes(form), run_id, channel),
    )
    assert len(changed) == 1


def tables_with(url: str, word: str) -> set[str]:
    """Return every table that contains a word, binary columns included. Tables added later are searched too."""
    names = [name for (name,) in rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    shown = "SELECT count(*) FROM {} AS t WHERE t::text LIKE %s OR t::text LIKE %s"
    return {name for name in names if single(url, shown.format(name), f"%{word}%", f"%{word.encode().hex()}%")}


def settings_for(url: str, **changes: Any) -> Settings:
    """Build settings that lead to one database and to nothing else."""
    return Settings(database_url=SecretStr(url), home=Path("/dev/null/unused"), **changes)


async def ingest(
    services: Services,
    *paths: Path,
    embedder: str = "lexical",
    collection: str = COLLECTION,
    language: str | None = None,
    max_bytes: int = MAX_BYTES,
    prune: bool = False,
    dry_run: bool = False,
    parser: DocumentParser = PARSER,
    clock: Clock = monotonic,
    keep_bytes: int = KEEP_BYTES,
    labels: Sequence[str] | None = None,
    **metadata: Any,
) -> IngestSummary:
    """Ingest as the command line does. The default embedder is `lexical`, because it is fast."""
    opened = await services.open_embedder(embedder)
    work = Ingest(services.index, opened, embedder, max_bytes, parser, clock=clock, keep_bytes=keep_bytes)
    return await work.run(
        paths, collection, Sidecar(**metadata), language=language, labels=labels, prune=prune, dry_run=dry_run
    )


async def _migrate(url: str) -> None:
    async with open_pool(url, max_size=1) as pool:
        await migrate(pool)


async def _ingest_manuals(url: str) -> None:
    async with open_services(settings_for(url)) as services:
        summary = await ingest(services, MANUALS, embedder="minilm")
    assert summary.added == 9


@pytest.fixture(scope="session", autouse=True)
def closed_parser() -> Iterator[None]:
    """End the processes of `PARSER` after the session."""
    yield
    PARSER.close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The server of the session. It does not wait for the disk: no test needs data after a crash of the machine."""
    with reachable_folder() as folder, stopped_server(folder / "home") as home:
        with patch.dict(postmaster.SETTINGS, fsync="off"):
            server = EmbeddedServer(home)
            url = server.start()
        with server:
            yield Cluster(url, folder)


@pytest.fixture(scope="session")
def migrated(cluster: Cluster) -> str:
    """The template of a migrated database. No test may connect to it."""
    url = cluster.create()
    asyncio.run(_migrate(url))
    return url


@pytest.fixture(scope="session")
def filled(cluster: Cluster, migrated: str) -> str:
    """The template of a database that holds the example manuals. No test may connect to it."""
    url = cluster.create(migrated)
    asyncio.run(_ingest_manuals(url))
    return url


@pytest.fixture
def empty_database(cluster: Cluster) -> Iterator[str]:
    """The URL of a database without tables."""
    url = cluster.create()
    yield url
    cluster.drop(url)


@pytest.fixture
def database(cluster: Cluster, migrated: str) -> Iterator[str]:
    """The URL of a migrated database for one test."""
    url = cluster.create(migrated)
    yield url
    cluster.drop(url)


@pytest.fixture
async def application(library: str) -> AsyncIterator[str]:
    """The URL of `library` for a role that has the rights of the application, and no others."""
    role = f"application_{uuid4().hex[:8]}"
    rows(library, f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    async with open_pool(library, max_size=1) as pool:
        await grant_runtime(pool, role)
    yield url_of_role(library, role)
    rows(library, f"DROP OWNED BY {role}")
    rows(library, f"DROP ROLE {role}")


@pytest.fixture
def library(cluster: Cluster, filled: str) -> Iterator[str]:
    """The URL of a database for one test that holds the example manuals."""
    url = cluster.create(filled)
    yield url
    cluster.drop(url)


@pytest.fixture(scope="session")
def minilm() -> MiniLmEmbedder:
    """The embedder, loaded once. Several event loops may use it one after another."""
    return MiniLmEmbedder()


@pytest.fixture
async def services(database: str, minilm: MiniLmEmbedder) -> AsyncIterator[Services]:
    """Services over `database`."""
    async with open_services(settings_for(database)) as opened:
        opened._embedders["minilm"] = minilm
        yield opened


@pytest.fixture
async def library_services(library: str, minilm: MiniLmEmbedder) -> AsyncIterator[Services]:
    """Services over `library`."""
    async with open_services(settings_for(library)) as opened:
        opened._embedders["minilm"] = minilm
        yield opened


@pytest.fixture
def engine(library_services: Services) -> Engine:
    """An engine over `library`."""
    return Engine(library_services)

"""Shared functions of the evaluations: a temporary database, documents written from records, and retrieval alone.

An evaluation measures the released product: it runs the product's own ingest and retriever under a released policy. It
generates no answer and removes its data at the end.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import unrecorded_run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.ingest.summary import IngestSummary
from sourcebound.settings import Settings
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.server.embedded import EmbeddedServer
from sourcebound.wiring import Services, open_database, open_services

DATA = Path("../shared/data")
MAX_BYTES = 200_000_000


def read_records(path: Path) -> list[dict[str, Any]]:
    """Read the records of a JSON Lines file.

    Only a line feed ends a record, because JSON strings may contain U+2028, at which `splitlines` would split.
    """
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def write_documents(folder: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write one Markdown file per record: its title, if any, as the heading, then its text."""
    folder.mkdir(parents=True)
    for number, record in enumerate(records):
        heading = f"# {record['title']}\n\n" if record.get("title") else ""
        (folder / f"{number:04d}.md").write_text(f"{heading}{record['text']}\n", "utf-8")


@contextmanager
def _reachable_home() -> Iterator[Path]:
    """Create a home that other accounts can reach, because as root the database runs under another account."""
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve() / "home"


@asynccontextmanager
async def temporary_services(models_file: Path | None = None) -> AsyncIterator[Services]:
    """Open services over a temporary embedded database, with the rights of a superuser for benchmarks.

    Args:
        models_file: The registry of models beyond the shipped one.

    Yields:
        The services, which are closed at the end; the database is removed.
    """
    with _reachable_home() as home, EmbeddedServer(home) as server:
        settings = Settings(home=home, database_url=SecretStr(server.start()), models_file=models_file)
        async with open_database(settings, max_size=1) as pool:
            await migrate(pool)
        async with open_services(settings) as services:
            yield services


async def ingest(services: Services, path: Path, collection: str, embedder: str) -> IngestSummary:
    """Ingest a folder with the embedder of that name."""
    pipeline = Ingest(services.index, await services.open_embedder(embedder), embedder, MAX_BYTES, services.parser)
    return await pipeline.run([path], collection, Sidecar())


async def retrieve(services: Services, question: str, collection: str, policy: Policy) -> RetrievalBundle:
    """Return the candidates of a question, as the graph's retrieval stage receives them."""
    run = unrecorded_run(question, collection, policy.policy_version, policy.sha256, "evaluation")
    return await services.retriever.retrieve(run, policy)

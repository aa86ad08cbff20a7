"""Ingests the corpus into an embedded database with the product's own pipeline, and asks through the whole graph."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.evals.natural.judging import Outcome
from sourcebound.evals.natural.questions import Question
from sourcebound.evals.retrieval import ingest, temporary_services
from sourcebound.graph.engine import Engine
from sourcebound.ingest.summary import IngestSummary
from sourcebound.settings import Settings
from sourcebound.wiring import Services, open_services

COLLECTION = "natural"


class Opened(NamedTuple):
    """An engine over the ingested corpus."""

    engine: Engine
    summary: IngestSummary


@asynccontextmanager
async def open_corpus(folder: Path, embedder: str, home: Path | None = None) -> AsyncIterator[Opened]:
    """Open an engine over the documents of a folder.

    Args:
        folder: The folder of the corpus.
        embedder: `minilm` or `lexical`.
        home: The folder of an embedded database that is kept, with its runs; None for a temporary one.

    Yields:
        The engine and the summary of the ingest. In a kept database only changed files are ingested.
    """
    async with _open(home) as services:
        summary = await ingest(services, folder, f"{COLLECTION}-{embedder}", embedder)
        yield Opened(Engine(services), summary)


@asynccontextmanager
async def _open(home: Path | None) -> AsyncIterator[Services]:
    if home is None:
        async with temporary_services() as services:
            yield services
    else:
        async with open_services(Settings(home=home, database_url=None), as_owner=True) as services:
            yield services


async def ask_all(
    engine: Engine,
    questions: Sequence[Question],
    collection: str,
    context: RunContext,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Ask every question once.

    Args:
        engine: The engine.
        questions: The questions.
        collection: The collection of the corpus.
        context: Policy and model.
        progress: Receives each outcome.
    """
    outcomes = []
    for question in questions:
        outcomes.append(await _ask(engine, question, collection, context))
        progress(outcomes[-1])
    return outcomes


async def _ask(engine: Engine, question: Question, collection: str, context: RunContext) -> Outcome:
    response = await engine.ask(AskInput(question=question.question, collection=collection), context)
    return Outcome(
        question=question,
        run_id=response.run_id,
        status=response.status,
        code=str(response.refusal_code or response.failure_code or ""),
        answer=response.answer,
        cited=tuple(citation.knowledge_id for citation in response.citations),
        support_level=str(response.support_level or ""),
        seconds=response.latency_ms / 1000,
    )

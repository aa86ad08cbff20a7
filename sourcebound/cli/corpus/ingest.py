"""`sourcebound ingest`: files and folders into a collection, with a progress bar and an honest summary."""

from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import BAD_USAGE, FAULT, INTERRUPTED, exit_with, run_async, say
from sourcebound.errors import RequestError, SourceboundError, UsageError

if TYPE_CHECKING:
    from sourcebound.contracts.ports import Embedder
    from sourcebound.ingest.loaders.sidecar import Sidecar
    from sourcebound.ingest.pipeline import IngestSummary, Progress
    from sourcebound.wiring import Services

SHOWN = 20
RETRY_SECONDS = 10.0
STOPPED = "What was finished is stored; the same command goes on watching."


@dataclass(frozen=True)
class Order:
    """What was asked for on the command line."""

    paths: list[Path]
    collection: str | None
    language: str | None
    metadata: "Sidecar"
    prune: bool
    dry_run: bool


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: PDF, DOCX, HTML, Markdown, text, CSV.")],
    collection: Annotated[str | None, typer.Option(help="Where to put them; the setting's when omitted.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Of its texts, when it is made: german, french, simple …")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents under PATHS whose files are gone.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on whenever a file changes, until Ctrl-C.")] = False,
    equipment_id: Annotated[str | None, typer.Option(help="The equipment that every file is about.")] = None,
    knowledge_type: Annotated[str | None, typer.Option(help="manual, procedure, bulletin …")] = None,
    event_date: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Date of every file.")] = None,
    authority: Annotated[str | None, typer.Option(help="Who stands behind every file.")] = None,
) -> None:
    """Ingest documents. A file that has not changed costs one look; one that cannot be read does not stop the rest.

    What holds for one file alone goes into FILE.meta.toml beside it: title, revision, equipment_id, knowledge_type,
    event_date, authority, knowledge_id, source_reference.
    """
    from sourcebound.ingest.loaders.sidecar import Sidecar

    stated = {"equipment_id": equipment_id, "knowledge_type": knowledge_type, "authority": authority}
    for name, value in stated.items():
        if value is not None and not value.strip():
            raise RequestError(f"--{name.replace('_', '-')} is empty.", "Give it a value, or leave it out.")
    if watch and dry_run:
        raise RequestError("--watch and --dry-run exclude each other.", "Leave one of them out.")
    metadata = Sidecar(event_date=event_date.date() if event_date else None, **stated)
    order = Order(paths, collection, language, metadata, prune, dry_run)
    if watch:
        _watch_until_stopped(order)
        return
    summary = run_async(lambda: _ingest(order))
    if any(skipped.code in ("PATH_MISSING", "NOTHING_FOUND") for skipped in summary.skipped):
        raise typer.Exit(BAD_USAGE)
    if summary.skipped:
        raise typer.Exit(FAULT)


async def _ingest(order: Order) -> "IngestSummary":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await _run(services, await _find_embedder(services), order)


def _watch_until_stopped(order: Order) -> None:
    """Ctrl-C is how a watch ends, so it is no failure."""
    try:
        run_async(lambda: _watch(order), STOPPED)
    except typer.Exit as end:
        if end.exit_code != INTERRUPTED:
            raise


async def _watch(order: Order) -> None:
    from sourcebound.ingest.poll import changed
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services, aclosing(changed(order.paths)) as rounds:
        embedder = await _find_embedder(services)
        await anext(rounds)
        first = await _run(services, embedder, order)
        if any(skipped.code == "PATH_MISSING" for skipped in first.skipped):
            raise typer.Exit(BAD_USAGE)
        say("Watching; Ctrl-C ends it.")
        async for _ in rounds:
            await _run_until_done(services, embedder, order)


async def _run_until_done(services: "Services", embedder: "Embedder | None", order: Order) -> None:
    """A database or an embedder that is away for a while does not end a watch."""
    import asyncio

    while True:
        try:
            await _run(services, embedder, order)
        except UsageError:
            raise
        except SourceboundError as error:
            exit_with(error)
            say(f"  Trying again in {RETRY_SECONDS:g} seconds.")
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def _find_embedder(services: "Services") -> "Embedder | None":
    from sourcebound.models.embedders.by_name import resolve_embedder

    embedder = await services.open_embedder(resolve_embedder(services.settings.embedder))
    if embedder is None:
        say("No embedder: this collection is searched by its words alone. `sourcebound doctor` says how to add one.")
    return embedder


async def _run(services: "Services", embedder: "Embedder | None", order: Order) -> "IngestSummary":
    from sourcebound.ingest.pipeline import Ingest
    from sourcebound.models.embedders.by_name import resolve_embedder

    settings = services.settings
    name, limit = resolve_embedder(settings.embedder), settings.max_file_megabytes << 20
    with _progress() as report:
        work = Ingest(services.index, embedder, name, limit, services.parser, report, settings.language)
        summary = await work.run(
            order.paths,
            order.collection or settings.collection,
            order.metadata,
            language=order.language,
            prune=order.prune,
            dry_run=order.dry_run,
        )
    _render(summary, order.dry_run)
    return summary


@contextmanager
def _progress() -> "Iterator[Callable[[Progress], None]]":
    """A bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[chunks]} chunks"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        files = bars.add_task("files", total=None, chunks=0)

        def report(state: "Progress") -> None:
            bars.update(
                files,
                completed=state.files_done,
                total=state.files,
                description=state.name or "files",
                chunks=state.chunks_done,
            )

        yield report


def _render(summary: "IngestSummary", dry_run: bool) -> None:
    removed = f", {len(summary.removed)} removed" if summary.removed else ""
    what = (
        f"{summary.collection}: {summary.added} added, {summary.replaced} replaced, {summary.unchanged} unchanged"
        f"{removed}, {len(summary.skipped)} skipped"
    )
    kept = f", {summary.kept} of them with the vectors they had" if summary.kept else ""
    print(
        f"{what}; nothing was written (--dry-run)"
        if dry_run
        else f"{what}; {summary.chunks} new chunks{kept} ({summary.embedding_model})",
        flush=True,
    )
    if summary.vector_index:
        found = f"found {summary.vector_index.recall:.1%} of the nearest chunks when measured"
        print(f"  vector index: search width {summary.vector_index.ef_search}, {found}", flush=True)
    for knowledge_id in summary.removed[:SHOWN]:
        print(f"  {'would remove' if dry_run else 'removed'} {knowledge_id}", flush=True)
    _say_how_many_more(len(summary.removed))
    for skipped in summary.skipped[:SHOWN]:
        say(f"  skipped [{skipped.code}] {skipped.message}")
        say(f"    Next: {skipped.next_step}")
    _say_how_many_more(len(summary.skipped))


def _say_how_many_more(count: int) -> None:
    if count > SHOWN:
        say(f"  … and {count - SHOWN} more")

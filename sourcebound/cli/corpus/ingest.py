"""`sourcebound ingest`: the ingest of files and folders into a collection, with progress and a summary."""

from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import BAD_USAGE, FAULT, INTERRUPTED, exit_with, progress, run_async, say
from sourcebound.cli.options import read_label_options
from sourcebound.errors import RequestError, SourceboundError, UsageError

if TYPE_CHECKING:
    from sourcebound.ingest.loaders.sidecar import Sidecar
    from sourcebound.ingest.pipeline import Progress
    from sourcebound.ingest.summary import IngestSummary
    from sourcebound.settings import Settings
    from sourcebound.wiring import Services

SHOWN = 20
RETRY_SECONDS = 10.0
KINDS = (
    "Files and folders: PDF, DOCX, XLSX, PPTX, XLS, ODT, ODS, EPUB, RTF, EML, MSG, HTML, Markdown, "
    "reStructuredText, text, CSV."
)
STOPPED = "Finished work is stored. Run the same command again to continue to watch."


@dataclass(frozen=True)
class IngestOptions:
    """The options of the command."""

    paths: list[Path]
    collection: str | None
    language: str | None
    metadata: "Sidecar"
    labels: tuple[str, ...] | None
    prune: bool
    dry_run: bool
    ocr: bool


def ingest(
    paths: Annotated[list[Path], typer.Argument(help=KINDS)],
    collection: Annotated[
        str | None, typer.Option(help="The collection to ingest into. Default: SOURCEBOUND_COLLECTION.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="The language of a new collection: german, french, simple …")
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents under PATHS whose files no longer exist.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Ingest again whenever a file changes, until Ctrl-C.")] = False,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Recognize the text of PDF pages that have none (extra ocr).")
    ] = False,
    equipment_id: Annotated[str | None, typer.Option(help="The equipment id of every file.")] = None,
    knowledge_type: Annotated[str | None, typer.Option(help="manual, procedure, bulletin …")] = None,
    event_date: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The date of every file.")] = None,
    authority: Annotated[str | None, typer.Option(help="The authority behind every file.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label of every file, also of unchanged and skipped ones whose document is stored. Repeatable. A "
            "key with labels opens a document if it has all of its labels. Default: the labels in FILE.meta.toml. "
            "Without those, documents keep their labels, and new ones have none."
        ),
    ] = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Remove the labels of every file.")] = False,
) -> None:
    """Ingest documents. An unchanged file is only checked, and a file that cannot be read does not stop the others.

    Metadata of a single file goes into FILE.meta.toml in the same folder: title, revision, equipment_id,
    knowledge_type, event_date, authority, knowledge_id, source_reference, labels.
    """
    from sourcebound.ingest.loaders.sidecar import Sidecar

    texts = {"equipment_id": equipment_id, "knowledge_type": knowledge_type, "authority": authority}
    for name, value in texts.items():
        if value is not None and not value.strip():
            raise RequestError(f"--{name.replace('_', '-')} is empty.", "Give it a value, or omit it.")
    if watch and dry_run:
        raise RequestError("--watch and --dry-run exclude each other.", "Omit one of them.")
    metadata = Sidecar(event_date=event_date.date() if event_date else None, **texts)
    labels = read_label_options(label, no_labels, "--no-labels")
    options = IngestOptions(paths, collection, language, metadata, labels, prune, dry_run, ocr)
    if watch:
        _watch_until_stopped(options)
        return
    summary = run_async(lambda: _ingest(options))
    if any(skipped.code in ("PATH_MISSING", "NOTHING_FOUND") for skipped in summary.skipped):
        raise typer.Exit(BAD_USAGE)
    if summary.skipped:
        raise typer.Exit(FAULT)


async def _ingest(options: IngestOptions) -> "IngestSummary":
    from sourcebound.wiring import open_services

    async with open_services(_settings(options), as_owner=True) as services:
        await _say_if_lexical(services)
        return await _run(services, options)


def _settings(options: IngestOptions) -> "Settings":
    from sourcebound.settings import get_settings

    settings = get_settings()
    return settings.model_copy(update={"ocr": True}) if options.ocr else settings


def _watch_until_stopped(options: IngestOptions) -> None:
    """Watch until Ctrl-C, which is the normal end and not a failure."""
    try:
        run_async(lambda: _watch(options), STOPPED)
    except typer.Exit as end:
        if end.exit_code != INTERRUPTED:
            raise


async def _watch(options: IngestOptions) -> None:
    from sourcebound.ingest.poll import watch_changes
    from sourcebound.wiring import open_services

    async with (
        open_services(_settings(options), as_owner=True) as services,
        aclosing(watch_changes(options.paths)) as changes,
    ):
        await _say_if_lexical(services)
        await anext(changes)
        first = await _run(services, options)
        if any(skipped.code == "PATH_MISSING" for skipped in first.skipped):
            raise typer.Exit(BAD_USAGE)
        say("Watching for changes. Press Ctrl-C to stop.")
        async for _ in changes:
            await _run_with_retries(services, options)


async def _run_with_retries(services: "Services", options: IngestOptions) -> None:
    """Retry while the database or the embedder is unavailable, so that the watch continues."""
    import asyncio

    while True:
        try:
            await _run(services, options)
        except UsageError:
            raise
        except SourceboundError as error:
            exit_with(error)
            say(f"  Trying again in {RETRY_SECONDS:g} seconds.")
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def _say_if_lexical(services: "Services") -> None:
    from sourcebound.models.embedders.by_name import resolve_embedder

    if await services.open_embedder(resolve_embedder(services.settings.embedder)) is None:
        say("No embedder: this collection is searched by words only. `sourcebound doctor` shows how to add one.")


async def _run(services: "Services", options: IngestOptions) -> "IngestSummary":
    with progress("files") as report:

        def on_progress(state: "Progress") -> None:
            report(state.files_done, state.files, f"{state.name or 'files'}  {state.chunks_done} chunks")

        work = await services.open_ingest(on_progress)
        summary = await work.run(
            options.paths,
            options.collection or services.settings.collection,
            options.metadata,
            language=options.language,
            labels=options.labels,
            prune=options.prune,
            dry_run=options.dry_run,
        )
    _render(summary, options.dry_run)
    return summary


def _render(summary: "IngestSummary", dry_run: bool) -> None:
    changes = f", {len(summary.removed)} removed" if summary.removed else ""
    changes += f", {summary.relabelled} with other labels" if summary.relabelled else ""
    counts = (
        f"{summary.collection}: {summary.added} added, {summary.replaced} replaced, {summary.unchanged} unchanged"
        f"{changes}, {len(summary.skipped)} skipped"
    )
    reused = f", {summary.reused_vectors} of them with a reused vector" if summary.reused_vectors else ""
    print(
        f"{counts}; nothing was written (--dry-run)"
        if dry_run
        else f"{counts}; {summary.chunks} new chunks{reused} ({summary.embedding_model})",
        flush=True,
    )
    if summary.vector_index:
        recall = f"measured recall {summary.vector_index.recall:.1%} of the nearest chunks"
        print(f"  vector index: search width {summary.vector_index.ef_search}, {recall}", flush=True)
    for knowledge_id in summary.removed[:SHOWN]:
        print(f"  {'would remove' if dry_run else 'removed'} {knowledge_id}", flush=True)
    _say_how_many_more(len(summary.removed))
    if summary.other_kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.other_kinds.items()))
        say(f"  not ingested, of other kinds: {kinds}")
    for skipped in summary.skipped[:SHOWN]:
        say(f"  skipped [{skipped.code}] {skipped.message}")
        say(f"    Next: {skipped.next_step}")
    _say_how_many_more(len(summary.skipped))


def _say_how_many_more(count: int) -> None:
    if count > SHOWN:
        say(f"  … and {count - SHOWN} more")

"""`sourcebound ingest`: files and folders into a collection, with a progress bar and an honest summary."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import BAD_USAGE, FAULT, run_async, say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.ingest.pipeline import IngestSummary
    from sourcebound.ingest.sidecar import Sidecar

SHOWN_SKIPPED = 20


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: PDF, DOCX, HTML, Markdown, text, CSV.")],
    collection: Annotated[str | None, typer.Option(help="Where to put them; the setting's when omitted.")] = None,
    equipment_id: Annotated[str | None, typer.Option(help="The equipment that every file is about.")] = None,
    knowledge_type: Annotated[str | None, typer.Option(help="manual, procedure, bulletin …")] = None,
    event_date: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Date of every file.")] = None,
    authority: Annotated[str | None, typer.Option(help="Who stands behind every file.")] = None,
) -> None:
    """Ingest documents. A file that has not changed costs one look; one that cannot be read does not stop the rest.

    What holds for one file alone goes into FILE.meta.toml beside it: title, revision, equipment_id, knowledge_type,
    event_date, authority, knowledge_id, source_reference.
    """
    from sourcebound.ingest.sidecar import Sidecar

    stated = {"equipment_id": equipment_id, "knowledge_type": knowledge_type, "authority": authority}
    for name, value in stated.items():
        if value is not None and not value.strip():
            raise RequestError(f"--{name.replace('_', '-')} is empty.", "Give it a value, or leave it out.")
    metadata = Sidecar(event_date=event_date.date() if event_date else None, **stated)
    summary = run_async(lambda: _ingest(paths, collection, metadata))
    _render(summary)
    if any(skipped.code in ("PATH_MISSING", "NOTHING_FOUND") for skipped in summary.skipped):
        raise typer.Exit(BAD_USAGE)
    if summary.skipped:
        raise typer.Exit(FAULT)


async def _ingest(paths: list[Path], collection: str | None, metadata: "Sidecar") -> "IngestSummary":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from sourcebound.ingest import pipeline
    from sourcebound.models.embedders import resolve_embedder
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    settings = get_settings()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    async with open_services(settings) as services:
        name = resolve_embedder(settings.embedder)
        embedder = await services.open_embedder(name)
        if embedder is None:
            say(
                "No embedder: this collection is searched by its words alone. `sourcebound doctor` says how to add one."
            )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            files = progress.add_task("files")
            chunks = progress.add_task("chunks", visible=False)

            def report(state: pipeline.Progress) -> None:
                progress.update(files, completed=state.files_done, total=state.files, description=state.name or "files")
                progress.update(chunks, completed=state.chunks_done, total=state.chunks, visible=bool(state.chunks))

            work = pipeline.Ingest(services.index, embedder, name, settings.max_file_megabytes << 20, report)
            return await work.run(paths, collection or settings.collection, metadata)


def _render(summary: "IngestSummary") -> None:
    print(
        f"{summary.collection}: {summary.added} added, {summary.replaced} replaced, {summary.unchanged} unchanged, "
        f"{len(summary.skipped)} skipped; {summary.chunks} new chunks ({summary.embedding_model})"
    )
    for skipped in summary.skipped[:SHOWN_SKIPPED]:
        say(f"  skipped [{skipped.code}] {skipped.message}")
        say(f"    Next: {skipped.next_step}")
    if len(summary.skipped) > SHOWN_SKIPPED:
        say(f"  … and {len(summary.skipped) - SHOWN_SKIPPED} more")

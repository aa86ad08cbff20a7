"""`sourcebound doctor`: what is configured, what is missing, and the next command to run."""

import sys
from typing import NamedTuple

import typer

from sourcebound.cli.console import FAULT, run_async
from sourcebound.errors import SourceboundError


class Finding(NamedTuple):
    """One thing that was looked at."""

    subject: str
    fine: bool
    found: str
    next_step: str = ""


def doctor() -> None:
    """Look at everything a run needs and say the next command to run."""
    findings = run_async(_examine)
    for finding in findings:
        print(f"{'ok ' if finding.fine else 'NO '} {finding.subject:<11} {finding.found}")
        if finding.next_step:
            print(f"    Next: {finding.next_step}")
    if not all(finding.fine for finding in findings):
        raise typer.Exit(FAULT)


async def _examine() -> list[Finding]:
    from importlib.metadata import version

    from sourcebound.settings import get_settings

    settings = get_settings()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    findings = [Finding("sourcebound", True, f"{version('sourcebound')} on Python {python}")]
    findings += [_policies(), _embedder(settings.embedder), _model(settings.model)]
    return findings + await _database()


def _policies() -> Finding:
    from sourcebound.contracts.policy import SHIPPED, check_lock

    findings = check_lock()
    return Finding("policies", not findings, "; ".join(findings) or f"{', '.join(SHIPPED)}, as released")


def _embedder(name: str) -> Finding:
    from sourcebound.models.embedders import describe_embedder, embedder_available

    try:
        return Finding("embedder", embedder_available() or name != "minilm", describe_embedder(name))
    except SourceboundError as error:
        return Finding("embedder", False, error.message, error.next_step)


def _model(name: str) -> Finding:
    from sourcebound.models.generators import open_answer_model

    try:
        open_answer_model(name)
    except SourceboundError as error:
        return Finding("model", False, error.message, error.next_step)
    return Finding("model", True, name)


async def _database() -> list[Finding]:
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    settings = get_settings()
    kind = "the server of DATABASE_URL" if settings.database_url else f"embedded, {settings.home}"
    try:
        async with open_services(settings) as services:
            collections = await services.index.list_collections()
    except SourceboundError as error:
        return [Finding("database", False, f"{kind}: {error.message}", error.next_step)]
    held = ", ".join(f"{found.name} ({found.documents} documents)" for found in collections)
    empty = "sourcebound ingest PATH --collection NAME"
    ready = f'sourcebound ask "…" --collection {collections[0].name}' if collections else empty
    return [Finding("database", True, kind), Finding("collections", True, held or "none yet", ready)]

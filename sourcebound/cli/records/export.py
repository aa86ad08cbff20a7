"""`sourcebound runs export`: recorded runs as files that any machine can verify (CP-3)."""

import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import FAILED, run_async, say
from sourcebound.cli.options import read_moment
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from datetime import datetime

    from sourcebound.contracts.replay.report import NotReplayable, RecordedRun


def export(
    run: Annotated[str | None, typer.Argument(help="A run id, the start of one, or a request id.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Export every recorded run, one on each line.")] = False,
    since: Annotated[
        str | None, typer.Option(help="With --all: skip runs that began before this time, such as 2024-03-01.")
    ] = None,
) -> None:
    """Print a recorded run as JSON, texts included, for `replay verify FILE` on any machine.

    With --all, a run that cannot be read is named and skipped, and the exit code is 4.
    """
    if every == (run is not None):
        raise RequestError("give a run or --all.", "See `sourcebound runs list`.")
    if run_async(lambda: _export(run, read_moment(since))):
        raise typer.Exit(FAILED)


async def _export(run: str | None, since: "datetime | None") -> int:
    """Print the runs, and count those that cannot be read."""
    from importlib.metadata import version

    from sourcebound.contracts.replay.report import ACCOUNTED_FOR, NotReplayable
    from sourcebound.contracts.replay.run_file import write_run_file

    unreadable = 0
    async for recorded in _runs(run, since):
        if isinstance(recorded, NotReplayable):
            unreadable += recorded.code not in ACCOUNTED_FOR
            say(f"skipped: run {recorded.run_id}: {recorded.message} [{recorded.code}]")
            continue
        sys.stdout.buffer.write(write_run_file(recorded, version("sourcebound")).encode() + b"\n")
    sys.stdout.buffer.flush()
    return unreadable


async def _runs(run: str | None, since: "datetime | None") -> "AsyncIterator[RecordedRun | NotReplayable]":
    from sourcebound.cli.records.lookup import find_run
    from sourcebound.graph.replay.history import read_run
    from sourcebound.graph.replay.recorded_run import read_recorded
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        history = PostgresHistory(services.pool)
        if run is not None:
            yield await read_run(history, await find_run(services, run))
            return
        async for page in history.pages(since):
            for stored in page:
                yield read_recorded(stored)

"""`sourcebound runs`: the record of what was asked, and what each node made of it."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebound.cli.console import exit_with, run_async, say
from sourcebound.cli.records.export import export
from sourcebound.cli.records.prune import prune
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.cli.answering.ask import OutputFormat, RenderedResponse
    from sourcebound.contracts.run_page.page import RunPage
    from sourcebound.store.runs.log import RunSummary
    from sourcebound.wiring import Services

app = typer.Typer(help="List and inspect recorded runs.", no_args_is_help=True)
app.command("export")(export)
app.command("prune")(prune)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """List the latest runs."""
    runs = run_async(lambda: _list(limit))
    if as_json:
        for run in runs:
            print(json.dumps(run._asdict(), default=str, ensure_ascii=False))
        return
    from sourcebound.contracts.text.sanitize import one_line

    if not runs:
        say('There is no run yet. Next: sourcebound ask "…"')
        return
    for run in runs:
        reason = f" ({run.reason})" if run.reason else ""
        pruned = f"  pruned {run.pruned_at:%Y-%m-%d}" if run.pruned_at and not run.erased_at else ""
        print(f"{run.started_at:%Y-%m-%d %H:%M:%S}  {run.run_id}  {run.status}{reason}{pruned}")
        print(f"    {one_line(run.question) if run.question else ('(erased)' if run.erased_at else '(not recorded)')}")


@app.command("evidence")
def show_evidence(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    anchor: Annotated[str, typer.Argument(help="C0, C1 …")],
) -> None:
    """Print the text behind a citation, if its document may still be read."""
    print(run_async(lambda: _evidence(run, anchor)))


@app.command("show")
def show_run(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole checkpointed state as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write the page to this file, which needs nothing else; - is stdout.")
    ] = None,
    with_prompt: Annotated[bool, typer.Option("--prompt", help="Show the text of the prompts too.")] = False,
) -> None:
    """Show the whole of a run: what was found, what became of it, what was asked of the model and what was checked.

    In a pipe each line begins with the name of its section.
    """
    from sourcebound.cli.records.run_show import print_lines, print_tables

    if as_json:
        print(json.dumps(run_async(lambda: _state(run)), ensure_ascii=False, indent=2))
        return
    page = run_async(lambda: _page(run, with_prompt))
    if html is None:
        (print_tables if sys.stdout.isatty() else print_lines)(page)
        return
    _write(html, page)


@app.command("resume")
def resume_run(
    run: Annotated[str | None, typer.Argument(help="A run id, the start of one, or a request id.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every run that was cut off and that nobody is at.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the public response as JSON, alone; with --all, one line a run.")
    ] = False,
) -> None:
    """Go on with a run that was interrupted, and print its response; an ended run is not asked again.

    With --all the exit code is 0 where every run came to its end, whatever its answer, and 1 where one could not.
    """
    from sourcebound.cli.answering.ask import OutputFormat, show_response
    from sourcebound.cli.records.resume import resume_every_run

    if every == (run is not None):
        raise exit_with(RequestError("give either a run or --all.", "See `sourcebound runs list`."))
    if run is None:
        resume_every_run(as_json=as_json)
        return
    show_response(run_async(lambda: _resume(run, OutputFormat(as_json=as_json))))


@app.command("erase")
def erase_run(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Erase; nothing is erased without it.")] = False,
    thread: Annotated[bool, typer.Option("--thread", help="Every run of its thread (LangGraph Studio).")] = False,
) -> None:
    """Erase the texts of one run: its question, its answer, its evidence. Its audit record stays, for good."""
    summary = run_async(lambda: _erase(run, yes, thread))
    print(f"erased the texts and the checkpoints of run {summary.run_id}; it can no longer be shown whole or replayed")
    if summary.status == "RUNNING":
        say("The run has not ended. If it is still at work, erase it again when it has.")


async def _list(limit: int) -> "list[RunSummary]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.run_log.list_runs(limit)


async def _page(run: str, with_prompt: bool) -> "RunPage":
    from sourcebound.graph.run_views.page import build_run_page
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await build_run_page(services, await find_run(services, run), with_prompt=with_prompt)


async def _state(run: str) -> dict[str, Any]:
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        state = dict(await Engine(services).state(found.thread_id, found.run_id))
        if not state:
            await services.run_log.check_kept(found.thread_id, found.run_id)
        return state


async def _resume(run: str, form: "OutputFormat") -> "RenderedResponse":
    from sourcebound.cli.answering.ask import prepare_response
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found, engine = await find_run(services, run), Engine(services)
        response = await engine.resume(found.run_id)
        return await prepare_response(engine, response, found.thread_id, form)


async def _erase(run: str, yes: bool, thread: bool) -> "RunSummary":
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        if not yes:
            raise RequestError(
                f"the texts and the checkpoints of run {found.run_id} would be erased for good; nothing was.",
                f"If that is meant: sourcebound runs erase {found.run_id} {'--thread ' if thread else ''}--yes",
                code="NOT_CONFIRMED",
            )
        await Engine(services).erase(found.run_id, found.thread_id, whole_thread=thread)
        for fork in await services.run_log.list_forks(found.run_id):
            say(f"Run {fork} is a fork of it and holds the same texts. Next: sourcebound runs erase {fork} --yes")
        return found


async def find_run(services: "Services", run: str) -> "RunSummary":
    """The one run that is meant."""
    found = await services.run_log.find_runs(run)
    if len(found) != 1:
        problem = "more than one run starts" if found else "no run starts"
        raise RequestError(f"{problem} with {run!r}.", "See `sourcebound runs list`.", code="RUN_NOT_FOUND")
    return found[0]


async def _evidence(run: str, anchor: str) -> str:
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        return await Engine(services).evidence(found.thread_id, anchor, run_id=found.run_id)


def _write(path: Path, page: "RunPage") -> None:
    """Writes the page as HTML."""
    from sourcebound.cli.records.run_html import render_html

    text = render_html(page)
    if str(path) == "-":
        print(text)
        return
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error
    say(f"written to {path}")

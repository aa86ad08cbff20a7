"""`sourcebound runs`: list, show, resume and erase recorded runs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebound.cli.console import exit_with, run_async, say
from sourcebound.cli.records.export import export
from sourcebound.cli.records.feedback import feedback
from sourcebound.cli.records.lookup import find_run
from sourcebound.cli.records.prune import prune
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.cli.answering.response_view import OutputFormat, RenderedResponse
    from sourcebound.contracts.run_page.page import RunPage
    from sourcebound.store.runs.log import RunSummary

app = typer.Typer(help="List and inspect recorded runs.", no_args_is_help=True)
app.command("export")(export)
app.command("feedback")(feedback)
app.command("prune")(prune)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="The number of runs, newest first.")] = 20,
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
        Path | None, typer.Option(help="Write a self-contained HTML page to this file; - is stdout.")
    ] = None,
    with_prompt: Annotated[bool, typer.Option("--prompt", help="Show the text of the prompts too.")] = False,
) -> None:
    """Show a whole run: candidates and their outcomes, evidence, prompt, model call, each statement with its verdict.

    In a pipe, each line begins with the name of its section.
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
    every: Annotated[bool, typer.Option("--all", help="Every interrupted run that no process holds.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print only the public response, as JSON; with --all, one line for each run.")
    ] = False,
) -> None:
    """Continue an interrupted run and print its response. The response of an ended run is printed again.

    With --all, the exit code is 0 if every run ended, whatever its outcome, and 1 if one could not be completed.
    """
    from sourcebound.cli.answering.response_view import OutputFormat, print_and_exit
    from sourcebound.cli.records.resume import resume_every_run

    if every == (run is not None):
        raise exit_with(RequestError("give either a run or --all.", "See `sourcebound runs list`."))
    if run is None:
        resume_every_run(as_json=as_json)
        return
    print_and_exit(run_async(lambda: _resume(run, OutputFormat(as_json=as_json))))


@app.command("erase")
def erase_run(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Confirm. Nothing is erased without it.")] = False,
    thread: Annotated[bool, typer.Option("--thread", help="Erase every run of its thread (LangGraph Studio).")] = False,
) -> None:
    """Erase the texts of a run: question, answer, evidence. The audit record always stays."""
    summary = run_async(lambda: _erase(run, yes, thread))
    print(
        f"erased the texts and the checkpoints of run {summary.run_id}; it can no longer be shown in full or replayed"
    )
    if summary.status == "RUNNING":
        say("The run has not ended. If it is still active, erase it again after it ends.")


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
            await services.run_log.require_not_erased(found.thread_id, found.run_id)
        return state


async def _resume(run: str, form: "OutputFormat") -> "RenderedResponse":
    from sourcebound.cli.answering.response_view import render_response
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found, engine = await find_run(services, run), Engine(services)
        response = await engine.resume(found.run_id)
        return await render_response(engine, response, found.thread_id, form)


async def _erase(run: str, yes: bool, thread: bool) -> "RunSummary":
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        if not yes:
            raise RequestError(
                f"this would erase the texts and checkpoints of run {found.run_id} for good. Nothing was erased.",
                f"To confirm: sourcebound runs erase {found.run_id} {'--thread ' if thread else ''}--yes",
                code="NOT_CONFIRMED",
            )
        await Engine(services).erase(found.run_id, found.thread_id, whole_thread=thread)
        for fork in await services.run_log.list_forks(found.run_id):
            say(f"Run {fork} is a fork of this run and holds the same texts. Next: sourcebound runs erase {fork} --yes")
        return found


async def _evidence(run: str, anchor: str) -> str:
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        return await Engine(services).evidence(found.thread_id, anchor, run_id=found.run_id)


def _write(path: Path, page: "RunPage") -> None:
    """Write the page as HTML."""
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

"""`sourcebound eval add`: a run that went wrong becomes a golden item."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import run_async, say
from sourcebound.cli.records.lookup import find_run

if TYPE_CHECKING:
    from sourcebound.evals.golden.items import GoldenItem
    from sourcebound.evals.golden.ratchet import Expectation


def add(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    golden_set: Annotated[Path, typer.Option("--set", help="The golden set to extend; created if it does not exist.")],
    status: Annotated[list[str], typer.Option(help="What is right: OK, NO_EVIDENCE or FAILED. Repeatable.")],
    facts: Annotated[
        list[str] | None,
        typer.Option("--fact", help='A fact that the answer must say: "14 days|two weeks". Repeatable.'),
    ] = None,
    places: Annotated[
        list[str] | None,
        typer.Option("--cite", metavar="DOCUMENT[:PAGE]", help="A place that the answer must cite. Repeatable."),
    ] = None,
    forbidden: Annotated[
        list[str] | None, typer.Option("--forbid", help="A text that no answer may say. Repeatable.")
    ] = None,
    name: Annotated[str | None, typer.Option("--id", help="The id of the item. Default: made from the run.")] = None,
    reply: Annotated[
        bool | None,
        typer.Option(
            "--reply/--no-reply", help="Keep the recorded reply. Default: if a language model wrote it, to test R5."
        ),
    ] = None,
) -> None:
    """Add a failed or thumbed-down run to a golden set, with its evidence, so that it is replayed without a database.

    The item holds texts of the documents and the question of the run.
    """
    from sourcebound.evals.golden.ratchet import Expectation, append_item

    expected = Expectation(status, facts or (), places or (), forbidden or (), name, reply)
    item = run_async(lambda: _freeze(run, expected), interrupted="Nothing was written.")
    append_item(golden_set, item)
    print(f"{item.id}  {item.question}")
    say(f"Next: sourcebound eval run --set {golden_set}")


async def _freeze(run: str, expected: "Expectation") -> "GoldenItem":
    from sourcebound.evals.golden.ratchet import freeze_run
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        found = await find_run(services, run)
        await services.run_log.require_not_erased(found.thread_id, found.run_id)
        state = await Engine(services).state(found.thread_id, found.run_id)
        feedback = await services.feedback.list(found.run_id)
        return freeze_run(state, expected, [each.comment or "" for each in feedback if each.rating == "down"])

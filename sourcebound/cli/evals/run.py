"""`sourcebound eval run`: a golden set through the whole graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.answering.request_options import MODEL_HELP, POLICY_HELP
from sourcebound.cli.console import progress, run_async, say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.evals.golden.corpus import GoldenSet
    from sourcebound.evals.golden.running import Options
    from sourcebound.evals.golden.summary import Agreement, Summary


def run(
    golden_set: Annotated[Path, typer.Option("--set", help="A golden set, JSON Lines (docs/evaluation.md).")],
    documents: Annotated[
        list[Path] | None,
        typer.Option(help="Files or folders to ingest first; unchanged files cost nothing. Repeatable."),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(help="The collection. Default: eval-… for --documents, otherwise SOURCEBOUND_COLLECTION."),
    ] = None,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP)] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    output: Annotated[
        Path | None, typer.Option(help="The folder of the results. Default: SET.results in the current folder.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="A language model that judges released answers too. It decides no gate.")
    ] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="The number of concurrent items.")] = 4,
    again: Annotated[bool, typer.Option("--again", help="Replace the results in the folder.")] = False,
) -> None:
    """Ask every item of a golden set and write results.jsonl and summary.json.

    Each item is a recorded run: `sourcebound runs show` opens it down to the sentence. An interrupted evaluation
    continues when the same command runs again.
    """
    from sourcebound.evals.golden.corpus import name_collection, read_set
    from sourcebound.evals.golden.running import Options, check_output
    from sourcebound.settings import get_settings

    golden = read_set(golden_set)
    folder = output or Path(f"{golden_set.stem}.results")
    check_output(folder)
    name = collection or (name_collection(documents) if documents else get_settings().collection)
    options = Options(folder, name, tuple(documents or ()), policy, model, at_once, again, judge)
    summary = run_async(lambda: _run(golden, options))
    render(summary)
    say(f"Next: sourcebound eval gate {folder}")


async def _run(golden: "GoldenSet", options: "Options") -> "Summary":
    from sourcebound.evals.golden.running import run_evaluation
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    if missing := next((path for path in options.documents if not path.exists()), None):
        raise RequestError(f"{missing} does not exist.", "Check the path.", code="PATH_MISSING")
    async with open_services(get_settings(), as_owner=bool(options.documents)) as services:
        with progress("items", len(golden.items)) as report:
            return await run_evaluation(services, golden, options, report)


def render(summary: "Summary") -> None:
    """Print the figures of an evaluation and its counts by kind."""
    from rich.table import Table

    from sourcebound.cli.console import print_rich
    from sourcebound.evals.golden.summary import format_value

    told = summary.circumstances
    print(f"{told.set_name}: {told.items} items, policy {told.policy_version}, model {told.model}")
    figures = Table("scope", "metric", "value", "95 % interval", "items", box=None)
    for each in summary.figures:
        low, high = (format_value(value, each.metric) for value in (each.low, each.high))
        interval = f"{low} to {high}" if each.cases else "–"
        figures.add_row(each.scope, each.metric, format_value(each.value, each.metric), interval, str(each.cases))
    kinds = Table("scope", "kind", "items", "passed", "answered", "refused", "failed", "hallucinated", box=None)
    for kind in summary.kinds:
        counts = (kind.items, kind.passed, kind.answered, kind.refused, kind.failed, kind.hallucinated)
        kinds.add_row(kind.scope, kind.name, *map(str, counts))
    print_rich(figures, kinds)
    if summary.judge:
        print(_describe_judge(summary.judge))


def _describe_judge(judge: "Agreement") -> str:
    verdicts = ", ".join(f"{verdict} {number}" for verdict, number in judge.verdicts.items()) or "no released answer"
    return (
        f"judge {judge.model} (decides nothing): {verdicts}; of RIGHT {judge.right_and_not_passed} did not pass, "
        f"of WRONG {judge.wrong_and_passed} passed"
    )

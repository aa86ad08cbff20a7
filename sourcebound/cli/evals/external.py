"""`sourcebound eval external`: the evaluations over external data, from any folder of their shapes."""

from pathlib import Path
from typing import Annotated

import typer

from sourcebound.cli.console import FAULT, run_async, say
from sourcebound.errors import RequestError


def external(
    data: Annotated[Path, typer.Option(help="The folder of the data (docs/evaluation.md).")],
    output: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
    page: Annotated[Path | None, typer.Option(help="Write the tables to this file, in Markdown.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this section: ranking, evidence, gates, answers … Repeatable.")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="The most questions of a set and kind. Default: all.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Begin from the start, not where an earlier one stopped.")
    ] = False,
) -> None:
    """Measure ranking, evidence, gates, answers, natural questions, grounding, injection, sentences and files.

    The data are read by path. Sets are recognized by their fields, whatever their names. A set that is absent is
    skipped by name. The exit code is 1 if a set could not be read. With --json, an interrupted evaluation continues
    when the same command runs again. Nothing is written to your own collections.
    """
    from sourcebound.evals.external.measuring import measure_all
    from sourcebound.evals.external.page import render_page
    from sourcebound.evals.external.progress import Progress
    from sourcebound.evals.external.report import Section

    if not data.is_dir():
        raise RequestError(f"{data} is not a folder.", "Give the folder of the data with --data.", code="PATH_MISSING")
    if unknown := [name for name in only or () if name not in set(Section)]:
        raise RequestError(f"{unknown[0]!r} is not a section.", f"The sections are {', '.join(Section)}.")
    sections = frozenset(Section(name) for name in only or Section)
    summary = run_async(
        lambda: measure_all(data, sections, questions, say, output, again=again),
        interrupted="The same command continues it." if output else "Nothing was written.",
    )
    text = summary.model_dump_json(indent=2) + "\n"
    table = render_page(summary)
    for path, content in ((output, text), (page, f"{table}\n")):
        if path:
            path.write_text(content, "utf-8")
    Progress(output).end()
    print(table)
    if any(not each.is_absent for each in summary.left_out):
        raise typer.Exit(FAULT)

"""`sourcebound eval report`: evaluations as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.evals.external.report import ExternalSummary


def report(
    results: Annotated[list[Path], typer.Argument(help="One or more folders that `eval run` wrote.")],
    output: Annotated[Path, typer.Option(help="The HTML file.")] = Path("evaluation.html"),
    external: Annotated[
        Path | None, typer.Option(help="A summary of `eval external`, for the ranking by collection.")
    ] = None,
) -> None:
    """Write one self-contained HTML file: gates, charts, counts by kind, and every item that did not pass.

    Several evaluations of one set show its drift. The charts need the extra `report` (matplotlib).
    """
    from sourcebound.evals.golden.results import ResultFolder
    from sourcebound.evals.report.page import Evaluation, render_report

    folders = [ResultFolder(folder) for folder in results]
    evaluations = [Evaluation(folder.circumstances(), folder.results()) for folder in folders]
    text = render_report(evaluations, _read_external(external) if external else None)
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise RequestError(f"{output} cannot be written: {error.strerror}.", "Name another file.") from error
    say(f"The report is in {output}.")


def _read_external(path: Path) -> "ExternalSummary":
    from sourcebound.evals.external.report import ExternalSummary
    from sourcebound.evals.json_files import read_json_file

    next_step = "Write one: sourcebound eval external --json FILE"
    return read_json_file(path, ExternalSummary, "a summary of an external evaluation", next_step, "INVALID_SUMMARY")

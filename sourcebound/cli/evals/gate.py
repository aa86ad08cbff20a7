"""`sourcebound eval gate`: the figures of evaluations against their thresholds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import FAILED, say

if TYPE_CHECKING:
    from sourcebound.evals.golden.gates import GateReport, GateResult

SHOWN = 20


def gate(
    results: Annotated[list[Path], typer.Argument(help="One or more folders that `eval run` wrote.")],
    gates: Annotated[
        Path | None, typer.Option(help="A TOML file of gates. Default: those of the contract, gates_v1.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the verdicts, as JSON.")] = False,
) -> None:
    """Check that evaluations pass their gates: golden and perturbed items together.

    Exit codes: 0 every gate is passed, 4 a gate is not passed or has no item, 2 bad usage.
    """
    from sourcebound.evals.golden.gates import check_gates, load_gates
    from sourcebound.evals.golden.results import ResultFolder

    found = [result for folder in results for result in ResultFolder(folder).results()]
    report = check_gates(load_gates(gates), found)
    if as_json:
        print(report.model_dump_json(indent=2))
    else:
        render(report)
    if not report.is_passed:
        raise typer.Exit(FAILED)


def render(report: "GateReport") -> None:
    """Print the gates with their verdicts, the advice of those that are not passed, and the items that failed."""
    from rich.table import Table

    from sourcebound.cli.console import print_rich

    table = Table("scope", "metric", "threshold", "value", "95 % interval", "items", "verdict", box=None)
    for each in report.results:
        table.add_row(each.gate.scope, each.gate.metric, each.gate.threshold, *_cells(each), each.verdict)
    print_rich(table)
    for message in dict.fromkeys(each.gate.message for each in report.results if each.verdict == "NOT_PASSED"):
        if message:
            say(message)
    if report.failing:
        print(f"\n{len(report.failing)} items did not pass:")
    for line in report.failing[:SHOWN]:
        print(f"  {line}")
    if len(report.failing) > SHOWN:
        print(f"  … and {len(report.failing) - SHOWN} more; --json lists all")
    print(f"\n{report.version}: {'every gate is passed' if report.is_passed else 'NOT PASSED'}")


def _cells(result: "GateResult") -> tuple[str, str, str]:
    from sourcebound.evals.golden.summary import format_value

    figure = result.figure
    if figure is None or figure.value is None:
        return "–", "–", "0"
    low, high = (format_value(value, figure.metric) for value in (figure.low, figure.high))
    return format_value(figure.value, figure.metric), f"{low} to {high}", str(figure.cases)

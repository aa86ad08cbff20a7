"""`sourcebound eval compare`: two evaluations of the same set, item by item."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.console import FAILED, say, write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebound.evals.golden.comparison import Comparison, Difference, Flip

SHOWN = 30


def compare(
    before: Annotated[Path, typer.Argument(help="The folder of the first evaluation.")],
    after: Annotated[Path, typer.Argument(help="The folder of the second one.")],
    output: Annotated[
        Path | None,
        typer.Option(help="Write the comparison to this new file, for `policy release` and `index promote`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the comparison, as JSON.")] = False,
) -> None:
    """Compare two evaluations on their common items: paired differences with intervals, and every flipped item.

    Exit codes: 0 the second is not worse, 4 its pass rate certainly fell or a hallucination is new, 2 bad usage.
    """
    from sourcebound.evals.golden import comparison
    from sourcebound.evals.golden.results import ResultFolder

    first, second = ResultFolder(before), ResultFolder(after)
    found = comparison.compare(first.circumstances(), first.results(), second.circumstances(), second.results())
    text = found.model_dump_json(indent=2) + "\n"
    if output:
        write_bytes(text.encode(), output)
        say(f"The comparison is in {output}.")
    if as_json:
        print(text, end="")
    else:
        render(found)
    if found.is_worse:
        raise typer.Exit(FAILED)


def render(found: "Comparison") -> None:
    """Print what differs, the differences and the flipped items."""
    from rich.table import Table

    from sourcebound.cli.console import print_rich

    old, new = found.before, found.after
    names = old.differences(new)
    print(f"{found.items} items in common. The evaluations differ in {', '.join(names) or 'nothing'}.")
    print(f"policy {old.policy_version} → {new.policy_version}, model {old.model} → {new.model}")
    table = Table("scope", "metric", "items", "before", "after", "change", "95 % interval", box=None)
    for each in found.differences:
        table.add_row(each.scope, each.metric, str(each.items), *_cells(each))
    print_rich(table)
    _print_flips("passed before and do not pass now", found.lost)
    _print_flips("did not pass before and pass now", found.won)
    _print_flips("hallucinated after and not before", found.hallucinations)
    others = len(found.only_before) + len(found.only_after)
    if others:
        say(f"{others} items are not in both evaluations and were not compared.")


def _cells(each: "Difference") -> tuple[str, str, str, str]:
    form = "{:.0f}" if each.metric == "milliseconds" else "{:.1%}"
    signed = "{:+.0f}" if each.metric == "milliseconds" else "{:+.1%}"
    interval = f"{signed.format(each.low)} to {signed.format(each.high)}"
    return form.format(each.before), form.format(each.after), signed.format(each.change), interval


def _print_flips(heading: str, flips: "Sequence[Flip]") -> None:
    print(f"\n{len(flips)} items {heading}:" if flips else f"\nNo item {heading.replace(' do ', ' does ')}.")
    for flip in flips[:SHOWN]:
        print(f"  {flip.item}  {flip.before} → {flip.after}  {flip.run_before or '–'} → {flip.run_after or '–'}")
    if len(flips) > SHOWN:
        print(f"  … and {len(flips) - SHOWN} more; --json lists all")

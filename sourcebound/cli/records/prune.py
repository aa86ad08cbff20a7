"""`sourcebound runs prune`: what old checkpoints take is freed; runs and audit records stay (CP-7)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from sourcebound.cli.console import run_async, say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.store.checkpoints.retention import Prunable, Pruned, Rule, Sizes

WORTH_PRUNING: Final = 500_000_000
"""Bytes of checkpoints from which `doctor` says how to prune them."""
STOPPED: Final = "Whole runs were pruned or left as they were; run the same command again to go on."


class Order(NamedTuple):
    """What was asked for."""

    rule: "Rule"
    dry_run: bool
    yes: bool


class Outcome(NamedTuple):
    """What was found, and what went; None for what stayed."""

    plan: "Prunable"
    pruned: "Pruned | None" = None
    before: "Sizes | None" = None
    after: "Sizes | None" = None


def prune(
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Of runs that ended longer ago than this: 12h, 30d, 2w.")
    ] = None,
    keep_last: Annotated[
        int, typer.Option(min=0, metavar="N", help="The newest runs that have ended keep theirs, whatever their age.")
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove; nothing is removed without it.")] = False,
) -> None:
    """Remove the checkpoints of old runs, which then can no longer be shown whole, replayed or resumed.

    The list of runs, their questions and answers and the audit record stay. Runs that have not ended are left alone.
    """
    if older_than is None and not keep_last:
        raise RequestError(
            "say which runs: --older-than AGE, --keep-last N, or both.",
            "Try: sourcebound runs prune --older-than 30d --keep-last 100 --dry-run",
        )
    order = Order(_rule(older_than, keep_last), dry_run, yes)
    plan, pruned, before, after = run_async(lambda: _prune(order), interrupted=STOPPED)
    if pruned is None or before is None or after is None:
        print(f"would remove {_described(plan)}; nothing was removed (--dry-run)")
    else:
        removed = f"{pruned.rows} rows, {_megabytes(pruned.bytes)}"
        print(f"removed the checkpoints of {_count(pruned.threads, 'run')}: {removed}")
        on_disk = f"{_megabytes(before.checkpoints)} before, {_megabytes(after.checkpoints)} now"
        print(f"on disk  {on_disk}; later runs use what is free in it")
    if plan.unfinished:
        say(f"{_count(plan.unfinished, 'run')} of that age never ended and kept theirs: resume or erase what is dead.")


async def _prune(order: Order) -> Outcome:
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        retention = services.retention
        plan = await retention.plan(order.rule)
        if order.dry_run:
            return Outcome(plan)
        if not order.yes:
            raise RequestError(
                f"{_described(plan)} would be removed for good; nothing was.",
                "If that is meant, add --yes.",
                code="NOT_CONFIRMED",
            )
        before = await retention.sizes()
        with _progress(len(plan.threads)) as report:
            pruned = await retention.prune(order.rule, plan.threads, report)
        return Outcome(plan, pruned, before, await retention.sizes())


def _rule(older_than: str | None, keep_last: int) -> "Rule":
    from sourcebound.cli.options import parse_duration
    from sourcebound.store.checkpoints.retention import Rule

    try:
        return Rule(parse_duration(older_than) if older_than is not None else timedelta(0), keep_last)
    except ValueError as error:
        raise RequestError(f"--older-than: {error}.", "Write it as 12h, 30d or 2w.") from error


@contextmanager
def _progress(runs: int) -> "Iterator[Callable[[int], None]]":
    """A bar on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("runs", total=runs)
        yield lambda done: bars.update(task, completed=done)


def _described(plan: "Prunable") -> str:
    return f"the checkpoints of {_count(len(plan.threads), 'run')}, {_megabytes(plan.bytes)}"


def describe_sizes(sizes: "Sizes") -> tuple[str, str]:
    """What is stored, by what it is for, and the next step where checkpoints take much."""
    parts = (
        f"index {_megabytes(sizes.collections)}",
        f"checkpoints {_megabytes(sizes.checkpoints)}{_each(sizes.checkpoints, sizes.whole, 'run')}",
        f"runs {_megabytes(sizes.runs)}{_each(sizes.runs, sizes.listed, 'run')}",
        f"audit {_megabytes(sizes.audit)}{_each(sizes.audit, sizes.records, 'record')}",
    )
    much = sizes.checkpoints >= WORTH_PRUNING
    return ", ".join(parts), "sourcebound runs prune --older-than 30d --keep-last 100 --dry-run" if much else ""


def _each(size: int, count: int, what: str) -> str:
    return f" ({size / count / 1000:.1f} kB a {what})" if count else ""


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""`sourcebound runs prune`: frees the space of old checkpoints. Runs and audit records stay (CP-7)."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from sourcebound.cli.console import progress, run_async, say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.store.checkpoints.retention import Prunable, Pruned, Rule, Sizes

WORTH_PRUNING: Final = 500_000_000
"""Bytes of checkpoints from which `doctor` recommends pruning."""
STOPPED: Final = "Each run was pruned completely or not at all. Run the same command again to continue."


class Order(NamedTuple):
    """The options of the command."""

    rule: "Rule"
    dry_run: bool
    yes: bool


class Outcome(NamedTuple):
    """The plan and, unless it was a dry run, the result with the sizes before and after."""

    plan: "Prunable"
    pruned: "Pruned | None" = None
    before: "Sizes | None" = None
    after: "Sizes | None" = None


def prune(
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Prune runs that ended longer ago than this: 12h, 30d, 2w.")
    ] = None,
    keep_last: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Keep the checkpoints of the N newest ended runs, whatever their age."),
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm. Nothing is removed without it.")] = False,
) -> None:
    """Remove the checkpoints of old runs. These runs can no longer be shown in full, replayed or resumed.

    The list of runs, their questions and answers, and the audit record stay. Runs that have not ended are not pruned.
    """
    if older_than is None and not keep_last:
        raise RequestError(
            "name the runs: --older-than AGE, --keep-last N, or both.",
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
        print(f"on disk  {on_disk}; later runs reuse the free space")
    if plan.unfinished:
        say(f"{_count(plan.unfinished, 'run')} of that age never ended and kept the checkpoints: resume or erase.")


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
                f"this would remove {_described(plan)} for good. Nothing was removed.",
                "To confirm, add --yes.",
                code="NOT_CONFIRMED",
            )
        before = await retention.sizes()
        with progress("runs", len(plan.threads)) as report:
            pruned = await retention.prune(order.rule, plan.threads, report)
        return Outcome(plan, pruned, before, await retention.sizes())


def _rule(older_than: str | None, keep_last: int) -> "Rule":
    from sourcebound.cli.options import parse_duration
    from sourcebound.store.checkpoints.retention import Rule

    try:
        return Rule(parse_duration(older_than) if older_than is not None else timedelta(0), keep_last)
    except ValueError as error:
        raise RequestError(f"--older-than: {error}.", "Write it as 12h, 30d or 2w.") from error


def _described(plan: "Prunable") -> str:
    return f"the checkpoints of {_count(len(plan.threads), 'run')}, {_megabytes(plan.bytes)}"


def describe_sizes(sizes: "Sizes") -> tuple[str, str]:
    """Describe the space in use by purpose, and the next step where checkpoints take much of it."""
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

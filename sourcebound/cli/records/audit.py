"""`sourcebound audit`: verify the audit record, show one row, export all rows (R5P)."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebound.cli.console import FAILED, run_async, say
from sourcebound.cli.options import read_moment
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.audit.hash_chain import ChainedRow, ChainReport
    from sourcebound.store.audit.export import Exported

app = typer.Typer(help="Verify, show and export the audit record.", no_args_is_help=True)


@app.command("verify")
def verify() -> None:
    """Recompute the hash chain and name the first record that does not match.

    Exit codes: 0 every record matches, 4 one does not, 1 fault.
    """
    report = run_async(_verify)
    if report.unchained:
        say(f"{report.unchained} records are older than the chain, which does not cover them.")
    if report.broken is None:
        print(f"{report.records} records, all unchanged")
        print(f"end  position {report.end.position}  {report.end.row_hash}")
        return
    broken = report.broken
    print(f"broken at position {broken.position}, run {broken.run_id or '(none)'}: {broken.finding}")
    print(f"{report.records} records before it match, up to {report.end.row_hash}")
    say("  Next: compare the record with an earlier `sourcebound audit export` or a backup of the database.")
    raise typer.Exit(FAILED)


@app.command("show")
def show(
    run: Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="The attempt. Default: the last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the record, as JSON.")] = False,
) -> None:
    """Show the audit record of one run."""
    row = _choose(run_async(lambda: _find(run)), run, attempt)
    place = {"position": row.position, "previous_hash": row.previous_hash, "row_hash": row.row_hash}
    form: dict[str, Any] = {**place, **row.columns}
    if as_json:
        print(json.dumps(form, ensure_ascii=False, indent=2))
        return
    width = max(map(len, form))
    for name, value in form.items():
        print(f"{name:<{width}}  {_format(value)}")


@app.command("export")
def export(
    output: Annotated[str, typer.Option(help="The file; for delta, the folder of the table.")],
    form: Annotated[str, typer.Option("--format", help="jsonl, parquet or delta.")] = "jsonl",
    since: Annotated[str | None, typer.Option(help="Skip older records: 2024-03-01 or 2024-03-01T08:00.")] = None,
) -> None:
    """Add the records that OUTPUT does not hold yet. Records that it holds stay unchanged."""
    exported = run_async(lambda: _export(form, output, since))
    print(f"{exported.records} records added to {output}, which now ends at position {exported.end.position}")


async def _verify() -> "ChainReport":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.audit_log.verify()


async def _find(run: str) -> "list[ChainedRow]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.audit_log.find_records(run)


async def _export(form: str, output: str, since: str | None) -> "Exported":
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.export import export_records
    from sourcebound.store.audit.export_formats import open_target
    from sourcebound.wiring import open_services

    moment = read_moment(since)
    target = open_target(form, output)
    async with open_services(get_settings()) as services:
        return await export_records(services.pool, target, moment)


def _choose(rows: "list[ChainedRow]", run: str, attempt: int | None) -> "ChainedRow":
    """Choose the record of an attempt; the rows must belong to one run."""
    if len({row.columns["run_id"] for row in rows}) != 1:
        problem = "more than one recorded run starts" if rows else "no recorded run starts"
        raise RequestError(f"{problem} with {run!r}.", "See `sourcebound runs list`.", code="RUN_NOT_FOUND")
    if attempt is None:
        return rows[-1]
    chosen = next((row for row in rows if row.columns["attempt"] == attempt), None)
    if chosen is None:
        known = ", ".join(str(row.columns["attempt"]) for row in rows)
        raise RequestError(f"the run has no attempt {attempt}.", f"Attempts: {known}.", code="RUN_NOT_FOUND")
    return chosen


def _format(value: object) -> str:
    if value is None:
        return "-"
    return " ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)

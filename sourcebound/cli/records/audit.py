"""`sourcebound audit`: verify the audit record, show one row, export all rows (R5P)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebound.cli.console import FAILED, progress, run_async, say, write_bytes
from sourcebound.cli.options import read_moment
from sourcebound.errors import RequestError, StoreError

if TYPE_CHECKING:
    from sourcebound.contracts.audit.hash_chain import ChainedRow, ChainReport, Link
    from sourcebound.graph.replay.record_check import RunCheck
    from sourcebound.store.audit.export import Exported

app = typer.Typer(help="Verify, show and export the audit record.", no_args_is_help=True)


@app.command("verify")
def verify(
    against: Annotated[
        list[Path] | None,
        typer.Option(help="A file that was kept elsewhere: signed heads, receipts or a jsonl export. Repeatable."),
    ] = None,
) -> None:
    """Recompute the hash chain, and compare every record with its run, texts and checkpoints.

    With --against, a chain whose end was removed, or that was computed again, is found too. The signed heads in
    SOURCEBOUND_HEADS are always compared. Exit codes: 0 everything matches, 4 something was changed, 2 bad usage, 1
    fault.
    """
    anchors = {path: _read_anchors(path) for path in [*(against or []), *_own_heads()]}
    report, findings, missing = run_async(lambda: _verify(anchors))
    if report.unchained:
        say(f"{report.unchained} records are older than the chain, which does not cover them.")
    if report.broken is None:
        print(f"{report.records} records, all unchanged")
        print(f"end  position {report.end.position}  {report.end.row_hash}")
    else:
        broken = report.broken
        print(f"broken at position {broken.position}, run {broken.run_id or '(none)'}: {broken.finding}")
        print(f"{report.records} records before it match, up to {report.end.row_hash}")
    for check in findings:
        print(f"run {check.run_id}: {'; '.join(check.findings)}")
    for path, place in missing.items():
        print(f"{path}: the chain had {place.row_hash} at position {place.position}, and does not have it now")
    if report.broken or findings or missing:
        say("  Next: compare with an earlier `sourcebound audit export` or a backup of the database.")
        raise typer.Exit(FAILED)


@app.command("head")
def head(
    output: Annotated[Path | None, typer.Option(help="A new file. Default: stdout.")] = None,
) -> None:
    """Sign the end of the chain. Keep it elsewhere, for `audit verify --against`."""
    write_bytes(run_async(_sign_head), output)
    if output is not None:
        say(f"The head is in {output}. Keep it on another machine.")


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
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Export a broken chain too. Its export is not proof of anything.")
    ] = False,
) -> None:
    """Add the records that OUTPUT does not hold yet. Records that it holds stay unchanged.

    The chain is verified first. If it is broken, nothing is exported, and the exit code is 1.
    """
    exported = run_async(lambda: _export(form, output, since, unverified=unverified))
    print(f"{exported.records} records added to {output}, which now ends at position {exported.end.position}")


def _own_heads() -> list[Path]:
    """Return the file to which this installation signs heads, if there is one."""
    from sourcebound.settings import get_settings

    path = get_settings().heads
    return [path.expanduser()] if path and path.expanduser().exists() else []


def _read_anchors(path: Path) -> "list[Link]":
    from sourcebound.contracts.receipt.anchors import AnchorFault, read_anchors
    from sourcebound.store.audit.signing_key import verify_signature

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} cannot be read: {error}.", "Check the path.") from error
    anchors = []
    for found in read_anchors(text, verify_signature):
        if isinstance(found, AnchorFault):
            raise RequestError(
                f"{path}, line {found.line}: {found.finding}.",
                "Give a file of `audit head`, `audit export` or `runs receipt`.",
                code="ANCHOR_UNREADABLE",
            )
        anchors.append(found)
    return anchors


async def _sign_head() -> bytes:
    from sourcebound.contracts.receipt.anchors import seal_head
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.signing_key import SigningKey
    from sourcebound.wiring import open_services

    settings = get_settings()
    signer = SigningKey.load(settings.signing_key_file)
    async with open_services(settings) as services:
        end = await services.audit_log.end()
    return seal_head(end, datetime.now(UTC).isoformat(timespec="seconds"), signer)


async def _verify(anchors: "dict[Path, list[Link]]") -> "tuple[ChainReport, list[RunCheck], dict[Path, Link]]":
    """Verify the chain, and collect the runs and the noted places that do not agree with it."""
    from sourcebound.contracts.receipt.anchors import find_missing
    from sourcebound.graph.replay.record_check import RunCheck, check_runs
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        history = PostgresHistory(services.pool)
        report, findings, done = await services.audit_log.verify(), [], 0
        with progress("runs", await history.count()) as show:
            async for check in check_runs(history):
                findings += [check] if check.findings else []
                done += 1
                show(done)
        broken = await history.find_broken_removal()
        if broken is not None:
            what = f"removal {broken.position} in the chain of erasures and prunings: {broken.finding}"
            findings.append(RunCheck(str(broken.run_id), (what,)))
        missing = {}
        for path, places in anchors.items():
            stored = await services.audit_log.hashes_at([place.position for place in places])
            if (place := find_missing(places, stored)) is not None:
                missing[path] = place
        return report, findings, missing


async def _find(run: str) -> "list[ChainedRow]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.audit_log.find_records(run)


async def _export(form: str, output: str, since: str | None, *, unverified: bool) -> "Exported":
    from sourcebound.settings import get_settings
    from sourcebound.store.audit.export import export_records
    from sourcebound.store.audit.export_formats import open_target
    from sourcebound.wiring import open_services

    moment = read_moment(since)
    target = open_target(form, output)
    async with open_services(get_settings()) as services:
        broken = (await services.audit_log.verify()).broken
        if broken is not None:
            finding = f"the audit chain is broken at position {broken.position}, run {broken.run_id}: {broken.finding}"
            if not unverified:
                raise StoreError(
                    f"{finding}. Nothing was exported.",
                    "Run `sourcebound audit verify`. To export what is there all the same, add --unverified.",
                    code="AUDIT_BROKEN",
                )
            say(f"Unverified: {finding}.")
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

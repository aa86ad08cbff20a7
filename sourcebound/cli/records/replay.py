"""`sourcebound replay`: recompute recorded runs or ask again, and show the differences (CP-3 to CP-5)."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sourcebound.cli.answering.request_options import MODEL_HELP, POLICY_HELP
from sourcebound.cli.console import FAILED, progress, run_async, say
from sourcebound.cli.options import read_moment
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.replay.report import LayerReport, NotReplayable, RunReport
    from sourcebound.contracts.replay.run_diff import RunDiff
    from sourcebound.graph.replay.rerun import Rerun, WhatIf

app = typer.Typer(help="Recompute recorded runs or ask again, and compare.", no_args_is_help=True)

Run = Annotated[str, typer.Argument(help="A run id, the start of one, or a request id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON.")]
_COUNTED: Final = (
    ("MATCH", "match"), ("OLDER", "older"), ("FORK", "forks"), ("DRIFT", "drifted"), ("EDITED", "edited")
)  # fmt: skip
"""Verdicts and their words in a summary, in order."""
_ALWAYS: Final = ("MATCH", "DRIFT")


@app.command("verify")
def verify(
    run: Annotated[
        str | None,
        typer.Argument(help="A run id, the start of one, a request id, or a file from `runs export`."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Verify every recorded run.")] = False,
    since: Annotated[
        str | None, typer.Option(help="With --all: skip runs that began before this time, such as 2024-03-01.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="With --all: the number of processes. Default: by the number of runs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON, one line for each run.")] = False,
) -> None:
    """Recompute every deterministic layer of a run from its recorded input, and compare byte for byte.

    No model is called and nothing is retrieved. A file needs no database and no network. The verdicts are MATCH; OLDER
    (made under earlier rules, and matches under them); FORK (continues another run, and matches from there); DRIFT (a
    layer differs); EDITED (a person changed the state) and UNREADABLE. Exit codes: 0 MATCH, OLDER or FORK, 4 DRIFT,
    EDITED or UNREADABLE, 2 the run was pruned, erased or has not ended, 1 fault. With --all, such a run is named and
    changes nothing.
    """
    if every == (run is not None):
        raise RequestError("give one of: a run, a file, --all.", "See `sourcebound runs list`.")
    if run is None:
        counts = run_async(lambda: _verify_all(read_moment(since), jobs, as_json))
    elif _is_file(path := Path(run)):
        counts = run_async(lambda: _show_all(_verify_file(path), as_json, every=False))
    else:
        counts = run_async(lambda: _show_all(_verify_run(run), as_json, every=False))
    if every or counts.total() > 1:
        say(_summary(counts))
    from sourcebound.contracts.replay.report import ACCOUNTED_FOR, VERIFIED

    raise typer.Exit(FAILED if counts.keys() - {*VERIFIED, *ACCOUNTED_FOR} else 0)


@app.command("rerun")
def rerun(run: Run, as_json: AsJson = False) -> None:
    """Send the recorded prompt to the recorded model again, and show how its text differs.

    Nothing is recorded or released. Exit codes: 0 the same text, 4 another text, 2 bad usage, 1 fault.
    """
    found = run_async(lambda: _rerun(run))
    if as_json:
        print(json.dumps({"model": found.model, "same": found.same, **found.run_diff.model_dump()}, ensure_ascii=False))
    else:
        print(f"{found.model} gave {'the same text' if found.same else 'another text'}")
        _show_run_diff(found.run_diff)
    raise typer.Exit(0 if found.same else FAILED)


@app.command("whatif")
def whatif(
    run: Run,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP)] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    as_json: AsJson = False,
) -> None:
    """Run another policy or model over the recorded candidates, as a new run, and show the differences."""
    if policy is None and model is None:
        raise RequestError("give --policy, --model or both.", "See `sourcebound policy list` and `models list`.")
    found = run_async(lambda: _what_if(run, policy, model))
    if as_json:
        print(json.dumps({"run_id": found.run_id, **found.run_diff.model_dump()}, ensure_ascii=False))
        return
    _show_run_diff(found.run_diff)
    print(f"run {found.run_id}")


async def _rerun(run: str) -> "Rerun":
    from sourcebound.cli.records.lookup import find_run
    from sourcebound.graph.replay.history import read_run
    from sourcebound.graph.replay.rerun import rerun
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        recorded = await read_run(PostgresHistory(services.pool), await find_run(services, run))
        return await rerun(services, recorded)


async def _what_if(run: str, policy: str | None, model: str | None) -> "WhatIf":
    from sourcebound.cli.records.lookup import find_run
    from sourcebound.graph.replay.history import read_run
    from sourcebound.graph.replay.rerun import what_if
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        recorded = await read_run(PostgresHistory(services.pool), await find_run(services, run))
        return await what_if(services, recorded, policy, model)


def _show_run_diff(found: "RunDiff") -> None:
    for change in found.changes:
        _print(f"  {change.layer:<11} {change.what}: {change.before} -> {change.after}")
    for line in found.diff:
        _print(f"    {line}")


async def _verify_run(run: str) -> "AsyncIterator[RunReport | NotReplayable]":
    from sourcebound.cli.records.lookup import find_run
    from sourcebound.graph.replay.history import verify_run
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        result = await verify_run(PostgresHistory(services.pool), await find_run(services, run))
    yield result


async def _verify_file(path: Path) -> "AsyncIterator[RunReport | NotReplayable]":
    from sourcebound.contracts.replay.release_diff import load_shipped_release
    from sourcebound.contracts.replay.run_file import RunFileFault, read_run_file
    from sourcebound.graph.replay.verify import verify

    shipped = load_shipped_release()
    for number, text in enumerate(_texts(path), start=1):
        found = read_run_file(text)
        if isinstance(found, RunFileFault):
            where = f"{path}, line {number}" if number > 1 else str(path)
            raise RequestError(f"{where}: {found.message}.", found.next_step, code=found.code)
        yield await verify(found, shipped)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _texts(path: Path) -> Iterator[str]:
    """Yield the runs of a file: one on each line, or a single one in any layout."""
    try:
        with path.open(encoding="utf-8") as file:
            first, second = file.readline(), file.readline()
            if not second.startswith("{"):
                yield first + second + file.read()
                return
            yield from (first, second)
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"{path} cannot be read: {error}.", "Copy or export it again.", code="RUN_FILE_DAMAGED"
        ) from error


async def _verify_all(since: datetime | None, jobs: int | None, as_json: bool) -> "Counter[str]":
    from sourcebound.graph.replay.history import choose_jobs, verify_history
    from sourcebound.settings import get_settings
    from sourcebound.store.checkpoints.archive import PostgresHistory
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        history = PostgresHistory(services.pool)
        total = await history.count(since)
        results = verify_history(history, since, jobs or choose_jobs(total))
        return await _show_all(_with_progress(results, total), as_json, every=True)


async def _with_progress(
    results: "AsyncIterator[RunReport | NotReplayable]", total: int
) -> "AsyncIterator[RunReport | NotReplayable]":
    """Pass results on, and show the progress."""
    with progress("runs", total) as report:
        done = 0
        async for result in results:
            yield result
            done += 1
            report(done)


async def _show_all(
    results: "AsyncIterator[RunReport | NotReplayable]", as_json: bool, *, every: bool
) -> "Counter[str]":
    """Print results in order, and count verdicts and codes. With `every`, print only runs that do not match."""
    from sourcebound.contracts.replay.report import VERIFIED, RunReport
    from sourcebound.graph.replay.history import not_replayable_error

    counts: Counter[str] = Counter()
    async for result in results:
        if not isinstance(result, RunReport) and not every and result.verdict is None:
            raise not_replayable_error(result)
        counts[result.verdict if isinstance(result, RunReport) else result.code] += 1
        if as_json:
            print(json.dumps(_to_json(result)))
        elif not isinstance(result, RunReport):
            verdict = f"{result.verdict}: " if result.verdict else ""
            _print(f"run {result.run_id}: {verdict}{result.message} [{result.code}]")
        elif not every or result.verdict not in VERIFIED:
            _show(result)
    return counts


def _to_json(result: "RunReport | NotReplayable") -> dict[str, object]:
    """Return a report, or the reason why there is none, as JSON."""
    from sourcebound.contracts.replay.report import RunReport

    if isinstance(result, RunReport):
        return result.model_dump(mode="json")
    return {**({"verdict": result.verdict} if result.verdict else {}), **result._asdict()}


def _show(report: "RunReport") -> None:
    origin = f" of run {report.fork_of}" if report.fork_of else ""
    _print(f"run {report.run_id}: {report.verdict}{origin}")
    for layer in report.layers:
        _print(f"  {layer.verdict:<9} {layer.layer:<13} {layer.note}".rstrip())
        _show_differences(layer)


def _show_differences(layer: "LayerReport") -> None:
    for difference in layer.differences:
        place = f", character {difference.character}" if difference.character is not None else ""
        _print(f"    {difference.path}{place}")
        _print(f"      recorded  {difference.recorded}")
        _print(f"      computed  {difference.computed}")


def _print(line: str) -> None:
    """Print a line with control characters escaped, because a file from elsewhere is untrusted."""
    print("".join(character if character.isprintable() else ascii(character)[1:-1] for character in line))


def _summary(counts: "Counter[str]") -> str:
    """Summarize how many runs matched, drifted, or could not be recomputed, with the reasons."""
    counted = dict(_COUNTED)
    words = [f"{counts[verdict]} {word}" for verdict, word in _COUNTED if counts[verdict] or verdict in _ALWAYS]
    others = {code: count for code, count in sorted(counts.items()) if code not in counted}
    reasons = ", ".join(f"{count} {code}" for code, count in others.items())
    left_out = f", {sum(others.values())} not replayable ({reasons})" if others else ""
    return f"{counts.total()} runs: {', '.join(words)}{left_out}"

"""`sourcebound runs resume --all`: continues every interrupted run and counts the outcomes."""

import json
from collections import Counter
from typing import TYPE_CHECKING

import typer

from sourcebound.cli.console import FAULT, run_async, say

if TYPE_CHECKING:
    from sourcebound.graph.batch.resume_all import Resumed


def resume_every_run(*, as_json: bool) -> None:
    """Resume the runs, and exit with 1 if one of them could not be completed."""
    counts = run_async(lambda: _resume(as_json))
    if not counts:
        say("There is no interrupted run.")
        return
    say(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    if counts["cut_off"]:
        raise typer.Exit(FAULT)


async def _resume(as_json: bool) -> "Counter[str]":
    from sourcebound.graph.batch.resume_all import resume_all
    from sourcebound.graph.engine import Engine

    counts: Counter[str] = Counter()
    async with Engine.open() as engine:
        async for resumed in resume_all(engine):
            _show(resumed, as_json=as_json)
            counts[resumed.response.status if resumed.response else resumed.ending] += 1
    return counts


def _show(resumed: "Resumed", *, as_json: bool) -> None:
    response, fault = resumed.response, resumed.fault
    if as_json:
        line = {
            "run_id": resumed.run_id,
            "ending": resumed.ending,
            "code": fault.failure_code if fault else None,
            "message": fault.message if fault else None,
            "response": response.model_dump(mode="json") if response else None,
        }
        print(json.dumps(line, ensure_ascii=False))
        return
    reason = (response.refusal_code or response.failure_code) if response else fault and fault.failure_code
    status = response.status if response else resumed.ending
    print(f"{resumed.run_id}  {status}" + (f" ({reason})" if reason else ""))
    if fault:
        say(f"    {fault}")

"""Measures an external evaluation, set by set. A set that is absent or cannot be read never stops the others (S-4)."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time

from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.evals.external.asking import EMBEDDER
from sourcebound.evals.external.plan import DATA_FAULTS, MODEL, Plan, Tools, Unit, leave_out
from sourcebound.evals.external.progress import Circumstances, Progress, Result
from sourcebound.evals.external.report import ExternalSummary, Section
from sourcebound.evals.external.sets.mixing import count_means
from sourcebound.wiring import DEFAULT_POLICY, find_policy

Say = Callable[[str], None]


async def measure_all(
    data: Path,
    sections: frozenset[Section] = frozenset(Section),
    most: int | None = None,
    say: Say = lambda _: None,
    summary: Path | None = None,
    *,
    again: bool = False,
) -> ExternalSummary:
    """Measure every set of a folder.

    Args:
        data: The folder.
        sections: The sections to measure.
        most: The most questions of a set and kind; None for all.
        say: Receives a line of progress.
        summary: The file that will hold the summary. What was measured is kept next to it, so that an interrupted
            evaluation continues; None to keep nothing.
        again: Whether to begin from the start.

    Raises:
        RequestError: Next to the file is an evaluation under other circumstances.
    """
    policy = find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER)
    circumstances = Circumstances.find(data, policy, sections, most)
    progress = Progress(summary)
    done = progress.begin(circumstances, again=again)
    results = []
    async with AsyncExitStack() as stack:
        plan = Plan(data, sections, most, Tools(stack, policy))
        for unit in plan.units():
            if unit.name in done:
                say(f"{unit.section}: {unit.name} was measured before")
                results.append(done[unit.name])
                continue
            say(f"{unit.section}: {unit.name}")
            results.append(await _measure(unit, data))
            for each in results[-1].left_out:
                say(f"{unit.section}: {unit.name} is left out: {each.reason}")
            if not results[-1].left_out:  # a fault may have passed when the evaluation continues
                progress.append(results[-1])
    figures = tuple(figure for each in results for figure in each.figures)
    return ExternalSummary(
        data=data.name,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=circumstances.commit,
        versions=THIS_VERSION,
        policy=policy.policy_version,
        model=MODEL,
        most_questions=most,
        questions=sum(each.questions for each in results),
        seconds={each.unit: each.seconds for each in results},
        cpu_seconds=round(sum(each.cpu_seconds for each in results), 1),
        load=round(sum(each.load for each in results) / len(results), 1) if results else 0.0,
        cores=os.cpu_count() or 1,
        figures=(*figures, *count_means(figures)),
        left_out=(*plan.left_out, *(each for result in results for each in result.left_out)),
    )


async def _measure(unit: Unit, data: Path) -> Result:
    """Measure a unit. A fault of its data becomes a set that is left out."""
    wall, cpu = perf_counter(), process_time()
    try:
        result = await unit.measure()
    except DATA_FAULTS as error:
        result = Result(unit=unit.name, left_out=(leave_out(unit.section, unit.name, error, data),))
    seconds, cpu_seconds = round(perf_counter() - wall, 1), round(process_time() - cpu, 1)
    cost = {"seconds": seconds, "cpu_seconds": cpu_seconds, "load": round(os.getloadavg()[0], 1)}
    return result.model_copy(update=cost)

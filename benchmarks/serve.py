"""Benchmark the HTTP server: 16 questions at once, and 200 cheap requests a second, against the call in the process.

    sourcebound ingest examples/manuals --collection demo
    python benchmarks/serve.py [--collection demo] [--seconds 60]

The same questions run in the process (`Engine.ask`, 16 at once) and then over HTTP, on the database of the settings.
The server is a process of its own. Each part prints its percentiles. The last line is the ratio of the medians. An
answer with another status than 200, and a server that grows by more than 10 % after its first ten seconds, end the
program with 1.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Final

import httpx

from sourcebound import Engine

AT_ONCE: Final = 16
CHEAP_PER_SECOND: Final = 200
CHEAP: Final = ("/healthz", "/readyz", "/v1/collections", "/v1/models")
WARM_SECONDS: Final = 10.0
GROWTH: Final = 1.10
QUESTIONS: Final = (
    "How often is the shaft of a stored HP-200 turned by hand?",
    "What oil charge does the bearing frame of the HP-200 take in revision C?",
    "What is the tightening torque of the oil drain plug of the HP-200?",
    "Which orchestra played at the opening of the Sydney Opera House?",
)


async def repeat(work: Callable[[str], Awaitable[None]], seconds: float) -> list[float]:
    """Keep 16 questions in progress for some time, and return the milliseconds of each."""
    end, taken = perf_counter() + seconds, list[float]()

    async def ask_on(number: int) -> None:
        while perf_counter() < end:
            start = perf_counter()
            await work(QUESTIONS[(number + len(taken)) % len(QUESTIONS)])
            taken.append((perf_counter() - start) * 1000)

    await asyncio.gather(*(ask_on(number) for number in range(AT_ONCE)))
    return taken


def report(name: str, taken: list[float], seconds: float) -> float:
    """Print the percentiles, and return the median."""
    cuts = quantiles(taken, n=100)
    p50, p95, p99 = cuts[49], cuts[94], cuts[98]
    print(f"{name:<12} {len(taken) / seconds:8.1f} /s   p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   p99 {p99:7.1f} ms")
    return p50


def memory_megabytes(process: "subprocess.Popen[str]") -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


async def in_process(collection: str, seconds: float) -> float:
    """Ask in this process."""
    async with Engine.open() as engine:

        async def ask(question: str) -> None:
            await engine.ask({"question": question, "collection": collection})

        await repeat(ask, 2)
        return report("in process", await repeat(ask, seconds), seconds)


async def over_http(process: "subprocess.Popen[str]", url: str, collection: str, seconds: float) -> tuple[float, bool]:
    """Ask the server, with cheap requests next to the questions, and return the median and whether all is well."""
    failures: list[str] = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def ask(question: str) -> None:
            answer = await client.post("/v1/ask", json={"question": question, "collection": collection})
            if answer.status_code != 200:
                failures.append(answer.text)

        await repeat(ask, WARM_SECONDS)
        warm = memory_megabytes(process)
        median = report("over HTTP", await repeat(ask, seconds), seconds)
        cheap = await _cheap(client, seconds / 4, failures)
        report("cheap", cheap, seconds / 4)
    grown = memory_megabytes(process) / warm
    print(f"failures {len(failures)}   memory {warm:.0f} MB, then x {grown:.2f}")
    return median, not failures and grown <= GROWTH


async def _cheap(client: httpx.AsyncClient, seconds: float, failures: list[str]) -> list[float]:
    taken: list[float] = []

    async def read(path: str) -> None:
        start = perf_counter()
        answer = await client.get(path)
        taken.append((perf_counter() - start) * 1000)
        if answer.status_code != 200:
            failures.append(answer.text)

    async with asyncio.TaskGroup() as group:
        for number in range(int(seconds * CHEAP_PER_SECOND)):
            group.create_task(read(CHEAP[number % len(CHEAP)]))
            await asyncio.sleep(1 / CHEAP_PER_SECOND)
    return taken


def main() -> None:
    """Run both sides."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", default="demo")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    floor = asyncio.run(in_process(options.collection, options.seconds / 2))
    command = [Path(sys.executable).with_name("sourcebound"), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        median, is_well = asyncio.run(over_http(process, url, options.collection, options.seconds))
        process.terminate()
    print(f"ratio of the medians {median / floor:.2f}")
    sys.exit(not is_well)


if __name__ == "__main__":
    main()

"""Benchmark the HTTP server: 16 questions at once and 200 cheap requests a second, against the call in the process.

    sourcebound ingest examples/manuals --collection demo
    python benchmarks/serve.py [--collection demo] [--seconds 60] [--workers 1]

First the same questions run in blocks in this process (`Engine.ask`, 16 at once) and over HTTP, in turn, so that both
see the same machine. Their ratio is the median of the blocks. Then questions and cheap requests run at the same
time for the given seconds. Each part prints its percentiles. The server is a process of its own, and its workers count
with it. An answer with another status than 200, memory that grows by more than 10 % after a warm-up, descriptors
that stay open, and a ratio over 1.5 end the program with 1.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Final, NamedTuple

import httpx

from sourcebound import Engine

AT_ONCE: Final = 16
CHEAP_PER_SECOND: Final = 200
CHEAP: Final = ("/healthz", "/readyz", "/v1/collections", "/v1/models")
BLOCKS: Final = 6
WARM_SECONDS: Final = 15.0
GROWTH: Final = 1.10
RATIO: Final = 1.5
SPARE_DESCRIPTORS: Final = 16
"""Connections of the pool and of clients that are kept open, which come and go."""
QUESTIONS: Final = (
    "How often is the shaft of a stored HP-200 turned by hand?",
    "What oil charge does the bearing frame of the HP-200 take in revision C?",
    "What is the tightening torque of the oil drain plug of the HP-200?",
    "Which orchestra played at the opening of the Sydney Opera House?",
)
Ask = Callable[[str], Awaitable[None]]


class Usage(NamedTuple):
    """The resources of the server's processes."""

    megabytes: float
    descriptors: int


async def repeat(work: Ask, seconds: float) -> list[float]:
    """Keep 16 questions in progress for some time, and return the milliseconds of each."""
    end, taken = perf_counter() + seconds, list[float]()

    async def ask_on(number: int) -> None:
        while perf_counter() < end:
            start = perf_counter()
            await work(QUESTIONS[(number + len(taken)) % len(QUESTIONS)])
            taken.append((perf_counter() - start) * 1000)

    await asyncio.gather(*(ask_on(number) for number in range(AT_ONCE)))
    return taken


def report(name: str, taken: list[float], seconds: float) -> None:
    """Print the percentiles."""
    cuts = quantiles(taken, n=100)
    p50, p95, p99 = cuts[49], cuts[94], cuts[98]
    print(f"{name:<12} {len(taken) / seconds:8.1f} /s   p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   p99 {p99:7.1f} ms")


def usage_of(pid: int) -> Usage:
    """Return what a process and its children use, without the embedded database."""
    place = Path(f"/proc/{pid}")
    if (place / "comm").read_text().startswith("postgres"):
        return Usage(0, 0)
    megabytes = int((place / "status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    used = [Usage(megabytes, len(list((place / "fd").iterdir())))]
    used += [usage_of(int(child)) for child in (place / "task" / str(pid) / "children").read_text().split()]
    return Usage(sum(each.megabytes for each in used), sum(each.descriptors for each in used))


async def compare(here: Ask, over_http: Ask, seconds: float) -> float:
    """Ask in blocks, in turn, and return the ratio of the medians."""
    for ask in (here, over_http):
        await repeat(ask, 5)
    taken: dict[str, list[float]] = {"in process": [], "over HTTP": []}
    ratios: list[float] = []
    for _ in range(BLOCKS):
        block = {name: await repeat(ask, seconds) for name, ask in zip(taken, (here, over_http), strict=True)}
        ratios.append(median(block["over HTTP"]) / median(block["in process"]))
        for name, times in block.items():
            taken[name] += times
    for name, times in taken.items():
        report(name, times, seconds * BLOCKS)
    print(f"ratio of the medians {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} in {BLOCKS} blocks)")
    return median(ratios)


async def read_cheap_routes(client: httpx.AsyncClient, seconds: float, failures: list[str]) -> list[float]:
    """Send 200 requests a second, and return the milliseconds of each."""
    taken: list[float] = []
    began = perf_counter()

    async def read(path: str) -> None:
        start = perf_counter()
        answer = await client.get(path)
        taken.append((perf_counter() - start) * 1000)
        if answer.status_code != 200:
            failures.append(answer.text)

    async with asyncio.TaskGroup() as group:
        for number in range(int(seconds * CHEAP_PER_SECOND)):
            group.create_task(read(CHEAP[number % len(CHEAP)]))
            await asyncio.sleep(max(0.0, began + (number + 1) / CHEAP_PER_SECOND - perf_counter()))
    return taken


async def measure(pid: int, url: str, collection: str, seconds: float) -> bool:
    """Run every part, and return whether all is well."""
    failures: list[str] = []
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE)
    async with Engine.open() as engine, httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def ask_here(question: str) -> None:
            await engine.ask({"question": question, "collection": collection})

        async def ask(question: str) -> None:
            answer = await client.post("/v1/ask", json={"question": question, "collection": collection})
            if answer.status_code != 200:
                failures.append(answer.text)

        ratio = await compare(ask_here, ask, seconds / (2 * BLOCKS))
        await asyncio.gather(repeat(ask, WARM_SECONDS), read_cheap_routes(client, WARM_SECONDS, failures))
        before = usage_of(pid)
        print(f"{AT_ONCE} questions and {CHEAP_PER_SECOND} cheap requests a second for {seconds:.0f} s:")
        asked, cheap = await asyncio.gather(repeat(ask, seconds), read_cheap_routes(client, seconds, failures))
        report("questions", asked, seconds)
        report("cheap", cheap, seconds)
        after = usage_of(pid)
    grown, opened = after.megabytes / before.megabytes, after.descriptors - before.descriptors
    print(f"failures {len(failures)}   memory {before.megabytes:.0f} MB, then x {grown:.2f}   descriptors {opened:+d}")
    return not failures and grown <= GROWTH and opened <= SPARE_DESCRIPTORS and ratio <= RATIO


def main() -> None:
    """Start the server and measure it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", default="demo")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    program = Path(sys.executable).with_name("sourcebound")
    command = [program, "serve", "--port", "0", "--workers", str(options.workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        is_well = asyncio.run(measure(process.pid, url, options.collection, options.seconds))
        process.terminate()
    sys.exit(not is_well)


if __name__ == "__main__":
    main()

"""Benchmark concurrent runs against bare requests, with a model server that answers after a delay.

    python benchmarks/models.py

It prints the wall time of 64 concurrent, complete runs (retrieval, checkpoints, audit), the time of as many bare
requests in the same process, and the largest lag of the event loop. A few runs warm up first.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

import httpx

from sourcebound.contracts.state import RunContext
from sourcebound.graph.engine import Engine
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.settings import Settings
from sourcebound.wiring import open_services

ROOT = Path(__file__).parents[1]
QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
ANSWER = "The shaft is turned by hand every 14 days [C0]."
MODEL = "ollama:qwen3:8b"
TICK_SECONDS = 0.005
WARM_UP = 8
"""Runs before the first round: as many as the pool has connections, so that all are open before the timing starts."""
ROUNDS = 3


async def record_lag(lags: list[float]) -> None:
    """Record the lag of every tick."""
    while True:
        due = perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        lags.append(perf_counter() - due)


async def time_bare_requests(url: str, count: int) -> float:
    """Return the seconds that `count` concurrent plain requests take."""
    body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": QUESTION}], "stream": False}
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=count)) as client:
        started = perf_counter()
        await asyncio.gather(*[client.post(f"{url}/api/chat", json=body) for _ in range(count)])
        return perf_counter() - started


async def measure(settings: Settings, url: str, count: int) -> None:
    """Ingest the example manuals, warm up, and time `count` concurrent runs."""
    async with open_services(settings, as_owner=True) as services:
        embedder = await services.open_embedder("minilm")
        await Ingest(services.index, embedder, "minilm", 10_000_000, services.parser).run(
            [ROOT / "examples" / "manuals"], settings.collection, Sidecar()
        )
        engine, context = Engine(services), RunContext(model=MODEL)
        await asyncio.gather(*[engine.ask({"question": QUESTION}, context) for _ in range(WARM_UP)])
        lags: list[float] = []
        watcher = asyncio.create_task(record_lag(lags))
        for number in range(ROUNDS):
            started = perf_counter()
            responses = await asyncio.gather(*[engine.ask({"question": QUESTION}, context) for _ in range(count)])
            elapsed, bare = perf_counter() - started, await time_bare_requests(url, count)
            outcomes = json.dumps(Counter(response.status for response in responses))
            print(f"round {number + 1}: {count} runs at once {elapsed:.2f} s, {outcomes}; ", end="")
            print(f"{count} bare requests {bare:.2f} s; ratio {elapsed / bare:.2f}")
        watcher.cancel()
    print(f"lag of the event loop: {max(lags) * 1000:.0f} ms at most, over {len(lags)} ticks")


def main() -> None:
    """Start the server and the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--think", type=float, default=2.0, metavar="SECONDS")
    options = parser.parse_args()
    command = [sys.executable, "-m", "support.processes.model_servers", "--think", str(options.think)]
    with (
        subprocess.Popen(
            [*command, "--answer", ANSWER, "--model", "qwen3:8b"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        ) as server,
        tempfile.TemporaryDirectory(prefix="sourcebound-bench-") as folder,
    ):
        assert server.stdout is not None
        Path(folder).chmod(0o755)
        url = server.stdout.readline().strip()
        asyncio.run(measure(Settings(home=Path(folder) / "home", ollama_host=url), url, options.runs))
        server.communicate()


if __name__ == "__main__":
    main()

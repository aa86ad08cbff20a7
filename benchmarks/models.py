"""Many runs at once against a model server that thinks for a while, beside the bare requests.

    python benchmarks/models.py

Prints the wall time of 64 concurrent runs, each whole (retrieval, checkpoints, audit), the time of as many bare
requests in the same process, and by how much the event loop was ever late. A few runs warm up first.
"""

import argparse
import asyncio
import json
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
"""Runs before the first round: as many as the pool has connections, so that none is opened while time is taken."""
ROUNDS = 3


async def watch_lag(lags: list[float]) -> None:
    """Notes for every tick by how much it came too late."""
    while True:
        due = perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        lags.append(perf_counter() - due)


async def bare_requests(url: str, count: int) -> float:
    """Seconds that as many plain requests take at once."""
    body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": QUESTION}], "stream": False}
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=count)) as client:
        started = perf_counter()
        await asyncio.gather(*[client.post(f"{url}/api/chat", json=body) for _ in range(count)])
        return perf_counter() - started


async def measure(settings: Settings, url: str, count: int) -> None:
    """Ingests the example manuals, warms up with one run, and times `count` runs at once."""
    async with open_services(settings) as services:
        embedder = await services.open_embedder("minilm")
        await Ingest(services.index, embedder, "minilm", 10_000_000, services.parser).run(
            [ROOT / "examples" / "manuals"], settings.collection, Sidecar()
        )
        engine, context = Engine(services), RunContext(model=MODEL)
        await asyncio.gather(*[engine.ask({"question": QUESTION}, context) for _ in range(WARM_UP)])
        lags: list[float] = []
        watcher = asyncio.create_task(watch_lag(lags))
        for number in range(ROUNDS):
            started = perf_counter()
            responses = await asyncio.gather(*[engine.ask({"question": QUESTION}, context) for _ in range(count)])
            elapsed, bare = perf_counter() - started, await bare_requests(url, count)
            outcomes = json.dumps(Counter(response.status for response in responses))
            print(f"round {number + 1}: {count} runs at once {elapsed:.2f} s, {outcomes}; ", end="")
            print(f"{count} bare requests {bare:.2f} s; ratio {elapsed / bare:.2f}")
        watcher.cancel()
    print(f"lag of the event loop: {max(lags) * 1000:.0f} ms at most, over {len(lags)} ticks")


def main() -> None:
    """Starts the server and the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--think", type=float, default=2.0, metavar="SECONDS")
    options = parser.parse_args()
    command = [sys.executable, str(ROOT / "tests" / "model_servers.py"), "--think", str(options.think)]
    with (
        subprocess.Popen(
            [*command, "--answer", ANSWER, "--model", "qwen3:8b"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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

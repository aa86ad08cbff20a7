"""Measure what row-level security costs a question: ask each one with it and without it, one after the other.

    python benchmarks/row_security.py [--rounds 40]

Two embedded servers hold the example manuals, and the policies of one are switched off. The role of the application
asks, as in `sourcebound serve`. A key with collections is measured against the same server without policies.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import numpy as np

from sourcebound.graph.engine import Engine
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.ingest.pipeline import Ingest
from sourcebound.settings import Settings
from sourcebound.store.connection.visibility import restrict_to
from sourcebound.wiring import open_corpus, open_database, open_services

MANUALS: Final = Path(__file__).resolve().parents[1] / "examples" / "manuals"
QUESTIONS: Final = (
    "What oil charge does the bearing frame of the HP-200 take in revision C?",
    "How often is the filter of the HP-200 changed?",
    "Who won the chess championship of 1972 in Reykjavik?",
)
SWITCH_OFF: Final = """
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relrowsecurity LOOP
        EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', name);
    END LOOP;
END $$
"""


@asynccontextmanager
async def opened(home: Path, *, with_policies: bool) -> AsyncIterator[Engine]:
    """Yield an engine over the example manuals."""
    settings = Settings(home=home)
    async with open_services(settings) as services:
        embedder = await services.open_embedder("minilm")
        async with open_corpus(settings) as index:
            work = Ingest(index, embedder, "minilm", 10_000_000, services.parser)
            await work.run([MANUALS], settings.collection, Sidecar())
        if not with_policies:
            async with open_database(settings, max_size=1, as_owner=True) as pool, pool.connection() as connection:
                await connection.execute(SWITCH_OFF)
        yield Engine(services)


async def time_question(engine: Engine, question: str) -> float:
    """Return the time of an answer, in milliseconds."""
    started = perf_counter()
    await engine.ask({"question": question})
    return (perf_counter() - started) * 1000


async def main(rounds: int) -> None:
    """Print the differences of the paired times."""
    with TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # the embedded server has an account of its own
        async with AsyncExitStack() as stack:
            walled = await stack.enter_async_context(opened(Path(folder) / "walled", with_policies=True))
            plain = await stack.enter_async_context(opened(Path(folder) / "plain", with_policies=False))
            for name, collections in (("all collections", None), ("a key with one collection", ["default"])):
                times: list[tuple[float, float]] = []
                for number in range(rounds * len(QUESTIONS)):
                    question = QUESTIONS[number % len(QUESTIONS)]
                    pair = {}
                    for engine in (walled, plain) if number % 2 else (plain, walled):
                        restrict_to(collections if engine is walled else None)
                        pair[engine] = await time_question(engine, question)
                    times.append((pair[walled], pair[plain]))
                with_policies, without = np.array(times[len(QUESTIONS) :]).T
                ratios = np.sort(with_policies / without - 1)
                middle, margin = len(ratios) / 2, len(ratios) ** 0.5  # of the ranks: a 95 % interval of the median
                low, high = ratios[int(middle - margin)], ratios[int(middle + margin)]
                print(
                    f"{name}: median {np.median(with_policies):.1f} ms against {np.median(without):.1f} ms; "
                    f"median of the paired ratios {np.median(ratios):+.1%} ({low:+.1%} to {high:+.1%})",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    asyncio.run(main(parser.parse_args().rounds))

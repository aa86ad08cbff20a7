"""Measure the cost of the log lines and spans of the nodes (contract §12), in pairs within one process.

    sourcebound ingest examples/manuals --collection demo
    python benchmarks/observing.py [--collection demo] [--pairs 200]

Each question is asked twice, once with and once without observation, in alternating order. "log" writes JSON lines to
/dev/null. "log and spans" also gives each span to a processor of OpenTelemetry's SDK that keeps it in memory. The time
is that of the processor, in which a busy machine hides less. The ratio is the median of those of the pairs, and ±
is half the interval of 95 % over resampled pairs.
"""

import argparse
import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np
from numpy.typing import NDArray
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sourcebound import Engine
from sourcebound.graph.observability import LOGGER
from sourcebound.telemetry import JsonFormatter

QUESTION: Final = "What oil charge does the bearing frame of the HP-200 take in revision C?"
SAMPLES: Final = 2000
Times = NDArray[np.float64]


def log_to_nowhere() -> None:
    """Send the lines of the nodes to /dev/null, formatted as JSON."""
    handler = logging.FileHandler(Path("/dev/null"))
    handler.setFormatter(JsonFormatter())
    LOGGER.addHandler(handler)
    LOGGER.propagate = False


def set_log(is_on: bool) -> None:
    """Switch the lines on or off."""
    LOGGER.setLevel(logging.INFO if is_on else logging.WARNING)


async def measure(engine: Engine, collection: str, pairs: int, switch: Callable[[bool], None]) -> Times:
    """Return the milliseconds of processor time of each question without and with observation, in two columns."""
    taken: list[tuple[float, float]] = []
    for number in range(pairs):
        times = [0.0, 0.0]
        for is_on in (number % 2 == 0, number % 2 == 1):
            switch(is_on)
            start = process_time()
            await engine.ask({"question": QUESTION, "collection": collection})
            times[is_on] = (process_time() - start) * 1000
        taken.append((times[0], times[1]))
    return np.array(taken)


def report(name: str, taken: Times) -> None:
    """Print the median ratio of the pairs with its interval."""
    ratios = taken[:, 1] / taken[:, 0]
    picked = np.random.default_rng(1).integers(0, len(ratios), (SAMPLES, len(ratios)))
    low, high = np.quantile(np.median(ratios[picked], axis=1), [0.025, 0.975])
    without, with_it = np.median(taken, axis=0)
    print(f"{name:<14} {without:6.1f} -> {with_it:6.1f} ms   ratio {np.median(ratios):.3f} ± {(high - low) / 2:.3f}")


async def main() -> None:
    """Measure the log, then the log and the spans."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", default="demo")
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    log_to_nowhere()
    async with Engine.open() as engine:
        await measure(engine, options.collection, 20, set_log)
        report("log", await measure(engine, options.collection, options.pairs, set_log))
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
        trace.set_tracer_provider(provider)
        report("log and spans", await measure(engine, options.collection, options.pairs, set_log))


if __name__ == "__main__":
    asyncio.run(main())

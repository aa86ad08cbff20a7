"""Measure what a parser process costs here and at another commit, one after the other.

    python benchmarks/parser.py COMMIT [--pairs 20]

The machine's speed varies, so each start here is followed by one there. "Start" ends when the process can accept a
document. "First PDF" continues until it has read the demo's PDF, because an earlier version imports its libraries then.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import numpy as np
from paired import ROOT, check_out

PDF: Final = ROOT / "examples" / "manuals" / "hp-200-manual-rev-c.pdf"
MEASURE: Final = """
import json, sys
from pathlib import Path
from time import perf_counter
from sourcebound.ingest.sandbox.parser_pool import _Worker, WORKER

path = Path(sys.argv[1])
data = path.read_bytes()
times = [perf_counter()]
worker = _Worker(WORKER, 30, 2048)
times.append(perf_counter())
for _ in range(6):
    worker.parse(path, data, len(data))
    times.append(perf_counter())
worker.end()
print(json.dumps(times))
"""
"""The program of a side. It takes the times of one process."""


class Time(NamedTuple):
    """The times of one process in milliseconds."""

    start: float
    first_pdf: float
    later_pdf: float


def measure(checkout: Path) -> Time:
    """Start a process of a checkout, and let it read a PDF six times."""
    command = [sys.executable, "-P", "-c", MEASURE, str(PDF)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, stdout=-1, text=True, env=environment, check=True)
    began, ready, first, *later = (1000 * time for time in json.loads(done.stdout))
    return Time(ready - began, first - began, (later[-1] - first) / len(later))


def compare(commit: str, pairs: int) -> None:
    """Measure both sides and print the comparison."""
    with check_out(commit) as checkout:
        measure(ROOT), measure(checkout)  # compile and cache the files
        began = perf_counter()
        times = np.array([(measure(ROOT), measure(checkout)) for _ in range(pairs)])  # by pair, side and kind
    for kind, name in enumerate(("start", "start and first PDF", "later PDF")):
        own, other = times[..., kind].T
        difference = own - other
        error = np.std(difference, ddof=1) / pairs**0.5
        print(f"  {name:20} {np.median(own):6.1f} ms here, {np.median(other):6.1f} ms at {commit}: ", end="")
        print(f"{np.median(difference):+.1f} ms ± {error:.1f}")
    print(f"  {pairs} pairs in {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the cost of a parser process here with another commit.")
    parser.add_argument("commit")
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    compare(options.commit, options.pairs)

"""Measure whether one process stays as it was: 20,000 runs, and the last thousand compared with the second.

    python benchmarks/soak.py [--runs 20000] [--count 10000]

Compared are the median time of a run, the memory of the process, the connections of the server, and the bytes that a
run adds to the tables. The first thousand warm up. Nothing is pruned, so the tables grow; growth per run must not.
"""

import argparse
import asyncio
import os
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

import psycopg
from pipeline import fill, open_server, own_side
from psycopg.rows import tuple_row
from synthetic import make_corpus

from sourcebound.evals.retrieval import temporary_services

STRETCH: Final = 1000
"""The number of runs that are compared."""
BAR: Final = 0.10
STATE: Final = """
SELECT (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname = 'public')::bigint,
       (SELECT sum(n_dead_tup) FROM pg_stat_user_tables)::bigint,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())
"""


class Stretch(NamedTuple):
    """A thousand runs: the median time, and the state at their end."""

    milliseconds: float
    memory_megabytes: float
    kilobytes_per_run: float
    dead_rows: float
    connections: float


def _memory_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _read_state(url: str) -> tuple[int, int, int]:
    with psycopg.connect(url, row_factory=tuple_row) as connection:
        row = connection.execute(STATE).fetchone()
    assert row is not None
    return int(row[0]), int(row[1] or 0), int(row[2])


async def soak(runs: int, count: int) -> list[Stretch]:
    """Make the runs, one after the other, and return each thousand."""
    corpus = make_corpus(count)
    questions = list(corpus.questions)
    stretches = []
    async with temporary_services() as services, open_server() as server:
        await fill(services, corpus)
        side = own_side(services, server, corpus)
        url = services.pool.conninfo
        for begin in range(0, runs, STRETCH):
            size, _, _ = _read_state(url)
            times = []
            for number in range(begin, begin + STRETCH):
                started = perf_counter()
                await side.ask(questions[number % len(questions)])
                times.append(1000 * (perf_counter() - started))
            after, dead, connections = _read_state(url)
            per_run = (after - size) / STRETCH / 1024
            stretches.append(Stretch(median(times), _memory_megabytes(), per_run, dead, connections))
            values = "  ".join(f"{name} {value:.1f}" for name, value in stretches[-1]._asdict().items())
            print(f"{begin + STRETCH:>6} runs  {values}", flush=True)
    return stretches


def main() -> None:
    """Print each thousand, and the ratios of the last to the second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--count", type=int, default=10_000, help="the number of chunks in the collection")
    arguments = parser.parse_args()
    stretches = asyncio.run(soak(arguments.runs, arguments.count))
    second, last = stretches[1], stretches[-1]
    for name in ("milliseconds", "memory_megabytes", "kilobytes_per_run", "connections"):
        ratio = getattr(last, name) / getattr(second, name)
        print(f"{name:<18} last / second {ratio:.3f}  {'met' if ratio <= 1 + BAR else 'MISSED'} (bar {1 + BAR:.2f})")


if __name__ == "__main__":
    main()

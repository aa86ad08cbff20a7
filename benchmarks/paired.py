"""Measure the effect of a change on a run's time: ask each question here and at another commit, one after the other.

    python benchmarks/paired.py COMMIT [--pairs 5] [--questions 100] [--count 10000] [--home FOLDER]

A machine's speed varies from second to second by more than most changes do, but two answers to one question, a few
milliseconds apart, share it. Each side is a process with its own database and runs "ours" of its own version of
`pipeline.py`. Each question is asked in both orders, because the second answer finds the processor in another state.
Two processes with the same code differ too, so there are several pairs, and ± is the standard error of their mean.

With `--home`, the built-in generator answers natural questions over the files that
`python -m sourcebound.evals.natural --home FOLDER` has kept there. Both sides share that database. Each question is
asked once, by either side first in turn, because its chunks are read faster a second time.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).resolve().parents[1]
STRIDE: Final = 131
"""The distance between consecutive questions, so that neighbours in the corpus are not asked one after the other."""
WARM_UP: Final = 20
COLLECTION: Final = "natural-minilm"
Ask = Callable[[str], Awaitable[object]]


class Time(NamedTuple):
    """The time of one answer in milliseconds: the total, and the client's processor time."""

    whole: float
    processor: float


class Asker:
    """A process that answers the questions of a checkout.

    Args:
        process: The started process.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def read(self) -> list[str]:
        """Return the words of its next line."""
        assert self._process.stdout
        words = self._process.stdout.readline().split()
        if not words:
            raise SystemExit("A side has stopped. Its output is above.")
        return words

    def ask(self, number: int) -> Time:
        """Ask one question."""
        assert self._process.stdin
        print(number, file=self._process.stdin, flush=True)
        whole, processor = self.read()
        return Time(float(whole), float(processor))


@contextmanager
def check_out(commit: str) -> Iterator[Path]:
    """Check out a commit in a temporary folder."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkout"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", path, commit], check=True)
        try:
            yield path
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", path], check=True)


@contextmanager
def start_asker(checkout: Path, count: int, home: Path | None) -> Iterator[Asker]:
    """Start the process of a side."""
    command = [sys.executable, __file__, "--serve", str(checkout), "--count", str(count)]
    command += ["--home", str(home)] if home else []
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as process:
        yield Asker(process)


async def serve(checkout: Path, count: int, home: Path | None) -> None:
    """Answer the questions whose numbers arrive on standard input, until it ends."""
    sys.path[0] = str(checkout / "benchmarks")
    async with open_home(home) if home else open_passages(count) as (ask, questions):
        print(len(questions), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            started, cpu_started = perf_counter(), process_time()
            await ask(questions[int(line) % len(questions)])
            print(1000 * (perf_counter() - started), 1000 * (process_time() - cpu_started), flush=True)


@asynccontextmanager
async def open_passages(count: int) -> AsyncIterator[tuple[Ask, list[str]]]:
    """Open "ours" of the pipeline benchmark, and ask every question once."""
    import pipeline  # from the checkout, with all its imports

    corpus = pipeline.make_corpus(count)
    questions = list(corpus.questions)
    async with pipeline.temporary_services() as services, pipeline.open_server() as server:
        await pipeline.fill(services, corpus)
        side = pipeline.own_side(services, server, corpus)
        await pipeline.time_one_client(side, questions)
        yield side.ask, questions


@asynccontextmanager
async def open_home(home: Path) -> AsyncIterator[tuple[Ask, list[str]]]:
    """Open the kept files of the natural questions, and ask some of these."""
    from sourcebound.contracts.state import AskInput
    from sourcebound.evals.natural.questions import read_questions
    from sourcebound.graph.engine import Engine
    from sourcebound.settings import Settings
    from sourcebound.wiring import open_services

    questions = [each.question for each in read_questions()]
    async with open_services(Settings(home=home, database_url=None), as_owner=True) as services:
        engine = Engine(services)

        async def ask(question: str) -> None:
            response = await engine.ask(AskInput(question=question, collection=COLLECTION))
            assert response.status != "FAILED", response

        for question in questions[-WARM_UP:]:
            await ask(question)
        yield ask, questions


def ask_both(here: Asker, there: Asker, question_count: int, *, once: bool) -> NDArray[np.float64]:
    """Return times by question, order, side (here and there) and kind, in milliseconds."""
    assert here.read() == there.read()
    times = []
    for place, number in enumerate(range(0, question_count * STRIDE, STRIDE)):
        orders = (place % 2 == 0,) if once else (True, False)
        times.append([ask_in_turn(here, there, number, here_first=order) for order in orders])
    return np.array(times)


def ask_in_turn(here: Asker, there: Asker, number: int, *, here_first: bool) -> tuple[Time, Time]:
    """Ask both sides one question, and return the times here and there."""
    if here_first:
        return here.ask(number), there.ask(number)
    second = there.ask(number)
    return here.ask(number), second


def compare(commit: str, pairs: int, question_count: int, count: int, home: Path | None) -> None:
    """Ask both sides and print the comparison."""
    results = []
    with check_out(commit) as checkout:
        for _ in range(pairs):
            with start_asker(ROOT, count, home) as here, start_asker(checkout, count, home) as there:
                results.append(ask_both(here, there, question_count, once=home is not None))
    times = np.array(results)  # by pair, question, order, side and kind
    for kind, name in enumerate(("p50", "processor time of the client")):
        own, other = np.moveaxis(times[..., kind], -1, 0)
        pair_ratios = np.median(np.log(own / other).mean(axis=-1), axis=-1)
        error = 100 * np.exp(np.mean(pair_ratios)) * np.std(pair_ratios, ddof=1) / pairs**0.5
        mean, each = 100 * np.expm1(np.mean(pair_ratios)), 100 * np.expm1(pair_ratios)
        print(f"  {name:30} {np.median(own):6.2f} ms here, {np.median(other):6.2f} ms at {commit}: ", end="")
        print(f"{mean:+.1f} % ± {error:.1f} ({', '.join(f'{change:+.1f}' for change in each)})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the time of a run here with another commit.")
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--home", type=lambda path: Path(path).resolve(), help="the folder of the kept files")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.count, options.home))
    elif options.commit:
        compare(options.commit, options.pairs, options.questions, options.count, options.home)
    else:
        parser.error("Name a commit.")

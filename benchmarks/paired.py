"""What a change takes or saves of a run's time: each question is asked here and at another commit, one after the other.

    python benchmarks/paired.py COMMIT [--pairs 5] [--questions 100] [--count 10000]

A machine's speed changes from one second to the next by more than most changes do; two answers to one question, within
some milliseconds of each other, share it. Each side is a process with a database of its own and asks as "ours" does in
`pipeline.py`, in that side's own version of it. Each question is asked in both orders, for whoever comes second finds
the processor otherwise. Two processes of the same code differ, too; so there are several pairs, and ± is of their mean.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).resolve().parents[1]
STRIDE: Final = 131
"""From one question to the next; neighbours of a corpus are no neighbours here."""


class Time(NamedTuple):
    """Of one answer, in milliseconds: the whole, and what of it was the client's processor."""

    whole: float
    processor: float


class Asker:
    """A process that answers the questions of a checkout.

    Args:
        process: It, once it has been started.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def read(self) -> list[str]:
        """The next words that it says."""
        assert self._process.stdout
        words = self._process.stdout.readline().split()
        if not words:
            raise SystemExit("one side has ended; what it said is above")
        return words

    def ask(self, number: int) -> Time:
        """Asks one question."""
        assert self._process.stdin
        print(number, file=self._process.stdin, flush=True)
        whole, processor = self.read()
        return Time(float(whole), float(processor))


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """That commit, in a folder of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkout"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", path, commit], check=True)
        try:
            yield path
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", path], check=True)


@contextmanager
def asker(checkout: Path, count: int) -> Iterator[Asker]:
    """A side, ready to be asked."""
    command = [sys.executable, __file__, "--serve", str(checkout), "--count", str(count)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as process:
        yield Asker(process)


async def serve(checkout: Path, count: int) -> None:
    """Answers the questions whose numbers come on standard input, until it ends."""
    sys.path[0] = str(checkout / "benchmarks")
    import pipeline  # that of the checkout, as is all that it imports

    corpus = pipeline.make_corpus(count)
    questions = list(corpus.questions)
    async with pipeline.temporary_services() as services, pipeline.open_server() as server:
        await pipeline.fill(services, corpus)
        side = pipeline.own_side(services, server, corpus)
        await pipeline.time_one_client(side, questions)
        print(len(questions), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            began, spent = perf_counter(), process_time()
            await side.ask(questions[int(line) % len(questions)])
            print(1000 * (perf_counter() - began), 1000 * (process_time() - spent), flush=True)


def ask_both(here: Asker, there: Asker, asked: int) -> NDArray[np.float64]:
    """Times by question, order, side (here and there) and kind, in milliseconds."""
    assert here.read() == there.read()
    times = []
    for number in range(0, asked * STRIDE, STRIDE):
        first = here.ask(number), there.ask(number)
        second = there.ask(number), here.ask(number)
        times.append((first, second[::-1]))
    return np.array(times)


def compare(commit: str, pairs: int, asked: int, count: int) -> None:
    """Asks both and prints what came of it."""
    found = []
    with checked_out(commit) as checkout:
        for _ in range(pairs):
            with asker(ROOT, count) as here, asker(checkout, count) as there:
                found.append(ask_both(here, there, asked))
    times = np.array(found)  # by pair, question, order, side and kind
    for kind, name in enumerate(("p50", "processor time of the client")):
        own, other = np.moveaxis(times[..., kind], -1, 0)
        of_pairs = np.median(np.log(own / other).mean(axis=-1), axis=-1)
        mean, error = 100 * np.mean(of_pairs), 100 * np.std(of_pairs, ddof=1) / pairs**0.5
        print(f"  {name:30} {np.median(own):6.2f} ms here, {np.median(other):6.2f} ms at {commit}: ", end="")
        print(f"{mean:+.1f} % ± {error:.1f} ({', '.join(f'{100 * of_pair:+.1f}' for of_pair in of_pairs)})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A run here, beside one at another commit.")
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve, given.count))
    elif given.commit:
        compare(given.commit, given.pairs, given.questions, given.count)
    else:
        parser.error("name a commit")

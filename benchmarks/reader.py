"""Benchmark the built-in generator's ranking with the reader of sentences against that by words alone.

    python training/generator/natural_cases.py /tmp/natural.jsonl
    python benchmarks/reader.py /tmp/natural.jsonl

Both rank the sentences of the same prompts in turn.
"""

import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.ranking import rank
from sourcebound.contracts.extractive.reading import Reader
from sourcebound.contracts.prompt.build import read_prompt
from sourcebound.evals.answers.cases import read_cases
from sourcebound.models.sentence_reader import shared_reader

PROMPTS: Final = 100
ROUNDS: Final = 2


def main() -> None:
    """Print the medians and their ratio."""
    sides: dict[str, Reader | None] = {"with the reader": shared_reader(), "words alone": None}
    taken: dict[str, list[float]] = {name: [] for name in sides}
    cases = [each for each in read_cases(Path(sys.argv[1])) if each.is_asked][:PROMPTS]
    for case in cases:
        prompt = read_prompt(case.prompt.messages)
        question = read_question(prompt.search_query or prompt.question)
        for read in sides.values():
            rank(prompt, question, read)  # opens what the first call needs
        for name, read in list(sides.items()) * ROUNDS:
            start = perf_counter()
            rank(prompt, question, read)
            taken[name].append(1000 * (perf_counter() - start))
    for name, times in taken.items():
        print(f"{name:20} {median(times):6.1f} ms")
    first, second = (median(times) for times in taken.values())
    print(f"{'ratio':20} {first / second:6.1f} ×")


if __name__ == "__main__":
    main()

"""Benchmark the reader of sentences against similarities alone.

    python training/generator/natural_cases.py /tmp/natural.jsonl
    python benchmarks/reader.py /tmp/natural.jsonl

Both rank the sentences of the same prompts in turn. They know the vectors of the chunks from an earlier question. The
reader reads each chunk again, because its scores depend on the question.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from sourcebound.contracts.extractive.features import UNREAD, Reading
from sourcebound.contracts.extractive.question import Question, read_question
from sourcebound.contracts.extractive.ranking import rank
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.prompt.build import EvidencePart, read_prompt
from sourcebound.evals.answers.cases import read_cases
from sourcebound.models.embedders.minilm import shared_minilm
from sourcebound.models.sentence_reader import shared_reader
from sourcebound.models.similarity import SimilarityReader

PROMPTS: Final = 100
ROUNDS: Final = 2

_similarity = SimilarityReader(shared_minilm())


def similarity_alone(
    question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]
) -> list[list[Reading]]:
    """Return the similarities without reading."""
    return [[Reading(each, *UNREAD) for each in part] for part in _similarity(question, chunks)]


def main() -> None:
    """Print the medians and their ratio."""
    sides = {"with the reader": shared_reader(), "similarities alone": similarity_alone}
    taken: dict[str, list[float]] = {name: [] for name in sides}
    cases = [each for each in read_cases(Path(sys.argv[1])) if each.is_asked][:PROMPTS]
    for case in cases:
        prompt = read_prompt(case.prompt.messages)
        question = read_question(prompt.search_query or prompt.question)
        for read in sides.values():
            rank(prompt, question, read)
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

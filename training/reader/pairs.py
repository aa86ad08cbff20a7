"""Reads the pairs of questions that were written for the training.

A line of `pairs.tsv` has the digest of a passage, the first characters of the sentences that answer, a question, and
its twin. The twin differs in a point or two, and nothing in the passage answers it.
"""

from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

PAIRS: Final = Path(__file__).with_name("pairs.tsv")


class Pair(NamedTuple):
    """A question and its twin."""

    answers: frozenset[int]
    """Where the sentences begin that answer the question."""
    question: str
    twin: str


def read_pairs(path: Path = PAIRS) -> dict[str, list[Pair]]:
    """Return the pairs by the digest of their passage."""
    found = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        digest, answers, question, twin = line.split("\t")
        found[digest].append(Pair(frozenset(map(int, answers.split(","))), question, twin))
    return dict(found)

"""The gate's minimum of question coverage for one question in one collection (P-5, R1-11).

A long question asks for one thing in many words, and the passage that answers it never holds them all; two words out of
three are much support for a question of nine, and little for one of three. So a policy may lower its minimum with each
content word of the question. And the larger a collection is, the nearer something in it is to any question. So a policy
may raise its minimum with the size of the collection.
"""

from math import log10
from typing import Final, NamedTuple

from sourcebound.contracts.policy.schema import RetrievalPolicy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle

SHORT_QUESTION: Final = 3
"""The most content words of a question that must reach the policy's minimum in full."""
LONG_QUESTION: Final = 8
"""The number of content words above which the minimum falls no further."""
USUAL_SIZE: Final = 1000
"""The chunks of a collection in which the policy's minimum applies as it stands."""
SMALLEST, LARGEST = 100, 10_000
"""The chunks of a collection between which the minimum changes."""
DIGITS: Final = 6
"""The decimals of a coverage."""


class Circumstances(NamedTuple):
    """The facts that the minimum of a question depends on. What a bundle does not state changes nothing."""

    words: int | None = None
    """The number of different content words of the question."""
    chunks: int | None = None
    """The number of chunks of the collection."""


def circumstances_of(bundle: RetrievalBundle | None) -> Circumstances:
    """Return what a bundle states of its question and collection."""
    return Circumstances(bundle.question_words, bundle.collection_chunks) if bundle else Circumstances()


def coverage_allowance(limits: RetrievalPolicy, found: Circumstances) -> float:
    """Return by how much the coverage of a question may stay below `min_question_coverage`; above it if negative.

    Args:
        limits: The gate of the run's policy.
        found: The question and the collection.
    """
    counted = min(found.words or 0, LONG_QUESTION)
    for_length = (limits.coverage_allowance or 0.0) * max(0, counted - SHORT_QUESTION)
    chunks = min(max(found.chunks or USUAL_SIZE, SMALLEST), LARGEST)
    for_size = (limits.coverage_per_tenfold or 0.0) * log10(chunks / USUAL_SIZE)
    return round(for_length - for_size, DIGITS)


def coverage_minimum(limits: RetrievalPolicy, found: Circumstances) -> float | None:
    """Return the coverage that a question must reach; None if the policy sets no minimum.

    Args:
        limits: As for `coverage_allowance`.
        found: As for `coverage_allowance`.
    """
    if limits.min_question_coverage is None:
        return None
    return min(1.0, max(0.0, round(limits.min_question_coverage - coverage_allowance(limits, found), DIGITS)))

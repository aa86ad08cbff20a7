"""The gate's minimum of question coverage, which a long question need not reach in full (P-5, R1-11).

A long question asks for one thing in many words, and the passage that answers it never holds them all; two words out of
three are much support for a question of nine, and little for one of three. So a policy may lower its minimum with each
content word of the question. The minimum of a short question can then be higher, which refuses more of the questions
that a broad collection does not answer.
"""

from typing import Final

from sourcebound.contracts.policy.schema import RetrievalPolicy

SHORT_QUESTION: Final = 3
"""The most content words of a question that must reach the policy's minimum in full."""
LONG_QUESTION: Final = 8
"""The number of content words above which the minimum falls no further."""
DIGITS: Final = 6
"""The decimals of a coverage."""


def coverage_allowance(limits: RetrievalPolicy, words: int | None) -> float:
    """Return by how much the coverage of a question may stay below `min_question_coverage`.

    Args:
        limits: The gate of the run's policy.
        words: The number of different content words of the question; None if the bundle does not state it.
    """
    counted = min(words or 0, LONG_QUESTION)
    return round((limits.coverage_allowance or 0.0) * max(0, counted - SHORT_QUESTION), DIGITS)


def coverage_minimum(limits: RetrievalPolicy, words: int | None) -> float | None:
    """Return the coverage that a question must reach; None if the policy sets no minimum.

    Args:
        limits: As for `coverage_allowance`.
        words: As for `coverage_allowance`.
    """
    if limits.min_question_coverage is None:
        return None
    return max(0.0, round(limits.min_question_coverage - coverage_allowance(limits, words), DIGITS))

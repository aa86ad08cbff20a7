"""Calibration: gate minima that separate answerable questions from others, with confidence (contract P-3, P-5).

The rule: the gate may refuse at most a given share of each set of answerable questions, and within that limit the pair
of minima refuses as many of the other questions as possible. Minima are multiples of 0.05, because more digits would
overfit the questions.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.gate import retrieved_rows, top_similarity
from sourcebound.contracts.policy.schema import RetrievalPolicy
from sourcebound.contracts.retrieval.coverage import DIGITS, circumstances_of, coverage_allowance
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalStatus

MAX_ANSWERABLE_REFUSED: Final = 0.02
MINIMA: Final = tuple(step / 20 for step in range(21))
NORMAL_95: Final = 1.959964
PARTS: Final = 5
"""The number of parts in cross-validation."""


class Signals(NamedTuple):
    """The values of one question that the gate judges."""

    similarity: float
    coverage: float
    found: bool = True
    """False if retrieval found nothing; the question is then refused at any minima."""


class QuestionSet(NamedTuple):
    """Questions for one kind of collection, either all answerable or all not."""

    name: str
    answerable: bool
    signals: tuple[Signals, ...]


class Share(NamedTuple):
    """A share, as its two counts."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share as a number; 0 if the whole is empty."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def rest(self) -> "Share":
        """The complement."""
        return Share(self.whole - self.part, self.whole)


class Point(NamedTuple):
    """A pair of minima, and the share of each question set that it refuses, in the order of the sets."""

    min_similarity: float
    min_coverage: float
    refused: tuple[Share, ...]


def read_signals(bundle: RetrievalBundle, limits: RetrievalPolicy) -> Signals:
    """Read the gate's signals off a retrieval (R1-11). A bundle without coverage is judged by its similarity alone.

    Args:
        bundle: The retrieval.
        limits: The gate whose minima are judged. Its allowance for the question is added to the coverage.
    """
    best = top_similarity(retrieved_rows(bundle)) or 0.0
    allowance = coverage_allowance(limits, circumstances_of(bundle))
    stated = 1.0 if bundle.question_coverage is None else bundle.question_coverage + allowance
    coverage = min(1.0, max(0.0, round(stated, DIGITS)))
    return Signals(best, coverage, bundle.retrieval_status is RetrievalStatus.SUCCESS)


def wilson_interval(share: Share) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share by Wilson's score, which also holds for small counts."""
    if not share.whole:
        return 0.0, 1.0
    spread = NORMAL_95**2 / share.whole
    middle = (share.value + spread / 2) / (1 + spread)
    half = sqrt(share.value * (1 - share.value) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def refused(signals: Sequence[Signals], min_similarity: float, min_coverage: float) -> Share:
    """Return the share of the questions that a pair of minima refuses."""
    passed = sum(
        1
        for signal in signals
        if signal.found and signal.similarity >= min_similarity and signal.coverage >= min_coverage
    )
    return Share(len(signals) - passed, len(signals))


def sweep(
    sets: Sequence[QuestionSet], similarities: Sequence[float] = MINIMA, coverages: Sequence[float] = MINIMA
) -> list[Point]:
    """Compute what every pair of minima refuses of every set."""
    return [
        Point(similarity, coverage, tuple(refused(each.signals, similarity, coverage) for each in sets))
        for similarity in similarities
        for coverage in coverages
    ]


def max_answerable_refused(sets: Sequence[QuestionSet], point: Point) -> float:
    """Return the largest share of any answerable set that a point refuses."""
    return max((share.value for each, share in zip(sets, point.refused, strict=True) if each.answerable), default=0.0)


def mean_off_topic_refused(sets: Sequence[QuestionSet], point: Point) -> float:
    """Return the mean share of the other sets that a point refuses. All sets weigh the same, whatever their size."""
    shares = [share.value for each, share in zip(sets, point.refused, strict=True) if not each.answerable]
    return sum(shares) / len(shares) if shares else 0.0


def choose(sets: Sequence[QuestionSet], points: Sequence[Point], most_refused: float = MAX_ANSWERABLE_REFUSED) -> Point:
    """Choose the point that refuses most of the other questions within the limit for answerable sets.

    Args:
        sets: The question sets.
        points: The result of `sweep` for the sets.
        most_refused: The largest share of an answerable set that may be refused.

    Returns:
        The point with the lowest minima among equals. If every point exceeds the limit, the one that exceeds it least.
    """
    within_limit = [point for point in points if max_answerable_refused(sets, point) <= most_refused]
    if not within_limit:
        return min(
            points, key=lambda point: (max_answerable_refused(sets, point), -mean_off_topic_refused(sets, point))
        )
    return max(
        within_limit,
        key=lambda point: (mean_off_topic_refused(sets, point), -point.min_similarity, -point.min_coverage),
    )


def keep_or_choose(
    sets: Sequence[QuestionSet], present: tuple[float, float], most_refused: float = MAX_ANSWERABLE_REFUSED
) -> Point:
    """Choose as `choose` does, but among equals the minima nearest to those in force, so none moves without reason.

    Args:
        sets: The question sets.
        present: The minima in force: similarity and coverage.
        most_refused: As in `choose`.

    Returns:
        The point. It has the minima in force unless another pair refuses more of the others or fewer of the answerable.
    """
    points = [*sweep(sets, present[:1], present[1:]), *sweep(sets)]
    best = choose(sets, points, most_refused)
    limit, goal = max(most_refused, max_answerable_refused(sets, best)), mean_off_topic_refused(sets, best)
    candidates = [
        point
        for point in points
        if max_answerable_refused(sets, point) <= limit and mean_off_topic_refused(sets, point) == goal
    ]
    return min(candidates, key=lambda point: (max_answerable_refused(sets, point), round(_distance(point, present), 9)))


def _distance(point: Point, present: tuple[float, float]) -> float:
    return abs(point.min_similarity - present[0]) + abs(point.min_coverage - present[1])


def pareto_front(sets: Sequence[QuestionSet], points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front: the points that no other beats on both counts, from lenient to strict."""
    curve: list[Point] = []
    for point in sorted(
        points, key=lambda point: (max_answerable_refused(sets, point), -mean_off_topic_refused(sets, point))
    ):
        if not curve or mean_off_topic_refused(sets, point) > mean_off_topic_refused(sets, curve[-1]):
            curve.append(point)
    return curve


def cross_validate(
    sets: Sequence[QuestionSet],
    most_refused: float = MAX_ANSWERABLE_REFUSED,
    present: tuple[float, float] | None = None,
    parts: int = PARTS,
) -> tuple[Share, ...]:
    """Estimate by cross-validation what the rule refuses of questions that the minima were not chosen on.

    Minima do best on the questions that they were chosen on. The cross-validated share is a fairer expectation for new
    questions.

    Args:
        sets: The question sets. Their questions are split in order, so that the result is reproducible.
        most_refused: As in `choose`.
        present: As in `keep_or_choose`; None if no minima are in force.
        parts: The number of parts. Each is judged once, by minima that were chosen on all other parts.

    Returns:
        For each set, the share that is refused.
    """
    totals = [Share(0, 0) for _ in sets]
    for part in range(parts):
        training = [_split(each, part, parts, inside=False) for each in sets]
        chosen = (
            keep_or_choose(training, present, most_refused)
            if present
            else choose(training, sweep(training), most_refused)
        )
        held_out = [_split(each, part, parts, inside=True).signals for each in sets]
        shares = [refused(signals, chosen.min_similarity, chosen.min_coverage) for signals in held_out]
        totals = [Share(a.part + b.part, a.whole + b.whole) for a, b in zip(totals, shares, strict=True)]
    return tuple(totals)


def _split(whole: QuestionSet, part: int, parts: int, *, inside: bool) -> QuestionSet:
    chosen = tuple(signal for i, signal in enumerate(whole.signals) if (i % parts == part) is inside)
    return whole._replace(signals=chosen)

"""Calibration: which minima tell answerable questions from the others, and how sure that is (contract P-3, P-5).

The rule: no set of answerable questions may lose more than a stated share, and within that the pair refuses as many of
the others as it can. Minima are multiples of 0.05, because more digits would only describe the questions at hand.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.gate import retrieved_rows, top_similarity
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalStatus

MOST_ANSWERABLE_REFUSED: Final = 0.02
MINIMA: Final = tuple(step / 20 for step in range(21))
NORMAL_95: Final = 1.959964
PARTS: Final = 5
"""How many parts the questions are dealt into where a choice is checked on questions that it has not seen."""


class Signals(NamedTuple):
    """What the gate sees of one question."""

    similarity: float
    coverage: float
    found: bool = True
    """False where retrieval found nothing, which is refused whatever the minima are."""


class QuestionSet(NamedTuple):
    """Questions that were asked of one kind of collection and that deserve one outcome."""

    name: str
    answerable: bool
    signals: tuple[Signals, ...]


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share itself; 0 of nothing."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def rest(self) -> "Share":
        """Those that are not among the part."""
        return Share(self.whole - self.part, self.whole)


class Point(NamedTuple):
    """One pair of minima and the share of each question set that it refuses, in the order of the sets."""

    min_similarity: float
    min_coverage: float
    refused: tuple[Share, ...]


def read_signals(bundle: RetrievalBundle) -> Signals:
    """What the gate sees of a retrieval (R1-11); one that states no coverage is judged by its similarity alone."""
    best = top_similarity(retrieved_rows(bundle)) or 0.0
    coverage = 1.0 if bundle.question_coverage is None else bundle.question_coverage
    return Signals(best, coverage, bundle.retrieval_status is RetrievalStatus.SUCCESS)


def wilson(share: Share) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by Wilson's score, which holds for small counts too."""
    if not share.whole:
        return 0.0, 1.0
    spread = NORMAL_95**2 / share.whole
    middle = (share.value + spread / 2) / (1 + spread)
    half = sqrt(share.value * (1 - share.value) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def refused(signals: Sequence[Signals], min_similarity: float, min_coverage: float) -> Share:
    """How many questions a pair of minima refuses."""
    passed = sum(
        1 for seen in signals if seen.found and seen.similarity >= min_similarity and seen.coverage >= min_coverage
    )
    return Share(len(signals) - passed, len(signals))


def sweep(
    sets: Sequence[QuestionSet], similarities: Sequence[float] = MINIMA, coverages: Sequence[float] = MINIMA
) -> list[Point]:
    """Every pair of minima with what it refuses of every set."""
    return [
        Point(similarity, coverage, tuple(refused(each.signals, similarity, coverage) for each in sets))
        for similarity in similarities
        for coverage in coverages
    ]


def worst_answerable(sets: Sequence[QuestionSet], point: Point) -> float:
    """The largest share of a set of answerable questions that a point refuses."""
    return max((share.value for each, share in zip(sets, point.refused, strict=True) if each.answerable), default=0.0)


def pooled_off_topic(sets: Sequence[QuestionSet], point: Point) -> float:
    """The mean over the other sets of the share that a point refuses; a large set weighs no more than a small."""
    shares = [share.value for each, share in zip(sets, point.refused, strict=True) if not each.answerable]
    return sum(shares) / len(shares) if shares else 0.0


def choose(
    sets: Sequence[QuestionSet], points: Sequence[Point], most_refused: float = MOST_ANSWERABLE_REFUSED
) -> Point:
    """The point that refuses most of the other questions while no answerable set loses more than it may.

    Args:
        sets: The question sets.
        points: What `sweep` returned for them.
        most_refused: The largest share of an answerable set that may be refused.

    Returns:
        The point; the lowest minima among equals, and the one that loses least where every point loses too many.
    """
    allowed = [point for point in points if worst_answerable(sets, point) <= most_refused]
    if not allowed:
        return min(points, key=lambda point: (worst_answerable(sets, point), -pooled_off_topic(sets, point)))
    return max(allowed, key=lambda point: (pooled_off_topic(sets, point), -point.min_similarity, -point.min_coverage))


def keep_or_choose(
    sets: Sequence[QuestionSet], present: tuple[float, float], most_refused: float = MOST_ANSWERABLE_REFUSED
) -> Point:
    """The choice where minima are in force: of pairs that do equally well the nearest, so none moves without reason.

    Args:
        sets: The question sets.
        present: The minima that are in force, similarity and coverage.
        most_refused: As in `choose`.

    Returns:
        The point; the present one where no other refuses more of the others or fewer of the answerable.
    """
    points = [*sweep(sets, present[:1], present[1:]), *sweep(sets)]
    best = choose(sets, points, most_refused)
    limit, goal = max(most_refused, worst_answerable(sets, best)), pooled_off_topic(sets, best)
    equals = [
        point for point in points if worst_answerable(sets, point) <= limit and pooled_off_topic(sets, point) == goal
    ]
    return min(equals, key=lambda point: (worst_answerable(sets, point), round(_distance(point, present), 9)))


def _distance(point: Point, present: tuple[float, float]) -> float:
    return abs(point.min_similarity - present[0]) + abs(point.min_coverage - present[1])


def trade_off(sets: Sequence[QuestionSet], points: Sequence[Point]) -> list[Point]:
    """The points that no other beats on both counts, from lenient to strict."""
    curve: list[Point] = []
    for point in sorted(points, key=lambda point: (worst_answerable(sets, point), -pooled_off_topic(sets, point))):
        if not curve or pooled_off_topic(sets, point) > pooled_off_topic(sets, curve[-1]):
            curve.append(point)
    return curve


def cross_check(
    sets: Sequence[QuestionSet],
    most_refused: float = MOST_ANSWERABLE_REFUSED,
    present: tuple[float, float] | None = None,
    parts: int = PARTS,
) -> tuple[Share, ...]:
    """What the rule refuses of questions that it has not seen: minima chosen on some judge the others, in turns.

    Minima do best on the very questions that they were chosen on. This is the fairer expectation for new ones.

    Args:
        sets: The question sets; their questions are dealt out in order, so that it is the same every time.
        most_refused: As in `choose`.
        present: As in `keep_or_choose`; None where no minima are in force.
        parts: How many parts; each is judged once by minima that were chosen on all the rest.

    Returns:
        The share that is refused, for each set.
    """
    totals = [Share(0, 0) for _ in sets]
    for part in range(parts):
        kept = [_dealt(each, part, parts, inside=False) for each in sets]
        chosen = keep_or_choose(kept, present, most_refused) if present else choose(kept, sweep(kept), most_refused)
        left_out = [_dealt(each, part, parts, inside=True).signals for each in sets]
        shares = [refused(signals, chosen.min_similarity, chosen.min_coverage) for signals in left_out]
        totals = [Share(a.part + b.part, a.whole + b.whole) for a, b in zip(totals, shares, strict=True)]
    return tuple(totals)


def _dealt(whole: QuestionSet, part: int, parts: int, *, inside: bool) -> QuestionSet:
    chosen = tuple(seen for i, seen in enumerate(whole.signals) if (i % parts == part) is inside)
    return whole._replace(signals=chosen)

"""The calibration's arithmetic: intervals, the sweep and the choice; and the measure of coverage that it calibrates."""

import pytest

from sourcebound.contracts.retrieval import question_coverage
from sourcebound.evals.gates import (
    MINIMA,
    QuestionSet,
    Share,
    Signals,
    choose,
    pooled_off_topic,
    refused,
    sweep,
    trade_off,
    wilson,
    worst_answerable,
)
from sourcebound.evals.pages import PageResult, describe


def _set(name: str, answerable: bool, *signals: tuple[float, float]) -> QuestionSet:
    return QuestionSet(name, answerable, tuple(Signals(*pair) for pair in signals))


ANSWERED = _set("answered", True, *[(0.62, 0.81)] * 99, (0.12, 0.95))
OFF_TOPIC = _set("off topic", False, (0.11, 0.9), (0.5, 0.2), (0.22, 0.1), (0.7, 0.9))
SETS = (ANSWERED, OFF_TOPIC)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (9, 463, 0.0103, 0.0365)],
)
def test_wilson_gives_the_textbook_interval(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(Share(part, whole)) == pytest.approx((low, high), abs=1e-4)


def test_nothing_measured_is_nothing_known() -> None:
    assert Share(0, 0).value == 0.0
    assert wilson(Share(0, 0)) == (0.0, 1.0)


def test_either_minimum_refuses_and_a_value_at_the_minimum_passes() -> None:
    assert refused(OFF_TOPIC.signals, 0.0, 0.0) == Share(0, 4)
    assert refused(OFF_TOPIC.signals, 0.22, 0.0) == Share(1, 4)
    assert refused(OFF_TOPIC.signals, 0.0, 0.2) == Share(1, 4)
    assert refused(OFF_TOPIC.signals, 0.23, 0.21) == Share(3, 4)


def test_the_sweep_holds_every_pair_and_refuses_more_as_minima_rise() -> None:
    points = sweep(SETS)
    assert len(points) == len(MINIMA) ** 2
    assert all(len(point.refused) == len(SETS) for point in points)
    by_pair = {(point.min_similarity, point.min_coverage): point for point in points}
    for (similarity, coverage), point in by_pair.items():
        lenient = by_pair[0.0, coverage], by_pair[similarity, 0.0]
        assert all(point.refused[i].part >= each.refused[i].part for each in lenient for i in range(len(SETS)))


def test_the_choice_refuses_most_off_topic_within_two_in_a_hundred_at_the_lowest_minima() -> None:
    points = sweep(SETS)
    chosen = choose(SETS, points)
    assert worst_answerable(SETS, chosen) == pytest.approx(0.01)
    assert pooled_off_topic(SETS, chosen) == pytest.approx(0.75)
    assert (chosen.min_similarity, chosen.min_coverage) == (0.15, 0.25)


def test_each_answerable_set_must_agree() -> None:
    weak = _set("weak", True, (0.14, 0.9), (0.9, 0.9))
    chosen = choose((ANSWERED, weak, OFF_TOPIC), sweep((ANSWERED, weak, OFF_TOPIC)))
    assert chosen.min_similarity <= 0.10


def test_where_every_point_loses_too_many_the_one_that_loses_least_is_chosen() -> None:
    points = sweep(SETS, [0.95, 0.99], [0.0])
    assert choose(SETS, points).refused[0] == Share(100, 100)


def test_the_trade_off_rises_on_both_counts() -> None:
    curve = trade_off(SETS, sweep(SETS))
    off_topic = [pooled_off_topic(SETS, point) for point in curve]
    answerable = [worst_answerable(SETS, point) for point in curve]
    assert off_topic == sorted(set(off_topic))
    assert answerable == sorted(answerable)


@pytest.mark.contract("P-5")
def test_coverage_is_that_of_the_best_candidate_alone() -> None:
    frequency = {"pump": 3, "seal": 3}
    assert question_coverage(frequency, [["pump"], ["seal"]], 50) == pytest.approx(0.5)
    assert question_coverage(frequency, [["pump"], ["pump", "seal"]], 50) == 1.0
    assert question_coverage(frequency, [], 50) == 0.0
    assert question_coverage({}, [], 50) == 1.0


@pytest.mark.contract("P-5")
def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    frequency = {"pump": 90, "cavitation": 1}
    assert question_coverage(frequency, [["cavitation"]], 100) > 0.7
    assert question_coverage(frequency, [["pump"]], 100) < 0.3


@pytest.mark.contract("P-5")
def test_an_unseen_word_does_not_outweigh_the_rest_in_a_collection_of_one_chunk() -> None:
    frequency = {"tighten": 0, "bolt": 1, "seal": 1}
    assert question_coverage(frequency, [["bolt", "seal"]], 1) == pytest.approx(2 / 3)


def test_the_page_report_names_what_is_missing() -> None:
    results = [
        PageResult("q1", "What was revenue?", (("report", 4), ("report", 9)), (None, 2)),
        PageResult("q2", "Who resigned?", (("other", 1),), (None,)),
    ]
    report = describe(results)
    assert "report p. 4: missing, report p. 9: rank 2" in report
    assert "MISSED  q2" in report
    assert report.endswith("1 of 2 questions, 1 of 3 pages (needed: 7 questions)")

"""The calibration's arithmetic: intervals, the sweep and the choice; and the measure of coverage that it calibrates."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.calibration.gate_minima import (
    MINIMA,
    QuestionSet,
    Share,
    Signals,
    choose,
    cross_validate,
    keep_or_choose,
    max_answerable_refused,
    mean_off_topic_refused,
    pareto_front,
    read_signals,
    refused,
    sweep,
    wilson_interval,
)
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.request import unrecorded_run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, Support, question_coverage
from sourcebound.evals import gates
from sourcebound.evals.pages import PageResult, describe
from support.builders import bundle, row


def _set(name: str, answerable: bool, *signals: tuple[float, float]) -> QuestionSet:
    return QuestionSet(name, answerable, tuple(Signals(*pair) for pair in signals))


LIMITS = load_shipped_policy("SOURCEBOUND_V1").retrieval
ANSWERED = _set("answered", True, *[(0.62, 0.81)] * 99, (0.12, 0.95))
OFF_TOPIC = _set("off topic", False, (0.11, 0.9), (0.5, 0.2), (0.22, 0.1), (0.7, 0.9))
SETS = (ANSWERED, OFF_TOPIC)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (9, 463, 0.0103, 0.0365)],
)
def test_wilson_gives_the_textbook_interval(part: int, whole: int, low: float, high: float) -> None:
    assert wilson_interval(Share(part, whole)) == pytest.approx((low, high), abs=1e-4)


def test_nothing_measured_is_nothing_known() -> None:
    assert Share(0, 0).value == 0.0
    assert wilson_interval(Share(0, 0)) == (0.0, 1.0)


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
    assert max_answerable_refused(SETS, chosen) == pytest.approx(0.01)
    assert mean_off_topic_refused(SETS, chosen) == pytest.approx(0.75)
    assert (chosen.min_similarity, chosen.min_coverage) == (0.15, 0.25)


def test_each_answerable_set_must_agree() -> None:
    weak = _set("weak", True, (0.14, 0.9), (0.9, 0.9))
    chosen = choose((ANSWERED, weak, OFF_TOPIC), sweep((ANSWERED, weak, OFF_TOPIC)))
    assert chosen.min_similarity <= 0.10


def test_where_every_point_loses_too_many_the_one_that_loses_least_is_chosen() -> None:
    points = sweep(SETS, [0.95, 0.99], [0.0])
    assert choose(SETS, points).refused[0] == Share(100, 100)


def test_more_may_be_refused_where_the_caller_says_so() -> None:
    strict = choose(SETS, sweep(SETS), most_refused=0.0)
    assert (max_answerable_refused(SETS, strict), mean_off_topic_refused(SETS, strict)) == (0.0, 0.5)
    assert choose(SETS, sweep(SETS), most_refused=1.0).refused[1] == Share(4, 4)


def test_where_retrieval_found_nothing_the_question_is_refused_whatever_the_minima_are() -> None:
    assert refused([Signals(0.0, 1.0, found=False), Signals(0.0, 0.0)], 0.0, 0.0) == Share(1, 2)


@pytest.mark.contract("R1-11")
def test_the_signals_are_what_the_gate_looks_at() -> None:
    found = bundle([row(0, similarity_score=0.3), row(1, similarity_score=0.4)], question_coverage=0.7)
    assert read_signals(RetrievalBundle.model_validate(found), LIMITS) == Signals(0.4, 0.7)
    beside = [row(0, similarity_score=0.3), row(1, origin="expanded"), row(2, origin="carried")]
    assert read_signals(RetrievalBundle.model_validate(bundle(beside)), LIMITS).similarity == 0.3
    silent = bundle([row(0, similarity_score=0.3)])
    assert read_signals(RetrievalBundle.model_validate(silent), LIMITS) == Signals(0.3, 1.0)
    nothing = bundle([], retrieval_status="NO_EVIDENCE", question_coverage=0.0)
    assert read_signals(RetrievalBundle.model_validate(nothing), LIMITS) == Signals(0.0, 0.0, found=False)
    long_question = bundle([row(0, similarity_score=0.3)], question_coverage=0.5, question_words=5)
    allowing = LIMITS.model_copy(update={"coverage_allowance": 0.02})
    assert read_signals(RetrievalBundle.model_validate(long_question), allowing) == Signals(0.3, 0.54)
    covered = bundle([row(0, similarity_score=0.3)], question_coverage=0.99, question_words=5)
    assert read_signals(RetrievalBundle.model_validate(covered), allowing) == Signals(0.3, 1.0)


def test_a_measured_retrieval_asks_the_question_without_filters_and_says_what_it_was_for() -> None:
    run = unrecorded_run("How often?", "manuals", "MY_POLICY_V1", "00ff", "evaluation")
    assert (run.question, run.collection, run.entry, run.filters.given()) == ("How often?", "manuals", "question", {})
    assert run.run_id == run.request_id == run.thread_id == "evaluation"
    assert (run.policy_version, run.policy_sha256) == ("MY_POLICY_V1", "00ff")


def test_each_question_is_judged_once_by_minima_that_were_chosen_without_it() -> None:
    easy = _set("answered", True, *[(0.6, 0.8)] * 20), _set("off topic", False, *[(0.1, 0.1)] * 10)
    assert cross_validate(easy) == (Share(0, 20), Share(10, 10))
    # The one question that would pull the minima down is refused by those that were chosen without it.
    outlier = _set("answered", True, *[(0.6, 0.8)] * 19, (0.05, 0.05)), easy[1]
    assert choose(outlier, sweep(outlier), 0.0).refused[0] == Share(0, 20)
    assert cross_validate(outlier, 0.0)[0] == Share(1, 20)
    # What is in force is kept where no other pair does better, here as there.
    assert cross_validate(outlier, 0.0, (0.05, 0.05))[0] == Share(1, 20)
    nearly = easy[0], _set("off topic", False, *[(0.1, 0.1)] * 9, (0.1, 0.3))
    assert cross_validate(nearly)[1] == Share(9, 10)
    assert cross_validate(nearly, present=(0.2, 0.6))[1] == Share(10, 10)


def test_minima_in_force_are_kept_where_no_other_pair_does_better() -> None:
    apart = _set("answered", True, *[(0.6, 0.8)] * 20), _set("off topic", False, *[(0.1, 0.1)] * 20)
    assert keep_or_choose(apart, (0.5, 0.75))[:2] == (0.5, 0.75)
    assert keep_or_choose(apart, (0.05, 0.05))[:2] == (0.05, 0.15)
    assert keep_or_choose(apart, (0.7, 0.75))[:2] == (0.6, 0.75)
    assert keep_or_choose(SETS, (0.23, 0.25))[:2] == (0.23, 0.25)


def test_of_pairs_that_do_equally_well_the_nearest_to_those_in_force_is_chosen() -> None:
    chosen = keep_or_choose(SETS, (0.23, 0.25), most_refused=0.0)
    assert (max_answerable_refused(SETS, chosen), chosen[:2]) == (0.0, (0.1, 0.25))
    # As good at what they refuse, and one of them loses an answerable question less: that one, though it is farther.
    sets = _set("answered", True, *[(0.6, 0.8)] * 99, (0.35, 0.8)), _set("off topic", False, *[(0.1, 0.1)] * 20)
    assert keep_or_choose(sets, (0.4, 0.6))[:2] == (0.35, 0.6)


def test_the_trade_off_rises_on_both_counts() -> None:
    curve = pareto_front(SETS, sweep(SETS))
    off_topic = [mean_off_topic_refused(SETS, point) for point in curve]
    answerable = [max_answerable_refused(SETS, point) for point in curve]
    assert off_topic == sorted(set(off_topic))
    assert answerable == sorted(answerable)


@pytest.mark.contract("P-5")
def test_without_vectors_coverage_is_the_share_that_the_best_candidate_holds() -> None:
    frequency = {"pump": 3, "seal": 3}
    assert question_coverage(frequency, [Support(["pump"]), Support(["seal"])], 50) == 0.5
    assert question_coverage(frequency, [Support(["pump"]), Support(["pump", "seal"])], 50) == 1.0
    assert question_coverage(frequency, [Support([])], 50) == 0.0


@pytest.mark.contract("P-5")
def test_without_candidates_nothing_is_covered_and_without_content_words_nothing_is_missing() -> None:
    assert question_coverage({"pump": 3}, [], 50) == 0.0
    assert question_coverage({}, [], 50) == 1.0
    assert question_coverage({}, [Support([], 0.1)], 50) == 1.0


@pytest.mark.contract("P-5")
def test_a_word_that_is_not_held_counts_as_far_as_its_candidate_is_similar() -> None:
    frequency = {"pump": 3, "seal": 3}
    assert question_coverage(frequency, [Support(["pump"], 0.6)], 50) == pytest.approx(0.5 + 0.5 * 0.6)
    assert question_coverage(frequency, [Support([], 0.6)], 50) == pytest.approx(0.6)
    assert question_coverage(frequency, [Support(["pump", "seal"], 0.1)], 50) == 1.0
    assert question_coverage(frequency, [Support([], 1.0)], 50) == 1.0


@pytest.mark.contract("P-5")
def test_the_similarity_of_one_candidate_and_the_words_of_another_do_not_add_up() -> None:
    """Off-topic questions pass a gate on two candidates: a similar one, and one that happens to hold a rare word."""
    frequency = {"president": 9, "amendment": 1, "ratified": 1}
    similar, wordy = Support(["president"], 0.3), Support(["amendment"], 0.05)
    apart = question_coverage(frequency, [similar, wordy], 100)
    alone = [question_coverage(frequency, [each], 100) for each in (similar, wordy)]
    together = question_coverage(frequency, [Support(["president", "amendment"], 0.3)], 100)
    assert apart == max(alone)
    assert apart < 0.5 < together


@pytest.mark.contract("P-5")
def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    frequency = {"pump": 90, "cavitation": 1}
    assert question_coverage(frequency, [Support(["cavitation"])], 100) > 0.7
    assert question_coverage(frequency, [Support(["pump"])], 100) < 0.3


@pytest.mark.contract("P-5")
def test_an_unseen_word_does_not_outweigh_the_rest_in_a_collection_of_one_chunk() -> None:
    frequency = {"tighten": 0, "bolt": 1, "seal": 1}
    assert question_coverage(frequency, [Support(["bolt", "seal"])], 1) == pytest.approx(2 / 3, abs=1e-6)


WORDS = ("bolt", "gasket", "impeller", "pump", "seal", "torque")
SUPPORTS = st.lists(st.builds(Support, st.sets(st.sampled_from(WORDS)), st.floats(0, 1)), max_size=5)
FREQUENCIES = st.fixed_dictionaries({word: st.integers(0, 40) for word in WORDS})


@pytest.mark.contract("P-5")
@given(frequency=FREQUENCIES, supports=SUPPORTS, more=SUPPORTS, word=st.sampled_from(WORDS), rise=st.floats(0, 1))
def test_coverage_rises_with_candidates_with_words_and_with_similarity(
    frequency: dict[str, int], supports: list[Support], more: list[Support], word: str, rise: float
) -> None:
    coverage = question_coverage(frequency, supports, 40)
    assert 0 <= coverage <= 1
    assert question_coverage(frequency, [*supports, *more], 40) >= coverage
    held = [Support({*each.matched_words, word}, each.similarity) for each in supports]
    assert question_coverage(frequency, held, 40) >= coverage
    closer = [Support(each.matched_words, max(each.similarity, rise)) for each in supports]
    assert question_coverage(frequency, closer, 40) >= coverage


@pytest.mark.contract("P-5")
@given(frequency=FREQUENCIES, supports=SUPPORTS)
def test_coverage_is_at_least_the_best_similarity_and_at_least_the_best_share(
    frequency: dict[str, int], supports: list[Support]
) -> None:
    coverage = question_coverage(frequency, supports, 40)
    words_alone = [Support(each.matched_words) for each in supports]
    assert coverage >= question_coverage(frequency, words_alone, 40)
    assert coverage >= round(max((each.similarity for each in supports), default=0.0), 6)


@pytest.mark.contract("P-5")
@given(frequency=FREQUENCIES, supports=SUPPORTS)
def test_coverage_does_not_depend_on_any_order(frequency: dict[str, int], supports: list[Support]) -> None:
    turned = dict(reversed(frequency.items()))
    lists = [Support(sorted(each.matched_words, reverse=True) * 2, each.similarity) for each in reversed(supports)]
    assert question_coverage(turned, lists, 40) == question_coverage(frequency, supports, 40)


COVERAGES = """
from itertools import combinations
from sourcebound.contracts.retrieval.retrieval_bundle import Support, question_coverage
words = [f"word{i}" for i in range(12)]
for size in range(1, 12):
    held = set(list(combinations(words, size))[size])
    print(repr(question_coverage({w: 3**i % 89 for i, w in enumerate(words)}, [Support(held, size / 37)], 100)))
"""


@pytest.mark.contract("P-5")
def test_coverage_is_the_same_in_every_process() -> None:
    def run(seed: str) -> str:
        variables = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", COVERAGES], capture_output=True, text=True, check=True, env=variables
        )
        return done.stdout

    outputs = {run(seed) for seed in ("0", "1", "31337")}
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 11


def test_the_report_counts_what_goes_wrong_and_keeps_the_checks_out_of_the_choice() -> None:
    check = _set("elsewhere", True, *[(0.0, 0.0)] * 3, (0.9, 0.9)), _set("off topic elsewhere", False, (0.9, 0.9))
    report = gates.describe(SETS, check, load_shipped_policy("SOURCEBOUND_V1"))
    assert "Chosen: `min_top_similarity = 0.15`, `min_question_coverage = 0.25`." in report
    assert "| answered | false refusal | 1.0 % (1 of 100) |" in report
    assert "| off topic | false pass | 25.0 % (1 of 4) |" in report
    assert "| elsewhere | false refusal | 75.0 % (3 of 4) |" in report
    assert "| off topic elsewhere | false pass | 100.0 % (1 of 1) |" in report


def test_minima_are_chosen_on_all_answerable_questions_together() -> None:
    small = _set("small among 100", True, (0.05, 0.05), (0.62, 0.81))
    report = gates.describe([ANSWERED, small, OFF_TOPIC], [], load_shipped_policy("SOURCEBOUND_V1"))
    assert "Chosen: `min_top_similarity = 0.15`, `min_question_coverage = 0.25`." in report
    assert "| small among 100 | false refusal | 50.0 % (1 of 2) |" in report
    assert "| all answerable together | false refusal | 2.0 % (2 of 102) |" in report


def test_the_report_sums_up_the_broad_collections_of_each_size() -> None:
    broad = [
        _set("one among 100", True, (0.9, 0.9), (0.1, 0.9)),
        _set("off in one among 100", False, (0.1, 0.1), (0.9, 0.9)),
        _set("off in one among 1000", False, (0.9, 0.9)),
    ]
    report = gates.describe(SETS, broad, load_shipped_policy("SOURCEBOUND_V1"))
    assert "| 100 | 50.0 % (1 of 2) | 50.0 % |\n| 1000 | 0.0 % (0 of 0) | 0.0 % |\n| mean | | 25.0 % |" in report


def test_an_off_topic_question_whose_answer_a_candidate_holds_is_left_out() -> None:
    found = RetrievalBundle.model_validate(bundle([row(0, chunk_text="Edmund Hillary climbed it first.")]))
    assert gates.holds_answer(found, ["EDMUND HILLARY"])
    assert not gates.holds_answer(found, ["it", "Tenzing Norgay"])
    assert not gates.holds_answer(found, [])


def test_the_page_report_names_what_is_missing() -> None:
    results = [
        PageResult("q1", "What was revenue?", (("report", 4), ("report", 9)), (None, 2)),
        PageResult("q2", "Who resigned?", (("other", 1),), (None,)),
    ]
    report = describe(results)
    assert "report p. 4: missing, report p. 9: rank 2" in report
    assert "MISSED  q2" in report
    assert report.endswith("1 of 2 questions, 1 of 3 pages (needed: 7 questions)")

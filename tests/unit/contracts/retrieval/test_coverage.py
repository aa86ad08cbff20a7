"""P-5, R1-11: the minimum of question coverage: less of a long question, and more in a large collection."""

import pytest

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import RefusalCode, Status
from sourcebound.contracts.policy.schema import RetrievalPolicy
from sourcebound.contracts.retrieval.coverage import (
    LARGEST,
    SHORT_QUESTION,
    SMALLEST,
    USUAL_SIZE,
    Circumstances,
    circumstances_of,
    coverage_allowance,
    coverage_minimum,
)
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from support.builders import bundle, policy, rows, run

GATE = {
    "min_top_similarity": 0.0, "min_question_coverage": 0.6, "coverage_allowance": 0.02, "coverage_per_tenfold": 0.05,
}  # fmt: skip
LONG = SHORT_QUESTION + 2


def _limits(**changes: float | None) -> RetrievalPolicy:
    return policy(retrieval={**GATE, **changes}).retrieval


@pytest.mark.contract("P-5")
@pytest.mark.parametrize(("words", "minimum"), [(None, 0.6), (0, 0.6), (SHORT_QUESTION, 0.6), (LONG, 0.56)])
def test_each_word_beyond_a_short_question_lowers_the_minimum(words: int | None, minimum: float) -> None:
    assert coverage_minimum(_limits(), Circumstances(words)) == minimum


@pytest.mark.contract("P-5")
@pytest.mark.parametrize(
    ("chunks", "minimum"),
    [(None, 0.6), (1, 0.55), (SMALLEST, 0.55), (USUAL_SIZE, 0.6), (LARGEST, 0.65), (10**9, 0.65)],
)
def test_a_larger_collection_raises_the_minimum_within_bounds(chunks: int | None, minimum: float) -> None:
    assert coverage_minimum(_limits(), Circumstances(chunks=chunks)) == minimum
    assert coverage_minimum(_limits(coverage_per_tenfold=None), Circumstances(chunks=chunks)) == 0.6


@pytest.mark.contract("P-5")
def test_a_very_long_question_lowers_the_minimum_no_further_and_it_stays_a_share() -> None:
    assert coverage_allowance(_limits(), Circumstances(500)) == coverage_allowance(_limits(), Circumstances(8)) == 0.1
    assert coverage_minimum(_limits(coverage_allowance=0.2), Circumstances(500)) == 0.0
    assert coverage_minimum(_limits(min_question_coverage=1.0), Circumstances(chunks=LARGEST)) == 1.0


@pytest.mark.contract("P-5")
def test_a_policy_without_the_allowance_or_the_minimum_has_none() -> None:
    assert coverage_minimum(_limits(coverage_allowance=None), Circumstances(500)) == 0.6
    assert coverage_minimum(_limits(min_question_coverage=None), Circumstances(500)) is None


def test_a_bundle_that_states_nothing_is_held_to_the_minimum_as_it_stands() -> None:
    assert circumstances_of(None) == Circumstances(None, None)
    assert circumstances_of(RetrievalBundle.model_validate(bundle(rows(1)))) == Circumstances(None, None)


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize(("words", "status"), [(LONG, Status.OK), (SHORT_QUESTION, Status.NO_EVIDENCE)])
def test_the_gate_judges_a_question_by_its_length(words: int, status: Status) -> None:
    found = bundle(rows(1), question_coverage=0.56, question_words=words)
    outcome = assemble(found, policy(retrieval=GATE), run()).outcome
    assert outcome.status is status
    assert outcome.refusal_code is (None if status is Status.OK else RefusalCode.BELOW_SIMILARITY_GATE)


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize(("chunks", "status"), [(USUAL_SIZE, Status.OK), (LARGEST, Status.NO_EVIDENCE)])
def test_the_gate_judges_a_question_by_the_size_of_the_collection(chunks: int, status: Status) -> None:
    found = bundle(rows(1), question_coverage=0.62, collection_chunks=chunks)
    assert assemble(found, policy(retrieval=GATE), run()).outcome.status is status


@pytest.mark.contract("P-4")
def test_a_raised_minimum_refuses_a_long_question_too() -> None:
    found = bundle(rows(1), question_coverage=0.56, question_words=LONG)
    raised = policy(retrieval={**GATE, "min_question_coverage": 0.7})
    assert assemble(found, raised, run()).outcome.status is Status.NO_EVIDENCE

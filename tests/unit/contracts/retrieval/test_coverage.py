"""P-5, R1-11: the minimum of question coverage, and what a long question may lack of it."""

import pytest

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import RefusalCode, Status
from sourcebound.contracts.policy.schema import RetrievalPolicy
from sourcebound.contracts.retrieval.coverage import LONG_QUESTION, SHORT_QUESTION, coverage_allowance, coverage_minimum
from support.builders import bundle, policy, rows, run

GATE = {"min_top_similarity": 0.0, "min_question_coverage": 0.6, "coverage_allowance": 0.02}


def _limits(**changes: float | None) -> RetrievalPolicy:
    return policy(retrieval={**GATE, **changes}).retrieval


@pytest.mark.contract("P-5")
@pytest.mark.parametrize(
    ("words", "minimum"), [(None, 0.6), (0, 0.6), (SHORT_QUESTION, 0.6), (SHORT_QUESTION + 2, 0.56)]
)
def test_each_word_beyond_a_short_question_lowers_the_minimum(words: int | None, minimum: float) -> None:
    assert coverage_minimum(_limits(), words) == minimum


@pytest.mark.contract("P-5")
def test_a_very_long_question_lowers_the_minimum_no_further_and_never_below_zero() -> None:
    assert coverage_allowance(_limits(), 500) == coverage_allowance(_limits(), LONG_QUESTION) == 0.1
    assert coverage_minimum(_limits(coverage_allowance=0.2), 500) == 0.0


@pytest.mark.contract("P-5")
def test_a_policy_without_the_allowance_or_the_minimum_has_none() -> None:
    assert coverage_minimum(_limits(coverage_allowance=None), 500) == 0.6
    assert coverage_minimum(_limits(min_question_coverage=None), 500) is None


@pytest.mark.contract("R1-11")
@pytest.mark.parametrize(("words", "status"), [(SHORT_QUESTION + 2, Status.OK), (SHORT_QUESTION, Status.NO_EVIDENCE)])
def test_the_gate_judges_a_question_by_its_length(words: int, status: Status) -> None:
    found = bundle(rows(1), question_coverage=0.56, question_words=words)
    outcome = assemble(found, policy(retrieval=GATE), run()).outcome
    assert outcome.status is status
    assert outcome.refusal_code is (None if status is Status.OK else RefusalCode.BELOW_SIMILARITY_GATE)


@pytest.mark.contract("P-4")
def test_a_raised_minimum_refuses_a_long_question_too() -> None:
    found = bundle(rows(1), question_coverage=0.56, question_words=SHORT_QUESTION + 2)
    raised = policy(retrieval={**GATE, "min_question_coverage": 0.7})
    assert assemble(found, raised, run()).outcome.status is Status.NO_EVIDENCE

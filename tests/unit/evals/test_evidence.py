"""The measure of evidence in the prompt: after gate and selection, and only in the right document."""

from typing import Any

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.evals.evidence import (
    CANDIDATES,
    PROMPT,
    Measured,
    describe,
    in_prompt,
    score_answer,
    score_pages,
)
from sourcebound.evals.metrics import Interval, mean_interval
from support.builders import QUESTION, bundle, row, rows

POLICY = load_shipped_policy("R2_POLICY_V1")


def _bundle(results: list[dict[str, Any]]) -> RetrievalBundle:
    return RetrievalBundle.model_validate(bundle(results))


@pytest.mark.contract("R2-S5")
def test_what_the_prompt_shows_is_measured_after_the_selection() -> None:
    shown = in_prompt(_bundle(rows(8, knowledge_id="doc")), QUESTION, POLICY)
    assert [chunk.chunk_id for chunk in shown] == [f"chunk-{rank:04d}" for rank in range(6)]


@pytest.mark.contract("R1-11")
def test_a_question_that_the_gate_refuses_shows_nothing() -> None:
    assert in_prompt(_bundle(rows(2, similarity_score=0.1)), QUESTION, POLICY) == ()


def test_an_answer_counts_in_its_own_document_only_and_whatever_its_white_space() -> None:
    chunks = _bundle([row(0, knowledge_id="a", chunk_text="Every\n12  hours."), row(1, knowledge_id="b")]).results
    assert score_answer(chunks, "a", ["every day", "12 hours"]) == {"answer text": 1.0}
    assert score_answer(chunks, "b", ["12 hours"]) == {"answer text": 0.0}


def test_a_page_counts_in_its_own_report_only() -> None:
    chunks = _bundle([row(0, knowledge_id="one.pdf", page_number=3), row(1, knowledge_id="two.pdf")]).results
    found = score_pages(chunks, [("one", 3), ("two", 3)])
    assert found == {"evidence page": 1.0, "evidence pages": 0.5}


def test_the_interval_of_a_mean_holds_it() -> None:
    interval = mean_interval([0.0] * 10 + [1.0] * 30)
    assert interval.low < interval.mean == 0.75 < interval.high
    assert mean_interval([]) == Interval(0.0, 0.0, 0.0)


def test_the_table_sets_the_candidates_beside_the_prompt() -> None:
    measured = [
        Measured("squad2", "answer text", place, 40, Interval(share, share - 0.1, share))
        for place, share in ((CANDIDATES, 1.0), (PROMPT, 0.5))
    ]
    assert describe(measured).splitlines()[2] == (
        "| squad2 | answer text | 40 | 100.0 % (90.0 to 100.0) | 50.0 % (40.0 to 50.0) |"
    )

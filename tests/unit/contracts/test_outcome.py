"""Statuses only ever get worse, and the three kinds of outcome stay apart (S-1, S-3)."""

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sourcebound.contracts.outcome import (
    FailureCode,
    Outcome,
    RefusalCode,
    RefusalSource,
    Status,
    Violation,
    fail,
    fail_with,
    keep_worst,
    proceed,
    refuse,
)

ORDER = ["OK", "NO_EVIDENCE", "FAILED"]


def _outcome(status: str, stage: str = "stage") -> dict[str, Any]:
    return {"status": status, "stage": stage}


@pytest.mark.contract("S-1")
def test_there_are_three_statuses() -> None:
    assert [status.value for status in Status] == ORDER


@pytest.mark.contract("S-1")
@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("OK", "OK", "OK"),
        ("OK", "NO_EVIDENCE", "NO_EVIDENCE"),
        ("OK", "FAILED", "FAILED"),
        ("NO_EVIDENCE", "OK", "NO_EVIDENCE"),
        ("NO_EVIDENCE", "NO_EVIDENCE", "NO_EVIDENCE"),
        ("NO_EVIDENCE", "FAILED", "FAILED"),
        ("FAILED", "OK", "FAILED"),
        ("FAILED", "NO_EVIDENCE", "FAILED"),
        ("FAILED", "FAILED", "FAILED"),
    ],
)
def test_a_status_never_gets_better(before: str, after: str, kept: str) -> None:
    assert keep_worst(_outcome(before), _outcome(after))["status"] == kept


@pytest.mark.contract("S-1")
@given(st.lists(st.sampled_from(ORDER), min_size=1))
def test_a_run_ends_as_its_worst_stage_did_and_the_first_stage_that_was_as_bad_is_named(statuses: list[str]) -> None:
    updates = [_outcome(status, f"stage-{index}") for index, status in enumerate(statuses)]
    worst = max(statuses, key=ORDER.index)
    seen: list[int] = []

    def step(current: dict[str, Any] | None, update: dict[str, Any]) -> dict[str, Any]:
        result = keep_worst(current, update)
        seen.append(ORDER.index(str(result["status"])))
        return result

    final = reduce(step, updates, None)
    assert final is not None
    assert final["status"] == worst
    assert seen == sorted(seen)
    if worst != "OK":
        assert final["stage"] == f"stage-{statuses.index(worst)}"


def test_the_last_stage_is_named_while_a_run_is_ok() -> None:
    assert keep_worst(_outcome("OK", "accept"), _outcome("OK", "retrieve"))["stage"] == "retrieve"


@pytest.mark.contract("S-1")
@pytest.mark.parametrize("before", ["OK", "NO_EVIDENCE", "FAILED"])
@pytest.mark.parametrize("opening", ["OK", "NO_EVIDENCE", "FAILED"])
def test_the_opening_of_a_run_is_taken_as_it_is(before: str, opening: str) -> None:
    opened = _outcome(opening, "accept")
    assert keep_worst(_outcome(before, "package"), opened) == opened


@pytest.mark.parametrize("nothing", [None, {}])
def test_the_first_outcome_is_taken_as_it_is(nothing: dict[str, Any] | None) -> None:
    assert keep_worst(nothing, _outcome("FAILED")) == _outcome("FAILED")


@pytest.mark.contract("S-3")
def test_a_refusal_has_a_reason_and_is_no_failure() -> None:
    outcome = refuse("assemble", RefusalCode.ALL_EVIDENCE_DROPPED, RefusalSource.SELECTION, "nothing was left")
    assert outcome.status is Status.NO_EVIDENCE
    assert outcome.refusal_code is RefusalCode.ALL_EVIDENCE_DROPPED
    assert outcome.refusal_source is RefusalSource.SELECTION
    assert outcome.failure_code is None
    assert outcome.violations == ()


@pytest.mark.contract("S-3")
def test_a_failure_has_a_code_and_is_no_refusal() -> None:
    outcome = fail("retrieve", FailureCode.RETRIEVAL_FAILED, "the store is away")
    assert outcome.status is Status.FAILED
    assert outcome.failure_code is FailureCode.RETRIEVAL_FAILED
    assert outcome.refusal_code is None
    assert outcome.refusal_source is None
    assert outcome.message == "the store is away"


@pytest.mark.contract("S-3")
def test_violations_are_data_and_the_first_names_the_failure() -> None:
    first = Violation(code=FailureCode.INVALID_RANK, clause="R2-V2", message="rank", field="rank", row=1, value="7")
    second = Violation(code=FailureCode.INVALID_TEXT, clause="R2-V4", message="text")
    outcome = fail_with("assemble", (first, second))
    assert (outcome.failure_code, outcome.message) == (FailureCode.INVALID_RANK, "rank")
    assert outcome.violations == (first, second)


def test_a_stage_without_objection_is_ok() -> None:
    assert proceed("assemble") == Outcome(status=Status.OK, stage="assemble")


def test_outcomes_are_frozen_and_closed() -> None:
    outcome = proceed("assemble")
    with pytest.raises(ValidationError, match="frozen"):
        setattr(outcome, "status", Status.FAILED)  # noqa: B010
    with pytest.raises(ValidationError, match="Extra inputs"):
        Outcome.model_validate({"status": "OK", "stage": "assemble", "mood": "good"})

"""A response without an answer says what to try, from a frozen table; recorded responses of version 1 stay (R6-1)."""

import hashlib
import json

import pytest

from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode, RefusalSource, fail, proceed, refuse
from sourcebound.contracts.response.advice import ADVICE, NO_SENTENCE
from sourcebound.contracts.response.public import PublicResponse, package_response
from sourcebound.contracts.versions import THIS_VERSION, Versions
from support.builders import answer_bundle, generation, run

TABLE_DIGEST = "423f1f674f1d59d628aaa9652b9e5b2a2900b68d44f3a5876145a6125685bbc6"
REFUSED = refuse("validate", RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, "the model found no answer")
OLD = Versions(code="0.1.0", contracts={"response": 1})


def _package(outcome: Outcome, made_by: Versions | None = THIS_VERSION, model: str = "ollama:m") -> PublicResponse:
    of_run = run(model=model, made_by=made_by)
    return package_response(of_run, outcome, answer_bundle(), generation("x"), None, latency_ms=1.0)


@pytest.mark.contract("R6-1")
def test_every_code_has_advice_that_is_a_sentence() -> None:
    assert set(ADVICE) == {*RefusalCode, *FailureCode}
    assert all(text[0].isupper() and text.endswith(".") and "{" not in text for text in ADVICE.values())


@pytest.mark.contract("R6-1")
def test_the_table_of_a_version_is_frozen() -> None:
    table = json.dumps(sorted((str(code), text) for code, text in ADVICE.items()))
    assert hashlib.sha256(table.encode()).hexdigest() == TABLE_DIGEST, "a changed table is a new version (CP-10)"


@pytest.mark.contract("R6-1")
@pytest.mark.parametrize("outcome", [REFUSED, fail("validate", FailureCode.UNSUPPORTED_LITERAL, "13 is in no source")])
def test_a_response_without_an_answer_says_what_to_try(outcome: Outcome) -> None:
    code = outcome.refusal_code or outcome.failure_code
    assert code is not None
    form = _package(outcome).model_dump(mode="json")
    assert (form["advice"], form["schema_version"]) == (ADVICE[code], "1")


@pytest.mark.contract("R6-1")
@pytest.mark.contract("CP-10")
@pytest.mark.parametrize(("outcome", "made_by"), [(proceed("record"), THIS_VERSION), (REFUSED, OLD), (REFUSED, None)])
def test_an_answer_and_a_run_of_version_1_have_no_advice(outcome: Outcome, made_by: Versions | None) -> None:
    response = _package(outcome, made_by, model="extractive")
    assert "advice" not in response.model_dump(mode="json")
    assert response.message == outcome.message


@pytest.mark.contract("R6-1")
def test_a_reason_names_a_model_only_if_one_was_asked() -> None:
    assert _package(REFUSED).message == REFUSED.message
    assert _package(REFUSED, model="extractive").message == NO_SENTENCE
    gate = refuse("assemble", RefusalCode.BELOW_SIMILARITY_GATE, RefusalSource.GATE, "no source is similar enough")
    assert _package(gate, model="extractive").message == gate.message

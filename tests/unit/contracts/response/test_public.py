"""The public response: the validated text and its sources, the refusal, or neither (R6-1 … R6-6)."""

import json
from typing import Any

import pytest

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode, RefusalSource, fail, proceed, refuse
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.response.public import PublicResponse, package_response
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult, skip_validation
from support.builders import (
    CHARGE,
    FILTER,
    LEAK,
    SEAL,
    answer_bundle,
    bundle,
    generation,
    policy,
    row_of_two_sections,
    run,
)

REFUSAL = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
ANSWER = f"{FILTER} [C1]\n{SEAL} [C0]"
REFUSED = refuse("assemble", RefusalCode.ALL_EVIDENCE_DROPPED, RefusalSource.SELECTION, "nothing left")
FAILED = fail("validate", FailureCode.UNSUPPORTED_LITERAL, "13 is in no source")


def _package(outcome: Outcome, text: str = ANSWER, verdict: ValidationResult | None = None) -> PublicResponse:
    bundle = answer_bundle()
    return package_response(
        run(), outcome, bundle, generation(text), verdict or validate(text, bundle, policy()), latency_ms=12.34
    )


def _form(response: PublicResponse) -> dict[str, Any]:
    return response.model_dump(mode="json")


@pytest.mark.contract("R6-1")
@pytest.mark.parametrize("outcome", [proceed("record"), REFUSED, FAILED])
def test_every_response_has_the_fields_of_the_contract(outcome: Outcome) -> None:
    form = _form(_package(outcome))
    assert {
        "request_id", "run_id", "status", "answer", "citations", "token_usage", "latency_ms", "support_level",
        "refusal_code", "failure_code", "policy_version",
    } <= form.keys()  # fmt: skip
    assert (form["request_id"], form["run_id"], form["policy_version"]) == ("request-1", "run-1", "R2_POLICY_V1")
    assert form["status"] == outcome.status.value
    assert json.loads(json.dumps(form)) == form


@pytest.mark.contract("R6-1")
def test_the_schema_is_versioned_and_closed() -> None:
    form = _form(_package(proceed("record")))
    assert form["schema_version"] == "1"
    with pytest.raises(ValueError, match="Extra inputs"):
        PublicResponse.model_validate(form | {"chunk_text": "x"})


@pytest.mark.contract("R6-2")
@pytest.mark.parametrize(
    ("text", "section"),
    [
        (f"{LEAK} [C0]", "3 Seal > 3.4 Leak test"),
        (f"{CHARGE} [C0]", "4 Bearings > 4.1 Oil change"),
        (f"{CHARGE} [C0] {LEAK} [C0]", "3 Seal > 3.4 Leak test; 4 Bearings > 4.1 Oil change"),
    ],
)
def test_a_citation_names_the_section_of_the_quoted_words_in_every_text(text: str, section: str) -> None:
    evidence = assemble(bundle([row_of_two_sections()]), policy(), run())
    verdict = validate(text, evidence, policy())
    response = package_response(run(), proceed("record"), evidence, generation(text), verdict, latency_ms=1.0)
    assert [citation.section for citation in response.citations] == [section]
    assert chat_text(response).replace("\\>", ">").endswith(f"- [1] manual-0.pdf · {section}")


@pytest.mark.contract("R6-2")
@pytest.mark.contract("R6-3")
@pytest.mark.contract("R6-8")
def test_an_answer_has_its_text_and_one_citation_each_in_order() -> None:
    response = _package(proceed("record"))
    assert response.answer == ANSWER
    assert _form(response)["citations"] == [
        {
            "anchor": f"C{index}",
            "knowledge_id": f"doc-{index}",
            "title": f"Manual {index}",
            "source_reference": f"manual-{index}.pdf",
            "section": "Maintenance > Seals",
            "page_number": 7 + index,
            "event_date": "2024-03-03",
            "equipment_id": "HP-200",
        }
        for index in (1, 0)
    ]
    assert response.support_level is not None
    assert (response.refusal_code, response.failure_code) == (None, None)


@pytest.mark.contract("R6-3")
def test_evidence_that_the_answer_does_not_cite_is_not_shown() -> None:
    assert [item.anchor for item in _package(proceed("record"), f"{FILTER} [C1]").citations] == ["C1"]


@pytest.mark.contract("R6-2")
def test_no_chunk_text_no_score_and_no_prompt_leave_the_system() -> None:
    text = json.dumps(_form(_package(proceed("record"), "The filter is replaced. [C1]")))
    for secret in (SEAL, FILTER, "0.9", "chunk-0001", "similarity", "SYSTEM INSTRUCTION"):
        assert secret not in text


@pytest.mark.contract("R6-4")
@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (REFUSED, skip_validation(REFUSED)),
        (refuse("validate", RefusalCode.MODEL_REFUSED, RefusalSource.MODEL, "refused"), None),
    ],
)
def test_a_refusal_has_the_refusal_string_and_no_citations(outcome: Outcome, verdict: ValidationResult | None) -> None:
    response = _package(outcome, f" {REFUSAL}\n", verdict)
    assert response.answer == REFUSAL
    assert response.citations == ()
    assert response.refusal_code is outcome.refusal_code
    assert response.failure_code is None
    assert response.support_level is None
    assert response.message == outcome.message


@pytest.mark.contract("R6-5")
def test_a_failure_has_no_answer_and_no_citations_and_keeps_its_figures() -> None:
    response = _package(FAILED)
    assert (response.answer, response.citations, response.support_level) == ("", (), None)
    assert response.failure_code is FailureCode.UNSUPPORTED_LITERAL
    assert response.refusal_code is None
    assert response.token_usage.model_dump() == {"prompt": 300, "completion": 20, "total": 320}
    assert response.latency_ms == pytest.approx(12.34, abs=0.05)


@pytest.mark.contract("R6-5")
@pytest.mark.contract("R5P-6")
def test_an_accepted_answer_is_not_released_once_the_run_has_failed() -> None:
    response = _package(fail("record", FailureCode.AUDIT_UNAVAILABLE, "the store is away"))
    assert (response.answer, response.citations) == ("", ())


@pytest.mark.contract("R6-5")
@pytest.mark.parametrize("outcome", [REFUSED, FAILED])
def test_a_run_that_ended_before_any_evidence_has_a_response_all_the_same(outcome: Outcome) -> None:
    response = package_response(run(), outcome, None, None, None, 3.0)
    assert response.status is outcome.status
    assert response.answer == (REFUSAL if outcome is REFUSED else "")
    assert response.token_usage.model_dump() == {"prompt": None, "completion": None, "total": None}
    assert response.latency_ms == 3.0

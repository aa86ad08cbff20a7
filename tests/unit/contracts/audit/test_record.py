"""The audit record: one row for each run, whatever its outcome; ids, hashes and counts, never text (R5P-1, R5P-2)."""

import json
from typing import Any, cast

import pytest

from sourcebound.contracts.audit.record import AuditRecord, audit_record
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode, RefusalSource, fail, proceed, refuse
from sourcebound.contracts.typed_state import TypedState
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from support.builders import SEAL, answer_bundle, bundle, generation, policy, row, run

NOW = "2024-03-03T12:00:05+00:00"
METRICS = [
    "citation_count", "uncited_sentence_count", "invalid_anchor_count", "malformed_anchor_count", "refusal_detected",
    "length_ratio_flag", "suspicious_new_ids", "sentence_count", "attribution_coverage", "unsupported_literal_count",
]  # fmt: skip


def _record(text: str = f"{SEAL} [C0]", outcome: Outcome | None = None, **changes: Any) -> dict[str, Any]:
    assembled = answer_bundle()
    verdict = validate(text, assembled, policy())
    record = audit_record(
        run(),
        outcome or verdict.outcome,
        NOW,
        bundle()["retrieval_latency_ms"],
        assembled,
        generation(text, **changes),
        verdict,
    )
    return record.model_dump(mode="json")


@pytest.mark.contract("R5P-2")
def test_an_answered_run_is_recorded_with_all_it_rests_on() -> None:
    form = _record()
    metrics = form.pop("grounding_metrics")
    assert list(metrics) == METRICS
    assert metrics["citation_count"] == 1
    assert form == {
        "request_id": "request-1",
        "run_id": "run-1",
        "thread_id": "thread-1",
        "attempt": 1,
        "timestamp_utc": NOW,
        "generation_status": "OK",
        "validation_status": "PASSED",
        "failure_reason": None,
        "refusal_code": None,
        "refusal_source": None,
        "validated_citations": ["C0"],
        "model_name": "model-1-2024-03-03",
        "response_id": "response-1",
        "prompt_sha256": "ab" * 32,
        "retrieval_latency_ms": 4.5,
        "llm_latency_ms": 12.5,
        "prompt_tokens": 300,
        "completion_tokens": 20,
        "total_tokens": 320,
        "embedding_model": "embedder-1",
        "index_version": "ix-1",
        "policy_version": "R2_POLICY_V1",
        "policy_sha256": policy().sha256,
        "support_level": "LOW",
    }


@pytest.mark.contract("R5P-2")
def test_a_rejected_answer_is_recorded_with_its_reason_and_its_metrics() -> None:
    form = _record("The seal is checked. [C0] [C9]")
    assert (form["generation_status"], form["validation_status"]) == ("FAILED", "FAILED")
    assert form["failure_reason"] == "INVALID_CITATION_REFERENCE"
    assert form["grounding_metrics"]["invalid_anchor_count"] == 1
    assert form["validated_citations"] == []
    assert form["support_level"] is None
    assert form["total_tokens"] == 320


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("R5P-2")
def test_a_refusal_of_the_model_is_recorded_with_its_source() -> None:
    text = "NO_EVIDENCE: The provided evidence does not contain sufficient information to answer this question."
    form = _record(text)
    assert (form["generation_status"], form["validation_status"]) == ("NO_EVIDENCE", "PASSED")
    assert (form["refusal_code"], form["refusal_source"]) == ("model_refused", "MODEL")
    assert form["grounding_metrics"]["refusal_detected"]
    assert form["failure_reason"] is None


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("R5P-2")
def test_a_refusal_before_the_model_is_recorded_with_its_index() -> None:
    assembled = assemble(bundle([row(similarity_score=0.1)]), policy(), run())
    form = audit_record(
        run(), assembled.outcome, NOW, bundle()["retrieval_latency_ms"], assembled, None, None
    ).model_dump(mode="json")
    assert (form["generation_status"], form["validation_status"]) == ("NO_EVIDENCE", "NOT_RUN")
    assert (form["refusal_code"], form["refusal_source"]) == ("below_similarity_gate", "GATE")
    assert (form["embedding_model"], form["index_version"]) == ("embedder-1", "ix-1")
    assert form["model_name"] == "extractive"
    assert (form["response_id"], form["prompt_sha256"], form["llm_latency_ms"], form["total_tokens"]) == (None,) * 4
    assert form["grounding_metrics"]["citation_count"] == 0


@pytest.mark.contract("R5P-1")
@pytest.mark.parametrize(
    "outcome",
    [
        refuse("accept", RefusalCode.COLLECTION_NOT_FOUND, RefusalSource.GATE, "no such collection"),
        fail("retrieve", FailureCode.RETRIEVAL_FAILED, "the store is away"),
    ],
)
def test_a_run_that_ended_at_once_is_recorded(outcome: Outcome) -> None:
    record = audit_record(run(), outcome, NOW, None, None, None, None)
    assert record.generation_status is outcome.status
    assert record.refusal_code is outcome.refusal_code
    assert record.failure_reason is outcome.failure_code
    assert record.policy_sha256 == policy().sha256
    assert (record.embedding_model, record.index_version, record.retrieval_latency_ms) == (None, None, None)


@pytest.mark.contract("R5P-1")
def test_an_answer_without_a_verdict_cannot_be_recorded() -> None:
    with pytest.raises(ValueError, match="has a validation"):
        audit_record(run(), proceed("generate"), NOW, None, answer_bundle(), generation(), None)


@pytest.mark.contract("R5P-3")
@pytest.mark.parametrize("text", [f"{SEAL} [C0]", f"{SEAL} [C9]", "The seal is secret."])
def test_the_record_holds_no_text_of_question_answer_or_evidence(text: str) -> None:
    form = json.dumps(_record(text))
    for part in (SEAL, text, "shaft seal", "secret", run().question):
        assert part not in form


@pytest.mark.contract("R5P-1")
def test_the_same_run_gives_the_same_record() -> None:
    assert _record() == _record()
    assert AuditRecord.model_validate(json.loads(json.dumps(_record()))).model_dump(mode="json") == _record()


@pytest.mark.contract("R5P-2")
def test_the_model_that_was_asked_is_named_where_the_provider_names_none() -> None:
    assert _record(model_name=None)["model_name"] == "extractive"


def test_a_verdict_may_stand_beside_a_worse_outcome() -> None:
    verdict: ValidationResult = validate(f"{SEAL} [C0]", answer_bundle(), policy())
    worse = fail("record", FailureCode.AUDIT_UNAVAILABLE, "away")
    record = audit_record(run(), worse, NOW, None, answer_bundle(), generation(), verdict)
    assert record.generation_status is worse.status


@pytest.mark.contract("R5P-2")
@pytest.mark.parametrize(
    ("found", "kept"), [(bundle(), True), (bundle([row(similarity_score=2.0)]), False), ({}, False), (None, False)]
)
def test_the_time_of_retrieval_is_that_of_a_bundle_that_kept_its_contract(
    found: dict[str, Any] | None, kept: bool
) -> None:
    assembled = assemble(found, policy(), run())
    known = TypedState(
        {
            "run": run().model_dump(mode="json"),
            "outcome": assembled.outcome.model_dump(mode="json"),
            "assembly": assembled.model_dump(mode="json"),
            "retrieval": cast("dict[str, Any]", found),
        }
    )
    assert known.retrieval_latency_ms == (bundle()["retrieval_latency_ms"] if kept else None)
    assert (known.retrieval is not None) == kept

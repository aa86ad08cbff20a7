"""R5P: the audit record, one row for each attempt of a run, whatever its outcome.

A record holds ids, hashes and counts, never text (contract §7).
"""

from typing import Annotated, Final, Protocol

from pydantic import Field

from sourcebound.contracts.audit.digests import DIGESTS, JsonObject, digest_content
from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode, RefusalSource, Status
from sourcebound.contracts.request import Run
from sourcebound.contracts.validation.result import (
    GroundingMetrics,
    SupportLevel,
    ValidationResult,
    ValidationStatus,
    skip_validation,
)

Digest = Annotated[str | None, Field(exclude_if=is_absent)]
"""A digest of `contracts.audit.digests`; None in a record of an earlier version."""


class AuditRecord(Contract):
    """One row of the append-only table `validations` (R5P-2)."""

    request_id: str
    run_id: str
    thread_id: str
    attempt: int
    timestamp_utc: str
    generation_status: Status
    validation_status: ValidationStatus
    failure_reason: FailureCode | None
    refusal_code: RefusalCode | None
    refusal_source: RefusalSource | None
    grounding_metrics: GroundingMetrics
    validated_citations: tuple[str, ...]
    model_name: str
    response_id: str | None
    prompt_sha256: str | None
    retrieval_latency_ms: float | None
    llm_latency_ms: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    embedding_model: str | None
    index_version: str | None
    policy_version: str
    policy_sha256: str
    support_level: SupportLevel | None
    run_digest: Digest = None
    question_digest: Digest = None
    raw_text_digest: Digest = None
    answer_digest: Digest = None
    evidence_digest: Digest = None
    generation_digest: Digest = None
    evidence_supplied_by_hand: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether a person edited the state of the run (CP-11)."""


ADDED: Final = (*DIGESTS, "evidence_supplied_by_hand")
"""Columns that records of earlier versions do not have."""


class AuditLog(Protocol):
    """The append-only log of audit records (R5P)."""

    async def append(
        self, record: AuditRecord, run: Run, raw_model_text: str, validated_answer_text: str
    ) -> AuditRecord:
        """Write the record and close the run in one transaction. Writing the same record again changes nothing.

        The attempts of a run are written in order, and the last one says how the run ended (R5-12). The stored record
        is returned, with the timestamp of its first write.

        Raises:
            SourceboundError: The record could not be written, or differs from the stored one.
        """
        ...


def audit_record(
    run: Run,
    outcome: Outcome,
    timestamp_utc: str,
    retrieval_latency_ms: float | None,
    bundle: AnswerBundle | None,
    generation: Generation | None,
    validation: ValidationResult | None,
    attempt: int = 1,
    resolution: JsonObject | None = None,
    facts: JsonObject | None = None,
) -> AuditRecord:
    """Build the record of an attempt. That of the last one is built before the answer is released (R5P-1).

    Args:
        run: The run.
        outcome: The outcome of the attempt.
        timestamp_utc: The time at which the record was made, ISO 8601.
        retrieval_latency_ms: The duration of retrieval, if it ran and its bundle kept the contract.
        bundle: The evidence, if assembly ran.
        generation: The model's result, if the model was called.
        validation: The verdict, if there was an answer.
        attempt: The number of the attempt, from 1 (R5-12).
        resolution: The JSON of the resolved question, in a conversation.
        facts: The JSON of the chosen facts, if the policy has a facts phase.

    Returns:
        The record.
    """
    verdict = validation or _skipped(outcome)
    trace = bundle.trace if bundle else None
    return AuditRecord(
        request_id=run.request_id,
        run_id=run.run_id,
        thread_id=run.thread_id,
        attempt=attempt,
        timestamp_utc=timestamp_utc,
        generation_status=outcome.status,
        validation_status=verdict.validation_status,
        failure_reason=outcome.failure_code,
        refusal_code=outcome.refusal_code,
        refusal_source=outcome.refusal_source,
        grounding_metrics=verdict.grounding_metrics,
        validated_citations=verdict.validated_citations,
        model_name=(generation and generation.model_name) or run.model,
        response_id=generation.response_id if generation else None,
        prompt_sha256=generation.prompt_sha256 if generation else None,
        retrieval_latency_ms=retrieval_latency_ms,
        llm_latency_ms=generation.llm_latency_ms if generation else None,
        prompt_tokens=generation.prompt_tokens_actual if generation else None,
        completion_tokens=generation.completion_tokens_actual if generation else None,
        total_tokens=generation.total_tokens_actual if generation else None,
        embedding_model=trace.embedding_model if trace else None,
        index_version=trace.index_version if trace else None,
        policy_version=run.policy_version,
        policy_sha256=run.policy_sha256,
        support_level=verdict.support_level,
        evidence_supplied_by_hand=run.evidence_supplied_by_hand,
        **digest_content(run, bundle, generation, validation, resolution, facts)._asdict(),
    )


def _skipped(outcome: Outcome) -> ValidationResult:
    """Return the verdict of an attempt that validation did not reach."""
    if outcome.status is Status.OK:
        raise ValueError("a run that is OK has a validation")
    return skip_validation(outcome)

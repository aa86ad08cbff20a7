"""R6: the public response. It is stable and has no internals: no chunk text, score or prompt (contract §8)."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Annotated, Final, Literal

from pydantic import Field

from sourcebound.contracts.base import Contract, is_absent
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode, Status
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.advice import advise, say_why
from sourcebound.contracts.validation.quotes import cited_section
from sourcebound.contracts.validation.result import SupportLevel, ValidationResult
from sourcebound.contracts.versions import contract_version

SCHEMA_VERSION: Final = "1"
ADVISING: Final = 2
"""The first version of this contract whose responses say what to try."""
EDITED_NOTICE: Final = "A person edited the evidence or the state of this run."
"""Told to the reader of an answer whose evidence no retrieval found, or not as it is (CP-11)."""


class PublicCitation(Contract):
    """A source of the answer, with the fields that a reader may see (R6-2)."""

    anchor: str
    knowledge_id: str
    title: str | None
    source_reference: str | None
    section: str | None
    """The section of the quoted words: its headings. Several sections are joined."""
    page_number: int | None
    event_date: date | None
    equipment_id: str | None


class PublicTokenUsage(Contract):
    """The token counts that the provider reported."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None


class PublicResponse(Contract):
    """The response that leaves the system (R6-1)."""

    schema_version: Literal["1"] = SCHEMA_VERSION
    request_id: str
    run_id: str
    status: Status
    answer: str
    citations: tuple[PublicCitation, ...]
    token_usage: PublicTokenUsage
    latency_ms: float
    support_level: SupportLevel | None
    refusal_code: RefusalCode | None
    failure_code: FailureCode | None
    message: str
    """The reason why there is no answer, in one sentence; empty if there is an answer."""
    policy_version: str
    conversation_id: str | None = None
    search_query: str | None = None
    """The query that replaced the question in the search, if the question is a follow-up (CP-6)."""
    notices: tuple[str, ...] = ()
    """Notes for the reader, such as how a follow-up was understood or that the policy is a draft (P-1)."""
    evidence_supplied_by_hand: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    """Whether a person edited the evidence or the state of the run (CP-11)."""
    missing: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """What the answer says is not in the evidence, if the answer is partial (R3-10)."""
    advice: Annotated[str | None, Field(exclude_if=is_absent)] = None
    """What to try next, if there is no answer."""


def package_response(
    run: Run,
    outcome: Outcome,
    bundle: AnswerBundle | None,
    generation: Generation | None,
    validation: ValidationResult | None,
    latency_ms: float,
    earlier: Sequence[Generation] = (),
    notices: Sequence[str] = (),
) -> PublicResponse:
    """Build the public response of a finished run (R6-1 … R6-6).

    Args:
        run: The run.
        outcome: The outcome of all earlier stages.
        bundle: The evidence, if assembly ran.
        generation: The model's result, if the model was called.
        validation: The verdict, if there is one.
        latency_ms: Milliseconds since the run began.
        earlier: The results of earlier model calls; their tokens count too (R5-12, CP-6).
        notices: Notes for the reader, for example on how the question was understood.

    Returns:
        The response: the validated text and its sources, the refusal string, or neither.
    """
    is_advising = contract_version(run.made_by, "response") >= ADVISING
    answer = ""
    citations: tuple[PublicCitation, ...] = ()
    if outcome.status is Status.NO_EVIDENCE:
        answer = REFUSAL
    elif outcome.status is Status.OK and validation is not None and bundle is not None:
        answer = validation.validated_answer_text
        chunks = {chunk.anchor: chunk for chunk in bundle.selected_evidence}
        citations = tuple(_public_citation(chunks[anchor], validation) for anchor in validation.validated_citations)
    return PublicResponse(
        request_id=run.request_id,
        run_id=run.run_id,
        status=outcome.status,
        answer=answer,
        citations=citations,
        token_usage=_token_usage([*earlier, generation] if generation else earlier),
        latency_ms=round(latency_ms, 1),
        support_level=validation.support_level if validation and outcome.status is Status.OK else None,
        refusal_code=outcome.refusal_code,
        failure_code=outcome.failure_code,
        message=_say_why(outcome, run.model if is_advising else ""),
        policy_version=run.policy_version,
        conversation_id=run.conversation_id,
        search_query=run.search_query,
        notices=(*notices, *([EDITED_NOTICE] if run.evidence_supplied_by_hand else [])),
        evidence_supplied_by_hand=run.evidence_supplied_by_hand,
        missing=validation.missing if validation and outcome.status is Status.OK else None,
        advice=advise(outcome) if is_advising else None,
    )


def _say_why(outcome: Outcome, model: str) -> str:
    return "" if outcome.status is Status.OK else say_why(outcome, model)


def _token_usage(generations: Sequence[Generation]) -> PublicTokenUsage:
    return PublicTokenUsage(
        prompt=_sum_counts(generation.prompt_tokens_actual for generation in generations),
        completion=_sum_counts(generation.completion_tokens_actual for generation in generations),
        total=_sum_counts(generation.total_tokens_actual for generation in generations),
    )


def _sum_counts(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the known counts; None if there is no count."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _public_citation(chunk: EvidenceChunk, validation: ValidationResult) -> PublicCitation:
    return PublicCitation(
        anchor=chunk.anchor,
        knowledge_id=chunk.knowledge_id,
        title=chunk.title,
        source_reference=chunk.source_reference,
        section=cited_section(validation, chunk),
        page_number=chunk.page_number,
        event_date=chunk.event_date,
        equipment_id=chunk.equipment_id,
    )

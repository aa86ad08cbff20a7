"""CP-8: the receipt of a recorded run, issued only if the checkpoint and the audit record of the run agree."""

from collections.abc import Iterator

from sourcebound.contracts.audit.hash_chain import ChainedRow, Link, audit_columns, verify_chain
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk, render_block
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt, read_prompt, shown_block
from sourcebound.contracts.receipt.sealed import ChainPlace, Receipt, Span
from sourcebound.contracts.state import State
from sourcebound.contracts.text.canonical_json import text_sha256
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.typed_state import TypedState


def make_receipt(state: State, row: ChainedRow, issued_at: str, software: str) -> Receipt:
    """Build the receipt of a finished run for which `find_disagreements` finds nothing.

    Args:
        state: The run's last checkpoint.
        row: The audit record of its last attempt.
        issued_at: The current time, in UTC, ISO 8601.
        software: The program that writes the receipt, with its version.
    """
    typed = TypedState(state)
    texts = _chunk_texts(typed)
    return Receipt(
        software=software,
        issued_at=issued_at,
        question_sha256=text_sha256(typed.run.question),
        answer_sha256=text_sha256(_released_text(typed)) if typed.outcome.status is Status.OK else None,
        spans=tuple(_build_span(chunk, texts[chunk.rank]) for chunk in _shown_evidence(state, typed)),
        record=row.columns,
        chain=ChainPlace.model_validate(
            {"position": row.position, "previous_hash": row.previous_hash, "row_hash": row.row_hash}
        ),
    )


def find_disagreements(state: State, row: ChainedRow) -> list[str]:
    """Find the disagreements between a run and its audit record. A run with one gets no receipt.

    Args:
        state: The run's last checkpoint.
        row: Its audit record, with its place in the chain.

    Returns:
        A clause for each disagreement.
    """
    typed = TypedState(state)
    previous = Link((row.position or 0) - 1, row.previous_hash or "")
    recorded = audit_columns(AuditRecord.model_validate(state["audit"]))
    findings = list(_prompt_findings(state, typed, row))
    if verify_chain([row], previous) is not None:
        findings.append("the audit record does not give its row_hash")
    # The time may differ, because a record may be written twice (R5P-1).
    if {**recorded, "timestamp_utc": None} != {**row.columns, "timestamp_utc": None}:
        findings.append("the audit record is not the one that the run wrote")
    if typed.outcome.status is Status.OK and state["response"]["answer"] != _released_text(typed):
        findings.append("the response has another answer than the one that was validated")
    return findings


def _prompt_findings(state: State, typed: TypedState, row: ChainedRow) -> Iterator[str]:
    prompt, shown, texts = _read_prompt(state), _shown_evidence(state, typed), _chunk_texts(typed)
    if row.columns.get("prompt_sha256") != prompt.prompt_sha256:
        yield "the audit record names another prompt"
    elif prompt.messages and text_sha256(canonical_prompt(prompt.messages).decode()) != prompt.prompt_sha256:
        yield "the prompt does not give its hash"
    elif prompt.messages and not _shows(prompt, shown_block(render_block(shown), Policy.from_json(state["policy"]))):
        yield "the prompt shows other evidence"
    mode = Policy.from_json(state["policy"]).selection.sanitization_mode if shown else "safe_normalize_v1"
    if any(sanitize(texts.get(chunk.rank, ""), mode).text[: chunk.kept_end] != chunk.sanitized_text for chunk in shown):
        yield "the evidence is not what was retrieved"


def _shows(prompt: Prompt, block: str) -> bool:
    return read_prompt(prompt.messages).sections["EVIDENCE"] == block.strip("\n")


def _read_prompt(state: State) -> Prompt:
    """Return the prompt of a run; one without messages if the run ended before its prompt."""
    return Prompt.model_validate(state.get("prompt") or {"outcome": state["outcome"]})


def _shown_evidence(state: State, typed: TypedState) -> tuple[EvidenceChunk, ...]:
    """Return the evidence that the prompt showed; nothing if there was no prompt."""
    return typed.bundle.selected_evidence if typed.bundle and _read_prompt(state).messages else ()


def _released_text(typed: TypedState) -> str:
    return typed.validation.validated_answer_text if typed.validation else ""


def _chunk_texts(typed: TypedState) -> dict[int, str]:
    return {row.rank: row.chunk_text for row in typed.retrieval.results} if typed.retrieval else {}


def _build_span(chunk: EvidenceChunk, full_text: str) -> Span:
    fields = chunk.model_dump(include=set(Span.model_fields))
    digests = {"chunk_sha256": text_sha256(full_text), "shown_sha256": text_sha256(chunk.sanitized_text)}
    return Span.model_validate({**fields, **digests})

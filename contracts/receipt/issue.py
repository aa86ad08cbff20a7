"""CP-8: the receipt of a recorded run, made only where its checkpoint and its audit record say the same."""

from collections.abc import Iterator

from sourcebound.contracts.audit.hash_chain import ChainedRow, Link, audit_columns, verify_chain
from sourcebound.contracts.audit.record import AuditRecord
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk, render_block
from sourcebound.contracts.outcome import Status
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt, read_prompt
from sourcebound.contracts.receipt.sealed import ChainPlace, Receipt, Span
from sourcebound.contracts.state import State
from sourcebound.contracts.text.canonical_json import text_sha256
from sourcebound.contracts.text.sanitize import sanitize
from sourcebound.contracts.typed_state import TypedState


def make_receipt(state: State, row: ChainedRow, issued_at: str, software: str) -> Receipt:
    """The receipt of a finished run that `find_disagreements` has nothing to say about.

    Args:
        state: Its last checkpoint.
        row: Its audit record, that of the last attempt.
        issued_at: Now, in UTC, ISO 8601.
        software: What writes it, with its version.
    """
    known = TypedState(state)
    texts = _chunk_texts(known)
    return Receipt(
        software=software,
        issued_at=issued_at,
        question_sha256=text_sha256(known.run.question),
        answer_sha256=text_sha256(_released(known)) if known.outcome.status is Status.OK else None,
        spans=tuple(_span(chunk, texts[chunk.rank]) for chunk in _shown(state, known)),
        record=row.columns,
        chain=ChainPlace.model_validate(
            {"position": row.position, "previous_hash": row.previous_hash, "row_hash": row.row_hash}
        ),
    )


def find_disagreements(state: State, row: ChainedRow) -> list[str]:
    """What of a run and of its audit record does not fit together: of such a run there is no receipt.

    Args:
        state: The run's last checkpoint.
        row: Its audit record, with its place in the chain.

    Returns:
        A sentence for each.
    """
    known = TypedState(state)
    before = Link((row.position or 0) - 1, row.previous_hash or "")
    made = audit_columns(AuditRecord.model_validate(state["audit"]))
    findings = list(_prompt_findings(state, known, row))
    if verify_chain([row], before) is not None:
        findings.append("the audit record does not give its row_hash")
    if {**made, "timestamp_utc": None} != {**row.columns, "timestamp_utc": None}:  # R5P-1: it may be written twice
        findings.append("the audit record is not the one that the run wrote")
    if known.outcome.status is Status.OK and state["response"]["answer"] != _released(known):
        findings.append("the response has another answer than the one that was validated")
    return findings


def _prompt_findings(state: State, known: TypedState, row: ChainedRow) -> Iterator[str]:
    prompt, shown, texts = _prompt(state), _shown(state, known), _chunk_texts(known)
    if row.columns.get("prompt_sha256") != prompt.prompt_sha256:
        yield "the audit record names another prompt"
    elif prompt.messages and text_sha256(canonical_prompt(prompt.messages).decode()) != prompt.prompt_sha256:
        yield "the prompt does not give its hash"
    elif prompt.messages and read_prompt(prompt.messages).sections["EVIDENCE"] != render_block(shown).strip("\n"):
        yield "the prompt shows other evidence"
    if any(sanitize(texts.get(chunk.rank, "")).text[: chunk.kept_end] != chunk.sanitized_text for chunk in shown):
        yield "the evidence is not what was retrieved"


def _prompt(state: State) -> Prompt:
    """The prompt of a run; one without messages where it came to none."""
    return Prompt.model_validate(state.get("prompt") or {"outcome": state["outcome"]})


def _shown(state: State, known: TypedState) -> tuple[EvidenceChunk, ...]:
    """The evidence, where there was a prompt to show it."""
    return known.bundle.selected_evidence if known.bundle and _prompt(state).messages else ()


def _released(known: TypedState) -> str:
    return known.validation.validated_answer_text if known.validation else ""


def _chunk_texts(known: TypedState) -> dict[int, str]:
    return {row.rank: row.chunk_text for row in known.retrieval.results} if known.retrieval else {}


def _span(chunk: EvidenceChunk, whole: str) -> Span:
    shared = chunk.model_dump(include=set(Span.model_fields))
    digests = {"chunk_sha256": text_sha256(whole), "shown_sha256": text_sha256(chunk.sanitized_text)}
    return Span.model_validate({**shared, **digests})

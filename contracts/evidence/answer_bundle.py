"""The answer bundle: admitted chunks with anchors, their rendering, and the drop ledger (R2-A, R2-S8)."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from sourcebound.contracts.base import Contract, is_absent, is_empty
from sourcebound.contracts.outcome import Outcome, Status, fill_status
from sourcebound.contracts.retrieval.retrieval_bundle import LaterSection
from sourcebound.contracts.text.sanitize import header_value, one_line


class RowOutcome(StrEnum):
    """The outcome of a retrieved row; each row has exactly one (R2-S8)."""

    ADMITTED = "ADMITTED"
    DROP_GATE = "DROP_GATE"
    """The gate refused the run."""
    DROP_EMPTY_AFTER_SANITIZE = "DROP_EMPTY_AFTER_SANITIZE"
    DROP_FILTER_MISMATCH = "DROP_FILTER_MISMATCH"
    DROP_BELOW_SIMILARITY_FLOOR = "DROP_BELOW_SIMILARITY_FLOOR"
    DROP_DUP = "DROP_DUP"
    DROP_PER_KNOWLEDGE_CAP = "DROP_PER_KNOWLEDGE_CAP"
    DROP_CHUNK_RATIO = "DROP_CHUNK_RATIO"
    DROP_BUDGET = "DROP_BUDGET"
    DROP_MAX_CHUNKS = "DROP_MAX_CHUNKS"
    DROP_FACT_NOISE = "DROP_FACT_NOISE"
    DROP_FACT_IRRELEVANT = "DROP_FACT_IRRELEVANT"
    DROP_FACT_DUP = "DROP_FACT_DUP"
    DROP_PROMPT_BUDGET = "DROP_PROMPT_BUDGET"


class LedgerEntry(Contract):
    """A retrieved row with its outcome."""

    chunk_id: str
    rank: int
    outcome: RowOutcome


class EvidenceChunk(Contract):
    """A chunk in the prompt, under its anchor."""

    anchor: str
    chunk_id: str
    knowledge_id: str
    rank: int
    similarity_score: float
    sanitized_text: str
    token_count: int
    """Estimated tokens of the rendered block, header included."""
    kept_end: int | None = None
    """The character offset at which the sanitized text was cut; None if it is whole (R2-S6)."""
    source_reference: str | None
    title: str | None
    section: str | None
    """The heading path of the section in which the chunk begins."""
    later_sections: Annotated[tuple[LaterSection, ...], Field(exclude_if=is_empty)] = ()
    """The sections that begin further down; `start` counts the characters of `sanitized_text`."""
    page_number: int | None
    event_date: date | None
    equipment_id: str | None
    authority: str | None
    char_start: int | None
    char_end: int | None
    origin: str | None = None


def drop_counts(ledger: Iterable[LedgerEntry]) -> dict[str, int]:
    """Count the rows for each drop code, in alphabetical order; admitted rows are not drops."""
    counts = Counter(entry.outcome.value for entry in ledger if entry.outcome is not RowOutcome.ADMITTED)
    return dict(sorted(counts.items()))


class Trace(Contract):
    """The origin of the evidence; every later record carries it (R2-V7)."""

    run_id: str
    retrieval_run_id: str
    retrieval_sha256: str | None = None
    """The digest of the whole bundle, so that no candidate can change unnoticed (CP-3)."""
    index_version: str
    embedding_model: str
    policy_version: str
    policy_sha256: str
    top_k: int


class AssemblyMetrics(Contract):
    """Counts of the selection (R2-A3)."""

    retrieved_k: int
    selected_k: int
    drop_counts: dict[str, int]
    evidence_tokens: int
    truncation_applied: bool
    reordered: bool
    rank_gaps: int
    structure_escaped_count: int
    control_token_count: Annotated[int | None, Field(exclude_if=is_absent)] = None
    """The chat-control tokens that were broken; absent under `safe_normalize_v1`, which knows none."""
    top_similarity: float | None = None
    """The value that the gate compared with `min_top_similarity` (R1-11); None if no row was retrieved."""


class AnswerBundle(Contract):
    """The result of R2: evidence with anchors, the block to send, and the ledger of every retrieved row (R2-A3)."""

    request_id: str
    user_question: str
    search_query: str | None = None
    """The resolved search query of a follow-up (CP-6); None if the question stands alone."""
    outcome: Outcome
    assembly_status: Status = Status.OK
    """The outcome's status."""
    selected_evidence: tuple[EvidenceChunk, ...] = ()
    anchor_map: dict[str, str] = Field(default_factory=dict)
    evidence_block_text: str = ""
    trace: Trace | None = None
    assembly_metrics: AssemblyMetrics | None = None
    drop_ledger: tuple[LedgerEntry, ...] = ()

    _status = model_validator(mode="before")(fill_status("assembly_status"))


def render_evidence(anchor: str, chunk_id: str, knowledge_id: str, source: str | None, text: str) -> str:
    """Render one chunk exactly as the prompt shows it (R2-A2).

    Args:
        anchor: `C0`, `C1`, …
        chunk_id: The chunk's id.
        knowledge_id: The document's id.
        source: The document's name for readers; `unknown` if it is absent.
        text: Sanitized text.

    Returns:
        The header line and the text.
    """
    shown = header_value(source or "unknown")
    return (
        f"[{anchor} | chunk_id={header_value(chunk_id)} | knowledge_id={header_value(knowledge_id)} "
        f"| source={shown}]\n{text}"
    )


def render_block(evidence: tuple[EvidenceChunk, ...]) -> str:
    """Render the evidence block: every chunk under its header, separated by blank lines."""
    return "\n\n".join(
        render_evidence(e.anchor, e.chunk_id, e.knowledge_id, e.source_reference, e.sanitized_text) for e in evidence
    )


def document_name(chunk: EvidenceChunk) -> str:
    """Return a document's name for readers, on one line and without the page."""
    return one_line((chunk.source_reference or chunk.knowledge_id).removesuffix(f", p. {chunk.page_number}"))

"""What retrieval and selection saw of a question: every candidate and its fate, and the gate's verdict.

A report of R1 and R2 for people: it is made of what those layers returned, measures nothing anew and decides nothing.
"""

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow
from sourcebound.contracts.text.sanitize import sanitize


class SearchRow(Contract):
    """A candidate, where it stood in each list, and what became of it."""

    rank: int
    similarity_score: float
    dense_rank: int | None
    lexical_rank: int | None
    lexical_score: float | None
    outcome: RowOutcome | None
    """Its entry in the drop ledger; None where the bundle failed before selection."""
    anchor: str | None
    """Where it is evidence."""
    chunk_id: str
    knowledge_id: str
    source_reference: str | None
    title: str | None
    section: str | None
    page_number: int | None
    origin: str | None
    first_line: str
    """Of the text as selection saw it."""


class GateReading(Contract):
    """The gate's two minima and what was measured against them (R1-11); None where there was nothing to measure."""

    min_top_similarity: float
    top_similarity: float | None
    min_question_coverage: float | None
    question_coverage: float | None


class SearchReport(Contract):
    """One question's way through R1 and R2; no model was asked and nothing was recorded."""

    question: str
    collection: str | None
    filters: dict[str, str]
    policy_version: str
    policy_sha256: str
    index_version: str | None
    embedding_model: str | None
    outcome: Outcome
    gate: GateReading
    candidates: tuple[SearchRow, ...]
    query_variants: tuple[str, ...]
    notices: tuple[str, ...]
    fallback_used: bool
    retrieval_shortfall: int
    retrieval_latency_ms: float | None


def report_search(
    run: Run, policy: Policy, outcome: Outcome, bundle: RetrievalBundle | None, assembled: AnswerBundle | None
) -> SearchReport:
    """Puts a report together.

    Args:
        run: The question and where it was asked.
        policy: The policy that was obeyed.
        outcome: How the last stage that ran ended.
        bundle: What retrieval returned; None where it did not run or failed.
        assembled: What assembly returned; None where it did not run.

    Returns:
        The report, its candidates by rank.
    """
    limits, measured = policy.retrieval, assembled.assembly_metrics if assembled else None
    return SearchReport(
        question=run.question,
        collection=run.collection,
        filters=run.filters.given(),
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        index_version=bundle.index_version if bundle else None,
        embedding_model=bundle.embedding_model if bundle else None,
        outcome=outcome,
        gate=GateReading(
            min_top_similarity=limits.min_top_similarity,
            top_similarity=measured.top_similarity if measured else None,
            min_question_coverage=limits.min_question_coverage,
            question_coverage=bundle.question_coverage if bundle else None,
        ),
        candidates=_rows(bundle, assembled) if bundle else (),
        query_variants=bundle.query_variants if bundle else (),
        notices=bundle.notices if bundle else (),
        fallback_used=bundle.fallback_used if bundle else False,
        retrieval_shortfall=bundle.retrieval_shortfall if bundle else 0,
        retrieval_latency_ms=bundle.retrieval_latency_ms if bundle else None,
    )


def _rows(bundle: RetrievalBundle, assembled: AnswerBundle | None) -> tuple[SearchRow, ...]:
    fates = {entry.rank: entry.outcome for entry in assembled.drop_ledger} if assembled else {}
    anchors = {chunk.rank: chunk.anchor for chunk in assembled.selected_evidence} if assembled else {}
    ordered = sorted(bundle.results, key=lambda row: row.rank)
    return tuple(_row(row, fates.get(row.rank), anchors.get(row.rank)) for row in ordered)


def _row(row: RetrievalRow, outcome: RowOutcome | None, anchor: str | None) -> SearchRow:
    return SearchRow(
        outcome=outcome,
        anchor=anchor,
        first_line=sanitize(row.chunk_text).text.partition("\n")[0],
        **row.model_dump(
            include={
                "rank", "similarity_score", "dense_rank", "lexical_rank", "lexical_score", "chunk_id", "knowledge_id",
                "source_reference", "title", "section", "page_number", "origin",
            }
        ),
    )  # fmt: skip

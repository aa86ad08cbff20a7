"""The report on retrieval and selection for one question: every candidate with its outcome, and the gate's verdict.

The report is for people. It is built from what R1 and R2 returned, measures nothing again and decides nothing.
"""

from textwrap import shorten
from typing import Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome
from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.outcome import Outcome
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.coverage import circumstances_of, coverage_minimum
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow
from sourcebound.contracts.text.sanitize import sanitize

EXCERPT_CHARACTERS: Final = 320


class SearchRow(Contract):
    """A candidate, its rank in each list, and its outcome."""

    rank: int
    similarity_score: float
    dense_rank: int | None
    lexical_rank: int | None
    lexical_score: float | None
    rerank_score: float | None = None
    outcome: RowOutcome | None
    """Its entry in the drop ledger; None if the bundle failed before selection."""
    anchor: str | None
    """Its anchor, if it is evidence."""
    chunk_id: str
    knowledge_id: str
    source_reference: str | None
    title: str | None
    section: str | None
    """The sections that the candidate runs through."""
    page_number: int | None
    origin: str | None
    first_line: str
    """The first line of the text as selection saw it."""
    excerpt: str = ""
    """The beginning of that text, on one line."""


class GateReading(Contract):
    """The two minima of the gate and the values measured against them (R1-11); None if there was nothing to measure."""

    min_top_similarity: float
    top_similarity: float | None
    min_question_coverage: float | None
    question_coverage: float | None


class SearchReport(Contract):
    """The way of one question through R1 and R2. No model is called and nothing is recorded."""

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
    run: Run, policy: Policy, outcome: Outcome, bundle: RetrievalBundle | None, answer_bundle: AnswerBundle | None
) -> SearchReport:
    """Build the report.

    Args:
        run: The question, and the collection in which it was asked.
        policy: The policy in force.
        outcome: The outcome of the last stage that ran.
        bundle: The result of retrieval; None if it did not run or failed.
        answer_bundle: The result of assembly; None if it did not run.

    Returns:
        The report, its candidates by rank.
    """
    limits, metrics = policy.retrieval, answer_bundle.assembly_metrics if answer_bundle else None
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
            top_similarity=metrics.top_similarity if metrics else None,
            min_question_coverage=coverage_minimum(limits, circumstances_of(bundle)),
            question_coverage=bundle.question_coverage if bundle else None,
        ),
        candidates=_build_rows(bundle, answer_bundle) if bundle else (),
        query_variants=bundle.query_variants if bundle else (),
        notices=bundle.notices if bundle else (),
        fallback_used=bundle.fallback_used if bundle else False,
        retrieval_shortfall=bundle.retrieval_shortfall if bundle else 0,
        retrieval_latency_ms=bundle.retrieval_latency_ms if bundle else None,
    )


def _build_rows(bundle: RetrievalBundle, answer_bundle: AnswerBundle | None) -> tuple[SearchRow, ...]:
    outcomes = {entry.rank: entry.outcome for entry in answer_bundle.drop_ledger} if answer_bundle else {}
    anchors = {chunk.rank: chunk.anchor for chunk in answer_bundle.selected_evidence} if answer_bundle else {}
    by_rank = sorted(bundle.results, key=lambda row: row.rank)
    return tuple(_build_row(row, outcomes.get(row.rank), anchors.get(row.rank)) for row in by_rank)


def _build_row(row: RetrievalRow, outcome: RowOutcome | None, anchor: str | None) -> SearchRow:
    text = sanitize(row.chunk_text).text
    return SearchRow(
        outcome=outcome,
        anchor=anchor,
        first_line=text.partition("\n")[0],
        excerpt=shorten(text, EXCERPT_CHARACTERS, placeholder=" …"),
        section=name_sections(sections_within(row)),
        **row.model_dump(
            include={
                "rank", "similarity_score", "dense_rank", "lexical_rank", "lexical_score", "rerank_score", "chunk_id",
                "knowledge_id", "source_reference", "title", "page_number", "origin",
            }
        ),
    )  # fmt: skip

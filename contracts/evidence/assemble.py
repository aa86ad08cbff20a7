"""R2: from a retrieval bundle to an answer bundle (§3).

The order is fixed: validation, gate, selection, anchors. A gate or a selection that leaves nothing is a refusal: no
prompt will be built and no model called.
"""

from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import (
    AnswerBundle,
    AssemblyMetrics,
    EvidenceChunk,
    LedgerEntry,
    RowOutcome,
    Trace,
    drop_counts,
    render_block,
)
from sourcebound.contracts.evidence.gate import (
    check_coverage,
    check_measures,
    check_minimum,
    check_similarity,
    represented_rows,
    retrieved_rows,
    top_similarity,
)
from sourcebound.contracts.evidence.intake import CheckedBundle, check_bundle
from sourcebound.contracts.evidence.sections import place_sections
from sourcebound.contracts.evidence.selection import Candidate, Selection, select
from sourcebound.contracts.evidence.withhold import withhold
from sourcebound.contracts.outcome import (
    FailureCode,
    Outcome,
    RefusalCode,
    RefusalSource,
    Status,
    fail,
    fail_with,
    proceed,
    refuse,
)
from sourcebound.contracts.policy.request_limits import with_fallback
from sourcebound.contracts.policy.schema import Policy, SelectionPolicy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.query_variants import needs_fallback
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow, RetrievalStatus
from sourcebound.contracts.text.sanitize import SECOND_MODE, SanitizationMode
from sourcebound.contracts.versions import contract_version

STAGE = "assemble"
COPIED_ROW_FIELDS: Final = (
    "chunk_id", "knowledge_id", "rank", "similarity_score", "source_reference", "title", "section", "page_number",
    "event_date", "equipment_id", "authority", "char_start", "char_end", "origin",
)  # fmt: skip
"""The fields that an evidence chunk copies from its row."""


def assemble(raw_bundle: object, policy: Policy, run: Run) -> AnswerBundle:
    """Validate a retrieval bundle and select its evidence.

    Args:
        raw_bundle: The raw bundle.
        policy: The policy of the run.
        run: The identity of the run.

    Returns:
        The answer bundle; its outcome is OK with evidence, a refusal, or a failure with its violations.
    """
    checked = check_bundle(raw_bundle, policy)
    if checked.bundle is None:
        failed = fail_with(STAGE, checked.violations)
        return AnswerBundle(request_id=run.request_id, user_question=run.question, outcome=failed)
    bundle = checked.bundle
    rows = retrieved_rows(bundle)
    limits, top = _limits(bundle, rows, policy, run), top_similarity(rows)
    before = _before_selection(bundle, limits, top)
    if before.status is not Status.OK:
        untouched = Selection((), {row.rank: RowOutcome.DROP_GATE for row in bundle.results})
        return _bundle(bundle, checked, policy, run, before, untouched, top)
    equipment_id = (bundle.filters_applied or {}).get("equipment_id")
    version = contract_version(run.made_by, "evidence")
    selection = select(bundle.results, _selection_limits(limits), equipment_id, version)
    rows = represented_rows(bundle, selection, limits.selection.overlap_ratio_threshold)
    limits, top = _limits(bundle, rows, policy, run), top_similarity(rows)
    assembled = _bundle(bundle, checked, policy, run, proceed(STAGE), selection, top)
    after = _after_selection(selection.admitted, limits, top)
    return assembled if after.status is Status.OK else withhold(assembled, after)


def _limits(bundle: RetrievalBundle, rows: Sequence[RetrievalRow], policy: Policy, run: Run) -> Policy:
    """Return the policy of a bundle that states a fallback, if its rows confirm it (R1-7)."""
    if bundle.fallback_used and needs_fallback(run.search_query or run.question, rows, policy):
        return with_fallback(policy)
    return policy


def _selection_limits(policy: Policy) -> SelectionPolicy:
    """Return the policy of the selection. With a facts phase, `max_chunks` applies to the facts instead (R3-9).

    A cap for each document that is not smaller has no effect of its own, and is deferred with it.
    """
    limits = policy.selection
    if policy.facts is None:
        return limits
    room = max(policy.retrieval.top_k, limits.max_chunks)
    cap = limits.max_chunks_per_knowledge_id
    widened = {"max_chunks": room, "max_chunks_per_knowledge_id": cap if cap < limits.max_chunks else room}
    return limits.model_copy(update=widened)


def _before_selection(bundle: RetrievalBundle, policy: Policy, top: float | None) -> Outcome:
    """Check the status of retrieval, P-3, and the gate limits that do not depend on the selection (R1-11)."""
    if bundle.retrieval_status is RetrievalStatus.FAILED:
        return fail(STAGE, FailureCode.RETRIEVAL_FAILED, "retrieval failed before it reached this stage")
    if bundle.retrieval_status is RetrievalStatus.NO_EVIDENCE:
        found = "retrieval found nothing for this question"
        return refuse(STAGE, RefusalCode.NO_RELEVANT_CONTENT, RefusalSource.GATE, found)
    judged = check_measures(bundle, policy, STAGE)
    if judged.status is not Status.OK:
        return judged
    similar = check_similarity(top, policy.retrieval, STAGE)
    if similar.status is not Status.OK:
        return similar
    return check_coverage(bundle, policy.retrieval, STAGE)


def _after_selection(admitted: tuple[Candidate, ...], policy: Policy, top: float | None) -> Outcome:
    """Check R2-S9, and the gate again over the selected chunks."""
    if not admitted:
        return refuse(
            STAGE,
            RefusalCode.ALL_EVIDENCE_DROPPED,
            RefusalSource.SELECTION,
            "no retrieved chunk was fit to be evidence",
        )
    similar = check_similarity(top, policy.retrieval, STAGE)
    if similar.status is not Status.OK:
        return similar
    return check_minimum([candidate.row for candidate in admitted], policy.retrieval, STAGE)


def _bundle(
    bundle: RetrievalBundle,
    checked: CheckedBundle,
    policy: Policy,
    run: Run,
    outcome: Outcome,
    selection: Selection,
    top: float | None,
) -> AnswerBundle:
    mode = policy.selection.sanitization_mode
    evidence = tuple(evidence_of(f"C{i}", candidate, mode) for i, candidate in enumerate(selection.admitted))
    control_tokens = sum(candidate.control_tokens for candidate in selection.admitted)
    ledger = tuple(
        LedgerEntry(chunk_id=row.chunk_id, rank=row.rank, outcome=selection.outcomes[row.rank])
        for row in bundle.results
    )
    return AnswerBundle(
        request_id=run.request_id,
        user_question=run.question,
        search_query=run.search_query,
        outcome=outcome,
        selected_evidence=evidence,
        anchor_map={chunk.anchor: chunk.chunk_id for chunk in evidence},
        evidence_block_text=render_block(evidence),
        trace=_trace(bundle, checked.sha256, policy, run),
        assembly_metrics=AssemblyMetrics(
            retrieved_k=len(bundle.results),
            selected_k=len(evidence),
            drop_counts=drop_counts(ledger),
            evidence_tokens=sum(chunk.token_count for chunk in evidence),
            truncation_applied=any(chunk.kept_end is not None for chunk in evidence),
            reordered=checked.reordered,
            rank_gaps=checked.rank_gaps,
            structure_escaped_count=sum(c.escaped_lines for c in selection.admitted),
            control_token_count=control_tokens if mode == SECOND_MODE else None,
            top_similarity=top,
        ),
        drop_ledger=ledger,
    )


def _trace(bundle: RetrievalBundle, digest: str | None, policy: Policy, run: Run) -> Trace:
    return Trace(
        run_id=run.run_id,
        retrieval_run_id=bundle.run_id,
        retrieval_sha256=digest,
        index_version=bundle.index_version,
        embedding_model=bundle.embedding_model,
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        top_k=bundle.top_k,
    )


def evidence_of(anchor: str, candidate: Candidate, mode: SanitizationMode = "safe_normalize_v1") -> EvidenceChunk:
    """Make an evidence chunk of a candidate and its anchor. The mode is that of its sanitized text."""
    row = candidate.row
    return EvidenceChunk(
        anchor=anchor,
        sanitized_text=candidate.text,
        token_count=candidate.tokens,
        kept_end=candidate.kept_end,
        later_sections=place_sections(row.later_sections, row.chunk_text, candidate.text, mode),
        **{name: getattr(row, name) for name in COPIED_ROW_FIELDS},
    )

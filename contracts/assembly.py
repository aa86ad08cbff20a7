"""R2: from a retrieval bundle to an answer bundle (contract §3).

The order is fixed: validation, gate, selection, anchors. A gate or a selection that leaves nothing is a refusal: no
prompt will be built and no model called.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from sourcebound.contracts.evidence import (
    AnswerBundle,
    AssemblyMetrics,
    EvidenceChunk,
    LedgerEntry,
    RowOutcome,
    Trace,
    render_block,
)
from sourcebound.contracts.intake import CheckedBundle, check_bundle
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
from sourcebound.contracts.policy import Policy, RetrievalPolicy
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval import CARRIED, EXPANDED, RetrievalBundle, RetrievalRow, RetrievalStatus
from sourcebound.contracts.selection import Candidate, Selection, select
from sourcebound.contracts.tightening import with_fallback

STAGE = "assemble"


def assemble(raw_bundle: object, policy: Policy, run: Run) -> AnswerBundle:
    """Validates a retrieval bundle and selects its evidence.

    Args:
        raw_bundle: The bundle as it came.
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
    limits = with_fallback(policy) if bundle.fallback_used else policy
    before = _before_selection(bundle, limits)
    if before.status is not Status.OK:
        return _bundle(bundle, checked, policy, run, before, Selection((), _all(bundle, RowOutcome.DROP_GATE)))
    selection = select(bundle.results, limits.selection, (bundle.filters_applied or {}).get("equipment_id"))
    after = _after_selection(selection.admitted, limits)
    if after.status is not Status.OK:
        gated: dict[int, RowOutcome] = {
            rank: RowOutcome.DROP_GATE if outcome is RowOutcome.ADMITTED else outcome
            for rank, outcome in selection.outcomes.items()
        }
        return _bundle(bundle, checked, policy, run, after, Selection((), gated))
    return _bundle(bundle, checked, policy, run, after, selection)


def _before_selection(bundle: RetrievalBundle, policy: Policy) -> Outcome:
    """What retrieval itself said, P-3, and the gate's limits that need no selection (R1-11)."""
    if bundle.retrieval_status is RetrievalStatus.FAILED:
        return fail(STAGE, FailureCode.RETRIEVAL_FAILED, "retrieval failed before it reached this stage")
    if bundle.retrieval_status is RetrievalStatus.NO_EVIDENCE:
        return _gate(RefusalCode.NO_RELEVANT_CONTENT, "retrieval found nothing for this question")
    stated, found = policy.calibration, (bundle.embedding_model, bundle.index_version)
    if stated is not None and (stated.embedding_model, stated.index_version or found[1]) != found:
        index = f" and the index {stated.index_version}" if stated.index_version else ""
        return fail(
            STAGE,
            FailureCode.POLICY_INDEX_MISMATCH,
            f"policy {policy.policy_version} was calibrated for {stated.embedding_model}{index}, and the bundle was "
            f"retrieved with {found[0]} from {found[1]}; name a policy calibrated for it with --policy",
        )
    limits, coverage, similarity = policy.retrieval, bundle.question_coverage, top_similarity(bundle)
    if similarity is not None and similarity < limits.min_top_similarity:
        return _gate(RefusalCode.BELOW_SIMILARITY_GATE, "no source is similar enough to the question")
    if limits.min_question_coverage is not None and coverage is not None and coverage < limits.min_question_coverage:
        return _gate(RefusalCode.BELOW_SIMILARITY_GATE, "no source holds enough of the question's words")
    return proceed(STAGE)


def top_similarity(bundle: RetrievalBundle) -> float | None:
    """The best similarity of the rows that were retrieved and pass the filter; None where none does (R1-11, R2-V6)."""
    equipment_id = (bundle.filters_applied or {}).get("equipment_id")
    found = (row for row in bundle.results if row.origin != CARRIED and equipment_id in (None, row.equipment_id))
    return max((row.similarity_score for row in found), default=None)


def _after_selection(admitted: tuple[Candidate, ...], policy: Policy) -> Outcome:
    """R2-S9 and the gate's minimum of chunks and sources; rows added by expansion do not count (R1-10)."""
    if not admitted:
        return refuse(
            STAGE,
            RefusalCode.ALL_EVIDENCE_DROPPED,
            RefusalSource.SELECTION,
            "no retrieved chunk was fit to be evidence",
        )
    return check_minimum([candidate.row for candidate in admitted], policy.retrieval, STAGE)


def check_minimum(rows: Sequence[RetrievalRow | EvidenceChunk], needed: RetrievalPolicy, stage: str) -> Outcome:
    """The gate's minimum of chunks and sources; rows that were not retrieved do not count (R1-10, R1-11)."""
    own = [row for row in rows if row.origin not in (EXPANDED, CARRIED)]
    sources = len({row.knowledge_id for row in own})
    if len(own) >= needed.min_chunks and sources >= needed.min_sources:
        return proceed(stage)
    return refuse(
        stage,
        RefusalCode.INSUFFICIENT_SOURCES,
        RefusalSource.GATE,
        f"{len(own)} chunks of {sources} sources, and the policy needs {needed.min_chunks} of {needed.min_sources}",
    )


def _gate(code: RefusalCode, message: str) -> Outcome:
    return refuse(STAGE, code, RefusalSource.GATE, message)


def _all(bundle: RetrievalBundle, outcome: RowOutcome) -> dict[int, RowOutcome]:
    return {row.rank: outcome for row in bundle.results}


def _bundle(
    bundle: RetrievalBundle, checked: CheckedBundle, policy: Policy, run: Run, outcome: Outcome, selection: Selection
) -> AnswerBundle:
    evidence = tuple(evidence_of(f"C{i}", candidate) for i, candidate in enumerate(selection.admitted))
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
        ),
        drop_ledger=ledger,
    )


def drop_counts(ledger: Iterable[LedgerEntry]) -> dict[str, int]:
    """Rows per drop code, codes in alphabetical order; admitted rows are not drops."""
    counts = Counter(entry.outcome.value for entry in ledger if entry.outcome is not RowOutcome.ADMITTED)
    return dict(sorted(counts.items()))


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


def evidence_of(anchor: str, candidate: Candidate) -> EvidenceChunk:
    """A candidate under its anchor."""
    return EvidenceChunk(
        anchor=anchor,
        sanitized_text=candidate.text,
        token_count=candidate.tokens,
        kept_end=candidate.kept_end,
        **candidate.row.model_dump(
            include={
                "chunk_id", "knowledge_id", "rank", "similarity_score", "source_reference", "title", "section",
                "page_number", "event_date", "equipment_id", "authority", "char_start", "char_end", "origin",
            }
        ),
    )  # fmt: skip

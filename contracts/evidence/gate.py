"""R1-11: the gate decides whether the retrieved rows are enough to call a model; the model may only refuse further.

The similarity is compared with its minimum twice: before selection, because no selection can repair a weak retrieval,
and after it, because a row that is unfit as evidence supports nothing.
"""

from collections.abc import Sequence

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk, RowOutcome
from sourcebound.contracts.evidence.selection import Selection, candidate_of
from sourcebound.contracts.outcome import (
    FailureCode,
    Outcome,
    RefusalCode,
    RefusalSource,
    Violation,
    fail,
    fail_with,
    proceed,
    refuse,
)
from sourcebound.contracts.policy.schema import Policy, RetrievalPolicy
from sourcebound.contracts.retrieval.coverage import circumstances_of, coverage_minimum
from sourcebound.contracts.retrieval.retrieval_bundle import CARRIED, EXPANDED, RetrievalBundle, RetrievalRow
from sourcebound.contracts.text.trigrams import TrigramSet, is_near_duplicate, trigram_set


def retrieved_rows(bundle: RetrievalBundle) -> tuple[RetrievalRow, ...]:
    """Return the rows that were retrieved for the question and pass the filter (R1-10, R2-V6)."""
    equipment_id = (bundle.filters_applied or {}).get("equipment_id")
    return tuple(row for row in bundle.results if _is_retrieved(row) and equipment_id in (None, row.equipment_id))


def represented_rows(
    bundle: RetrievalBundle, selection: Selection, overlap_threshold: float
) -> tuple[RetrievalRow, ...]:
    """Return the retrieved rows that the evidence represents.

    Args:
        bundle: A checked bundle.
        selection: Its selection.
        overlap_threshold: The overlap from which two texts are near-duplicates (R2-S4).

    Returns:
        The rows of the evidence, and rows dropped for lack of room or as near-duplicates; no row that is unfit as
        evidence.
    """
    repeats = RowOutcome.DROP_DUP in selection.outcomes.values()
    admitted = [trigram_set(candidate.text) for candidate in selection.admitted] if repeats else []
    return tuple(row for row in retrieved_rows(bundle) if _is_represented(row, selection, admitted, overlap_threshold))


def top_similarity(rows: Sequence[RetrievalRow]) -> float | None:
    """Return the best similarity of the rows; None without rows."""
    return max((row.similarity_score for row in rows), default=None)


def check_measures(bundle: RetrievalBundle, policy: Policy, stage: str) -> Outcome:
    """Check that a bundle comes from the calibrated index, and states the coverage that the gate needs (P-3, P-5)."""
    calibration, found = policy.calibration, (bundle.embedding_model, bundle.index_version)
    if calibration is not None and (calibration.embedding_model, calibration.index_version or found[1]) != found:
        index = f" and the index {calibration.index_version}" if calibration.index_version else ""
        return fail(
            stage,
            FailureCode.POLICY_INDEX_MISMATCH,
            f"policy {policy.policy_version} was calibrated for {calibration.embedding_model}{index}, and the bundle "
            f"was retrieved with {found[0]} from {found[1]}; name a policy calibrated for it with --policy",
        )
    if policy.retrieval.min_question_coverage is None or bundle.question_coverage is not None:
        return proceed(stage)
    missing = Violation(
        code=FailureCode.INVALID_SCHEMA,
        clause="P-5",
        message=f"field question_coverage: the gate needs {policy.retrieval.min_question_coverage:g} of it, and the "
        "bundle does not state it; measure it in your retriever, or name a policy and limits without that minimum",
        field="question_coverage",
    )
    return fail_with(stage, (missing,))


def check_similarity(best: float | None, needed: RetrievalPolicy, stage: str) -> Outcome:
    """Check the similarity; without a value, the minimum of chunks decides."""
    if best is None or best >= needed.min_top_similarity:
        return proceed(stage)
    return _refuse(stage, RefusalCode.BELOW_SIMILARITY_GATE, "no source is similar enough to the question")


def check_coverage(bundle: RetrievalBundle, needed: RetrievalPolicy, stage: str) -> Outcome:
    """Check the question coverage, if the policy sets a minimum for this question and collection."""
    minimum = coverage_minimum(needed, circumstances_of(bundle))
    if minimum is None or bundle.question_coverage is None or bundle.question_coverage >= minimum:
        return proceed(stage)
    return _refuse(stage, RefusalCode.BELOW_SIMILARITY_GATE, "no source holds enough of the question's words")


def check_minimum(rows: Sequence[RetrievalRow | EvidenceChunk], needed: RetrievalPolicy, stage: str) -> Outcome:
    """Check the minimum of chunks and sources; rows that were not retrieved do not count (R1-10)."""
    own = [row for row in rows if _is_retrieved(row)]
    sources = len({row.knowledge_id for row in own})
    if len(own) >= needed.min_chunks and sources >= needed.min_sources:
        return proceed(stage)
    return _refuse(
        stage,
        RefusalCode.INSUFFICIENT_SOURCES,
        f"{len(own)} chunks of {sources} sources, and the policy needs {needed.min_chunks} of {needed.min_sources}",
    )


def _is_retrieved(row: RetrievalRow | EvidenceChunk) -> bool:
    return row.origin not in (EXPANDED, CARRIED)


def _is_represented(
    row: RetrievalRow, selection: Selection, admitted: Sequence[TrigramSet], overlap_threshold: float
) -> bool:
    match selection.outcomes[row.rank]:
        case RowOutcome.ADMITTED | RowOutcome.DROP_MAX_CHUNKS | RowOutcome.DROP_BUDGET:
            return True
        case RowOutcome.DROP_PER_KNOWLEDGE_CAP:
            return any(candidate.row.knowledge_id == row.knowledge_id for candidate in selection.admitted)
        case RowOutcome.DROP_DUP:
            dropped = trigram_set(candidate_of(row).text)
            return any(is_near_duplicate(dropped, trigrams, overlap_threshold) for trigrams in admitted)
        case _:
            return False


def _refuse(stage: str, code: RefusalCode, message: str) -> Outcome:
    return refuse(stage, code, RefusalSource.GATE, message)

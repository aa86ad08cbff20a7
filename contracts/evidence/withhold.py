"""Removes evidence after selection and updates the drop ledger (R2-S8, R2-A1)."""

from collections.abc import Mapping

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome, drop_counts, render_block
from sourcebound.contracts.outcome import Outcome


def drop_evidence(bundle: AnswerBundle, dropped: Mapping[int, RowOutcome]) -> AnswerBundle:
    """Remove some of the evidence of a bundle.

    Args:
        bundle: An answer bundle.
        dropped: The drop codes of the removed evidence, by rank.

    Returns:
        The bundle over the remaining evidence, in the same order, with anchors C0, C1, …
    """
    chunks = (chunk for chunk in bundle.selected_evidence if chunk.rank not in dropped)
    remaining = tuple(chunk.model_copy(update={"anchor": f"C{number}"}) for number, chunk in enumerate(chunks))
    ledger = tuple(
        entry.model_copy(update={"outcome": dropped[entry.rank]}) if entry.rank in dropped else entry
        for entry in bundle.drop_ledger
    )
    metrics = bundle.assembly_metrics and bundle.assembly_metrics.model_copy(
        update={
            "selected_k": len(remaining),
            "evidence_tokens": sum(chunk.token_count for chunk in remaining),
            "drop_counts": drop_counts(ledger),
        }
    )
    return bundle.model_copy(
        update={
            "selected_evidence": remaining,
            "anchor_map": {chunk.anchor: chunk.chunk_id for chunk in remaining},
            "evidence_block_text": render_block(remaining),
            "drop_ledger": ledger,
            "assembly_metrics": metrics,
        }
    )


def withhold(bundle: AnswerBundle, refusal: Outcome) -> AnswerBundle:
    """Remove all evidence of a run that the gate or a later stage refuses; nothing will be sent (R1-11).

    Args:
        bundle: An answer bundle.
        refusal: The refusal.

    Returns:
        The bundle with the refusal's outcome, without evidence; admitted rows have `DROP_GATE` in the ledger.
    """
    gated = drop_evidence(bundle, {chunk.rank: RowOutcome.DROP_GATE for chunk in bundle.selected_evidence})
    return gated.model_copy(update={"outcome": refusal, "assembly_status": refusal.status})

"""R3-6: what becomes of evidence, and of a question, that a prompt has no room for."""

from sourcebound.contracts.assembly import drop_counts
from sourcebound.contracts.evidence import AnswerBundle, EvidenceChunk, RowOutcome, render_block
from sourcebound.contracts.outcome import FailureCode, Outcome, fail
from sourcebound.contracts.policy import PromptPolicy
from sourcebound.contracts.tokens import estimate_tokens


def without_last(bundle: AnswerBundle) -> AnswerBundle:
    """The bundle without its lowest-ranked chunk, which the ledger then names as dropped."""
    kept: tuple[EvidenceChunk, ...] = bundle.selected_evidence[:-1]
    dropped = bundle.selected_evidence[-1]
    ledger = tuple(
        entry.model_copy(update={"outcome": RowOutcome.DROP_PROMPT_BUDGET}) if entry.rank == dropped.rank else entry
        for entry in bundle.drop_ledger
    )
    metrics = bundle.assembly_metrics and bundle.assembly_metrics.model_copy(
        update={
            "selected_k": len(kept),
            "evidence_tokens": sum(chunk.token_count for chunk in kept),
            "drop_counts": drop_counts(ledger),
        }
    )
    return bundle.model_copy(
        update={
            "selected_evidence": kept,
            "anchor_map": {chunk.anchor: chunk.chunk_id for chunk in kept},
            "evidence_block_text": render_block(kept),
            "drop_ledger": ledger,
            "assembly_metrics": metrics,
        }
    )


def over_budget(stage: str, limits: PromptPolicy, question: str) -> Outcome:
    """The failure of a question that leaves no room for evidence."""
    available = limits.max_total_prompt_tokens - limits.reserved_output_tokens
    return fail(
        stage,
        FailureCode.PROMPT_BUDGET,
        f"the question ({estimate_tokens(question)} tokens) leaves no room for evidence in a prompt of "
        f"{available} tokens; ask a shorter question",
    )

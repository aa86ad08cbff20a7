"""R3-6: what becomes of evidence, and of a question, that a prompt has no room for."""

from sourcebound.contracts.evidence import AnswerBundle, RowOutcome
from sourcebound.contracts.narrowing import narrow
from sourcebound.contracts.outcome import FailureCode, Outcome, fail
from sourcebound.contracts.policy import PromptPolicy
from sourcebound.contracts.tokens import estimate_tokens


def without_last(bundle: AnswerBundle) -> AnswerBundle:
    """The bundle without its lowest-ranked chunk, which the ledger then names as dropped."""
    return narrow(bundle, {bundle.selected_evidence[-1].rank: RowOutcome.DROP_PROMPT_BUDGET})


def over_budget(stage: str, limits: PromptPolicy, question: str) -> Outcome:
    """The failure of a question that leaves no room for evidence."""
    available = limits.max_total_prompt_tokens - limits.reserved_output_tokens
    return fail(
        stage,
        FailureCode.PROMPT_BUDGET,
        f"the question ({estimate_tokens(question)} tokens) leaves no room for evidence in a prompt of "
        f"{available} tokens; ask a shorter question",
    )

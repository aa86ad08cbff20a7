"""R3-9: the facts phase: facts of the evidence, the relevant ones, and the answer bundle over these.

A dropped fact has a drop code in the ledger like any other row (R2-S8). If no fact remains, the run is refused and no
answer is generated. The prompt and the firewall know nothing of facts: phase C is R3 to R5 over the remaining evidence.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, RowOutcome
from sourcebound.contracts.evidence.gate import check_minimum
from sourcebound.contracts.evidence.withhold import drop_evidence, withhold
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.facts.extraction import Fact, FactKey, filter_facts, read_facts
from sourcebound.contracts.facts.model_choice import facts_prompt, read_choice
from sourcebound.contracts.outcome import Outcome, RefusalCode, RefusalSource, Status, fail_with, proceed, refuse
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, over_budget
from sourcebound.contracts.prompt.sections import render_question
from sourcebound.contracts.retrieval.query_variants import query_variants

STAGE = "select_facts"


class FactsPhase(Contract):
    """The result of phases A and B."""

    outcome: Outcome
    facts: tuple[Fact, ...]
    """The facts of phase A, in the order of the evidence."""
    fates: tuple[RowOutcome, ...] = ()
    """The outcome of each fact in phase B; empty if a model's choice cannot be used."""
    prompt: Prompt | None = None
    generation: Generation | None = None
    """The model call of phase B, if the policy asks for one."""

    @property
    def admitted_facts(self) -> tuple[Fact, ...]:
        """The facts of phase C."""
        pairs = zip(self.facts, self.fates, strict=False)
        return tuple(fact for fact, outcome in pairs if outcome is RowOutcome.ADMITTED)


class ChoiceRequest(NamedTuple):
    """The request for a model's choice."""

    prompt: Prompt
    shown: int
    """The best facts, as far as the prompt has room."""


class FactsSelection(NamedTuple):
    """The phase, and the bundle over the selected facts."""

    phase: FactsPhase
    bundle: AnswerBundle


def select_locally(bundle: AnswerBundle, policy: Policy, min_overlap: float) -> FactsSelection:
    """Select facts by the rules of `filter_facts`.

    Args:
        bundle: An answer bundle that is OK.
        policy: The policy of the run.
        min_overlap: Its `min_question_overlap`.

    Returns:
        The phase; a refusal if no fact remains, or fewer than the gate's minimum (R1-11).
    """
    facts = read_facts(bundle)
    searches = query_variants(bundle.search_query or bundle.user_question, policy.retrieval.expansions or ())
    fates = filter_facts(facts, searches, min_overlap, policy.selection.max_chunks)
    return _select(bundle, policy, FactsPhase(outcome=proceed(STAGE), facts=facts, fates=fates))


def request_choice(bundle: AnswerBundle, policy: Policy) -> ChoiceRequest:
    """Build the prompt by which a model chooses facts, within the budget of R3-6.

    Args:
        bundle: An answer bundle that is OK.
        policy: The policy of the run.

    Returns:
        The prompt over the best facts that fit; empty and FAILED if none fits.
    """
    facts, limits, mode = read_facts(bundle), policy.prompt, policy.selection.sanitization_mode
    for shown in range(len(facts), 0, -1):
        prompt = facts_prompt(facts[:shown], bundle.user_question, bundle.search_query, STAGE, mode)
        if prompt.prompt_tokens + limits.reserved_output_tokens <= limits.max_total_prompt_tokens:
            return ChoiceRequest(prompt, shown)
    question = render_question(bundle.user_question, bundle.search_query, mode)
    return ChoiceRequest(Prompt(outcome=over_budget(STAGE, limits, question)), 0)


def select_by_choice(
    bundle: AnswerBundle, policy: Policy, request: ChoiceRequest, generation: Generation | None
) -> FactsSelection:
    """Select the facts that a model chose.

    Args:
        bundle: An answer bundle that is OK.
        policy: The policy of the run.
        request: The result of `request_choice`.
        generation: The model's reply; None if there was no call.

    Returns:
        The phase; a refusal if no fact was chosen; a failure with unchanged evidence if the model was not called, did
        not answer, or made an invalid choice.
    """
    facts = read_facts(bundle)
    outcome = generation.outcome if generation else request.prompt.outcome
    phase = FactsPhase(outcome=outcome, facts=facts, prompt=request.prompt, generation=generation)
    if generation is None or outcome.status is not Status.OK:
        return FactsSelection(phase, bundle)
    chosen = read_choice(generation.raw_model_text, facts[: request.shown])
    if isinstance(chosen, tuple):
        return FactsSelection(phase.model_copy(update={"outcome": fail_with(STAGE, chosen)}), bundle)
    fates = (*_fates(facts[: request.shown], chosen, policy.selection.max_chunks),)
    unseen = (RowOutcome.DROP_PROMPT_BUDGET,) * (len(facts) - request.shown)
    return _select(bundle, policy, phase.model_copy(update={"fates": fates + unseen}))


def _fates(facts: Sequence[Fact], chosen: Set[FactKey], max_facts: int) -> Iterator[RowOutcome]:
    """Return the outcome of each fact; if too many were chosen, the better ranks stay, as in selection."""
    admitted = 0
    for fact in facts:
        if fact.key not in chosen:
            yield RowOutcome.DROP_FACT_IRRELEVANT
        elif admitted == max_facts:
            yield RowOutcome.DROP_MAX_CHUNKS
        else:
            admitted += 1
            yield RowOutcome.ADMITTED


def _select(bundle: AnswerBundle, policy: Policy, phase: FactsPhase) -> FactsSelection:
    pairs = zip(bundle.selected_evidence, phase.fates, strict=True)
    narrowed = drop_evidence(bundle, {chunk.rank: code for chunk, code in pairs if code is not RowOutcome.ADMITTED})
    if phase.admitted_facts:
        outcome = check_minimum(narrowed.selected_evidence, policy.retrieval, STAGE)
    else:
        source = RefusalSource.MODEL if phase.generation else RefusalSource.SELECTION
        found = f"none of the {len(phase.facts)} facts that were found bears on the question"
        outcome = refuse(STAGE, RefusalCode.NO_RELEVANT_FACTS, source, found)
    left = narrowed if outcome.status is Status.OK else withhold(narrowed, outcome)
    return FactsSelection(phase.model_copy(update={"outcome": outcome}), left)

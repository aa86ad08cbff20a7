"""R3-9: keeps the facts relevant to the question. Only runs under a policy with a `facts` table reach this node."""

from typing import Any

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.facts.model_choice import facts_policy
from sourcebound.contracts.facts.selection import STAGE, request_choice, select_by_choice, select_locally
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.nodes._model_call import generate_or_fail


async def select_facts(state: State, *, models: AnswerModels, answers: AnswerLog) -> dict[str, Any]:
    """Write `facts`, and `assembly` over the selected facts."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    bundle = AnswerBundle.from_json(state["assembly"])
    overlap = policy.facts.min_question_overlap if policy.facts else None
    if overlap is not None:
        selection = select_locally(bundle, policy, overlap)
    else:
        request, rules = request_choice(bundle, policy), facts_policy(policy)
        generation = (
            await generate_or_fail(run, 0, request.prompt, rules, stage=STAGE, models=models, answers=answers)
            if request.shown
            else None
        )
        selection = select_by_choice(bundle, policy, request, generation)
    return {
        "facts": selection.phase.to_json(),
        "assembly": selection.bundle.to_json(),
        "outcome": selection.phase.outcome.to_json(),
    }

"""R3-9: keeps the facts that bear on the question; without a policy's facts table no run comes here."""

from typing import Any

from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.execution import Generation
from sourcebound.contracts.facts_phase import STAGE, request_choice, select_by_choice, select_locally
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.prompt import Prompt
from sourcebound.contracts.relevant_facts import facts_policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.errors import SourceboundError, StoreError, UsageError
from sourcebound.nodes.asking import ask_once


async def select_facts(state: State, *, models: AnswerModels, answers: AnswerLog) -> dict[str, Any]:
    """Writes `facts`, and `assembly` over the facts that were kept."""
    run, policy = Run.model_validate(state["run"]), Policy.model_validate(state["policy"])
    bundle = AnswerBundle.model_validate(state["assembly"])
    overlap = policy.facts.min_question_overlap if policy.facts else None
    if overlap is not None:
        selected = select_locally(bundle, policy, overlap)
    else:
        request = request_choice(bundle, policy)
        said = await _ask(run, policy, request.prompt, models, answers) if request.shown else None
        selected = select_by_choice(bundle, policy, request, said)
    return {
        "facts": selected.phase.model_dump(mode="json"),
        "assembly": selected.bundle.model_dump(mode="json"),
        "outcome": selected.phase.outcome.model_dump(mode="json"),
    }


async def _ask(run: Run, policy: Policy, prompt: Prompt, models: AnswerModels, answers: AnswerLog) -> Generation:
    try:
        return await ask_once(run, 0, prompt, facts_policy(policy), models=models, answers=answers)
    except StoreError:
        raise  # the choice may be lost: the run is cut off here (CP-2)
    except SourceboundError as error:
        code = FailureCode.MODEL_REJECTED if isinstance(error, UsageError) else FailureCode.MODEL_UNAVAILABLE
        return Generation(outcome=fail(STAGE, code, str(error)), prompt_sha256=prompt.prompt_sha256)

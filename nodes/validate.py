"""R5: the firewall. An answer passes byte for byte or not at all.

A rejected answer that the policy lets be asked for anew is put by whole, and leaves the outcome as it was (R5-12).
"""

from typing import Any

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.state import State
from sourcebound.contracts.validation import firewall as validation
from sourcebound.contracts.validation.attempts import may_repeat


async def validate(state: State) -> dict[str, Any]:
    """Writes `validation`, and either `outcome` or one more of `attempts`."""
    generation = Generation.from_json(state["generation"])
    bundle, policy = AnswerBundle.from_json(state["assembly"]), Policy.from_json(state["policy"])
    verdict = validation.validate(generation.raw_model_text, bundle, policy)
    form, earlier = verdict.to_json(), state.get("attempts", [])
    if may_repeat(verdict, policy, len(earlier)):
        attempt = {"prompt": state["prompt"], "generation": state["generation"], "validation": form}
        return {"validation": form, "attempts": [*earlier, attempt]}
    return {"validation": form, "outcome": verdict.outcome.to_json()}

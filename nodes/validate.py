"""R5: the firewall. An answer passes byte for byte or not at all.

If the policy allows another attempt, a rejected answer is stored whole and the outcome stays OK (R5-12).
"""

from typing import Any

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.contracts.validation import firewall as validation
from sourcebound.contracts.validation.attempts import may_repeat
from sourcebound.contracts.versions import contract_version


async def validate(state: State) -> dict[str, Any]:
    """Write `validation`, and either `outcome` or a further entry of `attempts`."""
    generation = Generation.from_json(state["generation"])
    bundle, policy = AnswerBundle.from_json(state["assembly"]), Policy.from_json(state["policy"])
    version = contract_version(Run.from_json(state["run"]).made_by, "validation")
    result = validation.validate(generation.raw_model_text, bundle, policy, version)
    result_json, earlier = result.to_json(), state.get("attempts", [])
    if may_repeat(result, generation, policy, len(earlier), version):
        attempt = {"prompt": state["prompt"], "generation": state["generation"], "validation": result_json}
        return {"validation": result_json, "attempts": [*earlier, attempt]}
    return {"validation": result_json, "outcome": result.outcome.to_json()}

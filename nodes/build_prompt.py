"""R3: builds the prompt's exact bytes, for the first attempt and for any further one (R5-12)."""

from typing import Any

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt import build as prompt
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.attempts import Attempt


async def build_prompt(state: State) -> dict[str, Any]:
    """Writes `prompt`, and `assembly` where the prompt shows less of it; takes back the answer of an attempt before."""
    bundle, policy = AnswerBundle.from_json(state["assembly"]), Policy.from_json(state["policy"])
    earlier = [Attempt.model_validate(attempt) for attempt in state.get("attempts", [])]
    broken = [violation.code for violation in earlier[-1].validation.outcome.violations] if earlier else []
    built = prompt.build_prompt(bundle, policy, broken)
    return {
        "prompt": built.prompt.to_json(),
        **({"assembly": built.bundle.to_json()} if built.bundle != bundle else {}),
        "outcome": built.prompt.outcome.to_json(),
        **({"generation": None, "validation": None} if earlier else {}),
    }

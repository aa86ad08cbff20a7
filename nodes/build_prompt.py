"""R3: builds the exact bytes of the prompt, for the first attempt and every further one (R5-12)."""

from typing import Any

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt import build as prompt
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.attempts import Attempt


async def build_prompt(state: State) -> dict[str, Any]:
    """Write `prompt`, and `assembly` if the prompt holds less evidence; clear the answer of an earlier attempt."""
    bundle, policy = AnswerBundle.from_json(state["assembly"]), Policy.from_json(state["policy"])
    earlier = [Attempt.model_validate(attempt) for attempt in state.get("attempts", [])]
    codes = [violation.code for violation in earlier[-1].validation.outcome.violations] if earlier else []
    build = prompt.build_prompt(bundle, policy, codes)
    return {
        "prompt": build.prompt.to_json(),
        **({"assembly": build.bundle.to_json()} if build.bundle != bundle else {}),
        "outcome": build.prompt.outcome.to_json(),
        **({"generation": None, "validation": None} if earlier else {}),
    }

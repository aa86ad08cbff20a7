"""R3: builds the prompt's exact bytes."""

from typing import Any

from sourcebound.contracts import prompt
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.state import State


async def build_prompt(state: State) -> dict[str, Any]:
    """Writes `prompt`, and `assembly` as the prompt shows it."""
    bundle, policy = AnswerBundle.model_validate(state["assembly"]), Policy.model_validate(state["policy"])
    built = prompt.build_prompt(bundle, policy)
    return {
        "prompt": built.prompt.model_dump(mode="json"),
        "assembly": built.bundle.model_dump(mode="json"),
        "outcome": built.prompt.outcome.model_dump(mode="json"),
    }

"""R5: the firewall. An answer passes byte for byte or not at all."""

from typing import Any

from sourcebound.contracts import validation
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.execution import Generation
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.state import State


async def validate(state: State) -> dict[str, Any]:
    """Writes `validation`."""
    generation = Generation.model_validate(state["generation"])
    bundle, policy = AnswerBundle.model_validate(state["assembly"]), Policy.model_validate(state["policy"])
    verdict = validation.validate(generation.raw_model_text, bundle, policy)
    return {"validation": verdict.model_dump(mode="json"), "outcome": verdict.outcome.model_dump(mode="json")}

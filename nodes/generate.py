"""R4: sends the prompt as it is and records what comes back; nothing is parsed here."""

from collections.abc import Callable
from typing import Any

from sourcebound.contracts.policy import Policy
from sourcebound.contracts.ports import AnswerModel
from sourcebound.contracts.prompt import Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State


async def generate(state: State, *, open_model: Callable[[str], AnswerModel]) -> dict[str, Any]:
    """Writes `generation`."""
    run, policy = Run.model_validate(state["run"]), Policy.model_validate(state["policy"])
    generation = await open_model(run.model).generate(Prompt.model_validate(state["prompt"]), policy)
    return {"generation": generation.model_dump(mode="json"), "outcome": generation.outcome.model_dump(mode="json")}

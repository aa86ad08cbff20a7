"""R4: sends the prompt unchanged and records the reply; nothing is parsed here."""

from typing import Any

from sourcebound.contracts.execution.reply import STAGE
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.nodes._model_call import generate_or_fail


async def generate(state: State, *, models: AnswerModels, answers: AnswerLog) -> dict[str, Any]:
    """Write `generation`. The run fails if the model cannot be opened or is too small."""
    run, policy = Run.from_json(state["run"]), Policy.from_json(state["policy"])
    prompt = Prompt.from_json(state["prompt"])
    attempt = len(state.get("attempts") or ()) + 1
    generation = await generate_or_fail(run, attempt, prompt, policy, stage=STAGE, models=models, answers=answers)
    return {"generation": generation.to_json(), "outcome": generation.outcome.to_json()}

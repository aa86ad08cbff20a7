"""R4: sends the prompt as it is and records what comes back; nothing is parsed here."""

from typing import Any

from sourcebound.contracts.execution import Generation
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.prompt import Prompt
from sourcebound.contracts.reply import STAGE
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import State
from sourcebound.errors import SourceboundError, StoreError, UsageError
from sourcebound.nodes.asking import ask_once


async def generate(state: State, *, models: AnswerModels, answers: AnswerLog) -> dict[str, Any]:
    """Writes `generation`; a model that cannot be opened, or is too small, fails the run."""
    run, policy = Run.model_validate(state["run"]), Policy.model_validate(state["policy"])
    prompt = Prompt.model_validate(state["prompt"])
    attempt = len(state.get("attempts") or ()) + 1
    try:
        generation = await ask_once(run, attempt, prompt, policy, models=models, answers=answers)
    except StoreError:
        raise  # the answer may be lost: the run is cut off here, and nothing depends on it
    except SourceboundError as error:
        code = FailureCode.MODEL_REJECTED if isinstance(error, UsageError) else FailureCode.MODEL_UNAVAILABLE
        generation = Generation(outcome=fail(STAGE, code, str(error)), prompt_sha256=prompt.prompt_sha256)
    return {"generation": generation.model_dump(mode="json"), "outcome": generation.outcome.model_dump(mode="json")}

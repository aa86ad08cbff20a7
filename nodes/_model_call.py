"""CP-2: call the model once, and store its answer before anything depends on it.

If a node runs again, the stored answer is used and the model is not called. If the model cannot be called, the run
fails (S-3). If the database is unavailable, the run is interrupted, because the answer could be lost.
"""

from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.errors import SourceboundError, StoreError, UsageError
from sourcebound.nodes._faults import describe, fail_in_public


async def generate_once(
    run: Run, attempt: int, prompt: Prompt, policy: Policy, *, models: AnswerModels, answers: AnswerLog
) -> Generation:
    """Generate the answer to a prompt, or return the stored one.

    Args:
        run: The run.
        attempt: 1, 2, … (R5-12); 0 for the rewriting of its question (CP-6) and the choice of its facts (R3-9).
        prompt: The prompt to send.
        policy: The policy of the call.
        models: The generators.
        answers: The log of stored answers.

    Raises:
        StoreError: The answer could not be looked up or stored.
        SourceboundError: The model cannot be opened, or its context window is too small for the policy.
    """
    key = GenerationKey(run.run_id, attempt, prompt.prompt_sha256 or "")
    if (stored := await answers.find(key)) is not None:
        return stored
    model = await models.open(run.model)
    models.check(run.model, policy)  # again, because opening the model may reveal its context window
    generation = await model.generate(prompt, policy)
    code = generation.outcome.failure_code
    if generation.fault and code:
        outcome = fail_in_public(run, generation.outcome.stage, code, generation.fault)
        generation = generation.model_copy(update={"outcome": outcome})
    return await answers.keep(key, generation)


async def generate_or_fail(
    run: Run, attempt: int, prompt: Prompt, policy: Policy, *, stage: str, models: AnswerModels, answers: AnswerLog
) -> Generation:
    """Call `generate_once`; return a failed generation if the model cannot be opened or is too small.

    Raises:
        StoreError: The answer could not be looked up or stored.
    """
    try:
        return await generate_once(run, attempt, prompt, policy, models=models, answers=answers)
    except StoreError:
        raise
    except SourceboundError as error:
        outcome = fail_in_public(run, stage, model_fault(error), describe(error))
        return Generation(outcome=outcome, prompt_sha256=prompt.prompt_sha256)


def model_fault(error: SourceboundError) -> FailureCode:
    """Return the failure code of an error before the call: bad usage, or an unavailable model."""
    return FailureCode.MODEL_REJECTED if isinstance(error, UsageError) else FailureCode.MODEL_UNAVAILABLE

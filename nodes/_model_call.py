"""CP-2: a model is asked once; its answer is kept before anything depends on it.

Where a node is run again, the answer that was kept is the answer, and the model is not asked. A model that cannot be
asked fails the run (S-3); a store that is away cuts it off, for the answer may be lost.
"""

from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerLog, AnswerModels
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.request import Run
from sourcebound.errors import SourceboundError, StoreError, UsageError


async def generate_once(
    run: Run, attempt: int, prompt: Prompt, policy: Policy, *, models: AnswerModels, answers: AnswerLog
) -> Generation:
    """What the model of a run says to a prompt; what it said, where it has been asked already.

    Args:
        run: The run.
        attempt: 1, 2, … (R5-12); 0 for the rewriting of its question (CP-6) and the choice of its facts (R3-9).
        prompt: What is sent.
        policy: What the call obeys.
        models: The generators.
        answers: Where the answers are kept.

    Raises:
        StoreError: The answer could not be looked up or kept.
        SourceboundError: The model cannot be opened, or is too small for the policy.
    """
    asked = GenerationKey(run.run_id, attempt, prompt.prompt_sha256 or "")
    if (kept := await answers.find(asked)) is not None:
        return kept
    model = await models.open(run.model)
    models.check(run.model, policy)  # again: what its server says of its window is known only now
    return await answers.keep(asked, await model.generate(prompt, policy))


async def generate_or_fail(
    run: Run, attempt: int, prompt: Prompt, policy: Policy, *, stage: str, models: AnswerModels, answers: AnswerLog
) -> Generation:
    """What `ask_once` says; a failed generation of that stage where the model cannot be opened, or is too small.

    Raises:
        StoreError: The answer could not be looked up or kept.
    """
    try:
        return await generate_once(run, attempt, prompt, policy, models=models, answers=answers)
    except StoreError:
        raise
    except SourceboundError as error:
        return Generation(outcome=fail(stage, model_fault(error), str(error)), prompt_sha256=prompt.prompt_sha256)


def model_fault(error: SourceboundError) -> FailureCode:
    """The code of a fault before a model was asked: it may not be asked so, or it is not there."""
    return FailureCode.MODEL_REJECTED if isinstance(error, UsageError) else FailureCode.MODEL_UNAVAILABLE

"""Attempts: the policy may allow a rejected answer to be generated again (contract R5-12, S-1).

This is the only loop of a run. Each attempt starts from OK evidence, and each rejected answer is kept whole. A rejected
attempt that is followed by another never reaches the `outcome` channel, so a run that is FAILED stays FAILED.
"""

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.execution.model_profile import Wire
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.prompt.sections import REPAIR_TEMPLATE, repair_sentences
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.contracts.validation.versions import SECOND, VERSION


class Attempt(Contract):
    """A finished attempt that was rejected and followed by another."""

    prompt: Prompt
    generation: Generation
    validation: ValidationResult


def may_repeat(
    validation: ValidationResult, generation: Generation, policy: Policy, finished: int, version: int = VERSION
) -> bool:
    """Return whether a rejected answer may be generated again.

    Args:
        validation: The verdict on the current attempt.
        generation: The current attempt. The built-in generator reads no instructions and would repeat itself.
        policy: The policy of the run.
        finished: The number of attempts before the current one.
        version: The number of the validation contract. The first version asked the built-in generator again.

    Returns:
        True if the policy has an attempt left and its repair section has a sentence for the broken rule.
    """
    if version >= SECOND and generation.call and generation.call.wire is Wire.BUILT_IN:
        return False
    repairable = repair_sentences(policy.prompt.repair_template or REPAIR_TEMPLATE)
    return validation.outcome.failure_code in repairable and finished + 1 < policy.validation.max_attempts

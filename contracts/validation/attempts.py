"""Attempts: the policy may allow a rejected answer to be generated again (contract R5-12, S-1).

This is the only loop of a run. Each attempt starts from OK evidence, and each rejected answer is kept whole. A rejected
attempt that is followed by another never reaches the `outcome` channel, so a run that is FAILED stays FAILED.
"""

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.prompt.sections import REPAIR_TEMPLATE, repair_sentences
from sourcebound.contracts.validation.result import ValidationResult


class Attempt(Contract):
    """A finished attempt that was rejected and followed by another."""

    prompt: Prompt
    generation: Generation
    validation: ValidationResult


def may_repeat(validation: ValidationResult, policy: Policy, finished: int) -> bool:
    """Return whether a rejected answer may be generated again.

    Args:
        validation: The verdict on the current attempt.
        policy: The policy of the run.
        finished: The number of attempts before the current one.

    Returns:
        True if the policy has an attempt left and its repair section has a sentence for the broken rule.
    """
    repairable = repair_sentences(policy.prompt.repair_template or REPAIR_TEMPLATE)
    return validation.outcome.failure_code in repairable and finished + 1 < policy.validation.max_attempts

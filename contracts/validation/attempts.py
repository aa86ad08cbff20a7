"""Attempts: a rejected answer is kept whole and asked for anew, where the policy allows it (contract R5-12, S-1).

The one loop of a run. It starts from OK evidence each time, and a rejected attempt that is followed by another never
reaches the `outcome` channel: a run that was FAILED stays FAILED.
"""

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.prompt.sections import REPEATABLE
from sourcebound.contracts.validation.result import ValidationResult


class Attempt(Contract):
    """A finished attempt that was rejected and followed by another."""

    prompt: Prompt
    generation: Generation
    validation: ValidationResult


def may_repeat(validation: ValidationResult, policy: Policy, finished: int) -> bool:
    """Whether an answer is to be asked for anew.

    Args:
        validation: The verdict on the present attempt.
        policy: The policy of the run.
        finished: Attempts before the present one.

    Returns:
        True where a rule of R5-3 … R5-10 was broken and the policy has an attempt left.
    """
    return validation.outcome.failure_code in REPEATABLE and finished + 1 < policy.validation.max_attempts

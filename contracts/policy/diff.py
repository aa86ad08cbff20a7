"""What one policy has otherwise than another, value by value, and which way that goes (contract P-1, P-4).

A value that a request may tighten (`tightening.LIMITS`) has a direction; for any other, what is tighter is not defined,
and nothing is said. Name and description are labels: they are no values that a run obeys.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.request_limits import HIGHER_IS_TIGHTER, LOWER_IS_TIGHTER
from sourcebound.contracts.policy.schema import Policy

LABELS: Final = ("policy_version", "description")


class Effect(StrEnum):
    """Which way a change goes."""

    TIGHTENS = "tightens"
    LOOSENS = "loosens"
    UNDEFINED = "undefined"


class PolicyChange(Contract):
    """A value that differs; None where a policy does not have it."""

    field: str
    """Its table and its name: `retrieval.top_k`."""
    old: Any
    new: Any
    effect: Effect


def compare_policies(old: Policy, new: Policy) -> tuple[PolicyChange, ...]:
    """Every value in which two policies differ, labels left out; those that only the new one has come last.

    Args:
        old: The one that is changed from.
        new: The one that is changed to.
    """
    before, after = dict(_values(old)), dict(_values(new))
    names = [name for name in {**before, **after} if name not in LABELS and before.get(name) != after.get(name)]
    return tuple(
        PolicyChange(field=name, old=before.get(name), new=after.get(name), effect=_effect(name, before, after))
        for name in names
    )


def _values(policy: Policy) -> Iterator[tuple[str, Any]]:
    for name, value in policy.model_dump(mode="json", exclude_none=True).items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", item) for key, item in value.items())
        else:
            yield name, value


def _effect(field: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Effect:
    """A minimum that is not there is lower than any; only minima can be absent."""
    table, _, name = field.partition(".")
    if HIGHER_IS_TIGHTER.get(name) == table:
        tighter = after.get(field, -1) > before.get(field, -1)
    elif LOWER_IS_TIGHTER.get(name) == table:
        tighter = after[field] < before[field]
    else:
        return Effect.UNDEFINED
    return Effect.TIGHTENS if tighter else Effect.LOOSENS

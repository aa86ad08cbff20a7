"""The differences between two policies, value by value, with their direction (P-1, P-4).

A value that a request may tighten (`request_limits.REQUEST_LIMITS`) has a direction; any other value has none. Name and
description are labels that a run does not obey.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.policy.request_limits import HIGHER_IS_TIGHTER, LOWER_IS_TIGHTER
from sourcebound.contracts.policy.schema import Policy

LABELS: Final = ("policy_version", "description")


class Effect(StrEnum):
    """The direction of a change."""

    TIGHTENS = "tightens"
    LOOSENS = "loosens"
    UNDEFINED = "undefined"


class PolicyChange(Contract):
    """A value that differs; None if a policy does not have it."""

    field: str
    """Table and name of the value: `retrieval.top_k`."""
    old: Any
    new: Any
    effect: Effect


def compare_policies(old: Policy, new: Policy) -> tuple[PolicyChange, ...]:
    """Return every value in which two policies differ, without labels. Values that only the new policy has come last.

    Args:
        old: The policy before the change.
        new: The policy after the change.
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
    """Return the direction; an absent minimum is lower than any, and only minima can be absent."""
    table, _, name = field.partition(".")
    if HIGHER_IS_TIGHTER.get(name) == table:
        tighter = after.get(field, -1) > before.get(field, -1)
    elif LOWER_IS_TIGHTER.get(name) == table:
        tighter = after[field] < before[field]
    else:
        return Effect.UNDEFINED
    return Effect.TIGHTENS if tighter else Effect.LOOSENS

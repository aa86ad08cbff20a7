"""The comparison of the release that ships with the rules of a recorded run (contract P-1, P-2, CP-3).

A replay computes with the recorded policy. This module checks separately whether that policy is still the released one
of its name, and whether its template and its segmenter are those that ship. Rules that changed without a new name
cannot support an answer.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sourcebound.contracts.policy.releases import (
    SHIPPED,
    load_shipped_policy,
    read_lock,
    template_digest,
    template_names,
)
from sourcebound.contracts.policy.request_limits import apply_request_limits
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.replay.report import ABSENT, Difference, find_difference
from sourcebound.contracts.text.segments import SEGMENTER


class ShippedRelease(NamedTuple):
    """The released parts of this version."""

    policies: Mapping[str, Policy]
    templates: Mapping[str, str]
    """The digests of the template files that ship."""
    locked_templates: Mapping[str, str]
    """The digests of the templates at their release."""
    segmenter: str


class Comparison(NamedTuple):
    """The names of the compared rules, and the differences."""

    note: str
    differences: tuple[Difference, ...]


def load_shipped_release() -> ShippedRelease:
    """Read every released file. One result serves any number of runs."""
    return ShippedRelease(
        policies={name: load_shipped_policy(name) for name in SHIPPED},
        templates={name: template_digest(name) for name in template_names()},
        locked_templates=read_lock()["templates"],
        segmenter=SEGMENTER,
    )


def compare_release(
    policy: Policy, limits: Mapping[str, object], extra_templates: Iterable[str], shipped: ShippedRelease
) -> Comparison:
    """Compare the rules of a run with those that ship.

    Args:
        policy: The recorded policy.
        limits: The limits by which its request tightened it (P-4).
        extra_templates: The templates besides the policy's own: of a repair attempt, of a follow-up (R5-12, CP-6).
        shipped: The rules that ship.

    Returns:
        One difference for each changed file, with the path of the file. A policy that does not ship, released by a
        deployment or not, is identified only by its own digest, and the note says so.
    """
    name, released = policy.policy_version, shipped.policies.get(policy.policy_version)
    candidates = [
        _compare_policy_file(policy, released, limits) if released is not None else None,
        _compare_template_file(policy.prompt.template, policy.prompt.template_sha256, shipped),
        *(
            _compare_template_file(template, shipped.locked_templates.get(template), shipped)
            for template in extra_templates
        ),
        find_difference("segmenter", policy.validation.segmenter, shipped.segmenter),
    ]
    origin = f"policy {name}" if released is not None else f"policy {name}, which is none that ships"
    return Comparison(
        f"{origin}; template {policy.prompt.template}; {policy.validation.segmenter}",
        tuple(difference for difference in candidates if difference is not None),
    )


def _compare_policy_file(policy: Policy, released: Policy, limits: Mapping[str, object]) -> Difference | None:
    """Return the first value in which the released policy, with the request's limits, differs from the recorded one."""
    current = apply_request_limits(released, limits).policy
    difference = find_difference("", policy.model_dump(mode="json"), current.model_dump(mode="json"))
    if difference is None:
        return None
    path = f"contracts/policy/released/{policy.policy_version}.toml: {difference.path}"
    return difference.model_copy(update={"path": path})


def _compare_template_file(name: str, recorded: str | None, shipped: ShippedRelease) -> Difference | None:
    return find_difference(
        f"contracts/prompt/templates/{name}.txt: sha256", recorded or ABSENT, shipped.templates.get(name, ABSENT)
    )

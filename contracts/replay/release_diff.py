"""What this version ships, beside what a run was recorded with (contract P-1, P-2, CP-3).

A replay computes with the recorded policy. Whether that policy is still the released one of its name, and whether its
template and its segmenter are the ones that ship, is a question of its own: an answer cannot be vouched for by rules
that have changed under their name.
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
    """Digests of the template files as they are."""
    locked_templates: Mapping[str, str]
    """Digests of the templates as they were released."""
    segmenter: str


class Comparison(NamedTuple):
    """What was compared, in words, and the differences."""

    note: str
    differences: tuple[Difference, ...]


def read_shipped() -> ShippedRelease:
    """Reads every released file; once for any number of runs."""
    return ShippedRelease(
        policies={name: load_shipped_policy(name) for name in SHIPPED},
        templates={name: template_digest(name) for name in template_names()},
        locked_templates=read_lock()["templates"],
        segmenter=SEGMENTER,
    )


def compare_release(
    policy: Policy, limits: Mapping[str, object], further: Iterable[str], shipped: ShippedRelease
) -> Comparison:
    """Compares the rules of a run with those that ship.

    Args:
        policy: The recorded policy.
        limits: The limits by which its request tightened it (P-4).
        further: The templates beside the policy's own: of a further attempt, of a follow-up (R5-12, CP-6).
        shipped: What ships.

    Returns:
        One difference a changed file, whose path is the file's. A policy that does not ship, whether a deployment has
        released it or not, is known by its own digest alone, and the note says so.
    """
    name, released = policy.policy_version, shipped.policies.get(policy.policy_version)
    found = [
        _policy_file(policy, released, limits) if released is not None else None,
        _template_file(policy.prompt.template, policy.prompt.template_sha256, shipped),
        *(_template_file(template, shipped.locked_templates.get(template), shipped) for template in further),
        find_difference("segmenter", policy.validation.segmenter, shipped.segmenter),
    ]
    origin = f"policy {name}" if released is not None else f"policy {name}, which is none that ships"
    return Comparison(
        f"{origin}; template {policy.prompt.template}; {policy.validation.segmenter}",
        tuple(difference for difference in found if difference is not None),
    )


def _policy_file(policy: Policy, released: Policy, limits: Mapping[str, object]) -> Difference | None:
    """The first value in which the released policy, with the request's limits, differs from the recorded one."""
    now = apply_request_limits(released, limits).policy
    difference = find_difference("", policy.model_dump(mode="json"), now.model_dump(mode="json"))
    if difference is None:
        return None
    path = f"contracts/policy/released/{policy.policy_version}.toml: {difference.path}"
    return difference.model_copy(update={"path": path})


def _template_file(name: str, recorded: str | None, shipped: ShippedRelease) -> Difference | None:
    return find_difference(
        f"contracts/prompt/templates/{name}.txt: sha256", recorded or ABSENT, shipped.templates.get(name, ABSENT)
    )

"""The lock of a deployment's own policies: the name and the digest of each that it has released (contract P-1).

A policy file that no lock names is a draft: it may still change under its name, and a run under it says so. A released
name stands for one digest for ever; a file that bears it with another is refused. What ships is released by its own
lock, which counts for every file.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import Run

LOCK_FILE: Final = "policies.lock"
DRAFT_NOTICE: Final = "the policy {} is a draft: it is not released, and may change under this name"
HEADING: Final = (
    "# Digests of the policies released here, by `sourcebound policy release`: a changed one needs a new name."
)
Digests = Mapping[str, str]


class _LockFile(BaseModel):
    """A whole lock file; one without its table is no empty lock but none at all."""

    model_config = ConfigDict(extra="forbid", strict=True)

    policies: dict[str, str]


class ReleaseStatus(StrEnum):
    """How a policy stands to the locks."""

    SHIPPED = "shipped"
    """It is one that ships, value for value."""
    RELEASED = "released"
    """A lock of the deployment has its digest."""
    DRAFT = "draft"
    """No lock has its name."""
    CHANGED = "changed"
    """A lock has its name with another digest: it is never accepted."""


def parse_lock(text: str) -> dict[str, str]:
    """The digests of a lock file by policy version.

    Raises:
        ValueError: It is not TOML, or not one table `policies` of texts.
    """
    return _LockFile.model_validate(tomllib.loads(text)).policies


def render_lock(digests: Digests) -> str:
    """The text of a lock file, which `parse_lock` reads back."""
    lines = [f"{name} = {toml_value(digest)}" for name, digest in digests.items()]
    return "\n".join([HEADING, "", "[policies]", *lines]) + "\n"


def release_status_of(policy: Policy, shipped: Digests, locks: Iterable[Digests]) -> ReleaseStatus:
    """How a policy stands.

    Args:
        policy: The policy, before any limit of a request.
        shipped: The digests of what ships.
        locks: The locks of the deployment that count for it.
    """
    name, digest = policy.policy_version, policy.sha256
    known = {lock[name] for lock in (shipped, *locks) if name in lock}
    if known - {digest}:
        return ReleaseStatus.CHANGED
    if not known:
        return ReleaseStatus.DRAFT
    return ReleaseStatus.SHIPPED if name in shipped else ReleaseStatus.RELEASED


class FoundPolicy(NamedTuple):
    """A policy, how it stands, and where it was found."""

    policy: Policy
    standing: ReleaseStatus
    path: Path | None = None
    """Its file; none where it is found by the name of one that ships."""


def draft_notices(run: Run) -> tuple[str, ...]:
    """What the reader of an answer is told where its policy is a draft."""
    return (DRAFT_NOTICE.format(run.policy_version),) if run.is_draft else ()


def toml_assignments(table: Mapping[str, Any]) -> list[str]:
    """The `name = value` lines of a TOML table."""
    return [f"{name} = {toml_value(value)}" for name, value in table.items()]


def toml_value(value: object) -> str:
    """A value in TOML; its basic strings escape as JSON's do, and the delete character besides."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(toml_assignments(value)) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

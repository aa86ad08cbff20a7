"""The lock of a deployment's own policies: the name and digest of each released one (P-1).

A policy file that no lock names is a draft: it may change under its name, and a run under it says so. A released name
keeps one digest for ever. A file with that name and another digest is refused. The shipped policies have their own
lock, which applies to every file.
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
    """A lock file. Without its table it is invalid, not empty."""

    model_config = ConfigDict(extra="forbid", strict=True)

    policies: dict[str, str]


class ReleaseStatus(StrEnum):
    """The release status of a policy."""

    SHIPPED = "shipped"
    """The policy is a shipped one, value for value."""
    RELEASED = "released"
    """A lock of the deployment holds its digest."""
    DRAFT = "draft"
    """No lock holds its name."""
    CHANGED = "changed"
    """A lock holds its name with another digest. Such a file is never accepted."""


def parse_lock(text: str) -> dict[str, str]:
    """Return the digests of a lock file by policy version.

    Raises:
        ValueError: The file is not TOML, or not one table `policies` of texts.
    """
    return _LockFile.model_validate(tomllib.loads(text)).policies


def render_lock(digests: Digests) -> str:
    """Render a lock file, which `parse_lock` reads back."""
    lines = [f"{name} = {toml_value(digest)}" for name, digest in digests.items()]
    return "\n".join([HEADING, "", "[policies]", *lines]) + "\n"


def release_status_of(policy: Policy, shipped: Digests, locks: Iterable[Digests]) -> ReleaseStatus:
    """Return the release status of a policy.

    Args:
        policy: The policy, without limits of a request.
        shipped: The digests of the shipped policies.
        locks: The locks of the deployment that apply to it.
    """
    name, digest = policy.policy_version, policy.sha256
    locked_digests = {lock[name] for lock in (shipped, *locks) if name in lock}
    if locked_digests - {digest}:
        return ReleaseStatus.CHANGED
    if not locked_digests:
        return ReleaseStatus.DRAFT
    return ReleaseStatus.SHIPPED if name in shipped else ReleaseStatus.RELEASED


class FoundPolicy(NamedTuple):
    """A policy with its release status and its file."""

    policy: Policy
    release_status: ReleaseStatus
    path: Path | None = None
    """The file; None for a shipped policy."""


def draft_notices(run: Run) -> tuple[str, ...]:
    """Return the notice for an answer under a draft policy."""
    return (DRAFT_NOTICE.format(run.policy_version),) if run.is_draft else ()


def toml_assignments(table: Mapping[str, Any]) -> list[str]:
    """Return the `name = value` lines of a TOML table."""
    return [f"{name} = {toml_value(value)}" for name, value in table.items()]


def toml_value(value: object) -> str:
    """Return a value in TOML, whose basic strings are escaped as in JSON, with the delete character in addition."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(toml_assignments(value)) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

"""The shipped policies and templates, and the lock that shows any change (P-1, R3-1)."""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from sourcebound.contracts.policy.schema import Policy, parse_policy

SHIPPED: Final = (
    "SOURCEBOUND_V1",
    "SOURCEBOUND_LEXICAL_V1",
    "SOURCEBOUND_SENTENCES_V1",
    "R2_POLICY_V1",
    "SOURCE_BOUNDED_V1",
    "GROUNDED_RAG_V1",
    "QA_CONTRACT_V1",
    "SOURCEBOUND_V2",
    "SOURCEBOUND_LEXICAL_V2",
    "SOURCEBOUND_SENTENCES_V2",
)


@cache
def load_shipped_policy(name: str) -> Policy:
    """Load one of the policies in `SHIPPED`.

    Raises:
        KeyError: The policy is not a shipped one.
    """
    if name not in SHIPPED:
        raise KeyError(name)
    return parse_policy((files(__package__) / "released" / f"{name}.toml").read_text("utf-8"))


@cache
def read_lock() -> Mapping[str, Mapping[str, str]]:
    """Return the digests of the released policies and templates, from `policies.lock`."""
    text = (files(__package__) / "released" / "policies.lock").read_text("utf-8")
    return {kind: {name: str(digest) for name, digest in table.items()} for kind, table in tomllib.loads(text).items()}


def check_lock() -> list[str]:
    """Compare every released policy and template with the lock (P-1, R3-1).

    Returns:
        A sentence for each policy or template that was changed, added or lost since its release.
    """
    lock = read_lock()
    policies = {name: load_shipped_policy(name) for name in SHIPPED}
    digests = {name: policy.sha256 for name, policy in policies.items()}
    templates = {name: template_digest(name) for name in template_names()}
    findings = [
        *_differences("policy", digests, lock["policies"]),
        *_differences("template", templates, lock["templates"]),
    ]
    for name, policy in policies.items():
        if policy.prompt.template_sha256 != templates.get(policy.prompt.template):
            findings.append(f"policy {name} names another digest of template {policy.prompt.template}")
    return findings


def _differences(kind: str, actual: Mapping[str, str], locked: Mapping[str, str]) -> list[str]:
    return [
        f"{kind} {name} differs from its release; a change needs a new version name"
        for name in sorted({*actual, *locked})
        if actual.get(name) != locked.get(name)
    ]


def template_names() -> list[str]:
    """Return every released template, whether or not a shipped policy names it."""
    entries = (files("sourcebound.contracts.prompt") / "templates").iterdir()
    return sorted(entry.name.removesuffix(".txt") for entry in entries if entry.name.endswith(".txt"))


@cache
def read_template(name: str) -> str:
    """Return the text of a released template.

    Raises:
        KeyError: The template does not exist.
    """
    if name not in template_names():
        raise KeyError(name)
    return (files("sourcebound.contracts.prompt") / "templates" / f"{name}.txt").read_text("utf-8")


def template_digest(name: str) -> str:
    """Return the SHA-256 of a template file's bytes."""
    return hashlib.sha256(read_template(name).encode()).hexdigest()

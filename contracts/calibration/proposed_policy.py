"""A policy file of one's own: a policy with gates that were calibrated on another index (contract P-1, P-3)."""

from collections.abc import Sequence

from sourcebound.contracts.calibration.gate_minima import Point
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.policy.lock import toml_assignments
from sourcebound.contracts.policy.schema import Policy

LEXICAL = "lexical"


def propose_policy(base: Policy, name: str, chosen: Point, collection: Collection, *, pinned: bool) -> Policy:
    """The base policy under a new name, with the chosen minima and the index that they were chosen for.

    Args:
        base: The policy whose other values are kept.
        name: The new `policy_version`.
        chosen: The minima. Without vectors the two are one, so the higher is both.
        collection: What they were calibrated on.
        pinned: Whether the policy names the index fingerprint too: it then serves no other state of the documents.

    Raises:
        pydantic.ValidationError: The name is not of the form `NAME_V1`.
    """
    similarity, coverage = chosen.min_similarity, chosen.min_coverage
    if collection.metric == LEXICAL:
        similarity = coverage = max(similarity, coverage)
    values = base.model_dump(mode="json", exclude_none=True)
    calibration = {"embedding_model": collection.embedding_model, "metric": collection.metric}
    if pinned:
        calibration["index_version"] = collection.index_version
    minima = {"min_top_similarity": similarity, "min_question_coverage": coverage}
    return Policy.model_validate(
        {
            **values,
            "policy_version": name,
            "description": f"{base.policy_version} with gates calibrated on the collection {collection.name}.",
            "retrieval": {**values["retrieval"], **minima},
            "calibration": calibration,
        }
    )


def render_policy(policy: Policy, remarks: Sequence[str] = ()) -> str:
    """A policy as the text of its file, which `parse_policy` reads back to the same policy.

    Args:
        policy: The policy.
        remarks: Lines of comment above it.
    """
    values = policy.model_dump(mode="json", exclude_none=True)
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines = [f"# {' '.join(remark.split())}" for remark in remarks]
    lines += toml_assignments(plain)
    for name, table in tables.items():
        lines += ["", f"[{name}]", *toml_assignments(table)]
    return "\n".join(lines) + "\n"

"""A proposed policy: an existing policy with gates calibrated on another index (contract P-1, P-3)."""

from collections.abc import Sequence

from sourcebound.contracts.calibration.gate_minima import Point
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.policy.lock import toml_assignments
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.coverage import DIGITS, LONG_QUESTION, SMALLEST, Circumstances, coverage_allowance

LEXICAL = "lexical"


def propose_policy(base: Policy, name: str, point: Point, collection: Collection, *, pinned: bool) -> Policy:
    """Copy the base policy under a new name, with the chosen minima and the index that they were chosen for.

    Args:
        base: The policy that supplies all other values.
        name: The new `policy_version`.
        point: The chosen minima. Without vectors the two measures are one: the coverage becomes the higher value, and
            the similarity the least that a long question needs.
        collection: The collection that the minima were calibrated on.
        pinned: Whether the policy also names the index fingerprint. It then stops applying when the documents change.

    Raises:
        pydantic.ValidationError: The name is not of the form `NAME_V1`.
    """
    similarity, coverage = point.min_similarity, point.min_coverage
    if collection.metric == LEXICAL:
        coverage = max(similarity, coverage)
        similarity = max(
            0.0, round(coverage - coverage_allowance(base.retrieval, Circumstances(LONG_QUESTION, SMALLEST)), DIGITS)
        )
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
    """Write a policy as the text of its file. `parse_policy` reads it back to the same policy.

    Args:
        policy: The policy.
        remarks: Comment lines at the top of the file.
    """
    values = policy.model_dump(mode="json", exclude_none=True)
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines = [f"# {' '.join(remark.split())}" for remark in remarks]
    lines += toml_assignments(plain)
    for name, table in tables.items():
        lines += ["", f"[{name}]", *toml_assignments(table)]
    return "\n".join(lines) + "\n"

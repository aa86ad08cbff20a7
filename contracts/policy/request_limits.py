"""The limits of a request: they may tighten its policy and never loosen it (P-4).

Only the policy's own fallback loosens a run (R1-7).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from sourcebound.contracts.outcome import FailureCode, Violation, quote_value
from sourcebound.contracts.policy.schema import Policy

HIGHER_IS_TIGHTER: Final = {
    "min_top_similarity": "retrieval",
    "min_question_coverage": "retrieval",
    "min_chunks": "retrieval",
    "min_sources": "retrieval",
    "min_similarity": "selection",
}
LOWER_IS_TIGHTER: Final = {
    "top_k": "retrieval",
    "max_chunks": "selection",
    "max_chunks_per_knowledge_id": "selection",
    "max_evidence_tokens": "selection",
}
SHARES: Final = ("min_top_similarity", "min_question_coverage", "min_similarity")
"""Limits that are numbers from 0 to 1; every other limit is a count."""
RAISES_FALLBACK: Final = ("min_top_similarity", "min_similarity")
"""Limits that raise a lower fallback with them, because it would undo them."""
MALFORMED: Final = "R1-1"
"""The clause of a malformed limit."""
REQUEST_LIMITS: Final = (*HIGHER_IS_TIGHTER, *LOWER_IS_TIGHTER)
"""The values that a request may tighten, in addition to narrower filters."""


class LimitedPolicy(NamedTuple):
    """The policy of the run, or the violations of the request."""

    policy: Policy
    violations: tuple[Violation, ...] = ()

    @property
    def is_malformed(self) -> bool:
        """Whether a limit is invalid under any policy (R1-1), not only looser (P-4)."""
        return any(violation.clause == MALFORMED for violation in self.violations)


def apply_request_limits(policy: Policy, limits: Mapping[str, object]) -> LimitedPolicy:
    """Apply the limits of a request to a policy.

    Args:
        policy: The policy of the run.
        limits: Values by name, a subset of `REQUEST_LIMITS`.

    Returns:
        The tightened policy with a digest of its own; or the unchanged policy with a violation for each limit that is
        unknown, of the wrong type, or looser.
    """
    if not limits or not isinstance(limits, Mapping):  # admission reports another type
        return LimitedPolicy(policy)
    values = policy.model_dump(mode="json", exclude_none=True)
    violations = [
        problem for name, value in limits.items() if (problem := _apply_limit(values, name, value)) is not None
    ]
    return LimitedPolicy(policy, tuple(violations)) if violations else LimitedPolicy(Policy.model_validate(values))


def _apply_limit(values: dict[str, dict[str, object]], name: str, value: object) -> Violation | None:
    """Set one limit in `values`; return a violation if it is unknown, looser or invalid."""
    section = HIGHER_IS_TIGHTER.get(name) or LOWER_IS_TIGHTER.get(name)
    if section is None:
        return _violation(name, f"is not known; the limits are {', '.join(REQUEST_LIMITS)}", value, MALFORMED)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return _invalid_value(name, value)
    current = values[section].get(name)
    maximum = values["retrieval"].get("max_requested_sources") if name == "min_sources" else None
    if isinstance(maximum, int) and value == 0:
        return None
    if isinstance(maximum, int) and value > maximum:
        return _violation(name, f"is over {maximum}, the most that a request may ask under this policy", value)
    if isinstance(current, int | float) and (value < current if name in HIGHER_IS_TIGHTER else value > current):
        return _violation(name, f"is looser than the policy's {current}; a request may only tighten", value)
    if not (0 <= value <= 1 if name in SHARES else value >= 1 and value == value // 1):
        return _invalid_value(name, value)
    values[section][name] = value
    fallback = values["retrieval"].get("fallback_min_similarity")
    if name in RAISES_FALLBACK and value != current and isinstance(fallback, float):
        values["retrieval"]["fallback_min_similarity"] = max(fallback, value)
    return None


def with_fallback(policy: Policy) -> Policy:
    """Return the policy of a run whose retrieval fell back (R1-7).

    Args:
        policy: The policy of the run.

    Returns:
        The policy with its similarity minima lowered to `fallback_min_similarity`; unchanged if it has no fallback.
    """
    fallback_minimum = policy.retrieval.fallback_min_similarity
    if fallback_minimum is None:
        return policy
    gate = {"min_top_similarity": min(fallback_minimum, policy.retrieval.min_top_similarity)}
    floor = {"min_similarity": min(fallback_minimum, policy.selection.min_similarity)}
    sections = {
        "retrieval": policy.retrieval.model_copy(update=gate),
        "selection": policy.selection.model_copy(update=floor),
    }
    return policy.model_copy(update=sections)


def _invalid_value(name: str, value: object) -> Violation:
    expected = "a number from 0 to 1" if name in SHARES else "a whole number from 1 on"
    return _violation(name, f"takes {expected}, and not {quote_value(value)}", value, MALFORMED)


def _violation(name: str, message: str, value: object, clause: str = "P-4") -> Violation:
    return Violation(
        code=FailureCode.INVALID_REQUEST,
        clause=clause,
        message=f"limit {name} {message}",
        field=name,
        value=quote_value(value),
    )

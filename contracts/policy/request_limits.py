"""A request may tighten its policy and never loosen it (contract P-4); only the policy's own fallback may (R1-7)."""

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
"""Limits that are numbers from 0 to 1; each of the others is a count."""
RAISES_FALLBACK: Final = ("min_top_similarity", "min_similarity")
"""A fallback below a minimum that the request itself asked for would take it back."""
MALFORMED: Final = "R1-1"
"""The clause of a limit that no policy would take."""
REQUEST_LIMITS: Final = (*HIGHER_IS_TIGHTER, *LOWER_IS_TIGHTER)
"""The values that a request may tighten; narrower filters come beside them."""


class LimitedPolicy(NamedTuple):
    """The policy that the run obeys, or why the request is refused."""

    policy: Policy
    violations: tuple[Violation, ...] = ()

    @property
    def is_malformed(self) -> bool:
        """Whether a limit is refused for what it is, under whatever policy (R1-1), and not for being looser (P-4)."""
        return any(violation.clause == MALFORMED for violation in self.violations)


def apply_request_limits(policy: Policy, limits: Mapping[str, object]) -> LimitedPolicy:
    """Applies a request's limits to a policy.

    Args:
        policy: The policy of the run.
        limits: Values by name, a subset of `LIMITS`.

    Returns:
        The tightened policy, whose digest is its own, or the policy as it was and a violation for each limit that is
        unknown, of the wrong type, or looser than the policy's.
    """
    if not limits:
        return LimitedPolicy(policy)
    values = policy.model_dump(mode="json", exclude_none=True)
    violations = [found for name, value in limits.items() if (found := _apply(values, name, value)) is not None]
    return LimitedPolicy(policy, tuple(violations)) if violations else LimitedPolicy(Policy.model_validate(values))


def _apply(values: dict[str, dict[str, object]], name: str, value: object) -> Violation | None:
    """Sets one limit in `values`; a violation instead where it is unknown, looser, or no value of it."""
    section = HIGHER_IS_TIGHTER.get(name) or LOWER_IS_TIGHTER.get(name)
    if section is None:
        return _violation(name, f"is not known; the limits are {', '.join(REQUEST_LIMITS)}", value, MALFORMED)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return _does_not_take(name, value)
    present = values[section].get(name)
    most = values["retrieval"].get("max_requested_sources") if name == "min_sources" else None
    if isinstance(most, int) and value == 0:
        return None
    if isinstance(most, int) and value > most:
        return _violation(name, f"is over {most}, the most that a request may ask under this policy", value)
    if isinstance(present, int | float) and (value < present if name in HIGHER_IS_TIGHTER else value > present):
        return _violation(name, f"is looser than the policy's {present}; a request may only tighten", value)
    if not (0 <= value <= 1 if name in SHARES else value >= 1 and value == value // 1):
        return _does_not_take(name, value)
    values[section][name] = value
    fallback = values["retrieval"].get("fallback_min_similarity")
    if name in RAISES_FALLBACK and value != present and isinstance(fallback, float):
        values["retrieval"]["fallback_min_similarity"] = max(fallback, value)
    return None


def with_fallback(policy: Policy) -> Policy:
    """The limits of a run whose retrieval had to fall back (R1-7).

    Args:
        policy: The policy of the run.

    Returns:
        The policy with its similarity minima lowered to `fallback_min_similarity`; unchanged where it has none.
    """
    lowest = policy.retrieval.fallback_min_similarity
    if lowest is None:
        return policy
    gate = {"min_top_similarity": min(lowest, policy.retrieval.min_top_similarity)}
    floor = {"min_similarity": min(lowest, policy.selection.min_similarity)}
    sections = {
        "retrieval": policy.retrieval.model_copy(update=gate),
        "selection": policy.selection.model_copy(update=floor),
    }
    return policy.model_copy(update=sections)


def _does_not_take(name: str, value: object) -> Violation:
    taken = "a number from 0 to 1" if name in SHARES else "a whole number from 1 on"
    return _violation(name, f"takes {taken}, and not {quote_value(value)}", value, MALFORMED)


def _violation(name: str, message: str, value: object, clause: str = "P-4") -> Violation:
    return Violation(
        code=FailureCode.INVALID_REQUEST,
        clause=clause,
        message=f"limit {name} {message}",
        field=name,
        value=quote_value(value),
    )

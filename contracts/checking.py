"""The firewall alone: an answer that anything else wrote, checked against the sources it was given (R5)."""

from sourcebound.contracts.bundles import read_bundle
from sourcebound.contracts.outcome import fail_with
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.released import load_shipped_policy
from sourcebound.contracts.validation import validate
from sourcebound.contracts.verdict import Validation, not_run


def check_answer(bundle: object, text: str, policy: Policy | str = "SOURCEBOUND_V1") -> Validation:
    """Checks an answer against its sources; no model, no database, nothing stored.

    Args:
        bundle: An answer bundle, a retrieval bundle, or `{"sources": ["text of C0", "text of C1"]}`.
        text: The answer, with its citations.
        policy: A policy, or the name of a released one.

    Returns:
        The verdict with every statement, citation and literal. A bundle that breaks its contract gives a FAILED outcome
        with the violations, and nothing is accepted.

    Raises:
        KeyError: There is no released policy of that name.
    """
    rules = load_shipped_policy(policy) if isinstance(policy, str) else policy
    read = read_bundle(bundle, rules)
    if read.bundle is None:
        return not_run(fail_with("assemble", read.violations))
    return validate(text, read.bundle, rules)

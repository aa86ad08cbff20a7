"""Certifies a model: runs the fixed cases through the whole graph and counts the results.

Every run is an ordinary one, with checkpoints and audit records, so that each figure can be traced to its runs. A case
starts at assembly with fixed evidence, so the rates measure the model and not the retriever.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sourcebound.contracts.certification.case_result import CaseResult, read_result
from sourcebound.contracts.certification.cases import (
    CASES_VERSION,
    Case,
    cases_digest,
    find_unreachable,
    load_cases,
    to_retrieval_bundle,
)
from sourcebound.contracts.certification.certificate import Certificate, Subject, tally
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.state import RunContext
from sourcebound.contracts.typed_state import TypedState
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.graph.workflow import new_id
from sourcebound.wiring import DEFAULT_POLICY


class Progress(NamedTuple):
    """A completed run, and the number of runs so far."""

    done: int
    total: int
    result: CaseResult


async def certify(
    engine: Engine,
    model: str,
    policy_name: str | None = None,
    repeats: int = 3,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    digest: str | None = None,
) -> Certificate:
    """Run every case `repeats` times, one run after another.

    Args:
        engine: Runs the cases.
        model: The name of the model.
        policy_name: A released policy or the path of a policy file. Default: the default policy.
        repeats: Runs of each case.
        on_progress: Called after each run.
        digest: The digest of the model's weights, if its server gives one.

    Returns:
        The certificate, not stored yet.

    Raises:
        SourceboundError: The model or the policy does not exist, the policy decides every case before the model is
            called, or a run could not be recorded.
    """
    policy = engine.ports.find_policy(policy_name or DEFAULT_POLICY, embedding_model=None).policy
    left_out = find_unreachable(load_cases(), policy)
    cases = [case for case in load_cases() if case.name not in left_out]
    if not cases:
        reasons = "; ".join(sorted(set(left_out.values())))
        raise ConfigurationError(
            f"{policy.policy_version} decides every case before a model is called: {reasons}.",
            "Certify the model under a policy with a wider gate or budget.",
            code="NOTHING_TO_CERTIFY",
        )
    subject = Subject(
        certification_id=new_id(),
        model=model,
        digest=digest,
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        cases_version=CASES_VERSION,
        cases_sha256=cases_digest(),
        left_out=tuple(left_out),
        repeats=repeats,
        certified_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    context = RunContext(policy=policy_name or DEFAULT_POLICY, model=model)
    results: list[CaseResult] = []
    for case, repeat in _plan(cases, repeats):
        request_id = f"{subject.certification_id}:{case.name}:{repeat}"
        results.append(await _run(engine, case, policy, request_id, context))
        on_progress(Progress(len(results), len(cases) * repeats, results[-1]))
    return tally(results, subject)


def _plan(cases: Sequence[Case], repeats: int) -> list[tuple[Case, int]]:
    """Order the runs: every case once, then every case again, so that a prompt cache cannot make repeats alike."""
    return [(case, repeat) for repeat in range(1, repeats + 1) for case in cases]


async def _run(engine: Engine, case: Case, policy: Policy, request_id: str, context: RunContext) -> CaseResult:
    bundle = to_retrieval_bundle(case, policy)
    response = await engine.ask({"retrieval_bundle": bundle, "request_id": request_id}, context)
    typed = TypedState(await engine.state(response.run_id))
    if typed.run.policy_sha256 != policy.sha256:
        raise ConfigurationError(
            f"the policy {policy.policy_version} changed while the model was tested.",
            "Run the command again.",
            code="POLICY_CHANGED",
        )
    return read_result(case, typed)

"""Certifies a model: the fixed cases through the whole graph, again and again, and what came of them as a certificate.

Every run is an ordinary one, with checkpoints and audit records, so that each figure can be traced to its runs. A case
enters at assembly on purpose: its evidence is given, and the rates are the model's and not the retriever's.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sourcebound.contracts.certification.case_result import CaseResult, read_result
from sourcebound.contracts.certification.cases import (
    CASES_VERSION,
    Case,
    cases_digest,
    load_cases,
    retrieval_bundle,
    unreachable,
)
from sourcebound.contracts.certification.certificate import Certificate, Subject, tally
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.state import RunContext
from sourcebound.contracts.typed_state import TypedState
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.graph.ids import new_id
from sourcebound.wiring import DEFAULT_POLICY


class Progress(NamedTuple):
    """One run that has ended."""

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
    """Runs every case as often as asked, one run after another.

    Args:
        engine: What answers.
        model: The model's name.
        policy_name: A released policy's name or the path of a policy file; the default policy when omitted.
        repeats: Runs of each case.
        on_progress: Called after each run.
        digest: Of the model's weights, where its server gives one.

    Returns:
        The certificate, stored nowhere yet.

    Raises:
        SourceboundError: There is no such model or policy, the policy decides every case before the model is asked, or
            a run could not be recorded.
    """
    policy = engine.ports.find_policy(policy_name or DEFAULT_POLICY, embedding_model=None).policy
    left_out = unreachable(load_cases(), policy)
    cases = [case for case in load_cases() if case.name not in left_out]
    if not cases:
        reasons = "; ".join(sorted(set(left_out.values())))
        raise ConfigurationError(
            f"{policy.policy_version} decides every case before a model is asked: {reasons}.",
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
    """Every case once, then every case again: a server's cache of the last prompt cannot make its repeats alike."""
    return [(case, repeat) for repeat in range(1, repeats + 1) for case in cases]


async def _run(engine: Engine, case: Case, policy: Policy, request_id: str, context: RunContext) -> CaseResult:
    bundle = retrieval_bundle(case, policy)
    response = await engine.ask({"retrieval_bundle": bundle, "request_id": request_id}, context)
    known = TypedState(await engine.state(response.run_id))
    if known.run.policy_sha256 != policy.sha256:
        raise ConfigurationError(
            f"the policy {policy.policy_version} was changed while the model was tested.",
            "Run the command again.",
            code="POLICY_CHANGED",
        )
    return read_result(case, known)

"""CP-4, CP-5: answers a recorded run again: by its own model, or under another policy or model over its candidates.

`rerun` stores nothing. `what_if` is a new run with its own record, which starts where the retrieval of the first run
ended. Its state names the run whose candidates it uses, and so does the request id of its audit record.
"""

from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple, cast

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import Status, proceed
from sourcebound.contracts.policy.lock import ReleaseStatus
from sourcebound.contracts.policy.request_limits import apply_request_limits
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt
from sourcebound.contracts.replay.report import RecordedRun
from sourcebound.contracts.replay.run_diff import RunDiff, diff_runs
from sourcebound.contracts.request import Run, fork_request
from sourcebound.contracts.state import JsonObject, State
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult, skip_validation
from sourcebound.contracts.versions import THIS_VERSION, contract_version
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.workflow import new_id
from sourcebound.nodes.accept import new_salt
from sourcebound.nodes.retrieve import STAGE
from sourcebound.wiring import Services, resolve_policy


class Rerun(NamedTuple):
    """The second answer of a model to the same prompt."""

    model: str
    same: bool
    """Whether the text is the same, byte for byte."""
    run_diff: RunDiff


class WhatIf(NamedTuple):
    """A fork and its differences from the original run."""

    run_id: str
    run_diff: RunDiff


async def rerun(services: Services, recorded: RecordedRun) -> Rerun:
    """Send the recorded prompt to the recorded model again (CP-4); nothing is recorded or released.

    Args:
        services: The services with the model.
        recorded: The run.

    Returns:
        The model's text and its verdict, with the recorded ones.

    Raises:
        RequestError: The run called no model, or its recorded prompt does not match the recorded hash.
        SourceboundError: The model cannot be opened.
    """
    state = recorded.final_state()
    if not state.get("generation"):
        raise RequestError(
            f"run {recorded.run_id} called no model.",
            "Choose another run: `sourcebound runs list`.",
            code="NO_MODEL_CALL",
        )
    run, policy = Run.model_validate(state["run"]), Policy.model_validate(state["policy"])
    prompt, before = Prompt.model_validate(state["prompt"]), Generation.model_validate(state["generation"])
    if sha256(canonical_prompt(prompt.messages)).hexdigest() != before.prompt_sha256:
        raise RequestError(
            f"the prompt of run {recorded.run_id} is not the one that was sent: it was changed later.",
            f"See `sourcebound replay verify {recorded.run_id}`.",
            code="PROMPT_ALTERED",
        )
    model = await services.models.open(run.model)
    services.models.check(run.model, policy)
    after = await model.generate(prompt, policy)
    verdict = _validate_as_recorded(after, AnswerBundle.model_validate(state["assembly"]), policy, run)
    run_diff = diff_runs(
        {
            "generation": state["generation"],
            "validation": state.get("validation") or _to_json(skip_validation(before.outcome)),
        },
        {"generation": _to_json(after), "validation": _to_json(verdict)},
        (before.raw_model_text, after.raw_model_text),
    )
    return Rerun(run.model, after.raw_model_text == before.raw_model_text, run_diff)


def _validate_as_recorded(generation: Generation, bundle: AnswerBundle, policy: Policy, run: Run) -> ValidationResult:
    if generation.outcome.status is not Status.OK:
        return skip_validation(generation.outcome)
    return validate(generation.raw_model_text, bundle, policy, contract_version(run.made_by, "validation"))


def _to_json(value: Generation | ValidationResult) -> JsonObject:
    return value.model_dump(mode="json")


async def what_if(
    services: Services, recorded: RecordedRun, policy_name: str | None = None, model: str | None = None
) -> WhatIf:
    """Run another policy or model over the recorded candidates, as a new run (CP-5).

    Args:
        services: The database and the models.
        recorded: The run.
        policy_name: A released policy or the path of a policy file. Default: the recorded policy. The limits of the
            recorded request apply if they tighten it.
        model: The name of a model. Default: the recorded one.

    Returns:
        The id of the new run, and its differences from the recorded one.

    Raises:
        RequestError: The run has no candidates.
        SourceboundError: The policy or the model does not exist, or the database does not answer.
    """
    state = recorded.final_state()
    bundle = state.get("retrieval")
    if not isinstance(bundle, dict):
        raise RequestError(
            f"run {recorded.run_id} retrieved nothing, so it has no candidates to run again.",
            "Choose another run: `sourcebound runs list`.",
            code="NO_RETRIEVAL",
        )
    policy, limits = Policy.model_validate(state["policy"]), state.get("limits") or {}
    origin = Run.model_validate(state["run"])
    is_draft = origin.is_draft
    if policy_name is not None:
        embedder, folder = bundle.get("embedding_model"), services.settings.policies
        base, release_status, _ = resolve_policy(policy_name, embedding_model=embedder, folder=folder)
        limits = {
            name: value for name, value in limits.items() if not apply_request_limits(base, {name: value}).violations
        }
        policy, is_draft = apply_request_limits(base, limits).policy, release_status is ReleaseStatus.DRAFT
    run = _fork(origin, policy, model).model_copy(update={"is_draft": is_draft})
    await services.models.open(run.model)
    services.models.check(run.model, policy)
    begin: JsonObject = {
        "origin": recorded.run_id,
        "question": run.question,
        "limits": limits,
        "run_id": run.run_id,
        "run": run.model_dump(mode="json"),
        "policy": policy.model_dump(mode="json"),
        "retrieval": _relabel(bundle, policy),
        "outcome": proceed(STAGE).model_dump(mode="json"),
    }
    after = await Engine(services).fork(cast("State", begin))
    answers = (state["response"]["answer"], after["response"]["answer"])
    return WhatIf(run.run_id, diff_runs(state, {**after}, answers))


def _fork(origin: Run, policy: Policy, model: str | None) -> Run:
    run_id = new_id()
    changes = {
        "request_id": fork_request(origin.run_id),
        "run_id": run_id,
        "thread_id": run_id,
        "model": model or origin.model,
        "policy_version": policy.policy_version,
        "policy_sha256": policy.sha256,
        "started_at": datetime.now(UTC).isoformat(),
        "salt": new_salt(),
        "made_by": THIS_VERSION,
        "conversation_id": None,  # a fork is not part of the conversation
    }
    return origin.model_copy(update=changes)


def _relabel(bundle: JsonObject, policy: Policy) -> JsonObject:
    """Relabel the candidates with a policy, because a bundle that names another policy is rejected."""
    labels = {"policy_version": policy.policy_version, "policy_sha256": policy.sha256}
    return {**bundle, **{name: value for name, value in labels.items() if bundle.get(name) is not None}}

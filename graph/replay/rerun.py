"""CP-4, CP-5: a recorded run with another answer: its model again, or another policy or model over its candidates.

`rerun` leaves nothing behind. `what_if` is a run of its own, with its own record, that begins where retrieval of the
first one ended; whose candidates it answers from stands in its state and, as its request id, in its audit record.
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
from sourcebound.contracts.validation.result import ValidationResult, not_run
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.ids import new_id
from sourcebound.nodes.retrieve import STAGE
from sourcebound.wiring import Services, resolve_policy


class Rerun(NamedTuple):
    """What a model said to the same prompt again."""

    model: str
    same: bool
    """Whether the text is the same, byte for byte."""
    run_diff: RunDiff


class WhatIf(NamedTuple):
    """A fork and what it has otherwise than its origin."""

    run_id: str
    run_diff: RunDiff


async def rerun(services: Services, recorded: RecordedRun) -> Rerun:
    """Asks the recorded model again with the recorded prompt (CP-4); nothing is recorded and nothing released.

    Args:
        services: Where the model is.
        recorded: The run.

    Returns:
        The model's text and its verdict beside the recorded ones.

    Raises:
        RequestError: The run asked no model, or its recorded prompt is not the one whose hash was recorded.
        SourceboundError: The model cannot be opened.
    """
    state = recorded.final_state()
    if not state.get("generation"):
        raise RequestError(
            f"run {recorded.run_id} asked no model.",
            "Rerun one that did: `sourcebound runs list`.",
            code="NO_MODEL_CALL",
        )
    run, policy = Run.model_validate(state["run"]), Policy.model_validate(state["policy"])
    prompt, before = Prompt.model_validate(state["prompt"]), Generation.model_validate(state["generation"])
    if sha256(canonical_prompt(prompt.messages)).hexdigest() != before.prompt_sha256:
        raise RequestError(
            f"the prompt of run {recorded.run_id} is not the one that was sent: it was changed since.",
            f"See `sourcebound replay verify {recorded.run_id}`.",
            code="PROMPT_ALTERED",
        )
    model = await services.models.open(run.model)
    services.models.check(run.model, policy)
    after = await model.generate(prompt, policy)
    verdict = _validate_as_recorded(after, AnswerBundle.model_validate(state["assembly"]), policy)
    found = diff_runs(
        {"generation": state["generation"], "validation": state.get("validation") or _form(not_run(before.outcome))},
        {"generation": _form(after), "validation": _form(verdict)},
        (before.raw_model_text, after.raw_model_text),
    )
    return Rerun(run.model, after.raw_model_text == before.raw_model_text, found)


def _validate_as_recorded(said: Generation, bundle: AnswerBundle, policy: Policy) -> ValidationResult:
    if said.outcome.status is not Status.OK:
        return not_run(said.outcome)
    return validate(said.raw_model_text, bundle, policy)


def _form(value: Generation | ValidationResult) -> JsonObject:
    return value.model_dump(mode="json")


async def what_if(
    services: Services, recorded: RecordedRun, policy_name: str | None = None, model: str | None = None
) -> WhatIf:
    """Runs another policy or model over the recorded candidates, as a run of its own (CP-5).

    Args:
        services: The database and the models.
        recorded: The run.
        policy_name: A released policy or the path of a policy file; the recorded policy when omitted. The limits of the
            recorded request apply where they tighten it.
        model: A generator's name; the recorded one when omitted.

    Returns:
        The id of the new run, and what it has otherwise.

    Raises:
        RequestError: The run has no candidates.
        SourceboundError: There is no such policy or model, or the database does not answer.
    """
    state = recorded.final_state()
    bundle = state.get("retrieval")
    if not isinstance(bundle, dict):
        raise RequestError(
            f"run {recorded.run_id} retrieved nothing, so there is nothing to run again.",
            "Choose one that did: `sourcebound runs show RUN`.",
            code="NO_RETRIEVAL",
        )
    policy, limits = Policy.model_validate(state["policy"]), state.get("limits") or {}
    origin = Run.model_validate(state["run"])
    is_draft = origin.is_draft
    if policy_name is not None:
        embedder, folder = bundle.get("embedding_model"), services.settings.policies
        named, standing, _ = resolve_policy(policy_name, embedding_model=embedder, folder=folder)
        limits = {
            name: value for name, value in limits.items() if not apply_request_limits(named, {name: value}).violations
        }
        policy, is_draft = apply_request_limits(named, limits).policy, standing is ReleaseStatus.DRAFT
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
        "retrieval": _under(bundle, policy),
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
        "conversation_id": None,  # a fork takes no place in it
    }
    return origin.model_copy(update=changes)


def _under(bundle: JsonObject, policy: Policy) -> JsonObject:
    """The candidates as if they had been retrieved under a policy: a bundle that names another one is rejected."""
    named = {"policy_version": policy.policy_version, "policy_sha256": policy.sha256}
    return {**bundle, **{name: value for name, value in named.items() if bundle.get(name) is not None}}

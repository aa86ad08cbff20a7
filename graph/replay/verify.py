"""CP-3: recomputes a recorded run with the graph's own nodes and routing, and compares byte for byte.

No model is called, nothing is retrieved and no database is opened: the record holds everything. Each layer starts from
the state that was recorded before it, so that a difference is reported at the layer that causes it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

from langgraph.constants import END, START
from pydantic import ValidationError

from sourcebound.contracts.outcome import keep_worst
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.replay.release_diff import ShippedRelease, compare_release
from sourcebound.contracts.replay.report import (
    Difference,
    LayerReport,
    NotReplayable,
    RecordedRun,
    RecordedStep,
    ReplayStatus,
    RunReport,
    find_difference,
    judge_run,
)
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.chat_messages import merge_messages
from sourcebound.contracts.state import JsonObject, State
from sourcebound.contracts.versions import CODE, Versions, is_newer, is_older
from sourcebound.errors import DATA_ERRORS
from sourcebound.graph.replay.recompute import LAYERS, RecomputeInput, stored_row
from sourcebound.graph.routing import FORKABLE, STRAIGHT, route_from

REDUCERS: Final[dict[str, Callable[[Any, Any], Any]]] = {"outcome": keep_worst, "messages": merge_messages}
"""The reducers of the channels that accumulate values."""
FORK_IDENTITY: Final = ("run_id", "thread_id", "model", "conversation_id", "started_at", "salt", "made_by",
                         "evidence_supplied_by_hand")  # fmt: skip
"""The fields in which a fork differs from the run that it continues."""
RULES: Final = "rules"
"""The first layer of a report: the released files of the run."""


async def verify(run: RecordedRun, shipped: ShippedRelease) -> RunReport | NotReplayable:
    """Recompute every deterministic layer of a run (CP-3).

    Args:
        run: The run.
        shipped: The policies and templates of this version.

    Returns:
        A verdict for each layer, in order; or the reason why there is none: a newer version made the run.
    """
    made_by = _made_by(run)
    if made_by is not None and is_newer(made_by):
        return NotReplayable(
            run.run_id,
            "RUN_NEWER",
            f"version {made_by.code} of sourcebound made the run, by contracts that this version ({CODE}) does not "
            "have",
            "Verify it with that version.",
        )
    layers = [_rules(run, shipped)]
    state, following = run.start, [*(step.node for step in run.steps[1:]), END]
    origin = run.start.get("run_id") if run.steps and _is_renamed(run.steps[0]) else None
    for step, after in zip(run.steps, following, strict=False):
        forked = _forked_run(step, state)
        if forked is not None:
            is_fork = forked["run_id"] != state["run"]["run_id"]
            origin, state = state["run"]["run_id"] if is_fork else origin, {**state, "run": forked}
        layers.append(await _verify_step(step, state, after, run, forked))
        if step.damaged:
            break
        state = {**state, **step.changes}
    return judge_run(run.run_id, tuple(layers), origin, is_older=is_older(made_by))


def _made_by(run: RecordedRun) -> Versions | None:
    """Return the versions that a run names; None if it names none that can be read."""
    try:
        return Run.model_validate(run.final_state().get("run")).made_by
    except ValidationError:
        return None


def _forked_run(step: RecordedStep, state: JsonObject) -> JsonObject | None:
    """Return the run that a branch or an edit begins at this step: the earlier run with another identity; or None."""
    before, after = state.get("run"), step.changes.get("run")
    if step.node not in FORKABLE or not isinstance(before, dict) or not isinstance(after, dict):
        return None
    if all(after.get(name) == before.get(name) for name in FORK_IDENTITY):
        return None
    try:
        forked = Run.model_validate({**before, **{name: after[name] for name in FORK_IDENTITY if name in after}})
    except ValidationError:
        return None
    return forked.model_dump(mode="json")


def _is_renamed(step: RecordedStep) -> bool:
    """Whether a branch from the input of an ended run opened a run with an id of its own."""
    return step.node == "accept" and step.changes.get("run_id", step) is None


def _rules(run: RecordedRun, shipped: ShippedRelease) -> LayerReport:
    """Check that the released files of the run are unchanged, and that the run began at the first node."""
    state = run.final_state()
    try:
        policy = Policy.model_validate(state.get("policy"))
        release = compare_release(policy, state.get("limits") or {}, _further_templates(state), shipped)
        digest = find_difference("run.policy_sha256", state["run"]["policy_sha256"], policy.sha256)
        identity = find_difference("run_id", run.run_id, state["run"]["run_id"])
    except DATA_ERRORS as error:
        return _report(RULES, [_unreadable(RULES, error)])
    first = "assemble" if "origin" in run.start else STRAIGHT[START]
    entry = find_difference("first node", run.steps[0].node if run.steps else None, first)
    return _report(RULES, [*release.differences, digest, identity, entry], release.note)


def _further_templates(state: JsonObject) -> list[str]:
    """Return the templates that a run used in addition to its policy's, each once."""
    further = [(state.get(channel) or {}).get("prompt") or {} for channel in ("resolution", "facts")]
    templates = [prompt.get(kind) for prompt in _prompts(state) for kind in ("repair_template", "follow_up_template")]
    return list(dict.fromkeys(filter(None, [*(prompt.get("template") for prompt in further), *templates])))


def _prompts(state: JsonObject) -> Iterator[JsonObject]:
    attempts = [attempt.get("prompt") for attempt in state.get("attempts") or []]
    yield from (prompt for prompt in [*attempts, state.get("prompt")] if prompt)


async def _verify_step(
    step: RecordedStep, state: JsonObject, following: str, run: RecordedRun, forked: JsonObject | None = None
) -> LayerReport:
    if step.damaged:
        unreadable = [
            Difference(path=name, recorded="(bytes that cannot be read)", computed="") for name in step.damaged
        ]
        return _report(step.node, unreadable, "no later layer can be computed")
    if step.node not in LAYERS:
        return _foreign(step)
    note = "a fork begins here" if forked else LAYERS[step.node].note
    try:
        return _report(step.node, await _differences(step, state, following, run, forked), note)
    except DATA_ERRORS as error:
        return _report(step.node, [_unreadable(step.node, error)], note)


async def _differences(
    step: RecordedStep, state: JsonObject, following: str, run: RecordedRun, forked: JsonObject | None
) -> list[Difference | None]:
    """Recompute a node, and compare every channel that it wrote or writes, and the next node."""
    begun: JsonObject = {"run": forked} if forked else {}
    if _is_renamed(step):
        begun, state = {"run_id": None}, {**state, "run_id": None}
    update = begun | await LAYERS[step.node].compute(RecomputeInput(cast("State", state), step.changes, run))
    for name in REDUCERS.keys() & update.keys():
        update[name] = REDUCERS[name](state.get(name), update[name])
    next_node = _route(step.node, {**state, **update})
    stored = dict(step.changes)
    if "validations" in update:
        stored["validations"] = [stored_row(row) for row in run.records]
        stored["run_texts"] = [text.model_dump(mode="json") for text in run.texts]
    names = dict.fromkeys([*update, *stored])
    return [*(_compare(name, stored, update) for name in names), find_difference("next node", following, next_node)]


def _foreign(step: RecordedStep) -> LayerReport:
    """Report a change that no node of this graph made: a person did, or a node that this graph does not have."""
    found = (find_difference(name, [value], []) for name, value in step.changes.items())
    differences = tuple(difference for difference in found if difference is not None)
    if step.node.startswith("("):
        note = "the state was changed by hand"
        return LayerReport(layer=step.node, verdict=ReplayStatus.EDITED, note=note, differences=differences)
    note = "the graph has no such node"
    return LayerReport(layer=step.node, verdict=ReplayStatus.DRIFT, note=note, differences=differences)


def _compare(name: str, stored: JsonObject, computed: JsonObject) -> Difference | None:
    """Compare a channel; a channel that only one side wrote is a difference too."""
    sides = [{name: side[name]} if name in side else {} for side in (stored, computed)]
    return find_difference("", *sides)


def _route(node: str, state: JsonObject) -> str:
    """Return the next node of the routing."""
    return STRAIGHT[node] if node in STRAIGHT else route_from(node)(cast("State", state))


def _unreadable(where: str, error: Exception) -> Difference:
    """Report a record that the contracts cannot read."""
    if not isinstance(error, ValidationError):
        return Difference(path=where, recorded=f"cannot be read: {error!r}", computed="")
    detail = error.errors(include_url=False)[0]
    place = ".".join(map(str, [error.title, *detail["loc"]]))
    return Difference(path=place, recorded=f"cannot be read: {detail['msg']}", computed="")


def _report(layer: str, comparisons: Sequence[Difference | None], note: str = "") -> LayerReport:
    differences = tuple(difference for difference in comparisons if difference is not None)
    matched = ReplayStatus.RECORDED if layer == "retrieve" else ReplayStatus.MATCH
    return LayerReport(
        layer=layer, verdict=ReplayStatus.DRIFT if differences else matched, note=note, differences=differences
    )

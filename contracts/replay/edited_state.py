"""Detection of a state that was edited between two nodes into one that no node can have written (contract CP-1).

The input of a layer may be edited, because the layer checks it: a retrieval bundle at R2, a model's text at R5. The
conclusions of a layer may not: a policy keeps its digest (P-2), a prompt its hash (R3-5), and a verdict is the result
of the firewall on exactly the generated text (R5-13).
"""

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.conversation.turns import Resolution
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.facts.selection import FactsPhase
from sourcebound.contracts.outcome import FailureCode, Outcome, Status, Violation
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.attempts import Attempt
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.result import ValidationResult
from sourcebound.contracts.versions import contract_version

MODELS: Final[Mapping[str, type[Contract]]] = {
    "run": Run,
    "outcome": Outcome,
    "policy": Policy,
    "resolution": Resolution,
    "retrieval": RetrievalBundle,
    "assembly": AnswerBundle,
    "facts": FactsPhase,
    "prompt": Prompt,
    "generation": Generation,
    "validation": ValidationResult,
}
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "resolve": ("run", "outcome", "policy"),
    "retrieve": ("run", "outcome", "policy"),
    "assemble": ("run", "outcome", "policy", "retrieval"),
    "select_facts": ("run", "outcome", "policy", "assembly"),
    "build_prompt": ("run", "outcome", "policy", "assembly"),
    "generate": ("run", "outcome", "policy", "prompt"),
    "validate": ("run", "outcome", "policy", "assembly", "generation"),
    "record": ("run", "outcome"),
    "package": ("run", "outcome"),
}
"""The channels that each node needs."""


class StateEdit(NamedTuple):
    """A channel with a value that no node can have written, and the violated clause."""

    channel: str
    violation: Violation


def find_state_edit(state: State, node: str) -> StateEdit | None:
    """Check a state before a node reads it.

    Args:
        state: The state from the checkpoint.
        node: The next node, one of `NEEDED`.

    Returns:
        The first edited channel; None if a run can have reached this state.
    """
    for channel in NEEDED[node]:
        if state.get(channel) is None:
            return _build_edit(channel, "CP-1", f"{node} needs it, and it is not there")
    edit = _find_invalid_channel(state) or _find_edited_policy(state)
    if edit is None and node == "generate":
        edit = _find_edited_prompt(state)
    if edit is None and node in ("record", "package"):
        edit = _find_edited_verdict(state)
    return edit


def _find_invalid_channel(state: State) -> StateEdit | None:
    """Return the first channel that does not fit its contract model."""
    values: list[tuple[str, type[Contract], object]] = [
        (channel, model, state.get(channel)) for channel, model in MODELS.items() if _is_read(channel, state)
    ]
    values += [("attempts", Attempt, attempt) for attempt in state.get("attempts") or ()]
    for channel, model, value in values:
        try:
            model.model_validate(value)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            return _build_edit(channel, "CP-1", detail["msg"], *map(str, detail["loc"]))
    return None


def _is_read(channel: str, state: State) -> bool:
    """Return whether a layer reads a channel. R2 judges a retrieval bundle, and no other layer reads a broken one."""
    if state.get(channel) is None:
        return False
    return channel != "retrieval" or bool((state.get("assembly") or {}).get("trace"))


def _find_edited_policy(state: State) -> StateEdit | None:
    value = state.get("policy")
    if value is None or Policy.model_validate(value).sha256 == state["run"]["policy_sha256"]:
        return None
    return _build_edit("policy", "P-2", "it is not the policy that this run was opened under")


def _find_edited_prompt(state: State) -> StateEdit | None:
    prompt = Prompt.model_validate(state["prompt"])
    if hashlib.sha256(canonical_prompt(prompt.messages)).hexdigest() == prompt.prompt_sha256:
        return None
    return _build_edit("prompt", "R3-5", "its messages are not those of its hash", "messages")


def _find_edited_verdict(state: State) -> StateEdit | None:
    """Return the edit of a run that is OK without the verdict of the firewall on exactly the generated text."""
    if Outcome.model_validate(state["outcome"]).status is not Status.OK:
        return None
    channels = [state.get(name) for name in ("generation", "assembly", "policy", "validation")]
    if None in channels:
        return _build_edit("validation", "R5-13", "a run that is OK has an answer and a verdict on it")
    generation, assembly, policy = (
        Generation.model_validate(channels[0]),
        AnswerBundle.model_validate(channels[1]),
        Policy.model_validate(channels[2]),
    )
    version = contract_version(Run.model_validate(state["run"]).made_by, "validation")
    verdict = validate(generation.raw_model_text, assembly, policy, version)
    if verdict.outcome.status is Status.OK and verdict.model_dump(mode="json") == channels[3]:
        return None
    return _build_edit("validation", "R5-13", "it is not the verdict on the text that was generated")


def _build_edit(channel: str, clause: str, reason: str, *place: str) -> StateEdit:
    field = ".".join((channel, *place))
    message = f"the checkpoint was altered: {field}: {reason}"
    return StateEdit(channel, Violation(code=FailureCode.STATE_ALTERED, clause=clause, message=message, field=field))

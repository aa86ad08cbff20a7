"""Finds what no node can have written: a state that was edited between two nodes (contract CP-1).

What a layer takes in may be edited, for it checks its own input: a retrieval bundle at R2, a model's text at R5. What
a layer concludes may not: a policy keeps its digest (P-2), a prompt its hash (R3-5), a verdict is that of the firewall
over the very text that was generated (R5-13).
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
"""What each node cannot do without."""


class StateEdit(NamedTuple):
    """A channel that no node can have left so, and the clause that says why."""

    channel: str
    violation: Violation


def find_state_edit(state: State, node: str) -> StateEdit | None:
    """Looks at a state before a node reads it.

    Args:
        state: The state as the checkpoint has it.
        node: The node that comes next, one of `NEEDED`.

    Returns:
        The first channel that was altered; None where a run can have come to this state.
    """
    for channel in NEEDED[node]:
        if state.get(channel) is None:
            return _edit(channel, "CP-1", f"{node} needs it, and it is not there")
    found = _find_broken(state) or _find_other_policy(state)
    if found is None and node == "generate":
        found = _find_other_prompt(state)
    if found is None and node in ("record", "package"):
        found = _find_other_verdict(state)
    return found


def _find_broken(state: State) -> StateEdit | None:
    """A channel that is not what its contract model says."""
    forms: list[tuple[str, type[Contract], object]] = [
        (channel, model, state.get(channel)) for channel, model in MODELS.items() if _is_read(channel, state)
    ]
    forms += [("attempts", Attempt, attempt) for attempt in state.get("attempts") or ()]
    for channel, model, form in forms:
        try:
            model.model_validate(form)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_input=False)[0]
            return _edit(channel, "CP-1", detail["msg"], *map(str, detail["loc"]))
    return None


def _is_read(channel: str, state: State) -> bool:
    """Whether somebody reads a channel; a retrieval bundle is R2's own to judge, and nobody else reads a broken one."""
    if state.get(channel) is None:
        return False
    return channel != "retrieval" or bool((state.get("assembly") or {}).get("trace"))


def _find_other_policy(state: State) -> StateEdit | None:
    form = state.get("policy")
    if form is None or Policy.model_validate(form).sha256 == state["run"]["policy_sha256"]:
        return None
    return _edit("policy", "P-2", "it is not the policy that this run was opened under")


def _find_other_prompt(state: State) -> StateEdit | None:
    prompt = Prompt.model_validate(state["prompt"])
    if hashlib.sha256(canonical_prompt(prompt.messages)).hexdigest() == prompt.prompt_sha256:
        return None
    return _edit("prompt", "R3-5", "its messages are not those of its hash", "messages")


def _find_other_verdict(state: State) -> StateEdit | None:
    """A run that is OK has the verdict that the firewall gives on what was generated, and on nothing else."""
    if Outcome.model_validate(state["outcome"]).status is not Status.OK:
        return None
    channels = [state.get(name) for name in ("generation", "assembly", "policy", "validation")]
    if None in channels:
        return _edit("validation", "R5-13", "a run that is OK has an answer and a verdict on it")
    generation, assembly, policy = (
        Generation.model_validate(channels[0]),
        AnswerBundle.model_validate(channels[1]),
        Policy.model_validate(channels[2]),
    )
    verdict = validate(generation.raw_model_text, assembly, policy)
    if verdict.outcome.status is Status.OK and verdict.model_dump(mode="json") == channels[3]:
        return None
    return _edit("validation", "R5-13", "it is not the verdict on the text that was generated")


def _edit(channel: str, clause: str, reason: str, *place: str) -> StateEdit:
    field = ".".join((channel, *place))
    message = f"the checkpoint was altered: {field}: {reason}"
    return StateEdit(channel, Violation(code=FailureCode.STATE_ALTERED, clause=clause, message=message, field=field))

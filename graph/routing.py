"""The routing table: node × status → next node. The graph reads it and the README shows it.

OK continues; NO_EVIDENCE and FAILED go straight to `record`. A model's refusal is NO_EVIDENCE too and is recorded the
same way. Nothing is released without passing `record`. The one loop leads from `validate` back to `build_prompt`.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from langgraph.constants import END, START  # `langgraph.graph` holds the same and takes a second to load

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.chat_messages import earlier_questions, is_chat
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.result import ValidationStatus
from sourcebound.contracts.versions import contract_version

Row = Mapping[Status, str]


class Detour(NamedTuple):
    """An edge that is taken if the status is OK and a condition on the state holds."""

    label: str
    target: str
    applies: Callable[[State], bool]


BEFORE_THE_ANSWER: Final = ("resolve", "retrieve", "assemble", "select_facts", "build_prompt", "generate")
FORKABLE: Final = (*BEFORE_THE_ANSWER, "validate")
"""Nodes at which a fork may start. Later nodes belong to a run that is recorded already (R5P-1)."""


def _stop_at_record(following: str) -> Row:
    return {Status.OK: following, Status.NO_EVIDENCE: "record", Status.FAILED: "record"}


def _brings_a_bundle(state: State) -> bool:
    return state.get("retrieval_bundle") is not None


def _is_in_a_conversation(state: State) -> bool:
    """Whether there are earlier questions: of a conversation or, since version 2 of the contract, of the chat."""
    if state.get("conversation_id") is not None:
        return True
    if not is_chat(state) or not earlier_questions(state["messages"]):
        return False
    return contract_version(Run.from_json(state["run"]).made_by, "conversation") > 1


def _has_a_facts_phase(state: State) -> bool:
    return state["policy"].get("facts") is not None


def _has_another_attempt(state: State) -> bool:
    """Whether a rejected answer left the outcome OK, as `validate` does when another attempt is allowed."""
    return (state.get("validation") or {}).get("validation_status") == ValidationStatus.FAILED


ROUTES: Final[Mapping[str, Row]] = {
    "accept": _stop_at_record("retrieve"),
    "resolve": _stop_at_record("retrieve"),
    "retrieve": _stop_at_record("assemble"),
    "assemble": _stop_at_record("build_prompt"),
    "select_facts": _stop_at_record("build_prompt"),
    "build_prompt": _stop_at_record("generate"),
    "generate": _stop_at_record("validate"),
    "validate": _stop_at_record("record"),
}
"""Conditional edges by status."""

DETOURS: Final[Mapping[str, tuple[Detour, ...]]] = {
    "accept": (
        Detour("OK, with a retrieval bundle", "assemble", _brings_a_bundle),
        Detour("OK, in a conversation", "resolve", _is_in_a_conversation),
    ),
    "assemble": (Detour("OK, with a facts phase", "select_facts", _has_a_facts_phase),),
    "validate": (Detour("rejected, with an attempt left", "build_prompt", _has_another_attempt),),
}
"""Edges that depend on more than the status; the first that applies is taken (R1-1, CP-6, R3-9, R5-12)."""

STRAIGHT: Final[Mapping[str, str]] = {START: "accept", "record": "package", "package": END}
"""Edges that do not depend on the status."""


def route_from(node: str) -> Callable[[State], str]:
    """Return the routing function of a node.

    Args:
        node: The name of the node in `ROUTES`.

    Returns:
        A function from the state to the name of the next node.
    """
    row, detours = ROUTES[node], DETOURS.get(node, ())

    def route(state: State) -> str:
        status = Status(state["outcome"]["status"])
        applicable = (detour.target for detour in detours if status is Status.OK and detour.applies(state))
        return next(applicable, row[status])

    return route


def targets(node: str) -> list[str]:
    """Return the possible targets of a node's conditional edge."""
    extra = [detour.target for detour in DETOURS.get(node, ())]
    return list(dict.fromkeys([*ROUTES[node].values(), *extra]))

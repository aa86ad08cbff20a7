"""Which node follows which: one table of node × status, read by the graph and drawn in the README.

OK goes on; NO_EVIDENCE and FAILED go straight to the record. A model's refusal is NO_EVIDENCE too, and is recorded
the same way. Nothing is released without passing `record`. The one loop leads from `validate` back to `build_prompt`.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from langgraph.constants import END, START  # `langgraph.graph` holds the same and takes a second to load

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.result import ValidationStatus

Row = Mapping[Status, str]


class Detour(NamedTuple):
    """A way that is taken where the status is OK and the state says so."""

    label: str
    target: str
    taken: Callable[[State], bool]


def _stop_at_record(following: str) -> Row:
    return {Status.OK: following, Status.NO_EVIDENCE: "record", Status.FAILED: "record"}


def _brings_a_bundle(state: State) -> bool:
    return state.get("retrieval_bundle") is not None


def _is_in_a_conversation(state: State) -> bool:
    return state.get("conversation_id") is not None


def _has_a_facts_phase(state: State) -> bool:
    return state["policy"].get("facts") is not None


def _is_asked_anew(state: State) -> bool:
    """A rejected answer under an outcome that is still OK: `validate` left it so for another attempt."""
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
    "validate": (Detour("rejected, with an attempt left", "build_prompt", _is_asked_anew),),
}
"""The ways that a status alone does not decide; the first that is taken counts (R1-1, CP-6, R3-9, R5-12)."""

STRAIGHT: Final[Mapping[str, str]] = {START: "accept", "record": "package", "package": END}
"""Edges that no status changes."""


def route_from(node: str) -> Callable[[State], str]:
    """The routing function of a node.

    Args:
        node: Its name in `ROUTES`.

    Returns:
        A function from the state to the name of the next node.
    """
    row, detours = ROUTES[node], DETOURS.get(node, ())

    def route(state: State) -> str:
        status = Status(state["outcome"]["status"])
        taken = (detour.target for detour in detours if status is Status.OK and detour.taken(state))
        return next(taken, row[status])

    return route


def targets(node: str) -> list[str]:
    """Where the conditional edge of a node may lead."""
    extra = [detour.target for detour in DETOURS.get(node, ())]
    return list(dict.fromkeys([*ROUTES[node].values(), *extra]))

"""Which node follows which: one table of node × status, read by the graph and drawn in the README.

OK goes on; NO_EVIDENCE and FAILED go straight to the record. A model's refusal is NO_EVIDENCE too, and is recorded
the same way. Nothing is released without passing `record`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from langgraph.graph import END, START

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.state import State

Row = Mapping[Status, str]


def _stop_at_record(following: str) -> Row:
    return {Status.OK: following, Status.NO_EVIDENCE: "record", Status.FAILED: "record"}


ROUTES: Final[Mapping[str, Row]] = {
    "accept": _stop_at_record("retrieve"),
    "retrieve": _stop_at_record("assemble"),
    "assemble": _stop_at_record("build_prompt"),
    "build_prompt": _stop_at_record("generate"),
    "generate": _stop_at_record("validate"),
}
"""Conditional edges; a retrieval bundle from elsewhere goes from `accept` to `assemble` (R1-1)."""

STRAIGHT: Final[Mapping[str, str]] = {START: "accept", "validate": "record", "record": "package", "package": END}
"""Edges that no status changes."""


def route_from(node: str) -> Callable[[State], str]:
    """The routing function of a node.

    Args:
        node: Its name in `ROUTES`.

    Returns:
        A function from the state to the name of the next node.
    """
    row = ROUTES[node]

    def route(state: State) -> str:
        status = Status(state["outcome"]["status"])
        if node == "accept" and status is Status.OK and state.get("retrieval_bundle") is not None:
            return "assemble"
        return row[status]

    return route


def targets(node: str) -> list[str]:
    """Where the conditional edge of a node may lead."""
    extra = ["assemble"] if node == "accept" else []
    return list(dict.fromkeys([*ROUTES[node].values(), *extra]))

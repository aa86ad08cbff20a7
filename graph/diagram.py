"""Draws the routing table as the Mermaid diagram of the README; a test compares them."""

from langgraph.graph import END, START

from sourcebound.contracts.outcome import Status
from sourcebound.graph.routing import DETOURS, ROUTES, STRAIGHT

SHOWN = {START: "start", END: "finish"}


def draw() -> str:
    """Return the pipeline as Mermaid text."""
    lines = ["flowchart TD"]
    lines += [f"    {_name(node)} --> {_name(following)}" for node, following in STRAIGHT.items()]
    for node, row in ROUTES.items():
        by_target: dict[str, list[str]] = {}
        for status in Status:
            by_target.setdefault(row[status], []).append(status.value)
        lines += [f"    {node} -- {' / '.join(statuses)} --> {target}" for target, statuses in by_target.items()]
    lines += [
        f"    {node} -- {detour.label} --> {detour.target}" for node, detours in DETOURS.items() for detour in detours
    ]
    return "\n".join(lines)


def _name(node: str) -> str:
    return SHOWN.get(node, node)


if __name__ == "__main__":
    print(draw())

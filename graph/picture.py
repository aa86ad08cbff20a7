"""Draws the routing table as a picture: `docs/graph.svg`, made by `python -m sourcebound.graph.picture`, is this.

The pipeline goes down the middle; what ends a run early, and what a plain question skips, goes round on the right, and
the ways that a status alone does not decide go round on the left.
"""

from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

from langgraph.graph import END, START

from sourcebound.contracts.outcome import Status
from sourcebound.graph.diagram import SHOWN
from sourcebound.graph.routing import DETOURS, ROUTES, STRAIGHT

WIDTH: Final = 640
ROW: Final = 66
MIDDLE: Final = 300
HALF: Final = 75
"""Half the width of a node's box."""
HEIGHT: Final = 34
RIGHT: Final = 600
LEFT: Final = 150
BESIDE: Final = 36
STYLE: Final = (
    "rect.node{fill:#eef3fb;stroke:#2f5d9b}rect.end{fill:#f4f4f4;stroke:#777}path{fill:none;stroke:#444;stroke-width:1.4}"
    "path.early{stroke:#b3541e}path.detour{stroke:#2f7d4f;stroke-dasharray:5 3}text{font:14px sans-serif;fill:#222}"
    "text.label{font-size:11px;fill:#555}"
)


class Edge(NamedTuple):
    """A way from one node to another, and when it is taken."""

    source: str
    target: str
    label: str


def order() -> list[str]:
    """Every node from the start to the end, in the order in which a run passes them."""
    return [START, *ROUTES, *(node for node in STRAIGHT if node != START), END]


def edges() -> list[Edge]:
    """Every edge that a status decides, or none."""
    found = [Edge(source, target, "") for source, target in STRAIGHT.items()]
    for source, row in ROUTES.items():
        for target in dict.fromkeys(row.values()):
            found.append(Edge(source, target, " / ".join(status for status in Status if row[status] == target)))
    return found


def draw() -> str:
    """The pipeline as SVG text."""
    nodes = order()
    height = ROW * len(nodes)
    top = {node: ROW * place + (ROW - HEIGHT) // 2 for place, node in enumerate(nodes)}
    follows = dict(pairwise(nodes))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>The pipeline: which node follows which, by status</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<polygon points="0,0 8,4 0,8" fill="#444"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
    ]
    for edge in edges():
        if follows[edge.source] == edge.target:
            parts += _down(top[edge.source], top[edge.target], edge.label)
        else:
            parts += _around(top[edge.source], top[edge.target], edge.label, ends=edge.target not in ROUTES)
    reached = {detour.target for detours in DETOURS.values() for detour in detours}
    for source, detours in DETOURS.items():
        for detour in detours:
            left = LEFT + BESIDE if follows[source] == detour.target else LEFT
            start = top[source] + (8 if source in reached else 0)
            parts += _detour(start, top[detour.target], detour.label, left, beside=left == LEFT or source in reached)
    parts += [part for node in nodes for part in _box(node, top[node])]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(node: str, top: int) -> list[str]:
    kind = "end" if node in (START, END) else "node"
    return [
        f'<rect class="{kind}" x="{MIDDLE - HALF}" y="{top}" width="{2 * HALF}" height="{HEIGHT}" rx="6"/>',
        f'<text x="{MIDDLE}" y="{top + 22}" text-anchor="middle">{escape(SHOWN.get(node, node))}</text>',
    ]


def _down(source: int, target: int, label: str) -> list[str]:
    start = source + HEIGHT
    path = f'<path d="M{MIDDLE},{start} V{target}" marker-end="url(#tip)"/>'
    return [path, _label(MIDDLE + 8, start + 20, label)]


def _around(source: int, target: int, label: str, *, ends: bool) -> list[str]:
    """Out to the right, down, and back; farther out where the run ends early."""
    start, end = source + HEIGHT // 2, target + HEIGHT // 2
    edge, kind, reach = MIDDLE + HALF, "early" if ends else "skip", RIGHT if ends else MIDDLE + HALF + BESIDE
    label_at = (edge + 8, start - 6) if ends else (reach + 6, source + HEIGHT + 22)
    return [
        f'<path class="{kind}" d="M{edge},{start if ends else start + 8} H{reach} V{end} H{edge}" '
        'marker-end="url(#tip)"/>',
        _label(*label_at, label),
    ]


def _detour(source: int, target: int, label: str, left: int, *, beside: bool) -> list[str]:
    """Round on the left, down or up; a label that does not stand beside its way stands above it."""
    start, end = source + HEIGHT // 2, target + HEIGHT // 2
    edge, place = MIDDLE - HALF, end - 20 if end > start else (start + end) // 2
    path = f'<path class="detour" d="M{edge},{start} H{left} V{end} H{edge}" marker-end="url(#tip)"/>'
    if not beside:
        return [path, _label(edge - 8, start - 6, label, "end")]
    first, comma, rest = label.partition(", ")
    return [
        path,
        _label(left - 8, place, first + comma.strip(), "end"),
        _label(left - 8, place + 14, rest, "end"),
    ]


def _label(x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text class="label" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    print(draw(), end="")

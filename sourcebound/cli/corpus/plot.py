"""The trade-off plot of two minima, written as SVG without a plotting library."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 640
HEIGHT: Final = 480
LEFT: Final = 76
TOP: Final = 56
SIDE: Final = (WIDTH - LEFT - 24, HEIGHT - TOP - 64)
STEPS: Final = 5
INK, PALE, LINE, MARK = "#1f2933", "#c3ccd5", "#2563a8", "#b4331f"


class Mark(NamedTuple):
    """The error shares of a pair of minima."""

    false_refusals: float
    false_passes: float


class Interval(NamedTuple):
    """The confidence intervals of the error shares."""

    false_refusals: tuple[float, float]
    false_passes: tuple[float, float]


def draw_trade_off(
    title: str, points: Sequence[Mark], curve: Sequence[Mark], chosen: Mark, interval: Interval, limit: float
) -> str:
    """Plot false passes over false refusals.

    Args:
        title: The heading.
        points: Every pair of minima.
        curve: The pairs to which no other pair is better in both shares, from lenient to strict.
        chosen: The chosen pair.
        interval: Its 95 % intervals, drawn as a cross.
        limit: The allowed share of false refusals, drawn as a vertical line.

    Returns:
        The text of an SVG file.
    """
    dots = sorted(set(points))
    steps = " ".join(f"{_x(mark.false_refusals):.1f},{_y(mark.false_passes):.1f}" for mark in curve)
    x, y = _x(chosen.false_refusals), _y(chosen.false_passes)
    across, along = interval.false_refusals, interval.false_passes
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="13" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="28" font-size="16">{escape(title)}</text>',
        *_axes(),
        f'<line x1="{_x(limit):.1f}" y1="{TOP}" x2="{_x(limit):.1f}" y2="{_y(0):.1f}" stroke="{INK}" '
        'stroke-dasharray="4 4"/>',
        *(f'<circle cx="{_x(dot[0]):.1f}" cy="{_y(dot[1]):.1f}" r="2.5" fill="{PALE}"/>' for dot in dots),
        f'<polyline points="{steps}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        f'<line x1="{_x(across[0]):.1f}" y1="{y:.1f}" x2="{_x(across[1]):.1f}" y2="{y:.1f}" stroke="{MARK}"/>',
        f'<line x1="{x:.1f}" y1="{_y(along[0]):.1f}" x2="{x:.1f}" y2="{_y(along[1]):.1f}" stroke="{MARK}"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{MARK}"/>',
        *_legend(limit),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes() -> Iterator[str]:
    for step in range(STEPS + 1):
        share = step / STEPS
        x, y = _x(share), _y(share)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + SIDE[0]}" y2="{y:.1f}" stroke="#e4e8ec"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        yield f'<text x="{x:.1f}" y="{_y(0) + 20:.1f}" text-anchor="middle">{share:.0%}</text>'
    middle_x, middle_y = LEFT + SIDE[0] / 2, TOP + SIDE[1] / 2
    yield f'<text x="{middle_x:.1f}" y="{HEIGHT - 16}" text-anchor="middle">answerable questions refused</text>'
    yield (
        f'<text x="20" y="{middle_y:.1f}" text-anchor="middle" transform="rotate(-90 20 {middle_y:.1f})">'
        "other questions that pass</text>"
    )


def _legend(limit: float) -> Iterator[str]:
    entries = (
        (PALE, "each pair of minima"),
        (LINE, "not beaten on both counts"),
        (MARK, "chosen, with 95 % intervals"),
        (INK, f"dashed: at most {limit:.0%} refused"),
    )
    for number, (colour, text) in enumerate(entries):
        y = TOP + 20 + 20 * number
        x = LEFT + SIDE[0] - 200
        yield f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour}"/><text x="{x + 12}" y="{y}">{escape(text)}</text>'


def _x(share: float) -> float:
    return LEFT + share * SIDE[0]


def _y(share: float) -> float:
    return TOP + (1 - share) * SIDE[1]

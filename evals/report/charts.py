"""The charts of the report, as SVG texts made by matplotlib. Text stays text, so that it can be read and searched."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sourcebound.contracts.calibration.gate_minima import Share, wilson_interval
from sourcebound.errors import ConfigurationError
from sourcebound.evals.golden.results import ItemResult
from sourcebound.evals.golden.summary import Figure, NodeLatency
from sourcebound.evals.metrics import Interval

INK, PALE, LINE, MARK = "#1f2933", "#c3ccd5", "#2563a8", "#b4331f"
STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sourcebound",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": "#e4e8ec",
    "axes.axisbelow": True,
}
BINS: Final = (0, 300, 400, 500, 600, 700, 800, 900, 1001)
"""The bounds of the scores that are counted together, in thousandths."""
WIDTH, HEIGHT = 6.4, 3.8
"""Inches."""


class Chart(NamedTuple):
    """A chart with its heading and what it shows."""

    title: str
    caption: str
    svg: str


@contextmanager
def _figure(height: float = HEIGHT) -> Iterator[tuple[Any, Any, io.StringIO]]:
    """Open a figure with one pair of axes, and write it as SVG at the end.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise ConfigurationError(
            "matplotlib is not installed, which draws the charts.",
            "Install it: pip install 'sourcebound[report]'",
            code="EXTRA_MISSING",
        ) from error
    target = io.StringIO()
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        yield canvas, canvas.add_subplot(), target
        canvas.savefig(target, format="svg", metadata={"Date": None, "Creator": None})


def _finish(title: str, caption: str, target: io.StringIO) -> Chart:
    """Return a chart whose SVG fits into an HTML page: no prolog, and no id that two charts share."""
    svg = target.getvalue()
    svg = svg[svg.index("<svg") :]
    prefix = re.sub(r"\W+", "-", title.casefold())
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href="#|href="#|url\(#)(?!' + re.escape(prefix) + ")", rf"\1{prefix}-", svg)
    return Chart(title, caption, svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1))


def draw_calibration(results: Sequence[ItemResult]) -> Chart | None:
    """Draw how often a released answer passes, over its two scores; None without scores."""
    released = [each for each in results if each.released]
    scores = (
        ("support (R5-17)", LINE, [(each.support, each.passed) for each in released]),
        ("answers the question (R5-18)", MARK, [(each.answers_question, each.passed) for each in released]),
    )
    if not any(score is not None for _, _, pairs in scores for score, _ in pairs):
        return None
    with _figure() as (_, axes, target):
        for shift, (name, colour, pairs) in enumerate(scores):
            for number, (place, share) in enumerate(_bin(pairs)):
                lower, upper = wilson_interval(share)
                axes.errorbar(
                    [place + 0.012 * shift], [share.value], yerr=[[share.value - lower], [upper - share.value]],
                    fmt="o", color=colour, ecolor=PALE, elinewidth=3, markersize=6, label=None if number else name,
                )  # fmt: skip
                axes.annotate(
                    f"{share.whole}", (place + 0.012 * shift, upper), (0, 3), textcoords="offset points", ha="center",
                    size=7, color=colour,
                )  # fmt: skip
        axes.plot([0, 1], [0, 1], color=PALE, linestyle="--", linewidth=1)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.12), xlabel="score of the answer", ylabel="answers that pass")
        axes.legend(frameon=False, loc="lower right", fontsize=8)
    caption = (
        "Released answers by their two scores, with the number of answers. Bars are 95 % intervals. The dashed line is "
        "perfect calibration."
    )
    return _finish("Calibration of the scores", caption, target)


def _bin(pairs: Sequence[tuple[int | None, bool]]) -> Iterator[tuple[float, Share]]:
    """Yield the middle of each range of scores, as a share of 1, and the share that passes in it."""
    for low, high in pairwise(BINS):
        passed = [passes for score, passes in pairs if score is not None and low <= score < high]
        if passed:
            yield (low + min(high, 1000)) / 2000, Share(sum(passed), len(passed))


def draw_trade_off(results: Sequence[ItemResult]) -> Chart | None:
    """Draw what the gate would refuse at each minimum of question coverage; None without both kinds of questions."""
    right = [each.question_coverage for each in results if each.must_answer and each.question_coverage is not None]
    wrong = [each.question_coverage for each in results if not each.may_answer and each.question_coverage is not None]
    if not right or not wrong:
        return None
    minima = [number / 100 for number in range(101)]
    lost = [sum(value < minimum for value in right) / len(right) for minimum in minima]
    kept = [sum(value >= minimum for value in wrong) / len(wrong) for minimum in minima]
    with _figure() as (_, axes, target):
        axes.step(lost, kept, where="post", color=LINE, linewidth=2)
        for minimum in (0.5, 0.6, 0.7, 0.8, 0.9):
            place = lost[round(100 * minimum)], kept[round(100 * minimum)]
            axes.plot(*place, "o", color=MARK, markersize=5)
            axes.annotate(f"{minimum:.1f}", place, (5, 4), textcoords="offset points", size=8)
        axes.set(
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.05), xlabel="answerable questions refused",
            ylabel="other questions let through",
        )  # fmt: skip
    caption = (
        f"The gate at each minimum of question coverage, on {len(right)} answerable and {len(wrong)} other questions. "
        "Dots name the minimum. Nearer to the lower left corner is better."
    )
    return _finish("Refusal trade-off", caption, target)


def draw_ranking(values: Mapping[str, Interval], subject: str) -> Chart | None:
    """Draw nDCG@10 by collection or kind, with its interval; None without values."""
    if not values:
        return None
    names = list(values)[::-1]
    with _figure(1.2 + 0.32 * len(names)) as (_, axes, target):
        for row, name in enumerate(names):
            mean, low, high = values[name]
            axes.barh(row, mean, color=LINE, height=0.55)
            axes.plot([low, high], [row, row], color=INK, linewidth=1.5)
            axes.annotate(
                f"{mean:.2f}", (0, row), (5, 0), textcoords="offset points", va="center", color="white", size=9
            )
        axes.set_yticks(range(len(names)), names)
        axes.grid(axis="y", visible=False)
        axes.set(xlim=(0, 1.02), xlabel="nDCG@10")
    return _finish("Ranking", f"nDCG@10 of the candidates by {subject}. Lines are 95 % intervals.", target)


def draw_latency(latency: Sequence[NodeLatency]) -> Chart | None:
    """Draw the median and the 95th percentile of each node; None without nodes."""
    if not latency:
        return None
    nodes = list(latency)[::-1]
    with _figure(1.3 + 0.32 * len(nodes)) as (_, axes, target):
        rows = range(len(nodes))
        axes.barh(rows, [each.p95 for each in nodes], color=PALE, height=0.55, label="95th percentile")
        axes.barh(rows, [each.median for each in nodes], color=LINE, height=0.55, label="median")
        for row, each in enumerate(nodes):
            text = f"{each.median:.1f} / {each.p95:.1f}"
            axes.annotate(text, (each.p95, row), (5, 0), textcoords="offset points", va="center", size=8)
        axes.set_yticks(rows, [each.node for each in nodes])
        axes.grid(axis="y", visible=False)
        axes.set(xlim=(0, 1.2 * max(each.p95 for each in nodes)), xlabel="milliseconds")
        axes.legend(frameon=False, loc="lower right")
    return _finish("Latency of each node", f"Median and 95th percentile of {nodes[-1].runs} runs.", target)


def draw_reasons(columns: Sequence[tuple[str, Mapping[str, int]]]) -> Chart | None:
    """Draw why items did not pass, in each evaluation; None if every item passed."""
    reasons = list(dict.fromkeys(reason for _, counts in columns for reason in counts))
    if not reasons:
        return None
    colours = (MARK, LINE, "#d9822b", "#5c7080", "#8a6fb0", "#3f8f5f", "#b08d57", "#7a8793")
    with _figure(HEIGHT + 0.2) as (_, axes, target):
        bottoms = [0] * len(columns)
        for number, reason in enumerate(reasons):
            counts = [each.get(reason, 0) for _, each in columns]
            axes.bar(
                range(len(columns)),
                counts,
                bottom=bottoms,
                width=0.55,
                color=colours[number % len(colours)],
                label=reason,
            )
            bottoms = [bottom + count for bottom, count in zip(bottoms, counts, strict=True)]
        axes.set_xticks(range(len(columns)), [name for name, _ in columns])
        axes.grid(axis="x", visible=False)
        axes.set(ylabel="items that did not pass", xlim=(-0.6, len(columns) - 0.4))
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return _finish("Reasons", "Why items did not pass, by evaluation in the order of time.", target)


def draw_drift(before: Sequence[Figure], after: Sequence[Figure], labels: tuple[str, str]) -> Chart | None:
    """Draw each share of two evaluations of the same set, with its interval; None without a common figure."""
    first = {(each.metric, each.scope): each for each in before if each.value is not None}
    pairs = [
        (first[each.metric, each.scope], each)
        for each in after
        if each.value is not None and (each.metric, each.scope) in first
    ][::-1]
    if not pairs:
        return None
    with _figure(1.2 + 0.34 * len(pairs)) as (_, axes, target):
        for row, pair in enumerate(pairs):
            for each, offset, colour in zip(pair, (0.14, -0.14), (PALE, LINE), strict=True):
                axes.plot([each.low, each.high], [row + offset] * 2, color=colour, linewidth=3, solid_capstyle="round")
                axes.plot(each.value, row + offset, "o", color=INK if colour == PALE else MARK, markersize=5)
        axes.set_yticks(range(len(pairs)), [each.metric for each, _ in pairs])
        axes.grid(axis="y", visible=False)
        axes.set(xlim=(-0.02, 1.02), xlabel=f"grey {labels[0]}, blue {labels[1]}")
    caption = f"Figures of {labels[0]} and {labels[1]} with 95 % intervals."
    return _finish("Drift", caption, target)

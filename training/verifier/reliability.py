"""Draws the reliability and the cost of a support score: `python training/verifier/reliability.py DATA PICTURE`.

Both panels show whole answers of unseen documents. The score of an answer is that of its weakest statement. The left
panel is the reliability of the score (R5-15): the share of supported answers in each fifth of the released ones. The
right panel is the cost of a minimum (R5-17): the share of unsupported answers that it rejects against that of supported
ones. Bars and bands are intervals of 95 % that resample documents.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from data import UNSEEN, Whole, read_answers
from evaluate import ANSWERS, SAMPLES, score_whole
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator, PercentFormatter

from sourcebound.contracts.policy.releases import load_shipped_policy

Array = np.ndarray[Any, Any]
NAMES: Final = {"ragtruth/qa": "RAGTruth QA", "lfqa_verif": "LFQA verification", "faithjudge/qa": "FaithJudge QA"}
MOST_REJECTED: Final = 0.2
"""The right panel ends here: no policy would reject more of the supported answers."""
FIFTHS: Final = 5


def main(folder: Path, out: Path) -> None:
    """Score the answers and write the picture."""
    wholes = [whole for whole in read_answers(folder) if whole.source in ANSWERS and whole.part == UNSEEN]
    scores = np.array([score_whole(whole) for whole in wholes])
    plt.rcParams |= {"svg.hashsalt": "support", "font.family": "sans-serif", "font.size": 9, "svg.fonttype": "none"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    support = load_shipped_policy("SOURCEBOUND_V2").validation.support
    assert support is not None
    draw_reliability(left, wholes, scores, (support.min_support, support.warn_support, support.high_support))
    draw_costs(right, wholes, scores)
    left.yaxis.set_major_formatter(PercentFormatter(1))
    right.xaxis.set_major_formatter(PercentFormatter(1, 0))
    right.yaxis.set_major_formatter(PercentFormatter(1))
    right.xaxis.set_major_locator(MultipleLocator(0.05))
    for panel in (left, right):
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    figure.savefig(out, metadata={"Date": None})


def draw_reliability(panel: Axes, wholes: list[Whole], scores: Array, bounds: Sequence[int]) -> None:
    """Draw the share of supported answers by score. The bounds are the lowest scores of LOW, MEDIUM and HIGH."""
    released = np.flatnonzero(scores >= bounds[0])
    for rows in np.array_split(released[np.argsort(scores[released], kind="stable")], FIFTHS):
        flags = np.array([wholes[row].supported for row in rows])
        low, high = interval(flags, [wholes[row].group for row in rows])
        panel.plot(np.median(scores[rows]), flags.mean(), "o", color="#1f5fa8")
        panel.vlines(np.median(scores[rows]), low, high, color="#1f5fa8")
    for name, first, last in zip(("LOW", "MEDIUM", "HIGH"), bounds, (*bounds[1:], 1000), strict=True):
        panel.axvline(first, color="#888888", linestyle=":", linewidth=1)
        panel.text((first + last) / 2, 1.03, name, ha="center", fontsize=8)
    panel.set(xlabel="lowest support score of the answer", ylabel="supported answers", ylim=(0, 1.1), xlim=(200, 1000))


def draw_costs(panel: Axes, wholes: list[Whole], scores: Array) -> None:
    """Draw a curve for each source."""
    costs = np.linspace(0, MOST_REJECTED, 41)
    sources, labels = np.array([w.source for w in wholes]), np.array([w.supported for w in wholes])
    groups = np.array([w.group for w in wholes])
    for name, color in zip(ANSWERS, ("#1f5fa8", "#b34700", "#3a7d34"), strict=True):
        mine = sources == name
        panel.plot(costs, caught(scores[mine], labels[mine], costs), color=color, label=NAMES[name])
        curves = [caught(scores[mine][rows], labels[mine][rows], costs) for rows in resample(groups[mine], SAMPLES)]
        panel.fill_between(costs, *np.percentile(curves, [2.5, 97.5], axis=0), color=color, alpha=0.12, linewidth=0)
    panel.axvline(0.03, color="#888888", linestyle=":", linewidth=1)
    panel.set(xlabel="supported answers rejected", ylabel="unsupported answers rejected", ylim=(0, 1))
    panel.legend(frameon=False, loc="upper left")


def caught(scores: Array, supported: Array, costs: Array) -> Array:
    """Return the share of unsupported answers under the minimum that rejects each share of the supported ones."""
    good, bad = np.sort(scores[supported]), scores[~supported]
    minima = good[np.minimum((len(good) * costs).astype(int), len(good) - 1)]
    return (bad[:, None] < minima).mean(0)


def interval(flags: Array, groups: list[str]) -> Array:
    """Return the interval of a share."""
    return np.percentile([flags[rows].mean() for rows in resample(np.array(groups), SAMPLES)], [2.5, 97.5])


def resample(groups: Array, samples: int) -> list[Array]:
    """Draw documents, and return the rows of each draw."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    chance = np.random.default_rng(0)
    return [np.concatenate([rows[i] for i in chance.integers(0, len(rows), len(rows))]) for _ in range(samples)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

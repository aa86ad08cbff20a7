"""Measures the verifier on unseen documents: `python training/verifier/evaluate.py DATA OUT`.

`OUT` holds `features.npz` of `table.py`. Prints Markdown tables for `training/README.md`. A minimum is chosen on the
part to choose with; every figure is of the unseen part. An interval is of 95 % and resamples documents.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from data import CHOOSE, NO_STATEMENT, TALK, UNSEEN, Example, Whole, read_answers
from questions import read_questions
from table import read_table

from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.support.verify import score_subject, score_support
from sourcebound.contracts.validation.support.weights import read_weights, verifier_digest

Array = np.ndarray[Any, Any]
ANSWERS: Final = ("ragtruth/qa", "faithjudge/qa", "lfqa_verif")
"""The sets that minima are chosen on: answers to questions."""
SETS: Final = (
    "ragtruth/qa", "faithjudge/qa", "lfqa_verif", "attributionbench/id", "ragtruth/summary", "faithjudge/summary",
    "qcnli_factscore", "begin", "cliff", "faithbench", "scifact", "wice", "fm2", "fever_symmetric", "esnli",
    "covidfact", "healthver", "climate_fever",
)  # fmt: skip
WRONG_STATEMENTS, WRONG_ANSWERS = 0.05, 0.03
SAMPLES: Final = 500


def main(folder: Path, out: Path) -> None:
    """Print every table."""
    print(f"verifier {verifier_digest()[:12]}\n")
    examples, matrix, names = read_table(folder, out)
    scores = score_all([dict(zip(names, map(int, row), strict=True)) for row in matrix])
    statements(examples, scores)
    answers(folder)
    questions(folder)
    speed(examples)


def score_all(rows: list[dict[str, int]]) -> dict[str, Array]:
    """Return the scores of each ablation, in thousandths."""
    weights = read_weights()
    coverage = np.array([weights.to_thousandths(weights.coverage.sum(row)) for row in rows])
    alteration = np.array([weights.to_thousandths(weights.alteration.sum(row)) for row in rows])
    overlap = np.array([row["covered"] for row in rows])
    return {"overlap": overlap, "coverage": coverage, "support": np.minimum(coverage, alteration)}


def statements(examples: list[Example], scores: dict[str, Array]) -> None:
    """Print what is caught and wrongly rejected by set and by kind of change."""
    counted = np.array([not e.is_talk for e in examples])
    unseen = np.array([e.part == UNSEEN for e in examples]) & counted
    chosen = np.array([e.part == CHOOSE and e.source in ANSWERS and e.supported for e in examples]) & counted
    minima = {name: minimum(score[chosen], WRONG_STATEMENTS) for name, score in scores.items()}
    print(f"Minima at {WRONG_STATEMENTS:.0%} of supported statements: {minima}\n")
    print("| set | supported / not | " + " | ".join(f"{n}: AUROC, caught, wrongly rejected" for n in scores) + " |")
    print("|---|---|" + "---|" * len(scores))
    for name in SETS:
        rows = [index for index in np.flatnonzero(unseen) if examples[index].source == name]
        if rows:
            print_row(name, rows, examples, scores, minima)
    print(
        "\n| change | statements | "
        + " | ".join(f"{n}: caught" for n in scores)
        + " |\n|---|---|"
        + "---|" * len(scores)
    )
    kinds = sorted({e.source for e in examples if e.source.startswith(("synthetic/", "made/", "model/"))})
    for name in kinds:
        rows = [index for index in np.flatnonzero(unseen) if examples[index].source == name]
        groups = [examples[index].group for index in rows]
        cells = [rate_text(score[rows] < minima[n], groups) for n, score in scores.items()]
        supported = " (supported)" if examples[rows[0]].supported else ""
        print(f"| {name.removeprefix('synthetic/')}{supported} | {len(rows)} | {' | '.join(cells)} |")


def print_row(
    name: str, rows: list[int], examples: list[Example], scores: dict[str, Array], minima: dict[str, int]
) -> None:
    """Print the line of a set."""
    good = [index for index in rows if examples[index].supported]
    bad = [index for index in rows if not examples[index].supported]
    cells = [
        f"{auroc(score[good], score[bad]):.3f}, {rate_text(score[bad] < minima[n], [examples[i].group for i in bad])}, "
        f"{rate_text(score[good] < minima[n], [examples[i].group for i in good])}"
        for n, score in scores.items()
    ]
    print(f"| {name} | {len(good)} / {len(bad)} | {' | '.join(cells)} |")


def answers(folder: Path) -> None:
    """Print the same of whole answers: the score of an answer is that of its weakest statement."""
    wholes = [whole for whole in read_answers(folder) if whole.source in (*ANSWERS, "ragtruth/summary")]
    scores = np.array([score_whole(whole) for whole in wholes])
    chosen = np.array([w.part == CHOOSE and w.supported and w.source in ANSWERS for w in wholes])
    least = minimum(scores[chosen], WRONG_ANSWERS)
    print(f"\nMinimum at {WRONG_ANSWERS:.0%} of supported answers: {least}\n")
    print("| whole answers | supported / not | AUROC | caught | wrongly rejected |\n|---|---|---|---|---|")
    for name in sorted({whole.source for whole in wholes}):
        good, bad = (
            [i for i, w in enumerate(wholes) if w.source == name and w.part == UNSEEN and w.supported is is_good]
            for is_good in (True, False)
        )
        cells = [rate_text(scores[rows] < least, [wholes[i].group for i in rows]) for rows in (bad, good)]
        print(f"| {name} | {len(good)} / {len(bad)} | {auroc(scores[good], scores[bad]):.3f} | {' | '.join(cells)} |")
    levels(wholes, scores, least)


def levels(wholes: list[Whole], scores: Array, least: int) -> None:
    """Print how many answers of each third of the released ones are supported, for the levels of R5-15."""
    chosen = np.array([w.part == CHOOSE and w.source in ANSWERS for w in wholes])
    low, high = (int(cut) for cut in np.percentile(scores[chosen & (scores >= least)], [33, 67]))
    print("\n| lowest score of an answer | answers | supported |\n|---|---|---|")
    for name, first, last in (
        ("rejected", 0, least), ("LOW", least, low), ("MEDIUM", low, high), ("HIGH", high, 1001)
    ):  # fmt: skip
        rows = [
            i for i, w in enumerate(wholes) if w.part == UNSEEN and w.source in ANSWERS and first <= scores[i] < last
        ]
        flags = np.array([wholes[i].supported for i in rows])
        print(f"| {name}: {first} to {last - 1} | {len(rows)} | {rate_text(flags, [wholes[i].group for i in rows])} |")


def score_whole(whole: Whole) -> int:
    """Return the lowest score of an answer's statements. Those that need no citation, and courtesies, do not count."""
    lowest, previous = 1000, ""
    for statement in read_statements(whole.answer):
        text = CITATION.sub(" ", statement.text)
        if statement.needs_citation and not TALK.search(text) and not NO_STATEMENT.search(text.strip()):
            lowest = min(lowest, score_support(text, previous, whole.question, whole.texts))
        previous = text
    return lowest


def questions(folder: Path) -> None:
    """Print the second score by set."""
    asked = read_questions(folder)
    scores = np.array([score_subject(a.answer, a.question, [a.text]) for a in asked])
    good = {"squad2": "squad2", "qed/other": "qed", "covidqa/elsewhere": "covidqa"}
    positive = scores[[a.part == CHOOSE and a.answers for a in asked]]
    least = minimum(positive, WRONG_ANSWERS)
    print(f"\nMinimum of the second score at {WRONG_ANSWERS:.0%} of answered questions: {least}\n")
    print("| questions | answered / not | AUROC | caught | wrongly rejected |\n|---|---|---|---|---|")
    for bad_name, good_name in good.items():
        yes = [i for i, a in enumerate(asked) if a.source == good_name and a.answers and a.part == UNSEEN]
        no = [i for i, a in enumerate(asked) if a.source == bad_name and not a.answers and a.part == UNSEEN]
        cells = [rate_text(scores[rows] < least, [asked[i].group for i in rows]) for rows in (no, yes)]
        print(f"| {bad_name} | {len(yes)} / {len(no)} | {auroc(scores[yes], scores[no]):.3f} | {' | '.join(cells)} |")


def speed(examples: list[Example]) -> None:
    """Print the time of a statement whose evidence was not read before, and of one whose evidence was."""
    pieces = [e for e in examples if 450 <= sum(len(text.split()) for text in e.texts) <= 550][:300]
    for name in ("first reading", "read before"):
        start = time.perf_counter()
        for piece in pieces:
            score_support(piece.statement, piece.previous[-300:], piece.question, piece.texts)
        print(
            f"\n{name}: {(time.perf_counter() - start) / len(pieces) * 1000:.1f} ms a statement, 500 words of evidence"
        )


def minimum(scores: Array, share: float) -> float:
    """Return the highest minimum under which at most this share of the scores lies."""
    return np.sort(scores)[int(len(scores) * share)].item()


def auroc(good: Array, bad: Array) -> float:
    """Return the chance that a good score is above a bad one; equal scores count half."""
    if not len(good) or not len(bad):
        return float("nan")
    order = np.sort(bad)
    below, not_above = np.searchsorted(order, good, "left"), np.searchsorted(order, good, "right")
    return float((below + not_above).mean() / 2 / len(bad))


def rate_text(flags: Array, groups: Sequence[str]) -> str:
    """Return a rate and its interval in per cent; the resampling draws documents."""
    if not len(flags):
        return "–"
    keys = {group: index for index, group in enumerate(dict.fromkeys(groups))}
    hits, counts = np.zeros(len(keys)), np.zeros(len(keys))
    for flag, group in zip(flags, groups, strict=True):
        hits[keys[group]] += flag
        counts[keys[group]] += 1
    draws = np.random.default_rng(0).integers(0, len(keys), (SAMPLES, len(keys)))
    low, high = np.percentile(hits[draws].sum(1) / counts[draws].sum(1), [2.5, 97.5])
    return f"{np.mean(flags):.0%} ({low:.0%}–{high:.0%})"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

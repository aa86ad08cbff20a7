"""Fits the verifier's weights and writes them: `python training/verifier/fit.py DATA OUT`.

`OUT` holds `features.npz` of `table.py`. It needs the packages of `training/requirements.txt`. Only statements that
may be in shipped weights are learnt from. The statements of language models in the part to choose with set the scale of
coverage, so that a score resembles a probability, and the level of alteration, so that it rejects one supported
statement where coverage rejects eleven.
"""

import json
import sys
from math import floor, log
from pathlib import Path
from typing import Any, Final

import lightgbm
import numpy as np
from data import CHOOSE, MODEL_ANSWERS, SHIPPABLE, TRAIN, Example
from questions import read_questions
from scipy.optimize import minimize
from table import read_table

from sourcebound.contracts.validation.support.answering import answering_features

TARGET: Final = Path(__file__).parents[2] / "contracts" / "validation" / "support" / "support_v1.json"
Array = np.ndarray[Any, Any]
MILLION: Final = 1_000_000
COVERAGE: Final = {
    "covered_families": 1, "covered": 1, "covered_3": 1, "covered_2": 1, "covered_1": 1, "pairs_ordered": 1,
    "equal_share": 1, "run_share": 1, "agreement_mean": 1, "agreement_rare": 1, "agreement_numbers": 1,
    "found": 1, "found_new": 1,
    "literals_missing": -1, "missing_names_window": -1, "missing_new_weight": -1, "missing_rarest": -1,
}  # fmt: skip
"""The features of coverage, and whether each may only raise or only lower the score."""
ANSWERING: Final = {
    "asked_near": 1, "asked_around": 1, "asked_in_chunks": 1, "asked_agreement": 1, "asked_agreement_least": 1,
    "asked_missing_rarest": -1, "asked_names_missing": -1, "asked_literals_missing": -1, "asked_opposites": -1,
    "asked_negation": -1, "kind_missing": -1,
}  # fmt: skip
FAR: Final = tuple(f"synthetic/{kind}" for kind in "other_document same_document_not_shown invented filler".split())
"""The changes that coverage must find. Alteration must find all others but an echo of the prompt."""
TREES: Final = {
    "n_estimators": 130, "num_leaves": 48, "learning_rate": 0.05, "min_child_samples": 20, "colsample_bytree": 0.5,
    "subsample": 0.8, "subsample_freq": 1, "random_state": 0, "n_jobs": 1, "deterministic": True, "verbose": -1,
}  # fmt: skip
PER_KIND: Final = 400
"""The statements of a kind of change whose weight is one. Rarer kinds weigh more."""
MADE, NATURAL = 0.25, 1.0
"""The weights of changes to reworded statements, and of supported statements that are no copies."""
BUDGET: Final = (0.045, 0.004)
"""The shares of supported statements that coverage and alteration put under the same score."""


def main(folder: Path, out: Path) -> None:
    """Fit all weights and write them."""
    examples, features, names = read_table(folder, out)
    matrix = features.astype(float)
    coverage, covered = fit_coverage(examples, matrix, names)
    form = {
        "version": "support_v1",
        "coverage": coverage,
        "alteration": fit_alteration(examples, matrix, names, covered),
        "answering": fit_answering(folder),
        "cuts": [round(MILLION * log(k / (1000 - k))) for k in range(1, 1000)],
    }
    TARGET.write_text(json.dumps(form, separators=(",", ":")).replace("]],[[", "]],\n[[") + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


def fit_coverage(examples: list[Example], matrix: Array, names: list[str]) -> tuple[dict[str, Any], Array]:
    """Fit coverage on natural statements and on changes that take a statement away from its evidence."""
    rows = select(
        examples,
        lambda e: e.ships and e.part == TRAIN and (e.source in SHIPPABLE or e.source in FAR or e.supported),
    )
    labels = np.array([example.supported for example in examples])
    values = matrix[:, [names.index(name) for name in COVERAGE]]
    weights, bias = fit_signed(values[rows], labels[rows], np.array(list(COVERAGE.values())))
    raw = values @ weights + bias
    chosen = model_statements(examples)
    scale, shift = fit_signed(raw[chosen, None], labels[chosen], np.ones(1), penalty=0.0)
    weights, bias = weights * scale[0], bias * scale[0] + shift
    return whole(weights, bias, list(COVERAGE)), values @ weights + bias


def fit_alteration(examples: list[Example], matrix: Array, names: list[str], covered: Array) -> dict[str, Any]:
    """Fit alteration on supported statements against changes that stay close to the evidence."""
    kinds = np.array([e.source for e in examples])
    changed = np.array(
        [
            e.source.startswith(("synthetic/", "made/"))
            and not e.supported
            and e.source not in (*FAR, "synthetic/prompt_echo")
            for e in examples
        ]
    )
    labels = np.array([e.supported for e in examples])
    rows = select(examples, lambda e: e.ships and e.part == TRAIN) & (changed | labels)
    weights = np.ones(len(examples))
    for kind in sorted(set(kinds[rows & changed])):
        weights[kinds == kind] = (PER_KIND / np.sum(rows & (kinds == kind))) ** 0.85
        weights[kinds == kind] *= MADE if kind.startswith("made/") else 1.0
    weights[labels & ~np.char.startswith(kinds, "synthetic/")] = NATURAL
    model = lightgbm.LGBMClassifier(**TREES).fit(matrix[rows], ~labels[rows], sample_weight=weights[rows])
    raw = model.predict(matrix, raw_score=True)
    supported = model_statements(examples) & labels
    cover, alter = np.quantile(covered[supported], BUDGET[0]), np.quantile(raw[supported], 1 - BUDGET[1])
    print(f"alteration at {alter:.2f} scores as coverage at {cover:.2f}")
    return export(model, names, cover + alter)


def fit_answering(folder: Path) -> dict[str, Any]:
    """Fit the second score on the questions of the training part."""
    asked = [question for question in read_questions(folder) if question.part == TRAIN]
    rows = [answering_features(a.answer, a.question, [a.text]) for a in asked]
    values = np.array([[row[name] for name in ANSWERING] for row in rows], dtype=float)
    labels = np.array([a.answers for a in asked])
    return whole(*fit_signed(values, labels, np.array(list(ANSWERING.values()))), list(ANSWERING))


def fit_signed(values: Array, labels: Array, signs: Array, penalty: float = 0.01) -> tuple[Array, float]:
    """Fit a logistic regression whose weights keep their signs.

    Args:
        values: A row for each statement.
        labels: Whether each is supported.
        signs: 1 for a feature that may only raise the score, -1 for one that may only lower it.
        penalty: The penalty on squared weights of standardized features.

    Returns:
        The weights and the bias.
    """
    mean, deviation = values.mean(0), values.std(0) + 1e-9
    standard, targets = (values - mean) / deviation * signs, labels * 2 - 1

    def loss(point: Array) -> tuple[float, Array]:
        margins = targets * (standard @ point[:-1] + point[-1])
        slopes = -targets / (1 + np.exp(margins))
        gradient = standard.T @ slopes / len(targets) + 2 * penalty * point[:-1]
        return np.logaddexp(0, -margins).mean() + penalty * (point[:-1] ** 2).sum(), np.append(gradient, slopes.mean())

    count = values.shape[1]
    point = minimize(loss, np.zeros(count + 1), jac=True, bounds=[(0, None)] * count + [(None, None)]).x
    weights = point[:-1] * signs / deviation
    return weights, float(point[-1] - weights @ mean)


def export(model: Any, names: list[str], bias: float) -> dict[str, Any]:
    """Return trees as nodes of whole numbers, turned round: a high sum is a statement without alterations."""
    used: list[str] = []
    trees = []
    for tree in model.booster_.dump_model()["tree_info"]:
        nodes: list[list[int]] = []
        _export(tree["tree_structure"], nodes, used, names)
        trees.append(nodes)
    return {"bias": round(bias * MILLION), "features": used, "trees": trees}


def _export(node: dict[str, Any], nodes: list[list[int]], used: list[str], names: list[str]) -> int:
    index = len(nodes)
    nodes.append([])
    if "leaf_value" in node:
        nodes[index] = [-1, round(-node["leaf_value"] * MILLION), 0, 0]
        return index
    name = names[node["split_feature"]]
    if name not in used:
        used.append(name)
    left = _export(node["left_child"], nodes, used, names)
    right = _export(node["right_child"], nodes, used, names)
    nodes[index] = [used.index(name), floor(node["threshold"]), left, right]
    return index


def whole(weights: Array, bias: float, names: list[str]) -> dict[str, Any]:
    """Return weights as whole numbers, in millionths."""
    rounded = {name: round(weight * MILLION) for name, weight in zip(names, weights, strict=True)}
    return {"bias": round(bias * MILLION), "weights": {name: weight for name, weight in rounded.items() if weight}}


def model_statements(examples: list[Example]) -> Array:
    """Return which statements are by language models and in the part to choose with."""
    return select(examples, lambda e: e.source in MODEL_ANSWERS and e.part == CHOOSE and not e.is_talk)


def select(examples: list[Example], wanted: Any) -> Array:
    """Return which examples are wanted."""
    return np.array([bool(wanted(example)) for example in examples])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

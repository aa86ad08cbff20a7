"""Compares ways to order the sentences of a prompt: `python training/generator/rankers.py CASES NATURAL`.

The files are those that `extractive.py` learns from. Each way learns on four fifths of the documents and is measured on
the fifth (SQuAD 2.0: on the other article). Printed is the number of questions whose first sentence holds
an accepted answer. The same input prints the same figures.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import lightgbm
import numpy as np
from extractive import SETS, Array, Example, fit_ranking, read_examples
from folds import FOLDS, documents, fold_of

from sourcebound.contracts.extractive.answer_types import needs_type
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.reading import score
from sourcebound.contracts.extractive.weights import MILLION, Linear, read_weights
from sourcebound.evals.answers.cases import read_cases
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import DATA
from sourcebound.models.sentence_reader import shared_reader

TREES: Final = {
    "objective": "lambdarank", "num_leaves": 4, "learning_rate": 0.05, "min_data_in_leaf": 30, "lambda_l2": 5,
    "feature_fraction": 0.5, "bagging_fraction": 0.7, "bagging_freq": 1, "seed": 0, "deterministic": True,
    "num_threads": 2, "verbose": -1,
}  # fmt: skip
ROUNDS: Final = 200
Scores = Callable[[Example], Array]
Way = Callable[[Sequence[Example]], Scores]


def released(examples: Sequence[Example]) -> Scores:
    """Score by the weights that ship. They were fitted on these documents, so this is no fair comparison."""
    return regression(read_weights(embedded=True).ranking)


def fitted(examples: Sequence[Example]) -> Scores:
    """Score by the same regression, fitted on these examples only."""
    return regression(Linear(0, tuple(fit_ranking(examples).items())))


def regression(weights: Linear) -> Scores:
    """Return the sums of a regression, in logits."""
    return lambda example: np.array([weights.sum(features) / 1e6 for _, features in example.described])


def trees(first: Way | None) -> Way:
    """Return gradient-boosted trees on the features and on how far each is behind its best in the prompt.

    Args:
        first: Another way, whose scores the trees read too, with the scores of the neighbours.
    """

    def learn(examples: Sequence[Example]) -> Scores:
        before = first(examples) if first else None
        values = np.vstack([columns(each, before) for each in examples])
        labels = np.concatenate([np.array(each.labels, float) for each in examples])
        data = lightgbm.Dataset(values, labels, group=[len(each.labels) for each in examples])
        model = lightgbm.train(TREES, data, ROUNDS)
        return lambda example: np.asarray(model.predict(columns(example, before)))

    return learn


def columns(example: Example, before: Scores | None) -> Array:
    """Return what trees read of each sentence."""
    names = sorted(example.described[0][1])
    values = np.array([[features[name] for name in names] for _, features in example.described], float)
    parts = [values, values - values.max(axis=0)]
    if before:
        scores = before(example) - before(example).max()
        at = {(each.chunk, each.place): score for (each, _), score in zip(example.described, scores, strict=True)}
        parts += [
            np.array([at.get((each.chunk, each.place + step), -9.0) for each, _ in example.described])[:, None]
            for step in (0, -1, 1)
        ]
    return np.column_stack(parts)


def is_first_right(example: Example, scores: Array) -> bool:
    """Return whether the best sentence holds an accepted answer, under the rules for the kind that is asked for."""
    question = read_question(example.prompt.search_query or example.prompt.question)
    ranked = []
    for (sentence, features), label, value in zip(example.described, example.labels, scores, strict=True):
        rule = score(question, Linear(0, ()), features) / MILLION
        missing = needs_type(question) and features["type_missing"] > 0
        ranked.append((missing, -(value + rule), sentence.chunk, sentence.place, label))
    return bool(min(ranked)[-1])


def measure(way: Way, examples: Sequence[Example], folds: Mapping[str, int]) -> Counter[str]:
    """Count the questions of each set whose first sentence is right."""
    right: Counter[str] = Counter()
    for part in range(FOLDS):
        seen = [each for each in examples if folds[each.case.id] != part]
        scores = way([each for each in seen if any(each.labels) and not all(each.labels)])
        for each in examples:
            if folds[each.case.id] == part:
                right[each.case.set] += is_first_right(each, scores(each))
    return right


def main() -> None:
    """Print a row for each way."""
    cases = [each for path in sys.argv[1:3] for each in read_cases(Path(path)) if each.is_asked and not each.held]
    cases = [each for each in cases if each.set in {*SETS, "natural"}]
    examples = [each for each in read_examples(cases, shared_reader()) if each.case.kind is Kind.ANSWERABLE]
    document = documents(DATA)
    articles = sorted({document[each.case.id] for each in examples if each.case.set == "squad2"})
    folds = {
        each.case.id: articles.index(document[each.case.id])
        if each.case.set == "squad2"
        else fold_of(document.get(each.case.id, each.case.id))
        for each in examples
    }
    print("questions", dict(Counter(each.case.set for each in examples)))
    ways = {"released": released, "fitted": fitted, "trees": trees(None), "trees after fitted": trees(fitted)}
    for name, way in ways.items():
        right = measure(way, examples, folds)
        print(name, dict(right), right.total(), flush=True)


if __name__ == "__main__":
    main()

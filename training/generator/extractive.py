"""Fits the weights of the extractive generator: `… extractive.py CASES NATURAL WRITTEN BROAD [WAY…]`.

`CASES` is the file that `python -m sourcebound.evals.answers --cases CASES` keeps, `NATURAL` that of
`natural_cases.py`, `WRITTEN` that of `written_cases.py`, and `BROAD` that of `broad_cases.py`. Only the development
half of `CASES` is learnt from. Two regressions are fitted, with the reader of sentences and without it: one orders
the sentences of a prompt (the sentences that hold an accepted answer come first), and one says whether the first
sentence answers (the first sentence of an unanswerable question never does). The same input gives the same bytes.

A `WAY` is `embedded` or `lexical`; without one only the first is fitted, because the weights for words alone are those
of an earlier fit. With `:answering` after it, only its second regression is fitted.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sourcebound.contracts.extractive import weights as extractive_weights
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.ranking import Ranked, answering_features
from sourcebound.contracts.extractive.reading import Described, Reader, compare, describe, only_quoted, score
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.extractive.weights import WEIGHTS_FILE, Linear, read_weights
from sourcebound.contracts.prompt.build import PromptParts, read_prompt
from sourcebound.evals.answers.cases import Case, read_cases
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.model.scoring import is_right
from sourcebound.models.sentence_reader import shared_reader

Array = np.ndarray[Any, np.dtype[np.float64]]
WEIGHTS: Final = Path(extractive_weights.__file__).with_name(WEIGHTS_FILE)
SETS: Final = ("squad2", "qed_nq", "covidqa")
"""The sets whose accepted answers are short enough to label single sentences."""
FALLS: Final = frozenset({"heaviest_missing", "names_missing", "names_far", "type_missing", "nothing_new"})
"""The features of which more never helps. Of the others more never harms, except the free ones."""
FREE_BIAS: Final = "bias"
FREE: Final = frozenset({"length", "new", FREE_BIAS})
NATURAL_COUNTS: Final = 3
"""How often each natural question counts for the second regression, because there are few of them."""
SHRINK: Final = 0.002
STEPS: Final = 400
MILLION: Final = 1_000_000


class Example(NamedTuple):
    """A question with its sentences, described, and which of them hold an accepted answer."""

    case: Case
    prompt: PromptParts
    described: list[Described]
    labels: list[bool]


def read_examples(cases: Sequence[Case], read: Reader | None) -> list[Example]:
    """Describe the sentences of each case as the product does."""
    examples = []
    for case, prompt in (pair for each, other in with_others(cases) for pair in prompts_of(each, other)):
        question = read_question(prompt.search_query or prompt.question)
        described = describe(question, read_evidence(prompt.evidence))
        described = compare(question, prompt.evidence, described, read) if read else only_quoted(described)
        if described:
            labels = [bool(case.gold) and is_right(sentence.text, case.gold) for sentence, _ in described]
            examples.append(Example(case, prompt, described, labels))
    return examples


def with_others(cases: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Return each case with one of the same set that is far from it in the data's order."""
    half = len(cases) // 2
    pairs = []
    for number, case in enumerate(cases):
        others = (cases[(number + half + step) % len(cases)] for step in range(len(cases)))
        pairs.append((case, next(each for each in others if each.set == case.set)))
    return pairs


def prompts_of(case: Case, other: Case) -> list[tuple[Case, PromptParts]]:
    """Return the prompt of a case; of an answerable one also two that have no answer.

    One lacks the chunks that hold an accepted answer, and one has the evidence of another question.
    """
    prompt = read_prompt(case.prompt.messages)
    if case.kind is not Kind.ANSWERABLE:
        return [(case, prompt)]
    unanswerable = case.model_copy(update={"kind": Kind.UNANSWERABLE})
    without = [
        tuple(part for part in evidence if not is_right(part.text, case.gold))
        for evidence in (prompt.evidence, read_prompt(other.prompt.messages).evidence)
    ]
    return [(case, prompt), *((unanswerable, prompt._replace(evidence=evidence)) for evidence in without if evidence)]


def fit_ranking(examples: Sequence[Example]) -> dict[str, int]:
    """Fit the weights that order sentences, in millionths of a logit for each thousandth of a feature."""
    names = sorted(examples[0].described[0][1])
    groups = [
        (_matrix([features for _, features in each.described], names), np.array(each.labels, float))
        for each in examples
        if any(each.labels) and not all(each.labels)
    ]

    weights = climb_likelihood(groups, *_bounds(names))
    return {name: round(1000 * float(value)) for name, value in zip(names, weights, strict=True)}


def climb_likelihood(groups: Sequence[tuple[Array, Array]], low: Array, high: Array) -> Array:
    """Return the weights within bounds that make the wanted rows of each group likely among all its rows.

    Args:
        groups: The features of the rows, and 1 for each wanted row. Each group has wanted and other rows.
        low: The least weight of each feature.
        high: The greatest.
    """

    def slope(weights: Array) -> Array:
        total = np.zeros(len(low))
        for values, labels in groups:
            scores = values @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            wanted = shares * labels
            total += values.T @ (wanted / wanted.sum() - shares)
        return np.asarray(total / len(groups) - SHRINK * weights)

    return climb(slope, 0.1, STEPS, low, high)


def fit_answering(examples: Sequence[Example], weights: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """Fit the weights that say whether the first sentence answers. Returns the bias too."""
    rows, labels = [], []
    for each in examples:
        features, is_answer = first_features(each, weights)
        rows.append(features)
        labels.append(float(is_answer))
    names = sorted(rows[0])
    values, wanted = _matrix(rows, names), np.array(labels)
    middle, spread = values.mean(axis=0), values.std(axis=0) + 1e-6
    scaled = np.column_stack([(values - middle) / spread, np.ones(len(rows))])

    def slope(current: Array) -> Array:
        chance = 1 / (1 + np.exp(-(scaled @ current)))
        shrunk = np.append(current[:-1], 0.0) / len(rows)
        return np.asarray(scaled.T @ (wanted - chance) / len(rows) - shrunk)

    found = climb(slope, 0.02, 3000, *_bounds([*names, FREE_BIAS]))
    plain = found[:-1] / spread
    bias = found[-1] - (plain * middle).sum()
    return round(MILLION * float(bias)), {
        name: round(1000 * float(value)) for name, value in zip(names, plain, strict=True)
    }


def first_features(example: Example, weights: Mapping[str, int]) -> tuple[Mapping[str, int], bool]:
    """Return the features of the first sentence under these weights, and whether it holds an accepted answer."""
    question = read_question(example.prompt.search_query or example.prompt.question)
    scored = [
        (Ranked(sentence, features, score(question, Linear(0, tuple(weights.items())), features)), label)
        for (sentence, features), label in zip(example.described, example.labels, strict=True)
    ]
    scored.sort(key=lambda each: (-each[0].score, each[0].sentence.chunk, each[0].sentence.place))
    first, label = scored[0]
    chunk = example.prompt.evidence[first.sentence.chunk].text
    return answering_features(question, [each for each, _ in scored], chunk), label


def _matrix(rows: Sequence[Mapping[str, int]], names: Sequence[str]) -> Array:
    return np.array([[row[name] / 1000 for name in names] for row in rows])


def _bounds(names: Sequence[str]) -> tuple[Array, Array]:
    """Return the least and the greatest weight of each feature."""
    least = np.array([-np.inf if name in FALLS | FREE else 0.0 for name in names])
    return least, np.array([0.0 if name in FALLS else np.inf for name in names])


def climb(slope: Any, rate: float, steps: int, least: Array, greatest: Array) -> Array:
    """Climb along the slope with Adam's steps, from zero, within the bounds."""
    weights, mean, square = np.zeros(len(least)), np.zeros(len(least)), np.zeros(len(least))
    for step in range(1, steps + 1):
        gradient = slope(weights)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient * gradient
        weights += rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        weights = np.clip(weights, least, greatest)
    return weights


def fit(
    examples: Sequence[Example], others: Sequence[Example], form: Mapping[str, Any], *, both: bool
) -> dict[str, Any]:
    """Fit the regressions and return them in the form of the weights' file.

    Args:
        examples: The examples that both learn from.
        others: Those that only the second one learns from.
        form: The weights in force.
        both: Whether the first one is fitted too.
    """
    answerable = [each for each in examples if each.case.kind is Kind.ANSWERABLE]
    ranking_form = {"bias": 0, "weights": fit_ranking(answerable)} if both else form["ranking"]
    bias, answering = fit_answering([*examples, *others], ranking_form["weights"])
    return {"ranking": ranking_form, "answering": {"bias": bias, "weights": answering}, "minimum": form["minimum"]}


def main() -> None:
    """Fit and write the weights of the named ways. The minima stay as they are."""
    files = sys.argv[1:5]
    cases, natural, written, broad = ([case for case in read_cases(Path(each)) if case.is_asked] for each in files)
    cases = [case for case in cases if not case.held and case.set in SETS]
    form = json.loads(WEIGHTS.read_text("utf-8"))
    for way in sys.argv[5:] or ["embedded"]:
        name, _, only = way.partition(":")
        read = shared_reader() if name == "embedded" else None
        examples = read_examples([*cases, *(written if read else [])], read)
        others = [*NATURAL_COUNTS * read_examples(natural, read), *(read_examples(broad, read) if read else [])]
        form[name] = fit(examples, others, form[name], both=not only)
        WEIGHTS.write_text(json.dumps(form, indent=1, sort_keys=True) + "\n", "utf-8")
        read_weights.cache_clear()
    print(WEIGHTS)


if __name__ == "__main__":
    main()

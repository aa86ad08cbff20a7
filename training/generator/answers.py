"""Fits the second score of the verifier: `python training/generator/answers.py DATA CASES NATURAL [--measure]`.

`CASES` and `NATURAL` are the files of `training/generator/extractive.py`. Only the development half is learnt from. One
regression orders the sentences of the shown evidence, and one says whether an answer answers. It learns from what
`extractive` would quote, also where it refuses: to each question, to the same one without the chunks that hold an
accepted answer, and with the evidence of another question. `--measure` writes nothing. It prints the levels that
answers would get of documents that the weights have not seen, for each minimum. The same input gives the same bytes.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from extractive import SETS, Array, climb, climb_likelihood, prompts_of, with_others
from folds import FOLDS, documents, fold_of

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.question import read_question
from sourcebound.contracts.extractive.ranking import rank
from sourcebound.contracts.prompt.build import PromptParts
from sourcebound.contracts.validation.support import weights
from sourcebound.contracts.validation.support.candidates import (
    Candidate,
    Place,
    best_features,
    read_candidates,
)
from sourcebound.contracts.validation.support.verify import score_subject
from sourcebound.contracts.validation.support.weights import ANSWERS_FILE, Linear, read_weights
from sourcebound.contracts.validation.support_check import show
from sourcebound.evals.answers.cases import Case, read_cases
from sourcebound.evals.model.questions import Kind
from sourcebound.evals.model.scoring import is_right
from sourcebound.evals.natural.questions import read_questions, says
from sourcebound.models.sentence_reader import shared_reader

TARGET: Final = Path(weights.__file__).with_name(ANSWERS_FILE)
NATURAL: Final = "natural"
MILLION: Final = 1_000_000
ORDER: Final = {
    "own": 1, "own_local": 1, "around_local": 1, "kind": 1, "rank": 1, "kind_missing": -1, "nothing_new": -1,
}  # fmt: skip
"""The features that order sentences, and whether each may only raise or only lower the score."""
ANSWERING: Final = {"share": 1, "kind": 1, "kind_missing": -1, "subject": 1}
"""The same for the second score."""


class Row(NamedTuple):
    """An answer, or what would have been quoted, with the sentences of its prompt."""

    set: str
    document: str
    is_answerable: bool
    is_released: bool
    """Whether the generator gives this answer to this prompt."""
    is_right: bool
    candidates: list[Candidate]
    labels: list[bool]
    """Which sentences hold an accepted answer."""
    said: list[Place]
    subject: int


def read_rows(data: Path, cases: Sequence[Case]) -> Iterator[Row]:
    """Answer each case as the product does, and describe the sentences of its prompt."""
    of_question, read = documents(data), shared_reader()
    for each, other in with_others(cases):
        for number, (case, prompt) in enumerate(prompts_of(each, other)):
            quoted = answer(prompt, read)
            question = prompt.search_query or prompt.question
            ranked = rank(prompt, read_question(question), read).ranked
            if not (quoted or ranked):
                continue
            sentences = quoted or [ranked[0].sentence]
            chunks = {
                chunk.sanitized_text.strip("\n"): chunk for of in (each, other) for chunk in of.bundle.selected_evidence
            }
            cited = [chunks[prompt.evidence[place].text] for place in dict.fromkeys(one.chunk for one in sentences)]
            text = " ".join(one.text for one in sentences)
            candidates = read_candidates(question, [show(chunks[part.text]) for part in prompt.evidence])
            yield Row(
                case.set,
                of_question.get(case.id, cited[0].knowledge_id),
                case.kind is Kind.ANSWERABLE,
                not number and bool(quoted),
                not number and _is_right(case, text, cited),
                candidates,
                [not number and is_right(_text(prompt, one.place), case.gold) for one in candidates],
                [Place(one.chunk, one.start, one.end) for one in sentences],
                score_subject(text, question, [chunk.sanitized_text for chunk in cited]),
            )


def _text(prompt: PromptParts, place: Place) -> str:
    return prompt.evidence[place.chunk].text[place.start : place.end]


def _is_right(case: Case, text: str, cited: Sequence[EvidenceChunk]) -> bool:
    """Return whether an answer is right, by the measure of its evaluation."""
    if case.set != NATURAL:
        return is_right(text, case.gold)
    question = {each.id: each for each in read_questions()}[case.id]
    files = {place.file for place in question.places}
    return any(chunk.knowledge_id in files for chunk in cited) and all(says(text, fact) for fact in question.facts)


def fit_order(rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the weights that put the sentences with an accepted answer first."""
    groups = [
        (_matrix([each.features for each in row.candidates], ORDER), np.array(row.labels, float))
        for row in rows
        if any(row.labels) and not all(row.labels)
    ]
    found = climb_likelihood(groups, *_bounds(list(ORDER.values())))
    return {"bias": 0, "weights": {name: round(1000 * float(each)) for name, each in zip(ORDER, found, strict=True)}}


def fit_answering(rows: Sequence[Row], order: Linear) -> dict[str, Any]:
    """Fit the weights of the second score."""
    values = _matrix([features_of(row, order) for row in rows], ANSWERING)
    wanted = np.array([row.is_right for row in rows], float)
    middle, spread = values.mean(axis=0), values.std(axis=0) + 1e-6
    scaled = np.column_stack([(values - middle) / spread, np.ones(len(rows))])

    def slope(current: Array) -> Array:
        chance = 1 / (1 + np.exp(-(scaled @ current)))
        return np.asarray(scaled.T @ (wanted - chance) / len(rows) - np.append(0.003 * current[:-1], 0.0))

    found = climb(slope, 0.02, 3000, *_bounds([*ANSWERING.values(), 0]))
    plain = found[:-1] / spread
    return {
        "bias": round(MILLION * float(found[-1] - plain @ middle)),
        "weights": {name: round(1000 * float(each)) for name, each in zip(ANSWERING, plain, strict=True)},
    }


def features_of(row: Row, order: Linear) -> dict[str, int]:
    """Return the features of a row's answer."""
    return {**best_features(row.candidates, row.said, order), "subject": row.subject}


def fit(rows: Sequence[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit both regressions."""
    order = fit_order([row for row in rows if row.is_answerable])
    return order, fit_answering(rows, linear(order))


def linear(form: dict[str, Any]) -> Linear:
    """Return weights as the product reads them."""
    return Linear(form["bias"], tuple(form["weights"].items()))


def unseen_scores(rows: Sequence[Row]) -> list[int]:
    """Return the score of each row by weights that were fitted on the other documents."""
    fold = [fold_of(row.document) for row in rows]
    scores = [0] * len(rows)
    for number in range(FOLDS):
        order, answering = map(linear, fit([row for row, of in zip(rows, fold, strict=True) if of != number]))
        for index, row in enumerate(rows):
            if fold[index] == number:
                scores[index] = read_weights().to_thousandths(answering.sum(features_of(row, order)))
    return scores


def measure(rows: Sequence[Row]) -> None:
    """Print the released answers at or above each minimum, and how many of these are right."""
    scores = unseen_scores(rows)
    released = [(row, score) for row, score in zip(rows, scores, strict=True) if row.is_released]
    names = [*SETS, NATURAL]
    print("| minimum | " + " | ".join(names) + " | all | without an answer |\n|" + "---|" * (len(names) + 3))
    for least in range(0, 1000, 50):
        above = [row for row, score in released if score >= least and (row.is_answerable or row.set == NATURAL)]
        cells = [_count([row for row in above if row.set == name]) for name in names] + [_count(above)]
        none = sum(score >= least and not row.is_answerable and row.set != NATURAL for row, score in released)
        print(f"| {least} | {' | '.join(cells)} | {none} |")


def _count(rows: Sequence[Row]) -> str:
    return f"{sum(row.is_right for row in rows)} of {len(rows)}"


def _matrix(rows: Sequence[dict[str, int]], names: dict[str, int]) -> Array:
    return np.array([[row[name] / 1000 for name in names] for row in rows])


def _bounds(signs: Sequence[int]) -> tuple[Array, Array]:
    """Return the least and the greatest weight for each sign; 0 is free."""
    return (
        np.array([0.0 if sign > 0 else -np.inf for sign in signs]),
        np.array([0.0 if sign < 0 else np.inf for sign in signs]),
    )


def main() -> None:
    """Fit and write the weights, or measure."""
    data, *files = (Path(each) for each in sys.argv[1:4])
    cases = [case for file in files for case in read_cases(file) if case.is_asked and not case.held]
    rows = list(read_rows(data, [case for case in cases if case.set in (*SETS, NATURAL)]))
    if sys.argv[4:]:
        measure(rows)
        return
    order, answering = fit(rows)
    TARGET.write_text(json.dumps({"answering": answering, "order": order}, indent=1) + "\n", "utf-8")
    print(TARGET)


if __name__ == "__main__":
    main()

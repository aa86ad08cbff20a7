"""Measures the cross-encoder that was tried: `python training/verifier/measure.py WEIGHTS DATA OUT`.

`WEIGHTS` is the folder of all-MiniLM-L6-v2, and `OUT` holds what `cross_encoder.py` wrote. Prints Markdown tables for
`training/README.md`, of `support_v1` alone and of its mixture with the cross-encoder. A minimum is chosen on the part
to choose with; every figure is of the unseen part, with an interval of 95 % by documents.
"""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from changes import read_all
from cross_encoder import CrossEncoder, batch, read_pair
from data import CHOOSE, NO_STATEMENT, TALK, TRAIN, UNSEEN, Example, Whole, read_answers
from evaluate import ANSWERS, auroc, minimum, rate_text
from premise import read_answer, read_premise
from questions import Asked, read_questions
from safetensors.torch import load_file
from tokenizers import Tokenizer

from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.validation.answer_reading import read_statements
from sourcebound.contracts.validation.support.claims import read_claim
from sourcebound.contracts.validation.support.verify import score_subject, score_support

Array = np.ndarray[Any, Any]
HIGHEST: Final = 1000
CHANGED: Final = 0.7
"""The weight of the third head's highest value, which lowers the first."""
MODEL: Final = (0.5, 1.0)
"""The weight of the cross-encoder's logit to the lexical one: for support, and for answering."""
KINDS: Final = ("negation", "opposite", "number", "numbers", "name", "roles")
QUESTIONS: Final = {"squad2": "squad2", "qed/other": "qed", "covidqa/elsewhere": "covidqa"}
FIGURES: Final = "AUROC, caught, wrongly rejected"


class Read(NamedTuple):
    """A statement or an answer: its lexical score, and the two texts that the cross-encoder reads."""

    lexical: int
    first: str
    second: str


class Scores(NamedTuple):
    """The scores of `support_v1` and of the mixture; their scale has no meaning."""

    lexical: Array
    mixed: Array


def main(weights: Path, folder: Path, out: Path) -> None:
    """Print every table."""
    scorer = Scorer(weights, out)
    examples = [e for e in read_all(folder) if is_measured(e)]
    wholes = [whole for whole in read_answers(folder) if whole.source in ANSWERS]
    asked = [a for a in read_questions(folder) if a.part != TRAIN]
    with ProcessPoolExecutor(2) as pool:
        statements = list(pool.map(read_statement, examples, chunksize=100))
        answers = list(pool.map(read_whole, wholes, chunksize=20))
        questions = list(pool.map(read_question, asked, chunksize=50))
    changes(examples, scorer.mix(statements, 0))
    scores = scorer.mix([read for whole in answers for read in whole], 0)
    ends = np.cumsum([len(whole) for whole in answers])[:-1]
    lowest = [np.array([part.min(initial=np.inf) for part in np.split(score, ends)]) for score in scores]
    whole_answers(wholes, Scores(*lowest))
    answering(asked, scorer.mix(questions, 1))


def is_measured(example: Example) -> bool:
    """Whether a statement sets a minimum or is an unseen change to a statement of a language model."""
    if example.is_talk:
        return False
    chosen = example.part == CHOOSE and example.source in ANSWERS and example.supported
    return chosen or (example.part == UNSEEN and example.source.startswith("model/"))


def read_statement(example: Example) -> Read:
    """Read a labelled statement."""
    return _read(example.statement, example.previous[-300:], example.question, example.texts)


def read_whole(whole: Whole) -> list[Read]:
    """Read the statements of an answer that count, as `evaluate.py` does."""
    reads, previous = [], ""
    for statement in read_statements(whole.answer):
        text = CITATION.sub(" ", statement.text)
        if statement.needs_citation and not TALK.search(text) and not NO_STATEMENT.search(text.strip()):
            reads.append(_read(text, previous, whole.question, whole.texts))
        previous = text
    return reads


def _read(text: str, previous: str, question: str, texts: tuple[str, ...]) -> Read:
    claim = read_claim(text)
    return Read(score_support(text, previous, question, texts), claim.text, read_premise(claim, texts)[0])


def read_question(asked: Asked) -> Read:
    """Read a question with its answer."""
    lexical = score_subject(asked.answer, asked.question, [asked.text])
    return Read(lexical, asked.question, read_answer(asked.answer, asked.question, [asked.text]))


class Scorer:
    """The trained cross-encoder.

    Args:
        weights: The folder of all-MiniLM-L6-v2.
        out: The folder of the trained weights.
    """

    def __init__(self, weights: Path, out: Path) -> None:
        torch.set_num_threads(1)
        self._tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._model = CrossEncoder(load_file(weights / "model.safetensors"))
        self._model.load_state_dict(load_file(out / "cross_encoder.safetensors"))
        self._model.eval()

    def mix(self, reads: Sequence[Read], head: int) -> Scores:
        """Return the scores of some texts. A repeated sentence has the highest of both."""
        rows = [read_pair(self._tokenizer, {"a": read.first, "b": read.second, "label": 1}) for read in reads]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]["ids"]))
        model = np.zeros(len(rows))
        start = time.process_time()
        with torch.inference_mode():
            for first in range(0, len(order), 32):
                places = order[first : first + 32]
                model[places] = self._score([rows[place] for place in places], head)
        print(f"\n{(time.process_time() - start) / len(rows) * 1000:.1f} ms of processor time a pair, 32 at a time")
        lexical = np.array([read.lexical for read in reads])
        logits = np.log(lexical.clip(1, 999) / (1000 - lexical.clip(1, 999)))
        mixed = logits + MODEL[head] * model.clip(-6.9, 6.9)
        is_repeated = lexical == HIGHEST
        return Scores(np.where(is_repeated, np.inf, logits), np.where(is_repeated & (head == 0), np.inf, mixed))

    def _score(self, rows: list[dict[str, Any]], head: int) -> Array:
        ids, segments, mask, changed, _, _ = batch(rows)
        scores, places = self._model(ids, segments, mask)
        if head:
            return scores[:, head].numpy()
        highest = places.masked_fill(changed < 0, -torch.inf).max(1).values.clamp(min=-20)
        return (scores[:, 0] - CHANGED * highest).numpy()


def changes(examples: list[Example], scores: Scores) -> None:
    """Print what is caught of changes to statements of language models, at 5 % of supported ones."""
    chosen = np.array([example.part == CHOOSE for example in examples])
    least = [minimum(score[chosen], 0.05) for score in scores]
    print("\n| change | statements | support_v1 | mixture |\n|---|---|---|---|")
    for kind in KINDS:
        rows = [place for place, example in enumerate(examples) if example.source == f"model/{kind}"]
        groups = [examples[place].group for place in rows]
        cells = [rate_text(score[rows] < low, groups) for score, low in zip(scores, least, strict=True)]
        print(f"| {kind} | {len(rows)} | {' | '.join(cells)} |")


def whole_answers(wholes: list[Whole], scores: Scores) -> None:
    """Print what is caught of whole answers."""
    chosen = np.array([whole.part == CHOOSE and whole.supported for whole in wholes])
    for share in (0.03, 0.05):
        least = [minimum(score[chosen], share) for score in scores]
        print(f"\n| whole answers at {share:.0%} | supported / not | support_v1: {FIGURES} | mixture: {FIGURES} |")
        print("|---|---|---|---|")
        for name in ANSWERS:
            good, bad = (
                [i for i, w in enumerate(wholes) if w.source == name and w.part == UNSEEN and w.supported is is_good]
                for is_good in (True, False)
            )
            groups = [[wholes[place].group for place in rows] for rows in (good, bad)]
            print(f"| {name} | {len(good)} / {len(bad)} | {_cells(scores, least, (good, bad), groups)} |")


def answering(asked: list[Asked], scores: Scores) -> None:
    """Print what is caught of answers to another question, at 3 % of answered ones."""
    chosen = np.array([one.part == CHOOSE and one.answers for one in asked])
    least = [minimum(score[chosen], 0.03) for score in scores]
    print(f"\n| questions | answered / not | support_v1: {FIGURES} | mixture: {FIGURES} |\n|---|---|---|---|")
    for bad_name, good_name in QUESTIONS.items():
        good = [i for i, a in enumerate(asked) if a.source == good_name and a.answers and a.part == UNSEEN]
        bad = [i for i, a in enumerate(asked) if a.source == bad_name and not a.answers and a.part == UNSEEN]
        groups = [[asked[place].group for place in rows] for rows in (good, bad)]
        print(f"| {bad_name} | {len(good)} / {len(bad)} | {_cells(scores, least, (good, bad), groups)} |")


def _cells(scores: Scores, least: list[Any], rows: tuple[list[int], list[int]], groups: list[list[str]]) -> str:
    good, bad = rows
    return " | ".join(
        f"{auroc(score[good], score[bad]):.3f}, {rate_text(score[bad] < low, groups[1])}, "
        f"{rate_text(score[good] < low, groups[0])}"
        for score, low in zip(scores, least, strict=True)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

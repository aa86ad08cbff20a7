"""Collections of mixed subjects, of a hundred to five thousand paragraphs, for the calibration of the gate.

A broad collection holds something near to any question, so a gate that is calibrated on narrow ones alone lets too much
through. Each collection here is labelled paragraphs among others that have no questions. The sources of the collections
that minima are chosen on and of those that check them are different.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sourcebound.evals.retrieval import read_records

SIZES: Final = (100, 1000, 5000)
"""The paragraphs of a collection."""
SEED: Final = 20251121
FILLING_SETS: Final = frozenset(
    {
        "attributionbench/id",
        "begin",
        "climate_fever",
        "cliff",
        "fm2",
        "goyal21",
        "lfqa_verif",
        "qcnli_factscore",
        "wice",
    }
)
"""The sets of evidence texts that are no source of a question here: news, encyclopaedia articles and web pages."""
SHORTEST, LONGEST = 300, 1500
"""The characters of a text that is a paragraph."""


class Labelled(NamedTuple):
    """A source of paragraphs with questions."""

    paragraphs: Sequence[dict[str, Any]]
    """Records with `_id`, `title` and `text`."""
    questions: Sequence[tuple[str, str]]
    """Each question with the `_id` of the paragraph that answers it."""
    answers: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The answers of each question as texts, where the source has them."""


class Mixture(NamedTuple):
    """The documents of a collection, and the questions that they answer."""

    size: int
    documents: list[dict[str, Any]]
    answerable: list[str]


def mix(sources: Sequence[Labelled], fillers: Sequence[dict[str, Any]], size: int) -> Mixture:
    """Mix a collection: half of it labelled paragraphs, as far as there are so many, and the rest without questions.

    Args:
        sources: The labelled sources.
        fillers: The other paragraphs.
        size: The number of paragraphs.
    """
    chance = random.Random(SEED)
    labelled = [paragraph for source in sources for paragraph in source.paragraphs]
    chosen = chance.sample(labelled, min(size // 2, len(labelled)))
    others = chance.sample(fillers, min(size - len(chosen), len(fillers)))
    included = {paragraph["_id"] for paragraph in chosen}
    questions = [question for source in sources for question, answer in source.questions if answer in included]
    documents = [*chosen, *others]
    chance.shuffle(documents)
    return Mixture(size, documents, questions)


def read_labelled(data: Path, name: str) -> Labelled:
    """Read a labelled source: `squad2`, `emanual`, `qed_nq` or `pubmedqa`."""
    folder = data / "answerability"
    if name == "squad2":
        records = [each for each in read_records(folder / "squad2/questions.jsonl") if each["answerable"]]
        paragraphs = read_records(folder / "squad2/paragraphs.jsonl")
        answers = {each["question"]: each["answers"] for each in records}
        return Labelled(paragraphs, [(each["question"], each["paragraph_id"]) for each in records], answers)
    if name == "qed_nq":
        items = read_records(folder / "qed_nq/items.jsonl")
        texts = {item["paragraph"]: item["title"] for item in items}
        paragraphs = [{"_id": text, "title": title, "text": text} for text, title in texts.items()]
        answers = {
            item["question"]: [part["string"] for group in item["nq_answers"] for part in group] for item in items
        }
        return Labelled(paragraphs, [(item["question"], item["paragraph"]) for item in items], answers)
    if name == "pubmedqa":
        questions = read_records(folder / "pubmedqa/questions.jsonl")
        return Labelled(
            read_records(folder / "pubmedqa/corpus.jsonl"), [(each["question"], each["_id"]) for each in questions]
        )
    manual = data / "retrieval/emanual_s10"
    lines = (manual / "qrels.tsv").read_text("utf-8").split("\n")[1:]
    relevant = [line.split("\t") for line in lines if line.strip()]
    first = {question: section for question, section, grade in reversed(relevant) if float(grade) > 0}
    queries = [each for each in read_records(manual / "queries.jsonl") if each["_id"] in first]
    return Labelled(read_records(manual / "corpus.jsonl"), [(each["text"], first[each["_id"]]) for each in queries])


def read_fillers(data: Path) -> list[dict[str, Any]]:
    """Read the paragraphs without questions: abstracts, and the evidence texts of several sets."""
    abstracts = [
        {"_id": f"{name}/{record['_id']}", "title": record["title"], "text": record["text"]}
        for name in ("scifact_dev", "cranfield")
        for record in read_records(data / "retrieval" / name / "corpus.jsonl")
        if record["text"].strip()
    ]
    used = {
        record["evidence_id"]
        for record in read_records(data / "support/statements.jsonl")
        if record["set"] in FILLING_SETS
    }
    texts = dict.fromkeys(
        text
        for record in read_records(data / "support/evidence.jsonl")
        if record["id"] in used
        for text in record["texts"][:1]
        if SHORTEST < len(text) < LONGEST
    )
    return [*abstracts, *({"_id": text, "title": "", "text": text} for text in texts)]

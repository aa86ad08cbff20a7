"""The questions of the evaluation, with their documents, split into two halves by document.

Answerable questions come from SQuAD 2.0, QED (search questions), the manual of a telephone and COVID-QA (long papers).
SQuAD also has questions on the topic of its paragraphs that no paragraph answers, and the search questions of NQ-open
are off topic.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.evals.model.questions import Kind
from sourcebound.evals.retrieval import read_records

HELD: Final = frozenset({"Yuan dynasty", "1973 oil crisis"})
"""The articles of SQuAD in the held half, about half of its questions. In other sets every second document is held."""


class Question(NamedTuple):
    """A question with the answers that the data accepts."""

    id: str
    kind: Kind
    text: str
    gold: tuple[str, ...]
    """Empty if there is no answer in the collection."""
    held: bool
    """Whether it belongs to the half that no rule is tuned on."""


class QuestionSet(NamedTuple):
    """Documents, each a record with a title and a text, and questions about them."""

    name: str
    documents: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]


def read_sets(data: Path) -> list[QuestionSet]:
    """Read every set from the folder of the evaluation data."""
    return [read() for read in set_readers(data).values()]


def set_readers(data: Path) -> dict[str, Callable[[], QuestionSet]]:
    """Return the readers of the sets, by name."""
    folder = data / "answerability"
    return {
        "squad2": partial(_read_squad, folder),
        "qed_nq": partial(_read_qed, folder),
        "emanual": partial(_read_manual, data),
        "covidqa": partial(_read_papers, folder),
    }


def _read_squad(folder: Path) -> QuestionSet:
    paragraphs = read_records(folder / "squad2/paragraphs.jsonl")
    title_of = {paragraph["_id"]: paragraph["title"] for paragraph in paragraphs}
    questions = [
        Question(
            each["_id"],
            Kind.ANSWERABLE if each["answerable"] else Kind.UNANSWERABLE,
            each["question"],
            tuple(each["answers"]),
            title_of[each["paragraph_id"]] in HELD,
        )
        for each in read_records(folder / "squad2/questions.jsonl")
    ]
    questions += [
        Question(each["id"], Kind.OFF_TOPIC, each["question"], (), number % 2 == 1)
        for number, each in enumerate(read_records(folder / "offtopic_nq_open/questions.jsonl"))
    ]
    return QuestionSet("squad2", tuple(paragraphs), tuple(questions))


def _read_qed(folder: Path) -> QuestionSet:
    items = read_records(folder / "qed_nq/items.jsonl")
    articles = {each["paragraph"]: {"title": each["title"], "text": each["paragraph"]} for each in items}
    held = _every_second(each["title"] for each in items)
    questions = [
        Question(
            each["id"],
            Kind.ANSWERABLE,
            each["question"],
            tuple(" ".join(span["string"] for span in spans) for spans in each["nq_answers"]),
            held[each["title"]],
        )
        for each in items
    ]
    return QuestionSet("qed_nq", tuple(articles.values()), tuple(questions))


def _read_manual(data: Path) -> QuestionSet:
    folder = data / "retrieval/emanual_s10"
    records = read_records(folder / "queries.jsonl")
    held = _every_second(each["section_path"] for each in records)
    questions = [
        Question(each["_id"], Kind.ANSWERABLE, each["text"], (each["answer"],), held[each["section_path"]])
        for each in records
    ]
    return QuestionSet("emanual", tuple(read_records(folder / "corpus.jsonl")), tuple(questions))


def _read_papers(folder: Path) -> QuestionSet:
    records = read_records(folder / "covidqa_long/questions.jsonl")
    held = _every_second(each["document_id"] for each in records)
    questions = [
        Question(each["_id"], Kind.ANSWERABLE, each["question"], (each["answer"],), held[each["document_id"]])
        for each in records
    ]
    return QuestionSet("covidqa", tuple(read_records(folder / "covidqa_long/documents.jsonl")), tuple(questions))


def _every_second(documents: Iterable[str]) -> Mapping[str, bool]:
    return {name: number % 2 == 1 for number, name in enumerate(sorted({*documents}))}

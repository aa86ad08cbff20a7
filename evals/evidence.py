"""Measure whether the evidence of a question is in the prompt, after the gate, the selection and the prompt's budget.

Run `python -m sourcebound.evals.evidence --data DATA`. The rule: what retrieval found and the prompt does not show
is lost to the model, so the prompt is measured and not the list of candidates. The product's own ingest and retriever
run under the released policy; assembly and prompt are the pipeline's own functions. No answer is generated.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.contracts.request import unrecorded_run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle, RetrievalRow
from sourcebound.evals.metrics import Interval, mean_interval
from sourcebound.evals.pages import locate
from sourcebound.evals.ranking import EMBEDDER, Question, QuestionSet, chunking_set, document_set
from sourcebound.evals.retrieval import DATA, ingest, read_records, retrieve, temporary_services, write_documents
from sourcebound.wiring import DEFAULT_POLICY, Services, find_policy

Chunks = Sequence[EvidenceChunk | RetrievalRow]
OpenSet = Callable[[], AbstractContextManager[QuestionSet]]
CANDIDATES: Final = "in the candidates"
PROMPT: Final = "in the prompt"
PARAGRAPHS: Final = "answerability/squad2"
REPORTS: Final = "documents/financebench"


class Measured(NamedTuple):
    """The share of one set's evidence at one place, with its interval over the questions."""

    name: str
    metric: str
    place: str
    questions: int
    share: Interval


def in_prompt(bundle: RetrievalBundle, question: str, policy: Policy) -> tuple[EvidenceChunk, ...]:
    """Return the evidence that the prompt of a question shows; none if the gate refuses."""
    run = unrecorded_run(question, "", policy.policy_version, policy.sha256, "evaluation")
    assembled = assemble(bundle.model_dump(mode="json"), policy, run)
    return build_prompt(assembled, policy).bundle.selected_evidence


def text_of(chunk: EvidenceChunk | RetrievalRow) -> str:
    """Return the text of a candidate or of a chunk in the prompt, with single spaces."""
    text = chunk.sanitized_text if isinstance(chunk, EvidenceChunk) else chunk.chunk_text
    return " ".join(text.split())


def score_answer(chunks: Chunks, document: str, answers: Sequence[str]) -> Mapping[str, float]:
    """Score whether a chunk of the right document holds one of the answers."""
    texts = [text_of(chunk) for chunk in chunks if chunk.knowledge_id == document]
    return {"answer text": float(any(" ".join(answer.split()) in text for answer in answers for text in texts))}


def score_pages(chunks: Chunks, evidence: Sequence[tuple[str, int]]) -> Mapping[str, float]:
    """Score whether any evidence page, and which share of them, is among the pages of the chunks."""
    found = [rank is not None for rank in locate(chunks, evidence)]
    return {"evidence page": float(any(found)), "evidence pages": sum(found) / len(found)}


@contextmanager
def answer_set(
    name: str, documents: Sequence[dict[str, Any]], answers: Sequence[tuple[str, str, list[str]]]
) -> Iterator[QuestionSet]:
    """Write documents and score the answers of each question.

    Args:
        name: The name of the set.
        documents: The documents, with `_id`.
        answers: The question, the id of its document, and its answers as text.
    """
    names = {record["_id"]: f"{number:04d}.md" for number, record in enumerate(documents)}
    questions = [
        Question(question, partial(score_answer, document=names[document], answers=texts))
        for question, document, texts in answers
    ]
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as target:
        write_documents(Path(target) / "documents", documents)
        yield QuestionSet(name, Path(target) / "documents", questions)


def answer_sets(data: Path) -> dict[str, OpenSet]:
    """Return the sets whose questions have their answer as text, by name; each is read when it is opened."""
    folder = data / "answerability"
    return {
        "squad2": partial(_squad_set, folder / "squad2"),
        "qed_nq": partial(_qed_set, folder / "qed_nq"),
        "covidqa_long": partial(_paper_set, folder / "covidqa_long"),
    }


def _squad_set(folder: Path) -> AbstractContextManager[QuestionSet]:
    records = sorted(read_records(folder / "questions.jsonl"), key=lambda record: record["order"])
    answers = [(each["question"], each["paragraph_id"], each["answers"]) for each in records if each["answerable"]]
    return answer_set("squad2", read_records(folder / "paragraphs.jsonl"), answers)


def _qed_set(folder: Path) -> AbstractContextManager[QuestionSet]:
    items = read_records(folder / "items.jsonl")
    articles = {item["paragraph"]: {"_id": item["paragraph"], "title": item["title"]} for item in items}
    answers = [
        (item["question"], item["paragraph"], [part["string"] for group in item["nq_answers"] for part in group])
        for item in items
    ]
    return answer_set("qed_nq", [article | {"text": text} for text, article in articles.items()], answers)


def _paper_set(folder: Path) -> AbstractContextManager[QuestionSet]:
    records = read_records(folder / "questions.jsonl")
    answers = [(each["question"], each["document_id"], [each["answer"]]) for each in records]
    return answer_set("covidqa_long", read_records(folder / "documents.jsonl"), answers)


@contextmanager
def judged_documents(data: Path, name: str) -> Iterator[QuestionSet]:
    """Read a corpus with judged documents, and score the share of the relevant ones."""
    with document_set(data, name) as whole:
        yield whole._replace(
            questions=[_only(question, {"recall@10": "relevant documents"}) for question in whole.questions]
        )


@contextmanager
def judged_characters(data: Path) -> Iterator[QuestionSet]:
    """Read the long texts whose evidence is given as characters, and score the share that is shown."""
    with chunking_set(data) as whole:
        yield whole._replace(
            questions=[_only(question, {"token recall@5": "token recall@5"}) for question in whole.questions]
        )


def _only(question: Question, names: Mapping[str, str]) -> Question:
    """Keep some of a question's metrics, under the names that they have here."""

    def score(chunks: Chunks) -> Mapping[str, float]:
        values = question.score(chunks)
        return {shown: values[metric] for metric, shown in names.items()}

    return question._replace(score=score)


@contextmanager
def report_set(data: Path) -> Iterator[QuestionSet]:
    """Read the questions on financial reports, whose evidence is given as pages."""
    questions = []
    for record in read_records(data / REPORTS / "questions.jsonl"):
        evidence = tuple(dict.fromkeys((each["doc_name"], each["page_index"] + 1) for each in record["evidence"]))
        questions.append(Question(record["question"], partial(score_pages, evidence=evidence)))
    yield QuestionSet("financebench", data / REPORTS / "pdfs", questions)


async def measure(services: Services, questions: QuestionSet, policy: Policy) -> list[Measured]:
    """Ingest the documents, and score the candidates and the prompt of every question."""
    await ingest(services, questions.folder, questions.name, EMBEDDER)
    scores: dict[tuple[str, str], list[float]] = {}
    for question in questions.questions:
        bundle = await retrieve(services, question.text, questions.name, policy)
        shown = in_prompt(bundle, question.text, policy)
        for place, chunks in ((CANDIDATES, bundle.results), (PROMPT, shown)):
            for metric, value in question.score(chunks).items():
                scores.setdefault((metric, place), []).append(value)
    return [
        Measured(questions.name, metric, place, len(values), mean_interval(values))
        for (metric, place), values in scores.items()
    ]


def describe(measured: Sequence[Measured]) -> str:
    """Write the result as a table in Markdown: for each set and metric, the candidates and the prompt."""
    cells: dict[tuple[str, str, int], dict[str, Interval]] = {}
    for each in measured:
        cells.setdefault((each.name, each.metric, each.questions), {})[each.place] = each.share
    lines = [f"| set | measure | questions | {CANDIDATES} | {PROMPT} |", "|---|---|---|---|---|"]
    for (name, metric, questions), places in cells.items():
        shares = " | ".join(_percent(places[place]) for place in (CANDIDATES, PROMPT))
        lines.append(f"| {name} | {metric} | {questions} | {shares} |")
    return "\n".join(lines)


def _percent(share: Interval) -> str:
    return f"{100 * share.mean:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


async def evaluate(data: Path) -> list[Measured]:
    """Measure every set under the default policy."""
    policy = find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER)
    measured: list[Measured] = []
    sets: list[OpenSet] = [
        *answer_sets(data).values(),
        partial(judged_documents, data, "emanual_s10"),
        partial(judged_characters, data),
        partial(report_set, data),
    ]
    async with temporary_services() as services:
        for open_set in sets:
            with open_set() as questions:
                measured += await measure(services, questions, policy)
    return measured


def main() -> None:
    """Print the table, and write the numbers to a file if asked."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.evidence", description=evaluate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    options = parser.parse_args()
    measured = asyncio.run(evaluate(options.data))
    if options.json:
        options.json.write_text(json.dumps([each._asdict() for each in measured], indent=1), "utf-8")
    print(describe(measured))


if __name__ == "__main__":
    main()

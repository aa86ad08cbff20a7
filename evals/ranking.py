"""Measures the ranking: the dense list, the lexical list, their fusion and the fusion with diversity, side by side.

Run `make eval-retrieval`, or `python -m sourcebound.evals.ranking --data DATA`. The rule: the fusion is better than
either of its halves, on prose and on a manual, by the same questions; a fusion that is not is only slower. The
product's own ingest and retriever run under the released policy, with the values changed that `variants_of` names and
no other.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.evals.metrics import (
    Span,
    align,
    ndcg,
    rank_once,
    recall,
    reciprocal_rank,
    span_precision,
    span_recall,
)
from sourcebound.evals.pages import FOLDER as REPORTS
from sourcebound.evals.pages import locate
from sourcebound.evals.ranking_report import DENSE, HYBRID, LEXICAL, MMR, Measured, describe
from sourcebound.evals.retrieval import (
    DATA,
    MAX_BYTES,
    ingest,
    read_records,
    retrieve,
    temporary_services,
    write_documents,
)
from sourcebound.ingest.loaders.select import load_document
from sourcebound.wiring import DEFAULT_POLICY, Services, find_policy

EMBEDDER: Final = "minilm"
TOP_K: Final = 30
MMR_LAMBDA: Final = 0.7
"""Where the policy has none."""
CHUNKS: Final = 5
DOCUMENT_SETS: Final = ("scifact_dev", "cranfield", "emanual_s10")
CHUNKING: Final = "retrieval/chunking_eval"
Rows = Sequence[RetrievalRow]
Score = Callable[[Rows], Mapping[str, float]]


class Variant(NamedTuple):
    """One way to rank, and how it is made of the released policy."""

    name: str
    made: str
    policy: Policy
    lexical_list: bool = False
    """Whether the rows are those of the lexical list, in its order."""


class Question(NamedTuple):
    """A question and how to judge the rows that it got."""

    text: str
    score: Score


class QuestionSet(NamedTuple):
    """Questions about the documents of one folder."""

    name: str
    folder: Path
    questions: Sequence[Question]


def variants_of(policy: Policy) -> tuple[Variant, ...]:
    """The four rankings that are compared."""
    pool, mmr_lambda = policy.retrieval.candidate_pool, policy.retrieval.mmr_lambda or MMR_LAMBDA
    both = _changed(policy, hybrid=True, mmr_lambda=None, top_k=2 * pool)
    return (
        Variant(DENSE, "`hybrid = false`", _changed(policy, hybrid=False, mmr_lambda=None)),
        Variant(
            LEXICAL,
            f"the hybrid's rows that have a `lexical_rank`, by it (`top_k = {2 * pool}`, so that both lists are whole)",
            both,
            lexical_list=True,
        ),
        Variant(HYBRID, "the policy's fusion, no `mmr_lambda`", _changed(policy, hybrid=True, mmr_lambda=None)),
        Variant(MMR, f"`mmr_lambda = {mmr_lambda}`", _changed(policy, hybrid=True, mmr_lambda=mmr_lambda)),
    )


def _changed(policy: Policy, **values: object) -> Policy:
    return policy.model_copy(update={"retrieval": policy.retrieval.model_copy(update={"top_k": TOP_K, **values})})


def arrange(variant: Variant, rows: Rows) -> Rows:
    """The rows of a variant, best first; places that two rows share go by the fused rank."""
    if not variant.lexical_list:
        return rows
    held = [(row.lexical_rank, row.rank, row) for row in rows if row.lexical_rank is not None]
    return [row for *_, row in sorted(held, key=lambda item: item[:2])]


def score_documents(rows: Rows, names: Mapping[str, str], relevance: Mapping[str, float]) -> Mapping[str, float]:
    """Judges whole documents.

    Args:
        rows: The candidates, best first.
        names: The id of each document by its knowledge id.
        relevance: The grade of every relevant document.
    """
    ranked = rank_once(names[row.knowledge_id] for row in rows)
    return {
        "nDCG@10": ndcg(ranked, relevance, 10),
        **{f"recall@{k}": recall(ranked, relevance, k) for k in (5, 8, 10)},
        "MRR@10": reciprocal_rank(ranked, relevance, 10),
    }


def score_chunks(rows: Rows, offsets: Mapping[str, Sequence[int]], wanted: Sequence[Span]) -> Mapping[str, float]:
    """Judges the characters of the first chunks.

    Args:
        rows: The candidates, best first.
        offsets: For each knowledge id, where a character of its page stands in the file.
        wanted: The evidence, in offsets of the file.
    """
    spans = []
    for row in rows[:CHUNKS]:
        places = offsets[row.knowledge_id]
        spans.append(Span(row.knowledge_id, places[row.char_start or 0], places[(row.char_end or 1) - 1] + 1))
    return {
        f"token recall@{CHUNKS}": span_recall(spans, wanted),
        f"token precision@{CHUNKS}": span_precision(spans, wanted),
    }


def score_pages(rows: Rows, evidence: Sequence[tuple[str, int]], top_k: int) -> Mapping[str, float]:
    """Judges whether a page of the evidence, and how many of its pages, are among the policy's candidates."""
    found = [rank is not None for rank in locate(rows[:top_k], evidence)]
    return {"question found": float(any(found)), "pages found": sum(found) / len(found)}


@contextmanager
def document_set(data: Path, name: str) -> Iterator[QuestionSet]:
    """A corpus with graded documents, as files; questions without a relevant document are left out."""
    folder = data / "retrieval" / name
    records = read_records(folder / "corpus.jsonl")
    names = {f"{number:04d}.md": record["_id"] for number, record in enumerate(records)}
    relevance: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").split("\n")[1:]:
        if line.strip():
            question, document, grade = line.split("\t")
            if float(grade) > 0:
                relevance.setdefault(question, {})[document] = float(grade)
    questions = [
        Question(record["text"], partial(score_documents, names=names, relevance=relevance[record["_id"]]))
        for record in read_records(folder / "queries.jsonl")
        if record["_id"] in relevance
    ]
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as written:
        write_documents(Path(written) / "documents", records)
        yield QuestionSet(name, Path(written) / "documents", questions)


@contextmanager
def chunking_set(data: Path) -> Iterator[QuestionSet]:
    """Long texts and questions whose evidence is known by its characters."""
    folder = data / CHUNKING
    offsets = {path.name: _offsets(path) for path in sorted(folder.glob("*.md"))}
    questions = [
        Question(record["question"], partial(score_chunks, offsets=offsets, wanted=_wanted(record)))
        for record in read_records(folder / "questions.jsonl")
    ]
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as copied:
        for name in offsets:
            (Path(copied) / name).write_bytes((folder / name).read_bytes())
        yield QuestionSet("chunking_eval", Path(copied), questions)


def _offsets(path: Path) -> list[int]:
    (page,) = load_document(path, MAX_BYTES).pages
    return align(page.text, path.read_bytes().decode("utf-8"))


def _wanted(record: dict[str, Any]) -> list[Span]:
    name = f"{record['corpus_id']}.md"
    return [Span(name, each["start_index"], each["end_index"]) for each in record["references"]]


@contextmanager
def page_set(data: Path, top_k: int) -> Iterator[QuestionSet]:
    """Financial reports and questions whose evidence is known by its pages."""
    questions = []
    for record in read_records(data / REPORTS / "questions.jsonl"):
        evidence = tuple(dict.fromkeys((each["doc_name"], each["page_index"] + 1) for each in record["evidence"]))
        questions.append(Question(record["question"], partial(score_pages, evidence=evidence, top_k=top_k)))
    yield QuestionSet("financebench", data / REPORTS / "pdfs", questions)


async def measure(services: Services, questions: QuestionSet, variants: Sequence[Variant]) -> Measured:
    """Ingests the documents and judges what every question gets under every variant.

    Raises:
        ValueError: The retriever does not say which rows the lexical list holds.
    """
    started = perf_counter()
    summary = await ingest(services, questions.folder, questions.name, EMBEDDER)
    ingested = perf_counter() - started
    scores: dict[str, dict[str, list[float]]] = {}
    for variant in variants:
        table = scores.setdefault(variant.name, {})
        rows_seen = 0
        for question in questions.questions:
            bundle = await retrieve(services, question.text, questions.name, variant.policy)
            rows = arrange(variant, bundle.results)
            rows_seen += len(rows)
            for metric, value in question.score(rows).items():
                table.setdefault(metric, []).append(value)
        if variant.lexical_list and not rows_seen:
            raise ValueError("no row has a lexical_rank: the retriever does not fill it")
    return Measured(
        questions.name, len(questions.questions), summary.added, summary.chunks, ingested,
        perf_counter() - started - ingested, scores,
    )  # fmt: skip


async def evaluate(data: Path) -> str:
    """Measures every set under every variant and returns the whole report."""
    started = perf_counter()
    policy = find_policy(DEFAULT_POLICY, embedding_model=EMBEDDER)
    variants = variants_of(policy)
    sets = [
        *(partial(document_set, data, name) for name in DOCUMENT_SETS),
        partial(chunking_set, data),
        partial(page_set, data, policy.retrieval.top_k),
    ]
    measured = []
    async with temporary_services() as services:
        for opened in sets:
            with opened() as questions:
                print(f"{questions.name}: {len(questions.questions)} questions …", flush=True)
                measured.append(await measure(services, questions, variants))
    made = {variant.name: variant.made for variant in variants}
    return describe(measured, policy, made, perf_counter() - started)


def main() -> None:
    """Prints the report and writes it to a file."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.ranking", description=evaluate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--report", type=Path, default=Path("docs/retrieval.md"), help="where to write the report")
    options = parser.parse_args()
    report = asyncio.run(evaluate(options.data))
    options.report.write_text(report, "utf-8")
    print(report)


if __name__ == "__main__":
    main()

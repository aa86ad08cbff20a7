"""Compare rankings: the dense list, the lexical list, their fusion, and the fusion with diversity.

Run `make eval-retrieval`, or `python -m sourcebound.evals.ranking --data DATA`. The rule: on the same questions, the
fusion is better than either of its halves, on prose and on a manual; otherwise it is only slower. The product's own
ingest and retriever run under the released policy. Only the values that `variants_of` names are changed.
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
from sourcebound.evals.ranking_report import DENSE, HYBRID, LEXICAL, MMR, Measurement, describe
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
"""The default if the policy has none."""
CHUNKS: Final = 5
DOCUMENT_SETS: Final = ("scifact_dev", "cranfield", "emanual_s10")
CHUNKING: Final = "retrieval/chunking_eval"
Rows = Sequence[RetrievalRow]
Score = Callable[[Any], Mapping[str, float]]
"""Scores the rows of a question, or the chunks of its prompt, which have the same places."""


class Variant(NamedTuple):
    """A ranking, and the change to the released policy that produces it."""

    name: str
    setup: str
    policy: Policy
    lexical_list: bool = False
    """Whether the rows are those of the lexical list, in its order."""


class Question(NamedTuple):
    """A question, and the function that scores its rows."""

    text: str
    score: Score


class QuestionSet(NamedTuple):
    """Questions about the documents of one folder."""

    name: str
    folder: Path
    questions: Sequence[Question]


def variants_of(policy: Policy) -> tuple[Variant, ...]:
    """Return the four rankings to compare."""
    pool, mmr_lambda = policy.retrieval.candidate_pool, policy.retrieval.mmr_lambda or MMR_LAMBDA
    both = _with_retrieval(policy, hybrid=True, mmr_lambda=None, top_k=2 * pool)
    return (
        Variant(DENSE, "`hybrid = false`", _with_retrieval(policy, hybrid=False, mmr_lambda=None)),
        Variant(
            LEXICAL,
            f"the hybrid's rows by `lexical_rank` (`top_k = {2 * pool}`, so that both lists are complete)",
            both,
            lexical_list=True,
        ),
        Variant(HYBRID, "the policy's fusion, no `mmr_lambda`", _with_retrieval(policy, hybrid=True, mmr_lambda=None)),
        Variant(MMR, f"`mmr_lambda = {mmr_lambda}`", _with_retrieval(policy, hybrid=True, mmr_lambda=mmr_lambda)),
    )


def _with_retrieval(policy: Policy, **values: object) -> Policy:
    return policy.model_copy(update={"retrieval": policy.retrieval.model_copy(update={"top_k": TOP_K, **values})})


def arrange(variant: Variant, rows: Rows) -> Rows:
    """Order the rows of a variant, best first. The fused rank breaks ties."""
    if not variant.lexical_list:
        return rows
    ranked_rows = [(row.lexical_rank, row.rank, row) for row in rows if row.lexical_rank is not None]
    return [row for *_, row in sorted(ranked_rows, key=lambda item: item[:2])]


def score_documents(rows: Rows, names: Mapping[str, str], relevance: Mapping[str, float]) -> Mapping[str, float]:
    """Score whole documents.

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
    """Score the characters of the first chunks.

    Args:
        rows: The candidates, best first.
        offsets: For each knowledge id, the offset in the file of each character of its page.
        wanted: The evidence, as offsets in the file.
    """
    spans = []
    for row in rows[:CHUNKS]:
        page_offsets = offsets[row.knowledge_id]
        spans.append(
            Span(row.knowledge_id, page_offsets[row.char_start or 0], page_offsets[(row.char_end or 1) - 1] + 1)
        )
    return {
        f"token recall@{CHUNKS}": span_recall(spans, wanted),
        f"token precision@{CHUNKS}": span_precision(spans, wanted),
    }


def score_pages(rows: Rows, evidence: Sequence[tuple[str, int]], top_k: int) -> Mapping[str, float]:
    """Score whether any evidence page, and which share of them, is among the policy's candidates."""
    is_found = [rank is not None for rank in locate(rows[:top_k], evidence)]
    return {"question found": float(any(is_found)), "pages found": sum(is_found) / len(is_found)}


@contextmanager
def document_set(data: Path, name: str) -> Iterator[QuestionSet]:
    """Write a corpus with graded documents as files. Questions without a relevant document are left out."""
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
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as target:
        write_documents(Path(target) / "documents", records)
        yield QuestionSet(name, Path(target) / "documents", questions)


@contextmanager
def chunking_set(data: Path) -> Iterator[QuestionSet]:
    """Copy long texts and read their questions, whose evidence is given as characters."""
    folder = data / CHUNKING
    offsets = {path.name: _read_offsets(path) for path in sorted(folder.glob("*.md"))}
    questions = [
        Question(record["question"], partial(score_chunks, offsets=offsets, wanted=_read_evidence(record)))
        for record in read_records(folder / "questions.jsonl")
    ]
    with tempfile.TemporaryDirectory(prefix="sourcebound-eval-") as copies:
        for name in offsets:
            (Path(copies) / name).write_bytes((folder / name).read_bytes())
        yield QuestionSet("chunking_eval", Path(copies), questions)


def _read_offsets(path: Path) -> list[int]:
    (page,) = load_document(path, MAX_BYTES).pages
    return align(page.text, path.read_bytes().decode("utf-8"))


def _read_evidence(record: dict[str, Any]) -> list[Span]:
    name = f"{record['corpus_id']}.md"
    return [Span(name, each["start_index"], each["end_index"]) for each in record["references"]]


@contextmanager
def page_set(data: Path, top_k: int) -> Iterator[QuestionSet]:
    """Read the questions on financial reports, whose evidence is given as pages."""
    questions = []
    for record in read_records(data / REPORTS / "questions.jsonl"):
        evidence = tuple(dict.fromkeys((each["doc_name"], each["page_index"] + 1) for each in record["evidence"]))
        questions.append(Question(record["question"], partial(score_pages, evidence=evidence, top_k=top_k)))
    yield QuestionSet("financebench", data / REPORTS / "pdfs", questions)


async def measure(services: Services, questions: QuestionSet, variants: Sequence[Variant]) -> Measurement:
    """Ingest the documents and score the rows of every question under every variant.

    Raises:
        ValueError: No row has a lexical rank.
    """
    started = perf_counter()
    summary = await ingest(services, questions.folder, questions.name, EMBEDDER)
    ingest_seconds = perf_counter() - started
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
    return Measurement(
        questions.name, len(questions.questions), summary.added, summary.chunks, ingest_seconds,
        perf_counter() - started - ingest_seconds, scores,
    )  # fmt: skip


async def evaluate(data: Path) -> str:
    """Measure every set under every variant, and return the report."""
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
        for open_set in sets:
            with open_set() as questions:
                print(f"{questions.name}: {len(questions.questions)} questions …", flush=True)
                measured.append(await measure(services, questions, variants))
    setup = {variant.name: variant.setup for variant in variants}
    return describe(measured, policy, setup, perf_counter() - started)


def main() -> None:
    """Print the report and write it to a file."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.ranking", description=evaluate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--report", type=Path, default=Path("docs/retrieval.md"), help="where to write the report")
    options = parser.parse_args()
    report = asyncio.run(evaluate(options.data))
    options.report.write_text(report, "utf-8")
    print(report)


if __name__ == "__main__":
    main()

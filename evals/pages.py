"""Measure whether retrieval finds the page that has the answer, in real financial reports.

Run `python -m sourcebound.evals.pages --data DATA`. The rule: a question counts as found if a page of its evidence, in
the right document, is among the pages of the policy's candidates. At least seven of eleven questions must be found.
Reports of one company repeat one another, so the right page number in the wrong report is a miss.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow
from sourcebound.evals.retrieval import DATA, ingest, read_records, retrieve, temporary_services
from sourcebound.wiring import DEFAULT_POLICY, LEXICAL_POLICY, Services, find_policy

MIN_FOUND: Final = 7
FOLDER: Final = "documents/financebench"


class PageResult(NamedTuple):
    """The ranks of one question's evidence among the candidates."""

    question_id: str
    question: str
    evidence: tuple[tuple[str, int], ...]
    """Document and page, counted from 1."""
    ranks: tuple[int | None, ...]
    """For each evidence page, the rank of the first candidate from it, counted from 0, or None."""

    @property
    def found(self) -> bool:
        """Whether a candidate comes from any evidence page."""
        return any(rank is not None for rank in self.ranks)


def locate(rows: Sequence[RetrievalRow | EvidenceChunk], evidence: Sequence[tuple[str, int]]) -> tuple[int | None, ...]:
    """Return the rank of the first candidate from each evidence page."""
    pages = [(Path(row.knowledge_id).stem, row.page_number) for row in rows]
    return tuple(pages.index(wanted) if wanted in pages else None for wanted in evidence)


async def search(services: Services, records: Sequence[dict[str, Any]], policy: Policy) -> list[PageResult]:
    """Retrieve for each question from the collection `reports`."""
    results = []
    for record in records:
        evidence = tuple(dict.fromkeys((each["doc_name"], each["page_index"] + 1) for each in record["evidence"]))
        bundle = await retrieve(services, record["question"], "reports", policy)
        results.append(PageResult(record["id"], record["question"], evidence, locate(bundle.results, evidence)))
    return results


def describe(results: Sequence[PageResult]) -> str:
    """Write the result of each question, and the total."""
    lines = []
    for result in results:
        positions = ", ".join(
            f"{document} p. {page}: {'missing' if rank is None else f'rank {rank}'}"
            for (document, page), rank in zip(result.evidence, result.ranks, strict=True)
        )
        lines.append(
            f"{'found ' if result.found else 'MISSED'}  {result.question_id}  {positions}\n        {result.question}"
        )
    found = sum(result.found for result in results)
    pages = [rank for result in results for rank in result.ranks]
    located = sum(rank is not None for rank in pages)
    total = f"{found} of {len(results)} questions, {located} of {len(pages)} pages"
    return "\n".join([*lines, f"{total} (needed: {MIN_FOUND} questions)"])


async def evaluate(data: Path, embedder: str) -> str:
    """Ingest the reports, retrieve for every question and describe the results."""
    policy = find_policy(LEXICAL_POLICY if embedder == "lexical" else DEFAULT_POLICY, embedding_model=embedder)
    async with temporary_services() as services:
        started = perf_counter()
        summary = await ingest(services, data / FOLDER / "pdfs", "reports", embedder)
        header = f"{summary.added} documents, {summary.chunks} chunks in {perf_counter() - started:.1f} s ({embedder})"
        results = await search(services, read_records(data / FOLDER / "questions.jsonl"), policy)
    return f"{header}\n{describe(results)}"


def main() -> None:
    """Print the result."""
    parser = argparse.ArgumentParser(prog="python -m sourcebound.evals.pages", description=evaluate.__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the evaluation data")
    parser.add_argument("--embedder", choices=("minilm", "lexical"), default="minilm")
    options = parser.parse_args()
    print(asyncio.run(evaluate(options.data, options.embedder)))


if __name__ == "__main__":
    main()

"""`sourcebound search`: a question's candidates after retrieval and selection. No model is called, no run recorded."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.answering.request_options import (
    COLLECTION_HELP,
    POLICY_HELP,
    check_collection,
    read_filters,
    read_limits,
)
from sourcebound.cli.answering.response_view import EXIT_CODES
from sourcebound.cli.console import print_rich, run_async
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.run_page.search_report import SearchReport, SearchRow
    from sourcebound.contracts.state import AskInput


def search(
    query: Annotated[str, typer.Argument(help="The question.")],
    collection: Annotated[str | None, typer.Option(help=COLLECTION_HELP)] = None,
    filters: Annotated[
        list[str] | None, typer.Option("--filter", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limit", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the report, as JSON.")] = False,
) -> None:
    """Show every candidate of a question, its outcome and the gate's verdict. No model is called, no run recorded.

    Ranks start at 0. Exit codes: 0 evidence, 3 refused, 4 failed, 2 bad usage, 1 fault.
    """
    if not query.strip():
        raise RequestError("the question is empty.", 'Try: sourcebound search "How often …?"')
    request: AskInput = {"question": query, "filters": read_filters(filters or []), "limits": read_limits(limits or [])}
    if collection:
        request["collection"] = collection
    report = run_async(lambda: _search(request, policy))
    if as_json:
        print(json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        show = _print_table if sys.stdout.isatty() else _print_lines
        show(report)
        print("\n".join(_summary(report)))
    raise typer.Exit(EXIT_CODES[report.outcome.status])


async def _search(request: "AskInput", policy: str | None) -> "SearchReport":
    from sourcebound.contracts.state import RunContext
    from sourcebound.graph.engine import Engine

    async with Engine.open() as engine:
        await check_collection(engine, request)
        return await engine.search(request, RunContext(policy=policy))


def _print_lines(report: "SearchReport") -> None:
    """Print two lines for each candidate: its figures and place, then its first line of text."""
    for row in report.candidates:
        rank, similarity, dense, lexical, outcome = candidate_cells(row)
        print(f"{rank}  similarity {similarity}  dense {dense}  lexical {lexical}  {outcome}  {candidate_place(row)}")
        print(f"    {row.first_line}")


def _print_table(report: "SearchReport") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("rank", "similarity", "dense", "lexical", "outcome", "candidate", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[:4]:
        column.justify, column.no_wrap = "right", True
    table.columns[4].no_wrap = True
    for row in report.candidates:
        *cells, outcome = candidate_cells(row)
        candidate = Text.assemble(
            candidate_place(row), "\n", (row.first_line, "dim"), overflow="ellipsis", no_wrap=True
        )
        table.add_row(*cells, Text(outcome, style="bold green" if row.anchor else "yellow"), candidate)
    if report.candidates:
        print_rich(table)


def candidate_cells(row: "SearchRow") -> list[str]:
    """Return rank, similarity, rank in the dense list, rank in the lexical list, and outcome."""
    lexical = _format(row.lexical_rank)
    if row.lexical_score is not None:
        lexical += f" ({row.lexical_score:.3f})"
    outcome = " ".join(part for part in (row.outcome, row.anchor) if part) or "-"
    return [str(row.rank), f"{row.similarity_score:.3f}", _format(row.dense_rank), lexical, outcome]


def candidate_place(row: "SearchRow") -> str:
    """Return document, section and a reranker's score as one line, without control characters of file names."""
    from sourcebound.contracts.text.sanitize import sanitize

    rerank = None if row.rerank_score is None else f"rerank {row.rerank_score:.3f}"
    parts = [row.source_reference or row.knowledge_id, row.section, row.origin, rerank]
    return " ".join(sanitize(" · ".join(part for part in parts if part)).text.split())


def _summary(report: "SearchReport") -> list[str]:
    """Return the gate's verdict, and a line for each notice."""
    outcome, gate = report.outcome, report.gate
    reason = outcome.refusal_code or outcome.failure_code
    verdict = f"{reason}: {outcome.message}" if reason else "evidence"
    gap = "\n" if report.candidates else ""
    lines = [f"{gap}{outcome.status}  {verdict}"]
    if report.index_version:
        lines += [
            f"similarity {_format(gate.top_similarity)} (minimum {_format(gate.min_top_similarity)}), "
            f"coverage {_format(gate.question_coverage)} (minimum {_format(gate.min_question_coverage)})",
            f"{len(report.candidates)} candidates, {sum(row.anchor is not None for row in report.candidates)} admitted "
            f"in {_format(report.retrieval_latency_ms)} ms  {report.embedding_model}  {report.index_version}",
        ]
    lines.append(f"policy {report.policy_version}  collection {report.collection}")
    lines += [f"variant: {variant}" for variant in report.query_variants if variant != report.question]
    lines += [f"notice: {notice}" for notice in report.notices]
    if report.fallback_used:
        lines.append("fallback: the second, lower minimum was used")
    if report.retrieval_shortfall:
        lines.append(f"shortfall: {report.retrieval_shortfall} fewer rows than expected")
    return lines


def _format(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"

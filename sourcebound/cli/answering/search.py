"""`sourcebound search`: what retrieval and selection saw of a question; nothing is asked of a model or recorded."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.answering.ask import EXIT_CODES, read_filters, read_limits
from sourcebound.cli.console import run_async
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.run_page.search_report import SearchReport, SearchRow
    from sourcebound.contracts.state import AskInput


def search(
    query: Annotated[str, typer.Argument(help="The question.")],
    collection: Annotated[str | None, typer.Option(help="Where to look; the setting's when omitted.")] = None,
    filters: Annotated[
        list[str] | None, typer.Option("--filter", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limit", metavar="KEY=VALUE", help="As for ask. Repeatable.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="A released policy or a policy file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, alone.")] = False,
) -> None:
    """Show every candidate of a question, its fate, and the gate's verdict; no model is asked, no run recorded.

    Ranks count from 0. Exit codes: 0 evidence, 3 refused, 4 failed, 2 bad usage, 1 fault.
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
        return await engine.search(request, RunContext(policy=policy))


def _print_lines(report: "SearchReport") -> None:
    """Two lines a candidate: the first for grep, the second for the eye."""
    for row in report.candidates:
        rank, similarity, dense, lexical, fate = candidate_cells(row)
        print(f"{rank}  similarity {similarity}  dense {dense}  lexical {lexical}  {fate}  {candidate_place(row)}")
        print(f"    {row.first_line}")


def _print_table(report: "SearchReport") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("rank", "similarity", "dense", "lexical", "fate", "candidate", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[:4]:
        column.justify, column.no_wrap = "right", True
    table.columns[4].no_wrap = True
    for row in report.candidates:
        *cells, fate = candidate_cells(row)
        candidate = Text.assemble(
            candidate_place(row), "\n", (row.first_line, "dim"), overflow="ellipsis", no_wrap=True
        )
        table.add_row(*cells, Text(fate, style="bold green" if row.anchor else "yellow"), candidate)
    if report.candidates:
        Console(highlight=False).print(table)


def candidate_cells(row: "SearchRow") -> list[str]:
    """Rank, similarity, place in the dense list, place in the lexical list, fate."""
    lexical = _shown(row.lexical_rank)
    if row.lexical_score is not None:
        lexical += f" ({row.lexical_score:.3f})"
    fate = " ".join(part for part in (row.outcome, row.anchor) if part) or "-"
    return [str(row.rank), f"{row.similarity_score:.3f}", _shown(row.dense_rank), lexical, fate]


def candidate_place(row: "SearchRow") -> str:
    """Document and section as one line without control characters: a file's name may hold anything."""
    from sourcebound.contracts.text.sanitize import sanitize

    parts = [row.source_reference or row.knowledge_id, row.section, row.origin]
    return " ".join(sanitize(" · ".join(part for part in parts if part)).text.split())


def _summary(report: "SearchReport") -> list[str]:
    """The gate's verdict and what else was noted; a line for whatever is not as usual."""
    outcome, gate = report.outcome, report.gate
    reason = outcome.refusal_code or outcome.failure_code
    verdict = f"{reason}: {outcome.message}" if reason else "evidence"
    gap = "\n" if report.candidates else ""
    lines = [f"{gap}{outcome.status}  {verdict}"]
    if report.index_version:
        lines += [
            f"similarity {_shown(gate.top_similarity)} (minimum {_shown(gate.min_top_similarity)}), "
            f"coverage {_shown(gate.question_coverage)} (minimum {_shown(gate.min_question_coverage)})",
            f"{len(report.candidates)} candidates, {sum(row.anchor is not None for row in report.candidates)} admitted "
            f"in {_shown(report.retrieval_latency_ms)} ms  {report.embedding_model}  {report.index_version}",
        ]
    lines.append(f"policy {report.policy_version}  collection {report.collection}")
    lines += [f"variant: {variant}" for variant in report.query_variants if variant != report.question]
    lines += [f"notice: {notice}" for notice in report.notices]
    if report.fallback_used:
        lines.append("fallback: the second, lower minimum was used")
    if report.retrieval_shortfall:
        lines.append(f"shortfall: {report.retrieval_shortfall} rows fewer than there should be")
    return lines


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"

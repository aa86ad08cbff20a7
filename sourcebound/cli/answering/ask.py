"""`sourcebound ask`: one question, one checked answer and its sources. The exit code gives the outcome."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebound.cli.answering.request_options import (
    COLLECTION_HELP,
    MODEL_HELP,
    POLICY_HELP,
    PRESENTATION_HELP,
    check_collection,
    read_filters,
    read_limits,
    read_presentation,
)
from sourcebound.cli.answering.response_view import OutputFormat, RenderedResponse, print_and_exit, render_response
from sourcebound.cli.console import run_async
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.state import AskInput, RunContext

RESUME = "Next: sourcebound runs list, then sourcebound runs resume RUN."
STDIN = "-"


def ask(
    question: Annotated[str | None, typer.Argument(help="The question; - reads it from stdin.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the public response, as JSON.")] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Retrieval bundles of another retriever: one or more JSON objects, or a Parquet or Arrow file with "
            "one candidate in each row; - is stdin. Each bundle is a run of its own, in order."
        ),
    ] = None,
    collection: Annotated[str | None, typer.Option(help=COLLECTION_HELP)] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="KEY=VALUE",
            help="equipment_id=HP-200, event_date_from=2024-01-01, knowledge_ids=a.pdf … Repeatable.",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", metavar="KEY=VALUE", help="Tighten the policy: min_sources=2, max_chunks=3 … Repeatable."
        ),
    ] = None,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP)] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    presentation: Annotated[str | None, typer.Option(help=PRESENTATION_HELP)] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="With --bundle: the number of concurrent runs.")] = 4,
) -> None:
    """Answer a question from a collection, or say that its documents do not hold the answer.

    Exit codes: 0 answered, 3 no evidence, 4 failed, 2 bad usage, 1 fault. For several bundles: the worst of them.
    """
    from sourcebound.contracts.state import RunContext

    output_format = OutputFormat(read_presentation(presentation, as_json=as_json), as_json)
    context = RunContext(policy=policy, model=model)
    if bundle is not None:
        from sourcebound.cli.answering.bundles import answer_bundles

        _check_bundle_options(question, collection, filters)
        shared: AskInput = {"limits": read_limits(limits or [])}
        answer = partial(answer_bundles, bundle, shared, context, at_once, output_format)
        raise typer.Exit(run_async(answer, interrupted=RESUME))
    request = _read_request(question, collection, filters or [])
    request["limits"] = read_limits(limits or [])
    print_and_exit(run_async(lambda: _ask(request, context, output_format), interrupted=RESUME))


async def _ask(request: "AskInput", context: "RunContext", output_format: OutputFormat) -> RenderedResponse:
    from sourcebound.graph.engine import Engine

    async with Engine.open() as engine:
        await check_collection(engine, request)
        response = await engine.ask(request, context)
        return await render_response(engine, response, response.run_id, output_format)


def _check_bundle_options(question: str | None, collection: str | None, filters: list[str] | None) -> None:
    if question is not None:
        raise RequestError("give either a question or --bundle FILE.", 'Try: sourcebound ask "How often …?"')
    if filters or collection:
        raise RequestError(
            "--filter and --collection apply to a question.", "A bundle states its own filters in filters_applied."
        )


def _read_request(question: str | None, collection: str | None, filters: list[str]) -> "AskInput":
    if question is None:
        raise RequestError("give either a question or --bundle FILE.", 'Try: sourcebound ask "How often …?"')
    text = _read_stdin() if question == STDIN else question
    if not text.strip():
        raise RequestError("the question is empty.", 'Try: sourcebound ask "How often …?"')
    request: AskInput = {"question": text, "filters": read_filters(filters)}
    if collection:
        request["collection"] = collection
    return request


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError as error:
        raise RequestError("stdin is not UTF-8 text.", "Send the question as UTF-8.") from error

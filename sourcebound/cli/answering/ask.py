"""`sourcebound ask`: one question, one checked answer, its sources; the exit code says how it went."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from sourcebound.cli.console import ANSWERED, FAILED, NO_EVIDENCE, run_async, say
from sourcebound.errors import RequestError

if TYPE_CHECKING:
    from sourcebound.contracts.policy.schema import Presentation
    from sourcebound.contracts.response.public import PublicCitation, PublicResponse
    from sourcebound.contracts.state import AskInput
    from sourcebound.graph.engine import Engine

PRESENTATION_HELP = "plain, answer_sources, numbered_confidence or source_markers; the policy's own when omitted."
RESUME = "Next: sourcebound runs list, then sourcebound runs resume RUN to go on with it."
EXIT_CODES = {"OK": ANSWERED, "NO_EVIDENCE": NO_EVIDENCE, "FAILED": FAILED}


def ask(
    question: Annotated[str | None, typer.Argument(help="The question.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the public response as JSON, alone.")] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Retrieval bundles of another retriever: JSON, one or many, or a Parquet or Arrow file with one "
            "candidate a row. - is stdin. Each is answered by itself, in order."
        ),
    ] = None,
    collection: Annotated[str | None, typer.Option(help="Where to look; the setting's when omitted.")] = None,
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
    policy: Annotated[str | None, typer.Option(help="A released policy or a policy file.")] = None,
    model: Annotated[str | None, typer.Option(help="The generator.")] = None,
    presentation: Annotated[str | None, typer.Option(help=PRESENTATION_HELP)] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="With --bundle: how many are under way at once.")] = 4,
) -> None:
    """Answer a question from a collection, or say that its documents do not hold the answer.

    Exit codes: 0 answered, 3 no evidence, 4 failed, 2 bad usage, 1 fault; of several bundles the worst.
    """
    form = OutputFormat(read_presentation(presentation, as_json=as_json), as_json)
    if bundle is not None:
        _check_alone(question, collection, filters)
        shared: AskInput = {"limits": read_limits(limits or [])}
        raise typer.Exit(_ask_bundles(bundle, shared, policy, model, at_once, form))
    request = _request(question, collection, filters or [])
    request["limits"] = read_limits(limits or [])
    show_response(run_async(lambda: _ask(request, policy, model, form), interrupted=RESUME))


class OutputFormat(NamedTuple):
    """How a response is printed."""

    presentation: "Presentation | None" = None
    """That of the run's policy where it is None."""
    as_json: bool = False


class RenderedResponse(NamedTuple):
    """A response, and what is printed of it where that is neither JSON nor `plain`."""

    response: "PublicResponse"
    form: OutputFormat
    text: str | None = None


def show_response(shown: RenderedResponse) -> NoReturn:
    """Prints a response and leaves with the exit code of its status."""
    print_response(shown, indent=2)
    raise typer.Exit(EXIT_CODES[shown.response.status])


def print_response(shown: RenderedResponse, indent: int | None = None) -> None:
    """Prints a response; in any presentation but `plain` the answer alone is on stdout."""
    if shown.form.as_json:
        print(json.dumps(shown.response.model_dump(mode="json"), ensure_ascii=False, indent=indent))
    elif shown.text is None:
        render_response(shown.response)
    else:
        _print_text(shown.response, shown.text)


def _print_text(response: "PublicResponse", text: str) -> None:
    from sourcebound.contracts.text.sanitize import visible

    for line in _understood(response):
        say(line)
    print(visible(text))
    if response.refusal_code:
        say(f"{response.refusal_code}: {response.message}")
    say(f"run {response.run_id}")


async def prepare_response(
    engine: "Engine", response: "PublicResponse", thread_id: str, form: OutputFormat
) -> RenderedResponse:
    """What is to be printed of a response (R6-8)."""
    from sourcebound.contracts.presentation.render import present

    if form.as_json:
        return RenderedResponse(response, form)
    view = await engine.answer(thread_id, run_id=response.run_id)
    chosen = form.presentation or view.presentation
    return RenderedResponse(response, form, None if chosen == "plain" else present(view, chosen))


async def _ask(request: "AskInput", policy: str | None, model: str | None, form: OutputFormat) -> RenderedResponse:
    from sourcebound.contracts.state import RunContext
    from sourcebound.graph.engine import Engine

    async with Engine.open() as engine:
        response = await engine.ask(request, RunContext(policy=policy, model=model))
        return await prepare_response(engine, response, response.run_id, form)


def _ask_bundles(
    path: Path, request: "AskInput", policy: str | None, model: str | None, at_once: int, form: OutputFormat
) -> int:
    from sourcebound.cli.answering.bundles import answer_bundles
    from sourcebound.contracts.state import RunContext

    context = RunContext(policy=policy, model=model)
    return run_async(lambda: answer_bundles(path, request, context, at_once, form), interrupted=RESUME)


def _check_alone(question: str | None, collection: str | None, filters: list[str] | None) -> None:
    if question is not None:
        raise RequestError("give either a question or --bundle FILE.", 'Try: sourcebound ask "How often …?"')
    if filters or collection:
        raise RequestError(
            "--filter and --collection go with a question.", "A bundle says what it was filtered by in filters_applied."
        )


def _request(question: str | None, collection: str | None, filters: list[str]) -> "AskInput":
    if question is None:
        raise RequestError("give either a question or --bundle FILE.", 'Try: sourcebound ask "How often …?"')
    if not question.strip():
        raise RequestError("the question is empty.", 'Try: sourcebound ask "How often …?"')
    request: AskInput = {"question": question, "filters": read_filters(filters)}
    if collection:
        request["collection"] = collection
    return request


def read_filters(filters: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs as filters; an unknown key or a bad date is an error that lists what is known."""
    from pydantic import ValidationError

    from sourcebound.contracts.request import Filters

    known = f"Known filters: {', '.join(Filters.model_fields)}."
    pairs: dict[str, Any] = {}
    for key, value in _pairs(filters, "filter", repeatable="knowledge_ids"):
        pairs[key] = (*pairs.get(key, ()), value) if key == "knowledge_ids" else value
    try:
        return Filters.model_validate(pairs).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        raise RequestError(f"the filter {detail['loc'][0]!r} is not acceptable: {detail['msg']}.", known) from error


def _pairs(texts: list[str], kind: str, repeatable: str = "") -> list[tuple[str, str]]:
    """KEY=VALUE pairs; a key that is given twice is an error, for only one of its values could count."""
    pairs = [(key, value) for key, _, value in (text.partition("=") for text in texts)]
    keys = [key for key, _ in pairs if key != repeatable]
    for key in keys:
        if keys.count(key) > 1:
            raise RequestError(f"the {kind} {key!r} is given more than once.", f"Give --{kind} {key}=VALUE once.")
    return pairs


def read_limits(limits: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs with numbers; whether they tighten is for the policy to say."""
    pairs = {}
    for key, value in _pairs(limits, "limit"):
        try:
            pairs[key] = int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError as error:
            raise RequestError(
                f"the limit {key!r} is not a number: {value!r}.", "Try --limit min_sources=2."
            ) from error
    return pairs


def read_presentation(name: str | None, *, as_json: bool) -> "Presentation | None":
    """A presentation by its name; one that there is not, or that --json leaves no place for, is an error."""
    from sourcebound.contracts.presentation.render import PRESENTATIONS

    if name is not None and as_json:
        raise RequestError("--json and --presentation exclude each other.", "--json prints the public response.")
    for known in PRESENTATIONS:
        if known == name:
            return known
    if name is not None:
        raise RequestError(
            f"there is no presentation {name!r}.",
            f"Choose one of {', '.join(PRESENTATIONS)}.",
            code="UNKNOWN_PRESENTATION",
        )
    return None


def _understood(response: "PublicResponse") -> list[str]:
    """How a question of a conversation was understood (CP-6)."""
    searched = [f"searched for: {response.search_query}"] if response.search_query else []
    return [*searched, *(f"note: {notice}" for notice in response.notices)]


def render_response(response: "PublicResponse") -> None:
    """Prints a response for people: the answer and its sources, or why there is none."""
    from rich.console import Console
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import visible

    console = Console(highlight=False)
    for line in _understood(response):
        console.print(Text(line, style="yellow" if line.startswith("note:") else "italic"), soft_wrap=True)
    if response.status == "OK":
        answer = Text(visible(response.answer))
        answer.highlight_regex(r"\[C\d+\]", "bold cyan")
        console.print(answer)
        console.print("\n[bold]Sources[/bold]")
        for citation in response.citations:
            console.print(render_source(citation))
    else:
        console.print(Text(response.answer or "No answer is released.", style="bold"))
        reason = response.refusal_code or response.failure_code
        console.print(Text(f"{reason}: {response.message}", style="yellow" if response.answer else "red"))
    low = " (limited source coverage)" if response.support_level == "LOW" else ""
    support = f"support {response.support_level}{low} · " if response.support_level else ""
    footer = f"{support}policy {response.policy_version} · {response.latency_ms:.0f} ms\nrun {response.run_id}"
    console.print(Text("\n" + footer, style="dim"))


def render_source(citation: "PublicCitation") -> Any:
    """One source as two lines for rich."""
    from rich.padding import Padding
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import one_line

    text = Text(f"[{citation.anchor}] ", style="bold cyan")
    text.append(one_line(citation.title or citation.knowledge_id), style="default not bold")
    where = [citation.source_reference or citation.knowledge_id, citation.section, citation.equipment_id]
    if citation.event_date:
        where.append(citation.event_date.isoformat())
    text.append("\n" + " · ".join(one_line(part) for part in where if part), style="dim not bold")
    return Padding(text, (0, 0, 0, 2))

"""Prints a public response: as JSON, as an answer with its sources, or in another presentation (R6-8)."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import typer

from sourcebound.cli.console import ANSWERED, FAILED, NO_EVIDENCE, print_rich, say

if TYPE_CHECKING:
    from sourcebound.contracts.policy.schema import Presentation
    from sourcebound.contracts.response.public import PublicCitation, PublicResponse
    from sourcebound.graph.engine import Engine
    from sourcebound.graph.run_views.passages import Passage

EXIT_CODES: Final = {"OK": ANSWERED, "NO_EVIDENCE": NO_EVIDENCE, "FAILED": FAILED}
PASSAGES: Final = "Nearest passages (passages, not an answer)"
PASSAGE_CHARACTERS: Final = 240
LEVEL_HINTS: Final = {
    "MEDIUM": " (in the sources: check that it answers)",
    "LOW": " (weakly supported, or hardly about the question: read the sources)",
}
"""What a level other than HIGH means (R5-15)."""


class OutputFormat(NamedTuple):
    """The form in which a response is printed."""

    presentation: "Presentation | None" = None
    """None: the presentation of the run's policy."""
    as_json: bool = False


class RenderedResponse(NamedTuple):
    """A response with its text in a presentation; no text for JSON and for `plain`."""

    response: "PublicResponse"
    output_format: OutputFormat
    text: str | None = None
    passages: "Sequence[Passage]" = ()
    """The nearest passages of a response without an answer, for `plain`."""


async def render_response(
    engine: "Engine", response: "PublicResponse", thread_id: str, output_format: OutputFormat
) -> RenderedResponse:
    """Render a response in the presentation that was chosen (R6-8)."""
    from sourcebound.contracts.presentation.render import present

    if output_format.as_json:
        return RenderedResponse(response, output_format)
    view = await engine.answer(thread_id, run_id=response.run_id)
    presentation = output_format.presentation or view.presentation
    if presentation != "plain":
        return RenderedResponse(response, output_format, present(view, presentation))
    passages = () if response.status == "OK" else await engine.passages(thread_id, run_id=response.run_id)
    return RenderedResponse(response, output_format, passages=passages)


def print_and_exit(rendered: RenderedResponse) -> NoReturn:
    """Print a response and exit with the code of its status."""
    print_response(rendered, indent=2)
    raise typer.Exit(EXIT_CODES[rendered.response.status])


def print_response(rendered: RenderedResponse, indent: int | None = None) -> None:
    """Print a response. In any presentation except `plain`, stdout holds the answer alone."""
    if rendered.output_format.as_json:
        print(json.dumps(rendered.response.model_dump(mode="json"), ensure_ascii=False, indent=indent))
    elif rendered.text is None:
        _print_plain(rendered.response, rendered.passages)
    else:
        _print_text(rendered.response, rendered.text)


def _print_text(response: "PublicResponse", text: str) -> None:
    from sourcebound.contracts.text.sanitize import visible

    for line in _search_notes(response):
        say(line)
    print(visible(text))
    if response.refusal_code:
        say(f"{response.refusal_code}: {response.message}")
    if response.advice:
        say(f"Next: {response.advice}")
    say(f"run {response.run_id}")


def _search_notes(response: "PublicResponse") -> list[str]:
    """The search query of a follow-up (CP-6), and notices."""
    query = [f"searched for: {response.search_query}"] if response.search_query else []
    return [*query, *(f"note: {notice}" for notice in response.notices)]


def _print_plain(response: "PublicResponse", passages: "Sequence[Passage]") -> None:
    """Print the answer and its sources, or the reason why there is no answer and what to try."""
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import visible

    for line in _search_notes(response):
        print_rich(Text(line, style="yellow" if line.startswith("note:") else "italic"))
    if response.status == "OK":
        answer = Text(visible(response.answer))
        answer.highlight_regex(r"\[C\d+\]", "bold cyan")
        print_rich(answer, Text("\nSources", style="bold"), *map(source_lines, response.citations))
    else:
        reason = response.refusal_code or response.failure_code
        print_rich(
            Text(response.answer or "No answer is released.", style="bold"),
            Text(f"{reason}: {response.message}", style="yellow" if response.answer else "red"),
            *([Text(f"Next: {response.advice}")] if response.advice else []),
            *([Text(f"\n{PASSAGES}", style="bold"), *map(_passage_lines, passages)] if passages else []),
        )
    hint = LEVEL_HINTS.get(response.support_level or "", "")
    support = f"support {response.support_level}{hint} · " if response.support_level else ""
    footer = f"{support}policy {response.policy_version} · {response.latency_ms:.0f} ms\nrun {response.run_id}"
    print_rich(Text("\n" + footer, style="dim"))


def _passage_lines(passage: "Passage") -> Any:
    """Lay out one passage as two indented lines for rich."""
    from rich.padding import Padding
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import one_line

    start = one_line(passage.text)
    shown = start if len(start) <= PASSAGE_CHARACTERS else f"{start[:PASSAGE_CHARACTERS].rsplit(' ', 1)[0]} …"
    return Padding(Text.assemble(one_line(passage.place), "\n", (shown, "dim")), (0, 0, 0, 2), expand=False)


def source_lines(citation: "PublicCitation") -> Any:
    """Lay out one source as two indented lines for rich."""
    from rich.padding import Padding
    from rich.text import Text

    from sourcebound.contracts.text.sanitize import one_line

    text = Text(f"[{citation.anchor}] ", style="bold cyan")
    text.append(one_line(citation.title or citation.knowledge_id), style="default not bold")
    where = [citation.source_reference or citation.knowledge_id, citation.section, citation.equipment_id]
    if citation.event_date:
        where.append(citation.event_date.isoformat())
    text.append("\n" + " · ".join(one_line(part) for part in where if part), style="dim not bold")
    return Padding(text, (0, 0, 0, 2), expand=False)

"""The page of a run: tables on a terminal; in a pipe, lines that begin with the name of their section."""

from collections.abc import Iterable, Iterator
from itertools import chain as joined
from typing import TYPE_CHECKING, Final, NamedTuple

from sourcebound.cli.answering.search import candidate_cells, candidate_place
from sourcebound.cli.console import print_rich
from sourcebound.cli.records import run_labels as facts
from sourcebound.cli.records.run_labels import Fact
from sourcebound.contracts.text.sanitize import one_line, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sourcebound.contracts.run_page.attempts import AttemptView
    from sourcebound.contracts.run_page.page import RunPage, Source

BAR: Final = 24
"""Length of the longest bar, in characters."""
WITHHELD: Final = "(withheld: the document may no longer be read)"
PROMPT_WITHHELD: Final = "(withheld: it holds a document that may no longer be read)"


class Section(NamedTuple):
    """A section of the page: facts, a table, texts."""

    name: str
    title: str
    facts: Iterable[Fact] = ()
    header: tuple[str, ...] = ()
    rows: Iterable[tuple[str, ...]] = ()
    """Cells may have several lines, which a bar separates in a pipe."""
    texts: Iterable[Fact] = ()
    """Labelled texts of several lines."""


def sections(page: "RunPage") -> Iterator[Section]:
    """Yield the sections of the page that have content."""
    yield Section("run", "The run", facts.identity(page))
    yield from _candidates(page)
    yield from _facts(page)
    if page.sources:
        yield Section("evidence", "Evidence", facts.budget(page), texts=map(_source, page.sources))
    for attempt in page.attempts:
        yield from _attempt(page, attempt)
    if page.nodes:
        rows = [(n.node, n.status, f"{n.milliseconds:.1f} ms", "█" * round(BAR * n.share)) for n in page.nodes]
        yield Section("node", "Time", header=("node", "status", "time", ""), rows=rows)
    if page.records:
        places = [
            (str(r.attempt), facts.number(r.position), r.validation_status, r.row_hash or "-", facts.chain(r))
            for r in page.records
        ]
        header = ("attempt", "position", "validation", "row hash", "chain")
        yield Section("record", "Audit record", header=header, rows=places)


def _candidates(page: "RunPage") -> Iterator[Section]:
    if page.search is None or page.search.index_version is None:
        return
    rows = [
        (*candidate_cells(row), "\n".join(part for part in (candidate_place(row), row.first_line) if part))
        for row in page.search.candidates
    ]
    header = ("rank", "similarity", "dense", "lexical", "outcome", "candidate")
    yield Section("candidate", "Retrieval", facts.gate(page.search), header, rows)


def _facts(page: "RunPage") -> Iterator[Section]:
    if page.facts is None:
        return
    rows = [
        (
            shown.fate or "-",
            f"{shown.fact.score:.3f}",
            shown.fact.document,
            "-" if shown.fact.page is None else str(shown.fact.page),
            shown.fact.chunk_id,
        )
        for shown in page.facts.facts
    ]
    texts = [Fact("debug text", page.facts.text)]
    if page.facts.choice:
        made = page.facts.choice.generation
        texts += [Fact(f"{message.role} message", message.content) for message in page.facts.choice.prompt.messages]
        texts += [Fact("the model's choice", made.raw_model_text)] if made else []
    header = ("fate", "similarity", "document", "page", "chunk")
    yield Section("fact", "Facts", facts.selection(page), header, rows, texts)


def _source(source: "Source") -> Fact:
    chunk = source.chunk
    label = f"{chunk.anchor}{' (cited)' if source.cited else ''} {facts.place(source)}"
    return Fact(f"{label}, {chunk.token_count} tokens", chunk.sanitized_text if source.readable else WITHHELD)


def _attempt(page: "RunPage", attempt: "AttemptView") -> Iterator[Section]:
    number = f" {attempt.number}" if len(page.attempts) > 1 else ""
    texts = [Fact(f"{message.role} message", message.content) for message in attempt.prompt.messages]
    if page.prompt_withheld:
        texts.append(Fact("text", PROMPT_WITHHELD))
    yield Section("prompt", f"Prompt{number}", facts.prompt(page, attempt), texts=texts)
    yield Section("call", f"Model{number}", facts.call(attempt))
    if attempt.validation is None:
        return
    rows = [
        (
            str(s.number),
            s.verdict.value,
            " ".join(s.anchors) or "-",
            "\n".join([one_line(s.text), *facts.statement_notes(s)]),
        )
        for s in attempt.statements
    ]
    broken = [Fact("broken", facts.violation_text(violation)) for violation in attempt.other_violations]
    header = ("no.", "verdict", "cites", "statement and findings")
    found = joined(facts.checks(page, attempt), broken)
    yield Section("statement", f"Statements{number}", found, header, rows, _rejected_text(attempt))


def _rejected_text(attempt: "AttemptView") -> list[Fact]:
    """Return the text of an answer that was rejected before its statements could be read."""
    found, made = attempt.validation, attempt.generation
    unread = found and made and found.validation_status == "FAILED" and not attempt.statements
    return [Fact("rejected text", made.raw_model_text)] if unread and made else []


def print_lines(page: "RunPage") -> None:
    """Print the page as lines that begin with the name of their section."""
    for name, text in _opening(page):
        print(f"{name:<10} {one_line(text)}")
    for section in sections(page):
        for line in facts.lines_of(section.facts):
            print(f"{section.name:<10} {line}")
        for row in section.rows:
            cells = (" | ".join(map(one_line, cell.split("\n"))) for cell in row)
            print(f"{section.name:<10} {'  '.join(cells)}".rstrip())
        for label, text in section.texts:
            print(f"{section.name:<10} {one_line(label)}")
            print("\n".join(f"    {line}".rstrip() for line in visible(text).split("\n")))


def _opening(page: "RunPage") -> Iterator[tuple[str, str]]:
    yield "question", facts.question(page)
    yield "status", f"{page.head.status} ({page.head.reason})" if page.head.reason else page.head.status
    for line in facts.verdict(page):
        yield "reason", line
    for violation in facts.broken_rules(page):
        yield "broken", facts.violation_text(violation)
    if page.response and page.response.answer:
        yield "answer", page.response.answer


def print_tables(page: "RunPage") -> None:
    """Print the page as tables."""
    from rich.text import Text

    for name, text in _opening(page):
        colour = {"question": "bold", "status": STATUS_STYLES[page.head.status], "answer": ""}.get(name, "yellow")
        print_rich(Text(visible(text), style=colour))
    for section in sections(page):
        print_rich(Text(f"\n{section.title}", style="bold underline"), *_parts(section))


STATUS_STYLES: Final = {
    "OK": "bold green", "NO_EVIDENCE": "bold yellow", "FAILED": "bold red", "RUNNING": "bold cyan",
    "REPLACED": "bold yellow", "CANCELLED": "bold yellow",
}  # fmt: skip


def _parts(section: Section) -> "Iterator[RenderableType]":
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for label, value in section.facts:
        grid.add_row(Text(label, style="dim"), Text(one_line(value)))
    if grid.row_count:
        yield grid
    rows = list(section.rows)
    if rows:
        table = Table(*section.header, box=None, padding=(0, 2, 0, 0))
        for column in table.columns[:-1]:
            column.no_wrap = True
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        yield table
    for label, text in section.texts:
        yield Text(one_line(label), style="bold")
        yield Padding(Text(visible(text)), (0, 0, 0, 2), expand=False)

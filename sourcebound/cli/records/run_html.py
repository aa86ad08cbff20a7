"""The page of a run as one self-contained HTML file without scripts.

Documents, questions and answers are untrusted text. Every value is escaped. The content-security policy of the page
forbids scripts, forms, frames and external resources, and allows one style sheet by its hash.
"""

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from sourcebound.cli.records import run_labels
from sourcebound.contracts.run_page.code_labels import ROW_OUTCOME_LABELS
from sourcebound.contracts.text.citations import find_citations
from sourcebound.contracts.text.sanitize import visible

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from sourcebound.contracts.run_page.page import RunPage, Source


class Piece(NamedTuple):
    """A part of an answer: text, or a citation."""

    text: str
    anchor: str | None = None


class MarkedText(NamedTuple):
    """A part of a source: plain text, or words that the answer rests on."""

    text: str
    is_marked: bool


def render_html(page: "RunPage") -> str:
    """Render the page as an HTML document."""
    style, template = _sheet()
    known = {source.chunk.anchor for source in page.sources}
    return template.render(
        page=page,
        facts=run_labels,
        fates=ROW_OUTCOME_LABELS,
        pieces=lambda text: list(_pieces(text, known)),
        marked=_mark_quotes,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


@cache
def _sheet() -> "tuple[Markup, Template]":
    """Load the style sheet, which is a trusted file of this package, and the template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_format,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Markup((files(__package__) / "run_page.css").read_text("utf-8"))
    return style, environment.get_template("run_page.html")


def _format(value: Any) -> Any:
    """Format a value: a dash for None, text without characters that cannot be displayed."""
    if value is None:
        return "–"
    return visible(value) if type(value) is str else value


def _pieces(text: str, known: set[str]) -> Iterator[Piece]:
    """Split an answer at the citations that have a source on the page."""
    start = 0
    for citation in find_citations(text):
        if citation.anchor in known:
            yield Piece(text[start : citation.start])
            yield Piece(text[citation.start : citation.end], citation.anchor)
            start = citation.end
    yield Piece(text[start:])


def _mark_quotes(source: "Source") -> Iterator[MarkedText]:
    """Split the text of a source at the words that the answer rests on; quotes that overlap are marked once."""
    text, start = source.chunk.sanitized_text, 0
    for quote in source.quotes:  # in order of their starts
        if quote.end <= start:
            continue
        begin = max(start, quote.start)
        yield MarkedText(text[start:begin], is_marked=False)
        yield MarkedText(text[begin : quote.end], is_marked=True)
        start = quote.end
    yield MarkedText(text[start:], is_marked=False)

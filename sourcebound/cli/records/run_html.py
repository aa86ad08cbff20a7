"""A run's page as one HTML file: it needs nothing else, runs nothing, and trusts nothing that it shows.

Documents, questions and answers are hostile text. Every value is escaped; the page's own policy forbids scripts, forms,
frames and anything from elsewhere, and allows one style sheet by its hash.
"""

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from sourcebound.cli.records import run_labels as run_facts
from sourcebound.contracts.run_page.code_labels import ROW_OUTCOME_LABELS
from sourcebound.contracts.text.citations import find_citations
from sourcebound.contracts.text.sanitize import visible

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from sourcebound.contracts.run_page.page import RunPage


class Piece(NamedTuple):
    """A stretch of an answer, or a citation in it."""

    text: str
    anchor: str | None = None


def render_html(page: "RunPage") -> str:
    """The page as a document of its own.

    Args:
        page: The page.

    Returns:
        The HTML text.
    """
    style, template = _sheet()
    known = {source.chunk.anchor for source in page.sources}
    return template.render(
        page=page,
        facts=run_facts,
        fates=ROW_OUTCOME_LABELS,
        pieces=lambda text: list(_pieces(text, known)),
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


@cache
def _sheet() -> "tuple[Markup, Template]":
    """The style, which is trusted, for it is a file of this package, and the template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Markup((files(__package__) / "run_page.css").read_text("utf-8"))
    return style, environment.get_template("run_page.html")


def _shown(value: Any) -> Any:
    """What is printed for a value: absence as a dash, text without what cannot be shown."""
    if value is None:
        return "–"
    return visible(value) if type(value) is str else value


def _pieces(text: str, known: set[str]) -> Iterator[Piece]:
    """An answer cut at those citations that have a source on the page."""
    start = 0
    for citation in find_citations(text):
        if citation.anchor in known:
            yield Piece(text[start : citation.start])
            yield Piece(text[citation.start : citation.end], citation.anchor)
            start = citation.end
    yield Piece(text[start:])

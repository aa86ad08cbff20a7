"""Reads elements of a web page: what is visible, and which cells of a table form its rows and columns."""

import re
from collections.abc import Iterator
from typing import Any

from sourcebound.ingest.chunking.page_text import collapse

Element = Any
"""An lxml element; lxml ships no types."""

_UNSEEN = frozenset({
    "script", "style", "noscript", "template", "head", "iframe", "object", "embed", "svg", "canvas",
    "audio", "video", "map", "button", "select", "input", "textarea", "datalist", "dialog", "nav",
})  # fmt: skip
_FURNITURE_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol",
    "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    "caption", "h1", "h2", "h3", "h4", "h5", "h6", "legend",
})  # fmt: skip
_CELL_CONTENT = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "table", "div", "pre", "center", "blockquote"}
)
_MOST_COLUMNS = 100


def visible_text(element: Element) -> str:
    """Return the visible text of an element, on one line."""
    return collapse("".join(_strings(element)))


def _strings(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if not is_hidden(child):
            yield from _strings(child)
        yield child.tail or ""


def is_hidden(element: Element) -> bool:
    """Whether a browser hides an element, or the page marks it as navigation or a control."""
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:
        return True
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or element.get("role") in _FURNITURE_ROLES or bool(_HIDDEN_STYLE.search(element.get("style") or ""))


def table_rows(table: Element) -> Iterator[list[Element]]:
    """Yield the visible cells of each row of a table, without those of nested tables."""
    for child in table:
        if child.tag == "tr":
            yield [cell for cell in child if cell.tag in ("td", "th") and not is_hidden(cell)]
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from table_rows(child)


def is_layout(rows: list[list[Element]]) -> bool:
    """Whether a table only arranges the page: one column, or cells with headings, lists or long text."""
    if max(map(len, rows), default=0) <= 1:
        return True
    cells = [cell for row in rows for cell in row]
    rich = [cell for cell in cells if _holds_content(cell)]
    return any(True for cell in cells for _ in cell.iter("h1", "h2")) or len(rich) * 3 >= len(cells) > 0


def _holds_content(cell: Element) -> bool:
    inner = [found for found in cell.iter(*_CELL_CONTENT) if visible_text(found)]
    return len(inner) > 1 or len(visible_text(cell)) > 600


def to_grid(rows: list[list[Element]]) -> list[list[str]]:
    """Return the texts of cells in columns; a cell that spans columns or rows is repeated in each."""
    grid: list[list[str]] = []
    spanning: dict[int, tuple[int, str]] = {}
    for cells in rows:
        texts: list[str] = []
        for cell in cells:
            _add_spanning_cells(texts, spanning)
            text = _cell_text(cell)
            down = _span(cell, "rowspan")
            for _ in range(_span(cell, "colspan")):
                if down > 1:
                    spanning[len(texts)] = (down - 1, text)
                texts.append(text)
        _add_spanning_cells(texts, spanning)
        grid.append(texts)
    return grid


def _add_spanning_cells(texts: list[str], spanning: dict[int, tuple[int, str]]) -> None:
    while len(texts) in spanning:
        left, text = spanning.pop(len(texts))
        if left > 1:
            spanning[len(texts)] = (left - 1, text)
        texts.append(text)


def _cell_text(cell: Element) -> str:
    return collapse(" ".join(part for part in _separated_strings(cell)))


def _separated_strings(element: Element) -> Iterator[str]:
    """Yield the strings of a cell, with a space at a block or line break and none inside a word."""
    pieces = [element.text or ""]
    for child in element:
        if not is_hidden(child):
            apart = child.tag in BLOCKS or child.tag == "br"
            pieces.append(f" {' '.join(_separated_strings(child))} " if apart else "".join(_separated_strings(child)))
        pieces.append(child.tail or "")
    yield "".join(pieces)


def _span(cell: Element, name: str) -> int:
    value = cell.get(name) or "1"
    return max(1, min(int(value), _MOST_COLUMNS)) if value.isdecimal() and len(value) < 6 else 1

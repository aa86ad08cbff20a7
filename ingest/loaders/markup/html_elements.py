"""The elements of a web page: their visible text, and the rows and columns of tables."""

import re
from collections.abc import Iterator
from typing import Any

from sourcebound.ingest.chunking.page_text import collapse

Element = Any
"""An lxml element. The type is `Any`, because lxml ships no type annotations."""

_HIDDEN_TAGS = frozenset({
    "script", "style", "noscript", "template", "head", "iframe", "object", "embed", "svg", "canvas",
    "audio", "video", "map", "button", "select", "input", "textarea", "datalist", "dialog", "nav",
})  # fmt: skip
_BOILERPLATE_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol",
    "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    "caption", "h1", "h2", "h3", "h4", "h5", "h6", "legend",
})  # fmt: skip
_CONTENT_TAGS = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "table", "div", "pre", "center", "blockquote"}
)
_MAX_SPAN = 100


def get_visible_text(element: Element) -> str:
    """Return the visible text of an element, on one line."""
    return collapse("".join(_iter_visible_strings(element)))


def _iter_visible_strings(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if not is_hidden(child):
            yield from _iter_visible_strings(child)
        yield child.tail or ""


def get_preformatted_text(element: Element) -> str:
    """Return the visible text of a `pre` element with its white space. Line breaks and blocks in it begin a line."""
    return "".join(_iter_preformatted(element))


def _iter_preformatted(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        is_block = child.tag in BLOCK_TAGS
        if child.tag == "br":
            yield "\n"
        elif not is_hidden(child):
            yield from _iter_preformatted(child)
        yield "\n" if is_block and not (child.tail or "").startswith("\n") else ""
        yield child.tail or ""


def is_hidden(element: Element) -> bool:
    """Check whether a browser hides an element, or the page marks it as navigation or a control."""
    if not isinstance(element.tag, str) or element.tag in _HIDDEN_TAGS:
        return True
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or element.get("role") in _BOILERPLATE_ROLES or bool(_HIDDEN_STYLE.search(element.get("style") or ""))


def iter_rows(table: Element) -> Iterator[list[Element]]:
    """Yield the visible cells of each row of a table, without the rows of nested tables."""
    for child in table:
        if child.tag == "tr":
            yield [cell for cell in child if cell.tag in ("td", "th") and not is_hidden(cell)]
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from iter_rows(child)


def is_layout_table(rows: list[list[Element]]) -> bool:
    """Check whether a table only arranges the page: one column, or cells with headings, lists or long text."""
    if max(map(len, rows), default=0) <= 1:
        return True
    cells = [cell for row in rows for cell in row]
    rich_cells = [cell for cell in cells if _is_rich_cell(cell)]
    return any(True for cell in cells for _ in cell.iter("h1", "h2")) or len(rich_cells) * 3 >= len(cells) > 0


def _is_rich_cell(cell: Element) -> bool:
    content = [nested for nested in cell.iter(*_CONTENT_TAGS) if get_visible_text(nested)]
    return len(content) > 1 or len(get_visible_text(cell)) > 600


def build_grid(rows: list[list[Element]]) -> list[list[str]]:
    """Return the cell texts by row and column. A cell that spans columns or rows is repeated in each."""
    grid: list[list[str]] = []
    row_spans: dict[int, tuple[int, str]] = {}
    for cells in rows:
        texts: list[str] = []
        for cell in cells:
            _add_spanning_cells(texts, row_spans)
            text = _read_cell_text(cell)
            row_span = _read_span(cell, "rowspan")
            for _ in range(_read_span(cell, "colspan")):
                if row_span > 1:
                    row_spans[len(texts)] = (row_span - 1, text)
                texts.append(text)
        _add_spanning_cells(texts, row_spans)
        grid.append(texts)
    return grid


def _add_spanning_cells(texts: list[str], row_spans: dict[int, tuple[int, str]]) -> None:
    while len(texts) in row_spans:
        remaining, text = row_spans.pop(len(texts))
        if remaining > 1:
            row_spans[len(texts)] = (remaining - 1, text)
        texts.append(text)


def _read_cell_text(cell: Element) -> str:
    return collapse(" ".join(part for part in _iter_separated_strings(cell)))


def _iter_separated_strings(element: Element) -> Iterator[str]:
    """Yield the text of a cell, with a space at each block or line break but not at inline elements."""
    pieces = [element.text or ""]
    for child in element:
        if not is_hidden(child):
            is_separate = child.tag in BLOCK_TAGS or child.tag == "br"
            pieces.append(
                f" {' '.join(_iter_separated_strings(child))} "
                if is_separate
                else "".join(_iter_separated_strings(child))
            )
        pieces.append(child.tail or "")
    yield "".join(pieces)


def _read_span(cell: Element, name: str) -> int:
    value = cell.get(name) or "1"
    return max(1, min(int(value), _MAX_SPAN)) if value.isdecimal() and len(value) < 6 else 1

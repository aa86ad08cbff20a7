"""The headers and footers of an OpenDocument text: each line of the pages that the text uses, once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sourcebound.ingest.chunking.page_text import collapse
from sourcebound.ingest.loaders.archive import Element
from sourcebound.ingest.loaders.page_number import is_page_number

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_PARTS: Final = tuple(f"{_STYLE}{part}{kind}" for part in ("header", "footer") for kind in ("", "-first", "-left"))
_FIELDS: Final = (f"{_TEXT}page-number", f"{_TEXT}page-count")
_FIELD: Final = "\ue000"
"""Marks the text of a field, so that a number which a person wrote is not taken for a page number."""
_BLOCKS: Final = (f"{_TEXT}p", f"{_TEXT}h", f"{_TABLE}table")
_DEFAULT: Final = "Standard"


def read_page_lines(
    content: Element,
    styles: Element,
    read_cells: Callable[[Element], Iterable[str]],
    read_text: Callable[[Element], str],
) -> Iterator[str]:
    """Yield each line of the headers and footers that the text shows, once and without page numbers.

    Args:
        content: The root of `content.xml`.
        styles: The root of `styles.xml`. Its fields of page numbers are marked.
        read_cells: Returns the texts of the cells of a table row.
        read_text: Returns the text of a paragraph.
    """
    for field in styles.iter(*_FIELDS):
        field.text = _FIELD + (field.text or "1")
    pages = _find_pages(content, styles)
    seen: set[str] = set()
    for part in _PARTS:
        for page in pages:
            for root in page.iterchildren(part):
                shown = () if root.get(f"{_STYLE}display") == "false" else _iter_lines(root, read_cells, read_text)
                for line in map(_join, shown):
                    if line and line not in seen:
                        yield line
                    seen.add(line)


def _find_pages(content: Element, styles: Element) -> list[Element]:
    """Return the master pages that the text uses, in their order: those of its styles, and those that follow them."""
    masters = {each.get(f"{_STYLE}name"): each for each in styles.iter(f"{_STYLE}master-page")}
    known = {each.get(f"{_STYLE}name"): each for root in (styles, content) for each in root.iter(f"{_STYLE}style")}
    blocks = [each for body in content.iter(f"{_OFFICE}text") for each in body.iter(*_BLOCKS)]
    named = [_page_of(known, each.get(f"{_TEXT}style-name") or each.get(f"{_TABLE}style-name")) for each in blocks]
    waiting: list[str | None] = [name for name in named if name]
    if not named or not named[0]:  # the first page is that of no style
        waiting.append(_DEFAULT if _DEFAULT in masters else next(iter(masters), None))
    used: set[str | None] = set()
    while waiting:
        name = waiting.pop()
        if name in masters and name not in used:
            used.add(name)
            waiting.append(masters[name].get(f"{_STYLE}next-style-name"))
    return [page for name, page in masters.items() if name in used]


def _page_of(known: dict[str | None, Element], style: str | None) -> str | None:
    """Return the master page that a style begins, or the style that it is based on; None or empty: the present one."""
    seen: set[str] = set()
    while style in known and style is not None and style not in seen:
        seen.add(style)
        page = known[style].get(f"{_STYLE}master-page-name")
        if page is not None:
            return str(page)
        style = known[style].get(f"{_STYLE}parent-style-name")
    return None


def _iter_lines(
    container: Element, read_cells: Callable[[Element], Iterable[str]], read_text: Callable[[Element], str]
) -> Iterator[list[str]]:
    """Yield the parts of each line: a paragraph, or the cells of a table row."""
    for child in container:
        if child.tag in (f"{_TEXT}p", f"{_TEXT}h"):
            yield [read_text(child)]
        elif child.tag == f"{_TABLE}table":
            yield from (list(read_cells(row)) for row in child.iter(f"{_TABLE}table-row"))
        else:
            yield from _iter_lines(child, read_cells, read_text)


def _join(parts: Iterable[str]) -> str:
    """Return a line without the pieces that are page numbers. Tabs and cells separate pieces."""
    texts = (collapse(" ".join(piece for piece in part.split("\t") if not _is_number(piece))) for part in parts)
    return " | ".join(text.replace(_FIELD, "") for text in texts if text)


def _is_number(piece: str) -> bool:
    return _FIELD in piece and is_page_number(piece.replace(_FIELD, ""))

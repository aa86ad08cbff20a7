"""Reads web pages: the content in document order, without navigation, scripts or what the browser would not show.

Article extractors drop tables and short items as noise, and in a data sheet those are the content. So everything
is kept except what the page itself marks as furniture, and blocks that are little more than links.
"""

import codecs
import re
from datetime import date
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.html_elements import (
    BLOCKS,
    Element,
    is_hidden,
    is_layout,
    table_rows,
    to_grid,
    visible_text,
)
from sourcebound.ingest.loaders.metadata import describe, parse_date
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE = "text/html"

_LISTS = frozenset({"ul", "ol", "menu"})
_HEADING = re.compile(r"h([1-6])")
_LINK_BLOCKS = frozenset({"ul", "ol", "div", "p", "table", "td", "section"})
_TABLE_PARTS = frozenset({"thead", "tbody", "tfoot", "tr"})
_TABLE_CONTENT = frozenset({"td", "th", "caption", "colgroup", "col"})
_EMPTY_ITEMS = frozenset({"", "-"})
_FEWEST_LINKS = 3
_LINK_SHARE = 0.6
_LONGEST_MENU_LINK = 40
_MAIN_SHARE = 0.3
_TOO_DEEP = "Excessive depth"
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_DATE_NAMES = frozenset({
    "article:published_time", "article:modified_time", "date", "dc.date", "dcterms.date",
    "dcterms.issued", "dc.date.issued", "citation_publication_date", "last-modified",
})  # fmt: skip


def load_html(path: Path, data: bytes) -> ParsedDocument:
    """Read a web page.

    Args:
        path: The file, for messages and as the title of last resort.
        data: Its bytes.

    Returns:
        One page, number None, with table rows linearised.

    Raises:
        DocumentError: NO_TEXT when the page is made by scripts, UNREADABLE when it is not text.
    """
    root = _parse(path, data)
    composer = PageComposer()
    for without_links in (True, False):
        _ElementVisitor(composer, drops_link_lists=without_links).visit(_main_content(root))
        if composer.page().text:
            break
    page = composer.page()
    if not page.text:
        raise failures.no_visible_text(path)
    title = collapse(root.findtext(".//title") or "")
    metadata = describe(path, (page,), title=title, event_date=_declared_date(root))
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=metadata, pages=(page,))


def _parse(path: Path, data: bytes) -> Element:
    from lxml import etree

    declared = _CHARSET.search(data[:4096])
    text = _decode_as(data, declared[1].decode("ascii")) if declared and not data.startswith(_MARKS) else None
    text = decode(path, text.encode("utf-8") if text is not None else data)
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    root = etree.fromstring(text.encode("utf-8"), parser) if text.strip() else None
    if any(_TOO_DEEP in entry.message for entry in parser.error_log):
        raise failures.unreadable(path, "nests its elements too deeply to be read in full")
    if root is None:
        raise failures.no_visible_text(path)
    return root


def _decode_as(data: bytes, encoding: str) -> str | None:
    """Decode with the encoding that the page declares; None if it is impossible, such as UTF-16 declared in ASCII."""
    if encoding.lower().startswith(("utf-16", "utf-32")):
        return None
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeError):
        return None


def _main_content(root: Element) -> Element:
    """Return the element that the page marks as its main content, if it has much of the text; else the whole page."""
    body = root.find(".//body")
    body = root if body is None else body
    total = len(visible_text(body))
    for candidates in (root.findall(".//main"), root.findall(".//*[@role='main']"), root.findall(".//article")):
        if len(candidates) == 1 and len(visible_text(candidates[0])) >= total * _MAIN_SHARE:
            return candidates[0]
    return body


def _is_page_furniture(element: Element) -> bool:
    """Whether an element is the header or footer of the whole page, not of an article in it."""
    if element.tag not in ("header", "footer"):
        return False
    return not any(ancestor.tag in ("article", "main", "section") for ancestor in element.iterancestors())


def _is_link_list(element: Element) -> bool:
    if element.tag not in _LINK_BLOCKS:
        return False
    links = [link for link in (visible_text(found) for found in element.iter("a") if found.get("href")) if link]
    if len(links) < _FEWEST_LINKS or any(len(link) > _LONGEST_MENU_LINK for link in links):
        return False
    if any(True for _ in element.iter("h1", "h2", "h3")):
        return False
    return sum(map(len, links)) >= len(visible_text(element)) * _LINK_SHARE


def _declared_date(root: Element) -> date | None:
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        found = parse_date(meta.get("content") or "") if name.lower() in _DATE_NAMES else None
        if found:
            return found
    return None


def _declares_header(rows: list[list[Element]]) -> bool | None:
    """Return True for a row of header cells, False for header cells that name rows, None if the page does not say."""
    if rows and all(cell.tag == "th" for cell in rows[0]):
        return True
    names_rows = bool(rows) and all(row and row[0].tag == "th" for row in rows)
    return False if names_rows else None


class _ElementVisitor:
    """Writes the elements of a page, in document order, as blocks; text between two blocks is a paragraph."""

    def __init__(self, composer: PageComposer, drops_link_lists: bool) -> None:
        self._composer = composer
        self._drops_link_lists = drops_link_lists
        self._inline: list[str] = []
        self._kind = BlockKind.PARAGRAPH
        self._level = 0

    def visit(self, element: Element) -> None:
        self._visit_children(element)
        self._flush()

    def _visit_children(self, element: Element) -> None:
        self._inline.append(element.text or "")
        for child in element:
            self._visit(child)
            self._inline.append(child.tail or "")

    def _visit(self, element: Element) -> None:
        if is_hidden(element) or _is_page_furniture(element):
            return
        if element.tag == "br":
            self._inline.append("\0")
        elif element.tag not in BLOCKS:
            self._visit_children(element)
        elif not (self._drops_link_lists and _is_link_list(element)):
            self._flush()
            self._visit_block(element)
            self._flush()

    def _visit_block(self, element: Element) -> None:
        heading = _HEADING.fullmatch(element.tag)
        if heading:
            self._visit_text(element, BlockKind.HEADING, int(heading[1]))
        elif element.tag == "pre":
            self._composer.add(BlockKind.CODE, "".join(element.itertext()))
        elif element.tag in _LISTS:
            self._visit_list(element)
        elif element.tag == "table":
            self._visit_table(element)
        else:
            self._visit_children(element)

    def _visit_text(self, element: Element, kind: BlockKind, level: int = 0, marker: str = "") -> None:
        before = self._kind, self._level
        self._kind, self._level = kind, level
        self._inline.append(marker)
        self._visit_children(element)
        self._flush()
        self._kind, self._level = before

    def _visit_list(self, element: Element) -> None:
        start = element.get("start") or "1"
        number = int(start) if start.isdecimal() and len(start) < 6 else 1
        for child in element:
            if child.tag == "li" and not is_hidden(child):
                self._visit_text(child, BlockKind.LIST_ITEM, marker=f"{number}. " if element.tag == "ol" else "- ")
                number += 1
            else:
                self._visit(child)
            self._flush()

    def _visit_table(self, table: Element) -> None:
        rows = list(table_rows(table))
        if is_layout(rows):
            for row in rows:
                for cell in row:
                    self._visit(cell)
            self._visit_stray_text(table)
            return
        for caption in table.findall("caption"):
            self._visit(caption)
        for line in linearise(to_grid(rows), has_header=_declares_header(rows)):
            self._composer.add(BlockKind.TABLE_ROW, line)
        self._visit_stray_text(table)

    def _visit_stray_text(self, table: Element) -> None:
        """Visit text that careless markup put into a table but outside its cells; browsers show it."""
        for child in table:
            if child.tag in _TABLE_PARTS:
                self._visit_stray_text(child)
            elif child.tag not in _TABLE_CONTENT:
                self._visit(child)

    def _flush(self) -> None:
        lines = [collapse(line) for line in "".join(self._inline).split("\0")]
        self._inline = []
        text = "\n".join(lines).strip()
        for paragraph in [text] if self._level else text.split("\n\n"):
            if paragraph.strip() not in _EMPTY_ITEMS:
                self._composer.add(self._kind, collapse(paragraph) if self._level else paragraph, level=self._level)

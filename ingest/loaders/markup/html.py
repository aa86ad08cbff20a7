"""The loader of web pages: the visible content in document order, without navigation and scripts.

It is not an article extractor, because those drop tables and short items, which are the content of a data sheet. It
omits only hidden elements, those that the page marks as boilerplate (such as navigation), and blocks that are mostly
links.
"""

import codecs
import re
from datetime import date
from pathlib import Path

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.markup.html_elements import (
    BLOCK_TAGS,
    Element,
    build_grid,
    get_preformatted_text,
    get_visible_text,
    is_hidden,
    is_layout_table,
    iter_rows,
)
from sourcebound.ingest.loaders.metadata import build_metadata, parse_date
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.loaders.text import decode
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE = "text/html"

_LIST_TAGS = frozenset({"ul", "ol", "menu"})
_HEADING = re.compile(r"h([1-6])")
_LINK_BLOCK_TAGS = frozenset({"ul", "ol", "div", "p", "table", "td", "section"})
_NESTING_TAGS = frozenset({"dl", "dd", "table"})
_TABLE_PART_TAGS = frozenset({"thead", "tbody", "tfoot", "tr"})
_TABLE_CONTENT_TAGS = frozenset({"td", "th", "caption", "colgroup", "col"})
_EMPTY_PARAGRAPHS = frozenset({"", "-"})
_MIN_LINKS = 3
_MIN_LINK_SHARE = 0.6
_MAX_MENU_LINK_LENGTH = 40
_MAX_DEFINITION_LENGTH = 400
_MIN_MAIN_SHARE = 0.3
_DEPTH_ERROR = "Excessive depth"
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_DATE_META_NAMES = frozenset({
    "article:published_time", "article:modified_time", "date", "dc.date", "dcterms.date",
    "dcterms.issued", "dc.date.issued", "citation_publication_date", "last-modified",
})  # fmt: skip


def load_html(path: Path, data: bytes) -> ParsedDocument:
    """Read a web page.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.

    Returns:
        A document of one page without a number, with table rows linearised.

    Raises:
        DocumentError: With the code NO_TEXT if the page shows no text without its scripts, or UNREADABLE if it is not
            text or is nested too deeply.
    """
    root = _parse(path, data)
    composer = PageComposer()
    for drop_link_lists in (True, False):
        _ElementVisitor(composer, drop_link_lists=drop_link_lists).visit(_find_main_content(root))
        if composer.page().text:
            break
    page = composer.page()
    if not page.text:
        raise failures.no_visible_text(path)
    title = collapse(root.findtext(".//title") or "")
    metadata = build_metadata(path, (page,), title=title, event_date=_find_declared_date(root))
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=metadata, pages=(page,))


def _parse(path: Path, data: bytes) -> Element:
    from lxml import etree

    declared = _CHARSET.search(data[:4096])
    text = (
        _decode_as(data, declared[1].decode("ascii")) if declared and not data.startswith(_BYTE_ORDER_MARKS) else None
    )
    text = decode(path, text.encode("utf-8") if text is not None else data)
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    root = etree.fromstring(text.encode("utf-8"), parser) if text.strip() else None
    if any(_DEPTH_ERROR in entry.message for entry in parser.error_log):
        raise failures.unreadable(path, "has elements that are nested too deeply")
    if root is None:
        raise failures.no_visible_text(path)
    return root


def _decode_as(data: bytes, encoding: str) -> str | None:
    """Decode with the encoding that the page declares; None if that fails.

    UTF-16 and UTF-32 are ignored, because a declaration in those encodings cannot be read as ASCII.
    """
    if encoding.lower().startswith(("utf-16", "utf-32")):
        return None
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeError):
        return None


def _find_main_content(root: Element) -> Element:
    """Return the element that the page marks as its main content, or the whole body if that element has little text."""
    body = root.find(".//body")
    body = root if body is None else body
    total = len(get_visible_text(body))
    for candidates in (root.findall(".//main"), root.findall(".//*[@role='main']"), root.findall(".//article")):
        if len(candidates) == 1 and len(get_visible_text(candidates[0])) >= total * _MIN_MAIN_SHARE:
            return candidates[0]
    return body


def _is_page_header_or_footer(element: Element) -> bool:
    """Check whether an element is the header or footer of the whole page, and not of an article in it."""
    if element.tag not in ("header", "footer"):
        return False
    return not any(ancestor.tag in ("article", "main", "section") for ancestor in element.iterancestors())


def _is_link_list(element: Element) -> bool:
    if element.tag not in _LINK_BLOCK_TAGS:
        return False
    links = [link for link in (get_visible_text(found) for found in element.iter("a") if found.get("href")) if link]
    if len(links) < _MIN_LINKS or any(len(link) > _MAX_MENU_LINK_LENGTH for link in links):
        return False
    if any(True for _ in element.iter("h1", "h2", "h3")):
        return False
    return sum(map(len, links)) >= len(get_visible_text(element)) * _MIN_LINK_SHARE


def _find_declared_date(root: Element) -> date | None:
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        found = parse_date(meta.get("content") or "") if name.lower() in _DATE_META_NAMES else None
        if found:
            return found
    return None


def _declares_header(rows: list[list[Element]]) -> bool | None:
    """Return True if the first row has only header cells, False if each row starts with one, and None otherwise."""
    if rows and all(cell.tag == "th" for cell in rows[0]):
        return True
    names_rows = bool(rows) and all(row and row[0].tag == "th" for row in rows)
    return False if names_rows else None


class _ElementVisitor:
    """The visitor that adds the elements of a page as blocks, in document order. Text between blocks is a paragraph.

    The first text of a list item has its marker, whatever elements it is in. Its further paragraphs have none, so blank
    lines separate them from what is before and after them.
    """

    def __init__(self, composer: PageComposer, drop_link_lists: bool) -> None:
        self._composer = composer
        self._drop_link_lists = drop_link_lists
        self._inline: list[str] = []
        self._kind = BlockKind.PARAGRAPH
        self._level = 0
        self._marker = ""
        """The marker of a list item that has no text yet."""
        self._is_after_further_text = False

    def visit(self, element: Element) -> None:
        self._visit_children(element)
        self._flush()

    def _visit_children(self, element: Element) -> None:
        self._inline.append(element.text or "")
        for child in element:
            self._visit_element(child)
            self._inline.append(child.tail or "")

    def _visit_element(self, element: Element) -> None:
        if is_hidden(element) or _is_page_header_or_footer(element):
            return
        if element.tag == "br":
            self._inline.append("\0")
        elif element.tag not in BLOCK_TAGS:
            self._visit_children(element)
        elif not (self._drop_link_lists and _is_link_list(element)):
            self._flush()
            self._visit_block(element)
            self._flush()

    def _visit_block(self, element: Element) -> None:
        heading = _HEADING.fullmatch(element.tag)
        if heading:
            self._visit_text(element, BlockKind.HEADING, int(heading[1]))
        elif element.tag == "pre":
            self._add(BlockKind.CODE, get_preformatted_text(element))
        elif element.tag in _LIST_TAGS:
            self._visit_list(element)
        elif element.tag == "table":
            self._visit_table(element)
        elif any(child.tag == "dt" for child in element):
            self._visit_definitions(element)
        else:
            self._visit_children(element)

    def _visit_text(self, element: Element, kind: BlockKind, level: int = 0) -> None:
        outer = self._kind, self._level
        self._kind, self._level = kind, level
        self._visit_children(element)
        self._flush()
        self._kind, self._level = outer

    def _visit_list(self, element: Element) -> None:
        start = element.get("start") or "1"
        number = int(start) if start.isdecimal() and len(start) < 6 else 1
        for child in element:
            if child.tag == "li" and not is_hidden(child):
                self._visit_item(child, f"{number}. " if element.tag == "ol" else "- ")
                number += 1
            else:
                self._visit_element(child)
            self._flush()

    def _visit_item(self, item: Element, marker: str) -> None:
        outer, self._marker = self._marker, marker
        self._visit_text(item, BlockKind.LIST_ITEM)
        self._marker = outer if self._marker else ""

    def _visit_definitions(self, parent: Element) -> None:
        """Visit the terms and definitions of a `dl`, or of a `div` in it."""
        terms: list[Element] = []
        self._inline.append(parent.text or "")
        for child in parent:
            if child.tag == "dt":
                terms.append(child)
            elif child.tag == "dd" and self._add_definition(terms, child):
                terms.clear()
            elif child.tag == "dd" or (not is_hidden(child) and get_visible_text(child)):
                self._visit_terms(terms)
                self._visit_element(child)
            if (child.tail or "").strip():
                self._visit_terms(terms)
            self._inline.append(child.tail or "")
        self._visit_terms(terms)

    def _visit_terms(self, terms: list[Element]) -> None:
        """Visit terms that have no definition on their line, and remove them from the list."""
        for term in terms:
            self._visit_element(term)
        terms.clear()

    def _add_definition(self, terms: list[Element], definition: Element) -> bool:
        """Add `Term, term: definition`, if that is short and the definition is the only one and one paragraph.

        A question is no term. It keeps its own line above its answer.
        """
        following = next(definition.itersiblings("dt", "dd"), None)
        if is_hidden(definition) or (following is not None and following.tag == "dd"):
            return False
        shown = [term for term in terms if not is_hidden(term) and get_visible_text(term)]
        names = [self._read_paragraph(term).removesuffix(":").rstrip() for term in shown]
        text = self._read_paragraph(definition)
        line = f"{', '.join(names)}: {text}"
        if not (names and all(names) and text) or names[-1].endswith("?") or len(line) > _MAX_DEFINITION_LENGTH:
            return False
        self._flush()
        self._add(self._kind, line)
        return True

    def _read_paragraph(self, element: Element) -> str:
        """Return the text of an element that is one paragraph on one line, and an empty text if it is anything else."""
        if any(True for _ in element.iterdescendants(*_NESTING_TAGS)):
            return ""
        composer = PageComposer()
        _ElementVisitor(composer, self._drop_link_lists).visit(element)
        page = composer.page()
        is_paragraph = [block.kind for block in page.blocks] == [BlockKind.PARAGRAPH]
        return page.text if is_paragraph and "\n" not in page.text else ""

    def _visit_table(self, table: Element) -> None:
        rows = list(iter_rows(table))
        if is_layout_table(rows):
            for row in rows:
                for cell in row:
                    self._visit_element(cell)
            self._visit_stray_text(table)
            return
        for caption in table.findall("caption"):
            self._visit_element(caption)
        for line in linearise(build_grid(rows), has_header=_declares_header(rows)):
            self._add(BlockKind.TABLE_ROW, line)
        self._visit_stray_text(table)

    def _visit_stray_text(self, table: Element) -> None:
        """Visit content that invalid markup has in a table but outside its cells, because browsers show it."""
        for child in table:
            if child.tag in _TABLE_PART_TAGS:
                self._visit_stray_text(child)
            elif child.tag not in _TABLE_CONTENT_TAGS:
                self._visit_element(child)

    def _flush(self) -> None:
        lines = [collapse(line) for line in "".join(self._inline).split("\0")]
        self._inline = []
        text = "\n".join(lines).strip()
        for paragraph in [text] if self._level else text.split("\n\n"):
            if paragraph.strip() not in _EMPTY_PARAGRAPHS:
                self._add(self._kind, collapse(paragraph) if self._level else paragraph)

    def _add(self, kind: BlockKind, text: str) -> None:
        """Add a block. A list item that begins with a heading, a table or code has no marker."""
        if not text.strip():
            return
        marker, self._marker = self._marker, ""
        is_item, level = kind is BlockKind.LIST_ITEM, self._level if kind is BlockKind.HEADING else 0
        is_further = is_item and not marker
        is_apart = is_further or self._is_after_further_text
        self._composer.add(kind, f"{marker if is_item else ''}{text}", level=level, is_apart=is_apart)
        self._is_after_further_text = is_further

"""The loader of Word documents (.docx).

It reads headings, lists, tables, text boxes, footnotes and endnotes, in document order. The headers and footers of
pages are read once, before the first heading, because only they may name the document or its revision. It parses the
XML itself, because `Paragraph.text` omits the text of tracked insertions, content controls and text boxes. A .docx file
does not store its page breaks, so the whole text is one page without a number.
"""

import io
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, Element, check_archive, iter_unwrapped
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.office.word_numbering import BULLET, Numbering, is_list_marker, read_number, read_value
from sourcebound.ingest.loaders.office.word_symbols import read_symbol
from sourcebound.ingest.loaders.page_number import is_page_number
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from docx.document import Document

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_PYTHON_DOCX_ERRORS = (KeyError, ValueError, AttributeError, TypeError)
"""The exceptions that python-docx raises for a missing or invalid part, found by fuzzing."""

_BODY_TEXT_OUTLINE_LEVEL = 9
_MAX_COLUMN_SPAN = 100
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXT_BOX_TAG = f"{_W}txbxContent"
_WRAPPER_TAGS = frozenset(
    {f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "body")}
)
_SKIPPED_TAGS = frozenset({f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText")} | {_MC_FALLBACK})
_CHARACTER_TAGS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}ptab": "\t", f"{_W}noBreakHyphen": "-"}
_TEXT_TAGS = frozenset({f"{_W}t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"})
_HEADING_STYLE = re.compile(r"heading (\d)", re.IGNORECASE)
_NO_LIST = "0"
_CONTENTS_STYLES = ("toc ", "table of figures")
_CONTENTS_TITLE = "toc heading"
_PAGE_REFERENCE = "PAGEREF"
_LIST_STYLES = ("List Bullet", "List Number")
_NOTE_PART_NAMES = ("footnotes", "endnotes")
_PAGE_PART_NAMES = ("headerReference", "footerReference")
_RELATIONSHIP_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class _ParagraphStyle(NamedTuple):
    level: int = 0
    is_list: bool = False
    """Whether its name says that it has bullets or numbers."""
    list_id: str | None = None
    list_level: int | None = None
    contents: str = ""
    """Its name in lower case, if it is that of the title or a line of a table of contents; else empty."""


def load_word(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read a Word document.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        max_bytes: The size limit of the file. The unpacked archive may be ten times as large.

    Returns:
        A document of one page without a number, with table rows linearised.

    Raises:
        DocumentError: With the code TOO_LARGE for a decompression bomb, ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    from docx.opc.exceptions import OpcError
    from lxml.etree import XMLSyntaxError

    try:
        check_archive(path, data, max_bytes)
        page, title = _read_page(data)
    except (*ARCHIVE_ERRORS, *_PYTHON_DOCX_ERRORS, OpcError, XMLSyntaxError) as error:
        raise failures.unreadable(path, f"is not a readable Word document ({error})") from error
    if not page.text:
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, (page,), title=title), pages=(page,))


def _read_page(data: bytes) -> tuple[Page, str]:
    import docx

    document = docx.Document(io.BytesIO(data))
    composer = PageComposer()
    for text in _read_page_parts(document):
        composer.add(BlockKind.PARAGRAPH, text)
    header = composer.page()
    writer = _BlockWriter(composer, document)
    writer.write(document.element.body)
    for root in _iter_part_roots(document, _NOTE_PART_NAMES):
        writer.write_notes(root)
    page = composer.page()
    if page.text == header.text:  # headers alone do not make a document of pictures readable
        page = PageComposer().page()
    return page, document.core_properties.title


def _resolve_styles(document: "Document") -> dict[str, _ParagraphStyle]:
    """Resolve each style by its id. A style inherits from the style that it is based on."""
    elements = {style.get(f"{_W}styleId"): style for style in document.styles.element.iter(f"{_W}style")}
    return {style_id: _resolve_style(elements, style_id) for style_id in elements if style_id}


def _resolve_style(elements: dict[str, Element], style_id: str) -> _ParagraphStyle:
    level, is_list, contents = 0, False, ""
    list_id: str | None = None
    list_level: str | None = None
    seen: set[str] = set()
    while style_id in elements and style_id not in seen:
        seen.add(style_id)
        style = elements[style_id]
        name = read_value(style, "name") or ""
        heading = _HEADING_STYLE.fullmatch(name)
        outline = read_value(style, "pPr", "outlineLvl")
        if not level and (heading or name.lower() == "title"):
            level = int(heading[1]) if heading else 1
        elif not level and outline and outline.isdigit() and int(outline) < _BODY_TEXT_OUTLINE_LEVEL:
            level = int(outline) + 1
        contents = contents or (name.lower() if name.lower().startswith(_CONTENTS_STYLES) else "")
        is_list = is_list or name.startswith(_LIST_STYLES)
        list_id = list_id or read_value(style, "pPr", "numPr", "numId")
        list_level = list_level or read_value(style, "pPr", "numPr", "ilvl")
        style_id = read_value(style, "basedOn") or ""
    depth = read_number(list_level, 0) if list_level else None
    return _ParagraphStyle(level, is_list, list_id, depth, contents)


def _iter_part_roots(document: "Document", names: Sequence[str]) -> Iterator[Element]:
    """Yield the root elements of the parts with these names, in the order of the names."""
    from docx.oxml import parse_xml

    for name in names:
        for relationship in document.part.rels.values():
            if not relationship.is_external and relationship.reltype.endswith(f"/{name}"):
                yield parse_xml(relationship.target_part.blob)


def _read_page_parts(document: "Document") -> Iterator[str]:
    """Yield each line of the headers and footers that a section shows once, without page numbers."""
    seen: set[str] = set()
    for root in _iter_page_roots(document):
        for parts in _iter_page_lines(root):
            text = " | ".join(part for part in map(collapse, parts) if part and not is_page_number(part))
            if text not in seen:
                yield text
            seen.add(text)


def _iter_page_roots(document: "Document") -> Iterator[Element]:
    """Yield the root elements of the headers and footers of all sections, headers first."""
    from docx.oxml import parse_xml

    for name in _PAGE_PART_NAMES:
        for reference in document.element.body.iter(f"{_W}{name}"):
            relationship = document.part.rels.get(reference.get(_RELATIONSHIP_ID))
            if relationship is not None and not relationship.is_external:
                yield parse_xml(relationship.target_part.blob)


def _iter_page_lines(container: Element) -> Iterator[list[str]]:
    """Yield the parts of each line: a paragraph, or the cells of a table row."""
    for child in container:
        if child.tag == f"{_W}p":
            yield ["".join(_iter_text(child))]
            for box in _iter_text_boxes(child):
                yield from _iter_page_lines(box)
        elif child.tag == f"{_W}tbl":
            yield from ([_read_cell_text(cell) for cell in _iter_cells(row)] for row in _iter_rows(child))
        elif child.tag in _WRAPPER_TAGS:
            yield from _iter_page_lines(child)


class _BlockWriter:
    """The writer that adds the elements of a document body to the page as blocks, in order."""

    def __init__(self, composer: PageComposer, document: "Document") -> None:
        self._composer = composer
        self._body = document.element.body
        self._styles = _resolve_styles(document)
        self._numbering = Numbering(next(_iter_part_roots(document, ("numbering",)), None))

    def write(self, container: Element) -> None:
        for child in container:
            if child.tag == f"{_W}p":
                self._write_paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._write_table(child)
            elif child.tag in _WRAPPER_TAGS:
                self.write(child)

    def write_notes(self, root: Element) -> None:
        for note in root:
            if note.get(f"{_W}type") in (None, "normal"):
                self.write(note)

    def _write_paragraph(self, paragraph: Element) -> None:
        style_id, style = self._read_style(paragraph)
        text = "" if self._is_contents(paragraph, style) else "".join(_iter_text(paragraph))
        marker = self._read_marker(paragraph, style_id, style)
        if not text.strip():
            marker = ""
        if style.level:
            self._composer.add(BlockKind.HEADING, collapse(text), level=style.level)
        elif is_list_marker(marker or text.lstrip()):
            self._composer.add(BlockKind.LIST_ITEM, f"{marker}{text.lstrip()}")
        else:
            self._composer.add(BlockKind.PARAGRAPH, f"{marker}{text}")
        for box in _iter_text_boxes(paragraph):
            self.write(box)

    def _read_style(self, paragraph: Element) -> tuple[str, _ParagraphStyle]:
        style_id = read_value(paragraph, "pPr", "pStyle") or ""
        return style_id, self._styles.get(style_id, _ParagraphStyle())

    def _is_contents(self, paragraph: Element, style: _ParagraphStyle) -> bool:
        """Check whether a paragraph is the title of a table of contents, above its lines, or one of the lines."""
        if style.contents != _CONTENTS_TITLE:
            return bool(style.contents) and self._repeats(paragraph)
        following = paragraph.getnext()
        if following is None or following.tag != f"{_W}p":
            return False
        _, next_style = self._read_style(following)
        is_line = bool(next_style.contents) and next_style.contents != _CONTENTS_TITLE
        return is_line and self._repeats(following)

    def _repeats(self, line: Element) -> bool:
        """Check whether a line in a style of contents has a link to a page, or the text of another paragraph.

        Documents have other text in these styles too, for their dots before a number: prices, or the parts of a kit.
        """
        if any(_PAGE_REFERENCE in (each.text or "") for each in line.iter(f"{_W}instrText")):
            return True
        if any(each.get(f"{_W}anchor") for each in line.iter(f"{_W}hyperlink")):
            return True
        pieces = "".join(_iter_text(line)).split("\t")
        return any(collapse(piece) in self._texts for piece in pieces if any(map(str.isalpha, piece)))

    @cached_property
    def _texts(self) -> frozenset[str]:
        """The texts of the paragraphs of the body that are in no style of contents."""
        paragraphs = [each for each in self._body.iter(f"{_W}p") if not self._read_style(each)[1].contents]
        return frozenset(collapse("".join(_iter_text(each))) for each in paragraphs)

    def _read_marker(self, paragraph: Element, style_id: str, style: _ParagraphStyle) -> str:
        """Return the number or bullet of a paragraph; an empty text if it has none. Numbered headings are counted."""
        own = read_value(paragraph, "pPr", "numPr", "numId")
        list_id = own or style.list_id
        if list_id is None:
            return BULLET if style.is_list else ""
        if list_id == _NO_LIST:
            return ""
        level = read_value(paragraph, "pPr", "numPr", "ilvl")
        if level:
            return self._numbering.read_marker(list_id, read_number(level, 0))
        inherited = style.list_level if own is None else None
        found = self._numbering.find_level(list_id, style_id)
        return self._numbering.read_marker(list_id, found if inherited is None else inherited)

    def _write_table(self, table: Element) -> None:
        rows = [list(_iter_cells(row)) for row in _iter_rows(table)]
        if max(map(len, rows), default=0) <= 1:
            for row in rows:
                for cell in row:
                    self.write(cell)
            return
        for line in linearise(_build_grid(rows), has_header=_declares_header(table)):
            self._composer.add(BlockKind.TABLE_ROW, line)


def _iter_text(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag in _SKIPPED_TAGS or child.tag == _TEXT_BOX_TAG:
            continue
        if child.tag in _TEXT_TAGS:
            yield child.text or ""
        elif child.tag in _CHARACTER_TAGS:
            yield _CHARACTER_TAGS[child.tag]
        elif child.tag == f"{_W}sym":
            yield read_symbol(child.get(f"{_W}font", ""), child.get(f"{_W}char", ""))
        else:
            yield from _iter_text(child)


def _iter_text_boxes(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag == _TEXT_BOX_TAG:
            yield child
        elif child.tag not in _SKIPPED_TAGS:
            yield from _iter_text_boxes(child)


def _iter_rows(table: Element) -> Iterator[Element]:
    """Yield the rows of a table that no tracked change has deleted."""
    rows = iter_unwrapped(table, f"{_W}tr", _WRAPPER_TAGS)
    return (row for row in rows if row.find(f"{_W}trPr/{_W}del") is None)


def _iter_cells(row: Element) -> Iterator[Element]:
    return iter_unwrapped(row, f"{_W}tc", _WRAPPER_TAGS)


def _build_grid(rows: list[list[Element]]) -> list[list[str]]:
    """Return the cell texts by row and column. A merged cell is repeated in each column or row that it covers."""
    grid: list[list[str]] = []
    for cells in rows:
        texts: list[str] = []
        for cell in cells:
            span = read_value(cell, "tcPr", "gridSpan") or "1"
            text = _read_cell_text(cell)
            merge = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merge is not None and merge.get(f"{_W}val") != "restart" and grid and len(texts) < len(grid[-1]):
                text = grid[-1][len(texts)]
            texts.extend([text] * min(int(span), _MAX_COLUMN_SPAN))
        grid.append(texts)
    return grid


def _read_cell_text(cell: Element) -> str:
    return " ".join("".join(_iter_text(paragraph)) for paragraph in _iter_paragraphs(cell))


def _iter_paragraphs(element: Element) -> Iterator[Element]:
    """Yield the paragraphs of an element, with those of its tables and text boxes."""
    for child in element:
        if child.tag not in _SKIPPED_TAGS:
            if child.tag == f"{_W}p":
                yield child
            yield from _iter_paragraphs(child)


def _declares_header(table: Element) -> bool | None:
    first = next(_iter_rows(table), None)
    if first is not None and first.find(f"{_W}trPr/{_W}tblHeader") is not None:
        return True
    return None

"""Reads Word documents (.docx): headings, lists, tables, text boxes, footnotes and endnotes, in document order.

It reads the XML and not `Paragraph.text`, because that property omits the text of tracked
insertions, content controls and text boxes, and an answer must not miss a sentence for the way it was typed.
Word decides where pages break only when it prints, so the whole text is one page without a number.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.metadata import describe
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from docx.document import Document

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, UnicodeDecodeError)
"""Errors of zipfile on a damaged archive, broken names included."""

_LEAKED_ERRORS = (KeyError, ValueError, AttributeError, TypeError)
"""Errors of python-docx on a missing or wrong part, found by fuzzing."""

_MOST_TIMES_UNPACKED = 10
_ZIP_ENCRYPTED = 1
_BODY_OUTLINE_LEVEL = 9
_MOST_COLUMNS = 100
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXT_BOX = f"{_W}txbxContent"
_WRAPPERS = frozenset(
    {f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "body")}
)
_SKIPPED = frozenset({f"{_W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText")} | {_MC_FALLBACK})
_CHARACTERS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_TEXTS = frozenset({f"{_W}t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"})
_HEADING_STYLE = re.compile(r"heading (\d)", re.IGNORECASE)
_NOTE_PARTS = ("footnotes", "endnotes")

Element = Any
"""An lxml element; lxml ships no types."""


class _ParagraphStyle(NamedTuple):
    level: int
    is_list: bool


def load_word(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read a Word document.

    Args:
        path: The file, for messages and as the title of last resort.
        data: Its bytes.
        max_bytes: The size limit; what the archive unpacks to may be ten times that.

    Returns:
        One page, number None, with table rows linearised.

    Raises:
        DocumentError: TOO_LARGE for a decompression bomb, NO_TEXT or UNREADABLE.
    """
    from docx.opc.exceptions import OpcError
    from lxml.etree import XMLSyntaxError

    try:
        _check_archive(path, data, max_bytes)
        page, title = _read(data)
    except (*ARCHIVE_ERRORS, *_LEAKED_ERRORS, OpcError, XMLSyntaxError) as error:
        raise failures.unreadable(path, f"is not a readable Word document ({error})") from error
    if not page.text:
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=describe(path, (page,), title=title), pages=(page,))


def _check_archive(path: Path, data: bytes, max_bytes: int) -> None:
    """Refuse an archive that is locked or would fill the memory, before anything is unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
    if any(member.flag_bits & _ZIP_ENCRYPTED for member in members):
        raise failures.encrypted(path)
    unpacked, limit = sum(member.file_size for member in members), max_bytes * _MOST_TIMES_UNPACKED
    if unpacked > limit:
        raise failures.too_large(path, unpacked, limit, "unpacks to")


def _read(data: bytes) -> tuple[Page, str]:
    import docx

    document = docx.Document(io.BytesIO(data))
    composer = PageComposer()
    writer = _Writer(composer, _paragraph_styles(document))
    writer.write(document.element.body)
    for root in _notes(document):
        writer.write_notes(root)
    return composer.page(), document.core_properties.title


def _paragraph_styles(document: "Document") -> dict[str, _ParagraphStyle]:
    """Resolve each paragraph style; a style inherits from the style that it is based on."""
    elements = {style.get(f"{_W}styleId"): style for style in document.styles.element.iter(f"{_W}style")}
    return {style_id: _resolve_style(elements, style_id) for style_id in elements if style_id}


def _resolve_style(elements: dict[str, Element], style_id: str) -> _ParagraphStyle:
    level, is_list = 0, False
    seen: set[str] = set()
    while style_id in elements and style_id not in seen:
        seen.add(style_id)
        style = elements[style_id]
        name = _value(style, "name") or ""
        heading = _HEADING_STYLE.fullmatch(name)
        outline = _value(style, "pPr", "outlineLvl")
        if not level and (heading or name.lower() == "title"):
            level = int(heading[1]) if heading else 1
        elif not level and outline and outline.isdigit() and int(outline) < _BODY_OUTLINE_LEVEL:
            level = int(outline) + 1
        is_list = is_list or name.startswith("List") or _value(style, "pPr", "numPr", "numId") is not None
        style_id = _value(style, "basedOn") or ""
    return _ParagraphStyle(level, is_list)


def _notes(document: "Document") -> Iterator[Element]:
    """Yield the roots of the footnotes and endnotes parts, footnotes first."""
    from docx.oxml import parse_xml

    for name in _NOTE_PARTS:
        for relationship in document.part.rels.values():
            if not relationship.is_external and relationship.reltype.endswith(f"/{name}"):
                yield parse_xml(relationship.target_part.blob)


class _Writer:
    """Writes the elements of a body to the page, in order."""

    def __init__(self, composer: PageComposer, styles: dict[str, _ParagraphStyle]) -> None:
        self._composer = composer
        self._styles = styles

    def write(self, container: Element) -> None:
        for child in container:
            if child.tag == f"{_W}p":
                self._write_paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._write_table(child)
            elif child.tag in _WRAPPERS:
                self.write(child)

    def write_notes(self, root: Element) -> None:
        for note in root:
            if note.get(f"{_W}type") in (None, "normal"):
                self.write(note)

    def _write_paragraph(self, paragraph: Element) -> None:
        style = self._styles.get(_value(paragraph, "pPr", "pStyle") or "", _ParagraphStyle(0, False))
        numbering = _value(paragraph, "pPr", "numPr", "numId")
        kind = BlockKind.PARAGRAPH
        if style.level:
            kind = BlockKind.HEADING
        elif numbering not in (None, "0") or (style.is_list and numbering != "0"):
            kind = BlockKind.LIST_ITEM
        text = "".join(_characters(paragraph))
        self._composer.add(kind, collapse(text) if style.level else text, level=style.level)
        for box in _text_boxes(paragraph):
            self.write(box)

    def _write_table(self, table: Element) -> None:
        rows = [list(_cells(row)) for row in _rows(table)]
        if max(map(len, rows), default=0) <= 1:
            for row in rows:
                for cell in row:
                    self.write(cell)
            return
        for line in linearise(_to_grid(rows), has_header=_declares_header(table)):
            self._composer.add(BlockKind.TABLE_ROW, line)


def _value(element: Element, *names: str) -> str | None:
    """Return the `w:val` of the descendant on a path of child names."""
    for name in names:
        element = element.find(f"{_W}{name}")
        if element is None:
            return None
    value: str | None = element.get(f"{_W}val")
    return value


def _characters(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag in _SKIPPED or child.tag == _TEXT_BOX:
            continue
        if child.tag in _TEXTS:
            yield child.text or ""
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        else:
            yield from _characters(child)


def _text_boxes(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag == _TEXT_BOX:
            yield child
        elif child.tag not in _SKIPPED:
            yield from _text_boxes(child)


def _rows(table: Element) -> Iterator[Element]:
    for child in table:
        if child.tag == f"{_W}tr":
            yield child
        elif child.tag in _WRAPPERS:
            yield from _rows(child)


def _cells(row: Element) -> Iterator[Element]:
    for child in row:
        if child.tag == f"{_W}tc":
            yield child
        elif child.tag in _WRAPPERS:
            yield from _cells(child)


def _to_grid(rows: list[list[Element]]) -> list[list[str]]:
    """Return the texts of cells in columns; a cell merged over columns or rows is repeated in each."""
    grid: list[list[str]] = []
    for cells in rows:
        texts: list[str] = []
        for cell in cells:
            span = _value(cell, "tcPr", "gridSpan") or "1"
            text = _cell_text(cell)
            merge = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merge is not None and merge.get(f"{_W}val") != "restart" and grid and len(texts) < len(grid[-1]):
                text = grid[-1][len(texts)]
            texts.extend([text] * min(int(span), _MOST_COLUMNS))
        grid.append(texts)
    return grid


def _cell_text(cell: Element) -> str:
    return " ".join("".join(_characters(paragraph)) for paragraph in cell.iter(f"{_W}p"))


def _declares_header(table: Element) -> bool | None:
    first = next(_rows(table), None)
    if first is not None and first.find(f"{_W}trPr/{_W}tblHeader") is not None:
        return True
    return None

"""The loader of OpenDocument texts (.odt): headings, paragraphs, lists and tables, in document order.

The headers and footers of the pages that the text uses are read once, before the first heading, as in a Word document.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import BlockKind, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, Element, check_archive, iter_unwrapped, read_xml
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.office.opendocument_lists import ListReader, OpenList
from sourcebound.ingest.loaders.office.opendocument_pages import read_page_lines
from sourcebound.ingest.loaders.office.word_numbering import is_list_marker, read_number
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/vnd.oasis.opendocument.text"
_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DRAW: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_ENCRYPTION: Final = b"encryption-data"
_DC_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_MAX_REPEATED: Final = 100
_SKIPPED: Final = frozenset(
    {f"{_OFFICE}annotation"}
    | {f"{_TEXT}{name}" for name in ("tracked-changes", "table-of-content", "alphabetical-index", "user-index")}
    | {f"{_TEXT}{name}" for name in ("illustration-index", "table-index", "object-index")}
)
_PARAGRAPHS: Final = (f"{_TEXT}p", f"{_TEXT}h")
_CELL: Final = f"{_TABLE}table-cell"
_COVERED: Final = f"{_TABLE}covered-table-cell"
_ROW_GROUPS: Final = tuple(f"{_TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group"))
_MANIFEST: Final = "META-INF/manifest.xml"


def load_opendocument(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read an OpenDocument text.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        max_bytes: The size limit of the file. The unpacked archive may be ten times as large.

    Returns:
        A document of one page without a number.

    Raises:
        DocumentError: With the code TOO_LARGE, ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    from lxml.etree import XMLSyntaxError

    composer = PageComposer()
    try:
        check_archive(path, data, max_bytes)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if _MANIFEST in archive.namelist() and _ENCRYPTION in archive.read(_MANIFEST):
                raise failures.encrypted(path)
            content = read_xml(archive, "content.xml")
            styles = read_xml(archive, "styles.xml") if "styles.xml" in archive.namelist() else None
            if styles is not None:
                for line in read_page_lines(content, styles, _cells, _read):
                    composer.add(BlockKind.PARAGRAPH, line)
            header = composer.page()
            writer = _BlockWriter(composer, ListReader(*(root for root in (styles, content) if root is not None)))
            for body in content.iter(f"{_OFFICE}text"):
                writer.write(body)
            title = read_xml(archive, "meta.xml").iter(_DC_TITLE) if "meta.xml" in archive.namelist() else iter(())
            declared = next((each.text or "" for each in title), "")
    except (*ARCHIVE_ERRORS, XMLSyntaxError, KeyError, ValueError) as error:
        raise failures.unreadable(path, f"is not a readable OpenDocument text ({error})") from error
    page = composer.page()
    if page.text == header.text:  # headers alone do not make a document of pictures readable
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, (page,), title=declared), pages=(page,))


class _BlockWriter:
    """The writer that adds the elements of a text to the page as blocks, in order."""

    def __init__(self, composer: PageComposer, lists: ListReader) -> None:
        self._composer = composer
        self._lists = lists
        self._marker = ""
        """The marker of a list item that has no text yet."""

    def write(self, container: Element, within: OpenList | None = None) -> None:
        for child in container:
            if child.tag in _SKIPPED:
                continue
            if child.tag in _PARAGRAPHS:
                self._write_paragraph(child)
            elif child.tag == f"{_TABLE}table":
                self._write_table(child)
            elif child.tag == f"{_TEXT}list":
                self._write_list(child, within)
            else:
                self.write(child, within)

    def _write_paragraph(self, paragraph: Element) -> None:
        text, marker = _read(paragraph), self._marker
        self._marker = ""
        if paragraph.tag == f"{_TEXT}h":
            level = paragraph.get(f"{_TEXT}outline-level", "1")
            self._composer.add(BlockKind.HEADING, collapse(text), level=int(level) if level.isdigit() else 1)
        elif text.strip() and is_list_marker(marker or text.lstrip()):
            self._composer.add(BlockKind.LIST_ITEM, f"{marker}{text.lstrip()}")
        elif text.strip():
            self._composer.add(BlockKind.PARAGRAPH, f"{marker}{text}")
        for shape in _iter_shapes(paragraph):
            self.write(shape)

    def _write_list(self, element: Element, within: OpenList | None) -> None:
        here = self._lists.open(element, within)
        for item in element:
            if item.tag == f"{_TEXT}list-item" and next(item.iterchildren(*_PARAGRAPHS), None) is not None:
                self._marker = self._lists.read_marker(here, item)
            self.write(item, here)
            self._marker = ""

    def _write_table(self, table: Element) -> None:
        rows = list(iter_unwrapped(table, f"{_TABLE}table-row", _ROW_GROUPS))  # not those of tables in cells
        grid = _build_grid(rows)
        if max(map(len, grid), default=0) > 1:
            for line in linearise(grid):
                self._composer.add(BlockKind.TABLE_ROW, line)
            return
        for row in rows:
            for cell in row:
                self.write(cell)


def _build_grid(rows: list[Element]) -> list[list[str]]:
    """Return the cell texts by row and column. A cell that spans columns or rows is repeated in each."""
    grid: list[list[str]] = []
    spans: dict[int, tuple[int, str]] = {}
    """The text of the cell that covers a column, and the last row in which it does."""
    for index, row in enumerate(rows):
        texts: list[str] = []
        for cell in row.iterchildren(_CELL, _COVERED):
            if cell.tag == _COVERED:
                for _ in range(_read_count(cell, "number-columns-repeated")):
                    last, text = spans.get(len(texts), (-1, ""))
                    texts.append(text if index <= last else "")
                continue
            text, last = _read_cell(cell), index + _read_count(cell, "number-rows-spanned") - 1
            for column in range(_read_count(cell, "number-columns-spanned")):
                spans[len(texts) + column] = (last, text)
            texts += [text] * _read_count(cell, "number-columns-repeated")
        grid.append(texts)
    return grid


def _cells(row: Element) -> Iterator[str]:
    """Yield the texts of a row's cells. A cell that is repeated or spans columns is repeated."""
    yield from _build_grid([row])[0]


def _read_cell(cell: Element) -> str:
    return " ".join(map(_read, _iter_paragraphs(cell)))


def _iter_paragraphs(container: Element) -> Iterator[Element]:
    """Yield the paragraphs of a container, with those of its shapes, but not those of notes and comments."""
    for child in container:
        if child.tag in _PARAGRAPHS:
            yield child
            for shape in _iter_shapes(child):
                yield from _iter_paragraphs(shape)
        elif child.tag not in _SKIPPED:
            yield from _iter_paragraphs(child)


def _iter_shapes(paragraph: Element) -> Iterator[Element]:
    """Yield the shapes and frames in a paragraph, whose text is not part of its own."""
    for child in paragraph:
        if _is_shape(child):
            yield child
        elif child.tag not in _SKIPPED and child.tag != f"{_TEXT}note":
            yield from _iter_shapes(child)


def _is_shape(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith(_DRAW)  # an entity has no name


def _read_count(cell: Element, name: str) -> int:
    return min(max(read_number(cell.get(f"{_TABLE}{name}"), 1), 1), _MAX_REPEATED)


def _read(element: Element) -> str:
    """Return the text of an element; notes follow where they are referred to, in brackets."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            pieces.append(" " * min(read_number(child.get(f"{_TEXT}c"), 1), _MAX_REPEATED))
        elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            pieces.append("\t" if child.tag == f"{_TEXT}tab" else "\n")
        elif child.tag == f"{_TEXT}note":
            pieces.append(f" ({' '.join(map(_read, child.iter(f'{_TEXT}p')))})")
        elif child.tag not in _SKIPPED and not _is_shape(child):
            pieces.append(_read(child))
        pieces.append(child.tail or "")
    return "".join(pieces)

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
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, Element, check_archive, read_xml
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.office.opendocument_pages import read_page_lines
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/vnd.oasis.opendocument.text"
_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_ENCRYPTION: Final = b"encryption-data"
_DC_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_MAX_REPEATED: Final = 100
_SKIPPED: Final = frozenset({f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}table-of-content"})
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
            if "styles.xml" in archive.namelist():
                for line in read_page_lines(content, read_xml(archive, "styles.xml"), _cells, _read):
                    composer.add(BlockKind.PARAGRAPH, line)
            header = composer.page()
            for body in content.iter(f"{_OFFICE}text"):
                _write(composer, body, BlockKind.PARAGRAPH)
            title = read_xml(archive, "meta.xml").iter(_DC_TITLE) if "meta.xml" in archive.namelist() else iter(())
            declared = next((each.text or "" for each in title), "")
    except (*ARCHIVE_ERRORS, XMLSyntaxError, KeyError, ValueError) as error:
        raise failures.unreadable(path, f"is not a readable OpenDocument text ({error})") from error
    page = composer.page()
    if page.text == header.text:  # headers alone do not make a document of pictures readable
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, (page,), title=declared), pages=(page,))


def _write(composer: PageComposer, container: Element, kind: BlockKind) -> None:
    """Write the blocks of a container; paragraphs get the given kind."""
    for child in container:
        if child.tag in _SKIPPED:
            continue
        if child.tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level", "1")
            composer.add(BlockKind.HEADING, collapse(_read(child)), level=int(level) if level.isdigit() else 1)
        elif child.tag == f"{_TEXT}p":
            composer.add(kind, _read(child))
        elif child.tag == f"{_TABLE}table":
            for line in linearise([list(_cells(row)) for row in child.iter(f"{_TABLE}table-row")]):
                composer.add(BlockKind.TABLE_ROW, line)
        else:
            _write(composer, child, BlockKind.LIST_ITEM if child.tag == f"{_TEXT}list" else kind)


def _cells(row: Element) -> Iterator[str]:
    """Yield the texts of a row's cells. A cell that is repeated or spans columns is repeated."""
    for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
        text = " ".join(map(_read, cell.iter(f"{_TEXT}p")))
        repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
        yield from [text] * min(int(repeated), _MAX_REPEATED if text else 1)


def _read(element: Element) -> str:
    """Return the text of an element; notes follow where they are referred to, in brackets."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            pieces.append(" " * min(int(child.get(f"{_TEXT}c", "1")), _MAX_REPEATED))
        elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            pieces.append("\t" if child.tag == f"{_TEXT}tab" else "\n")
        elif child.tag == f"{_TEXT}note":
            pieces.append(f" ({' '.join(map(_read, child.iter(f'{_TEXT}p')))})")
        elif child.tag not in _SKIPPED:
            pieces.append(_read(child))
        pieces.append(child.tail or "")
    return "".join(pieces)

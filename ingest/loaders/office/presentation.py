"""The loader of presentations (.pptx): each slide is a page with its number, and its notes follow its text.

The XML is parsed here, because only the text of shapes, tables and notes is needed. Slides come in the order of the
presentation, which is not that of their file names.
"""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, Element, check_archive, read_xml
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

MEDIA_TYPE: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DC_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_TITLES: Final = ("title", "ctrTitle")
_FURNITURE: Final = ("sldNum", "dt", "ftr", "hdr", "sldImg")
"""Placeholders that repeat on each slide."""
_PRESENTATION: Final = "ppt/presentation.xml"
_NOTES: Final = "/notesSlide"


def load_presentation(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read a presentation.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        max_bytes: The size limit of the file. The unpacked archive may be ten times as large.

    Returns:
        A document with one page for each slide that has text.

    Raises:
        DocumentError: With the code TOO_LARGE, ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    from lxml.etree import XMLSyntaxError

    try:
        check_archive(path, data, max_bytes)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            pages = tuple(_read_slides(archive))
            title = _read_title(archive)
    except (*ARCHIVE_ERRORS, XMLSyntaxError, KeyError, ValueError) as error:
        raise failures.unreadable(path, f"is not a readable presentation ({error})") from error
    if not pages:
        raise failures.no_text(path)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=build_metadata(path, pages, title=title), pages=pages)


def _read_slides(archive: zipfile.ZipFile) -> Iterator[Page]:
    targets = {name: target for name, _, target in _relationships(archive, _PRESENTATION)}
    index = 0
    for number, entry in enumerate(read_xml(archive, _PRESENTATION).iter(f"{_P}sldId"), start=1):
        part = targets[entry.get(f"{_R}id")]
        composer = PageComposer()
        _write_shapes(composer, read_xml(archive, part))
        for _, kind, notes in _relationships(archive, part):
            if kind.endswith(_NOTES):
                _write_shapes(composer, read_xml(archive, notes))
        page = composer.page(index, number)
        if page.text:
            yield page
            index += 1


def _relationships(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, str]]:
    """Return the id, the type and the target part of each internal relationship of a part."""
    folder, name = posixpath.split(part)
    listing = f"{folder}/_rels/{name}.rels"
    if listing not in archive.namelist():
        return []
    return [
        (entry.get("Id"), entry.get("Type"), posixpath.normpath(posixpath.join(f"/{folder}", entry.get("Target")))[1:])
        for entry in read_xml(archive, listing)
        if entry.get("TargetMode") != "External"
    ]


def _write_shapes(composer: PageComposer, slide: Element) -> None:
    """Write the shapes of a slide, the title first, because it may come later in the file."""
    shapes = [shape for shape in slide.iter(f"{_P}sp", f"{_P}graphicFrame") if _placeholder(shape) not in _FURNITURE]
    for shape in sorted(shapes, key=lambda each: _placeholder(each) not in _TITLES):
        if _placeholder(shape) in _TITLES:
            composer.add(BlockKind.HEADING, collapse(" ".join(map(_read_text, shape.iter(f"{_A}p")))), level=1)
        elif (table := next(shape.iter(f"{_A}tbl"), None)) is not None:
            rows = [[_read_text(cell) for cell in row.iter(f"{_A}tc")] for row in table.iter(f"{_A}tr")]
            for line in linearise(rows):
                composer.add(BlockKind.TABLE_ROW, line)
        else:
            _write_paragraphs(composer, shape)


def _write_paragraphs(composer: PageComposer, shape: Element) -> None:
    paragraphs = [text for text in map(_read_text, shape.iter(f"{_A}p")) if text.strip()]
    kind = BlockKind.LIST_ITEM if len(paragraphs) > 1 else BlockKind.PARAGRAPH
    for text in paragraphs:
        composer.add(kind, text)


def _placeholder(shape: Element) -> str | None:
    """Return the type of a placeholder; None for another shape."""
    placeholder = next(shape.iter(f"{_P}ph"), None)
    return None if placeholder is None else placeholder.get("type", "body")


def _read_text(element: Element) -> str:
    breaks = f"{_A}br"
    return "".join("\n" if each.tag == breaks else each.text or "" for each in element.iter(f"{_A}t", breaks))


def _read_title(archive: zipfile.ZipFile) -> str:
    name = "docProps/core.xml"
    return str(read_xml(archive, name).findtext(_DC_TITLE) or "") if name in archive.namelist() else ""

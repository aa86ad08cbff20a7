"""The loader of presentations (.pptx): each slide is a page with its number, and its notes follow its text.

The XML is parsed here, because only the text of shapes, tables and notes is needed. Slides come in the order of the
presentation, which is not that of their file names.
"""

import io
import posixpath
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer, collapse
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, Element, check_archive, read_xml
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.office.presentation_bullets import Layer, find_placeholder, read_layer, read_markers
from sourcebound.ingest.loaders.office.word_numbering import BULLET, is_list_marker, read_number
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
_LAYOUT: Final = "/slideLayout"
_MASTER: Final = "/slideMaster"
_DIAGRAM: Final = "/diagramData"
_DGM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_PARENT: Final = "parOf"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SHAPES: Final = (f"{_P}sp", f"{_P}graphicFrame")
_TRUE: Final = ("1", "true")


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
    read_layers = cache(partial(_read_layers, archive))
    targets = {name: target for name, _, target in _relationships(archive, _PRESENTATION)}
    members = frozenset(archive.namelist())
    index = 0
    for number, entry in enumerate(read_xml(archive, _PRESENTATION).iter(f"{_P}sldId"), start=1):
        part = targets[entry.get(f"{_R}id")]
        composer = PageComposer()
        related = _relationships(archive, part)
        above = [layer for _, kind, name in related if kind.endswith(_LAYOUT) for layer in read_layers(name)]
        _write_shapes(composer, read_xml(archive, part), above)
        for _, kind, name in related:
            if kind.endswith(_DIAGRAM) and name in members:
                _write_diagram(composer, read_xml(archive, name))
        for _, kind, notes in related:
            if kind.endswith(_NOTES) and notes in members:
                _write_shapes(composer, read_xml(archive, notes), ())
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
        for entry in read_xml(archive, listing).iterchildren("*")
        if entry.get("TargetMode") != "External" and entry.get("Type") and entry.get("Target")
    ]


def _read_layers(archive: zipfile.ZipFile, layout: str) -> list[Layer]:
    """Read a layout and its master, those that there are."""
    masters = [name for _, kind, name in _relationships(archive, layout) if kind.endswith(_MASTER)]
    members = archive.namelist()
    return [read_layer(read_xml(archive, name)) for name in (layout, *masters) if name in members]


def _write_shapes(composer: PageComposer, slide: Element, above: Sequence[Layer]) -> None:
    """Write the shapes of a slide, the title first, because it may come later in the file."""
    shapes = [shape for shape in _iter_shown(slide, _SHAPES) if _kind(shape) not in _FURNITURE]
    for shape in sorted(shapes, key=lambda each: _kind(each) not in _TITLES):
        if _kind(shape) in _TITLES:
            composer.add(BlockKind.HEADING, collapse(" ".join(map(_read_text, shape.iter(f"{_A}p")))), level=1)
        elif (table := next(shape.iter(f"{_A}tbl"), None)) is not None:
            for line in linearise(_build_grid(table)):
                composer.add(BlockKind.TABLE_ROW, line)
        elif shape.tag == f"{_P}sp":
            _write_paragraphs(composer, shape, above)


def _iter_shown(element: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    """Yield the descendants with these tags, without those that are only for programs that cannot show another."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag != _FALLBACK:
            yield from _iter_shown(child, tags)


def _build_grid(table: Element) -> list[list[str]]:
    """Return the cell texts by row and column. A merged cell is repeated in each column or row that it covers."""
    grid: list[list[str]] = []
    for row in table.iter(f"{_A}tr"):
        texts: list[str] = []
        for cell in row.iter(f"{_A}tc"):
            text = " ".join(map(_read_text, cell.iter(f"{_A}p")))
            if cell.get("hMerge") in _TRUE and texts:
                text = texts[-1]
            elif cell.get("vMerge") in _TRUE and grid and len(texts) < len(grid[-1]):
                text = grid[-1][len(texts)]
            texts.append(text)
        grid.append(texts)
    return grid


def _write_paragraphs(composer: PageComposer, shape: Element, above: Sequence[Layer]) -> None:
    """Write the paragraphs of a shape; a bullet before its only paragraph is left out."""
    paragraphs = [each for each in _iter_shown(shape, (f"{_A}p",)) if _read_text(each).strip()]
    for paragraph, marker in zip(paragraphs, read_markers(shape, paragraphs, above), strict=True):
        text = _read_text(paragraph).lstrip()
        if len(paragraphs) == 1 and marker == BULLET:
            marker = ""
        kind = BlockKind.LIST_ITEM if is_list_marker(marker or text) else BlockKind.PARAGRAPH
        composer.add(kind, f"{marker}{text}")


def _write_diagram(composer: PageComposer, root: Element) -> None:
    """Write the texts of a diagram (SmartArt), each point before those below it."""
    points = {each.get("modelId"): each for each in root.iter(f"{_DGM}pt")}
    below: dict[str | None, list[tuple[int, str]]] = {}
    for link in root.iter(f"{_DGM}cxn"):
        if link.get("type", _PARENT) == _PARENT:
            below.setdefault(link.get("srcId"), []).append((read_number(link.get("srcOrd"), 0), link.get("destId", "")))
    waiting = [key for key, each in points.items() if each.get("type") == "doc"]
    seen: set[str | None] = set()
    while waiting:
        key = waiting.pop()
        if key in seen or key not in points:
            continue
        seen.add(key)
        text = collapse(" ".join(map(_read_text, points[key].iter(f"{_A}p"))))
        if text:
            composer.add(BlockKind.LIST_ITEM, text if is_list_marker(text) else f"{BULLET}{text}")
        waiting += [child for _, child in sorted(below.get(key, ()), reverse=True)]


def _kind(shape: Element) -> str | None:
    """Return the type of a placeholder; None for another shape."""
    found = find_placeholder(shape)
    return found[0] if found else None


def _read_text(element: Element) -> str:
    breaks = f"{_A}br"
    return "".join("\n" if each.tag == breaks else each.text or "" for each in element.iter(f"{_A}t", breaks))


def _read_title(archive: zipfile.ZipFile) -> str:
    name = "docProps/core.xml"
    return str(read_xml(archive, name).findtext(_DC_TITLE) or "") if name in archive.namelist() else ""

"""Reads PDFs: text in the file's own reading order, page by page, with headings from the outline or from the type.

PDFium does all of it: it reads multi-column and right-to-left pages in order and is the library that also draws pages,
so a quotation can be found again on the page it came from. PDFium is not thread-safe; one lock serialises every call.
"""

import ctypes
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.corpus.document import Block, Page, ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.chunking.page_text import clean_text
from sourcebound.ingest.loaders.metadata import describe
from sourcebound.ingest.loaders.pdf.columns import starts_cell
from sourcebound.ingest.loaders.pdf.layout import (
    Cell,
    Line,
    OutlineEntry,
    blocks_by_outline,
    blocks_by_style,
    heading_levels,
    running_heads,
)
from sourcebound.ingest.loaders.pdf.table import replace_tables
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

MEDIA_TYPE = "application/pdf"
PDFIUM_LOCK = threading.RLock()

_PASSWORD_ERROR = 4
_LINE_HYPHEN = "\x02"
_HYPHENATED = re.compile(rf"(\w+){_LINE_HYPHEN}(\w+)")
_WORD = re.compile(r"\w+")
_LINE = re.compile(r"[^\n]+")
_SHOWN = re.compile(r"\S+")
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
_BOLD_WEIGHT = 600


class _RawPage(NamedTuple):
    text: str
    lines: tuple[Line, ...]


def load_pdf(path: Path, data: bytes) -> ParsedDocument:
    """Read a PDF.

    Args:
        path: The file, for messages and as the title of last resort.
        data: Its bytes.

    Returns:
        One `Page` a page, numbered from 1; a page of pictures is a page with empty text.

    Raises:
        DocumentError: ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    import pypdfium2

    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    with PDFIUM_LOCK:
        try:
            with pypdfium2.PdfDocument(data) as document:
                raw_pages = [_read_page(document, index) for index in range(len(document))]
                outline = list(_read_outline(document))
                title = _read_string(lambda: document.get_metadata_value("Title"))
        except pypdfium2.PdfiumError as error:
            raise _describe_failure(path, error) from error
    if not any(page.text.strip() for page in raw_pages):
        raise failures.no_text(path)
    pages = _split_into_blocks(raw_pages, outline)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=describe(path, pages, title=title), pages=pages)


def _describe_failure(path: Path, error: Exception) -> DocumentError:
    if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
        return failures.encrypted(path)
    return failures.unreadable(path, f"is not a readable PDF ({error})".replace(".)", ")"))


def _split_into_blocks(raw_pages: Sequence[_RawPage], outline: Sequence[OutlineEntry]) -> tuple[Page, ...]:
    by_outline = [
        blocks_by_outline(page.lines, [entry for entry in outline if entry.page_index == index])
        for index, page in enumerate(raw_pages)
    ]
    found = sum(block.level > 0 for blocks in by_outline for block in blocks)
    if outline and found * 2 >= len(outline):
        all_blocks: list[tuple[Block, ...]] = by_outline
    else:
        lines = [page.lines for page in raw_pages]
        levels, running = heading_levels(lines), running_heads(lines)
        all_blocks = [blocks_by_style(page_lines, levels, running) for page_lines in lines]
    return tuple(
        Page(index=index, number=index + 1, text=page.text, blocks=blocks)
        for index, (page, blocks) in enumerate(zip(raw_pages, all_blocks, strict=True))
    )


def _read_outline(document: "PdfDocument") -> Iterator[OutlineEntry]:
    for bookmark in document.get_toc():
        destination = bookmark.get_dest()
        page_index = destination.get_index() if destination else None
        if page_index is not None:
            yield OutlineEntry(page_index, bookmark.level + 1, _read_string(bookmark.get_title))


def _read_string(read: Callable[[], str]) -> str:
    """Read a string of the document's dictionary; empty if damaged, because the text does not depend on it."""
    try:
        return read()
    except UnicodeDecodeError:
        return ""


def _read_page(document: "PdfDocument", index: int) -> _RawPage:
    page = document[index]
    text_page = page.get_textpage()
    try:
        extracted = text_page.get_text_bounded()
        positions = _char_positions(text_page, extracted)
        return _read_lines(text_page, extracted, positions)
    finally:
        text_page.close()
        page.close()


def _char_positions(text_page: "PdfTextPage", extracted: str) -> Sequence[int]:
    """Return the index of each character of the text in PDFium's own list, which may have a few more."""
    from pypdfium2 import raw

    count = text_page.count_chars()
    if count == len(extracted):
        return range(count)
    positions = []
    position = 0
    for character in extracted:
        ahead = position
        while ahead < count and raw.FPDFText_GetUnicode(text_page, ahead) != ord(character):
            ahead += 1
        position = ahead if ahead < count else position
        positions.append(min(position, count - 1))
        position += 1
    return positions


def _read_lines(text_page: "PdfTextPage", extracted: str, positions: Sequence[int]) -> _RawPage:
    lines: list[Line] = []
    for match in _LINE.finditer(extracted.replace("\r", "\n")):
        shown = match.group().strip()
        text = clean_text(_join_hyphenated(shown, extracted))
        if not text.strip():
            continue
        first = match.start() + len(match.group()) - len(match.group().lstrip())
        look = _line_style(text_page, positions[first], positions[first + len(shown) - 1])
        cells = _cells(text_page, extracted, range(first, first + len(shown)), positions)
        lines.append(look._replace(text=text, cells=cells))
    return _assemble_page(replace_tables(lines))


def _assemble_page(lines: Sequence[Line]) -> _RawPage:
    """Build the text of a page from its lines, and set the offsets of each line."""
    placed: list[Line] = []
    start = 0
    for line in lines:
        placed.append(line._replace(start=start, end=start + len(line.text)))
        start += len(line.text) + 1
    return _RawPage("\n".join(line.text for line in lines), tuple(placed))


def _cells(text_page: "PdfTextPage", extracted: str, stretch: range, positions: Sequence[int]) -> tuple[Cell, ...]:
    """Split a line at its wide gaps. Text that does not run from left to right is one cell, a hyphenated word none."""
    from pypdfium2 import raw

    cells: list[Cell] = []
    start, box, end_box = stretch.start, raw.FS_RECTF(), raw.FS_RECTF()
    for word in _SHOWN.finditer(extracted, stretch.start, stretch.stop):
        raw.FPDFText_GetLooseCharBox(text_page, positions[word.start()], box)
        raw.FPDFText_GetLooseCharBox(text_page, positions[word.end() - 1], end_box)
        left, right = min(box.left, end_box.left), max(box.right, end_box.right)
        if _LINE_HYPHEN in word.group():
            return ()
        if cells and not starts_cell(left - cells[-1].right, cells[-1].size, word.group()):
            before = cells[-1]
            text = clean_text(extracted[start : word.end()])
            cells[-1] = before._replace(text=text, left=min(left, before.left), right=max(right, before.right))
        else:
            start = word.start()
            cells.append(_cell(text_page, positions[start], clean_text(word.group()), left, right))
    return tuple(cell for cell in cells if cell.text)


def _cell(text_page: "PdfTextPage", position: int, text: str, left: float, right: float) -> Cell:
    """Make a cell of one word, whose first glyph is at a position."""
    from pypdfium2 import raw

    across, up = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, position, across, up)
    return Cell(text, left, right, up.value, _size(text_page, position), _is_bold(text_page, position))


def _size(text_page: "PdfTextPage", position: int) -> float:
    """Return the font size of a glyph on the page."""
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, position, matrix)
    scale: float = (matrix.c**2 + matrix.d**2) ** 0.5 or 1.0
    return float(raw.FPDFText_GetFontSize(text_page, position)) * scale


def _join_hyphenated(line: str, page_text: str) -> str:
    """Undo PDFium's mark for a hyphen at a line's end: joined if the page has the joined word, else a hyphen.

    A hyphen too many is harmless where one too few would turn `IO-470` into another part number.
    """
    if _LINE_HYPHEN not in line:
        return line
    words = set(_WORD.findall(page_text))

    def join(match: re.Match[str]) -> str:
        joined = match[1] + match[2]
        return joined if joined.isalpha() and joined in words else f"{match[1]}-{match[2]}"

    return _HYPHENATED.sub(join, line).replace(_LINE_HYPHEN, "-")


def _line_style(text_page: "PdfTextPage", first: int, last: int) -> Line:
    """Return the style of a line, from its first and last characters."""
    from pypdfium2 import raw

    box, end_box = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, first, box)
    raw.FPDFText_GetLooseCharBox(text_page, last, end_box)
    return Line(
        start=0,
        end=0,
        text="",
        size=_size(text_page, first),
        bold=_is_bold(text_page, first) and _is_bold(text_page, last),
        left=box.left,
        right=end_box.right,
        bottom=box.bottom,
    )


def _is_bold(text_page: "PdfTextPage", position: int) -> bool:
    from pypdfium2 import raw

    if raw.FPDFText_GetFontWeight(text_page, position) >= _BOLD_WEIGHT:
        return True
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    raw.FPDFText_GetFontInfo(text_page, position, name, len(name), flags)
    return _BOLD_NAME.search(name.value) is not None

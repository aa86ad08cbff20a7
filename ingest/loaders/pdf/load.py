"""The loader of PDFs: the text of each page in the file's reading order, with headings from the outline or the style.

PDFium extracts the text, because it reads multi-column and right-to-left pages in order. It also renders pages, so a
quotation can be found on its page. PDFium is not thread-safe, so one lock serialises all calls.
"""

import ctypes
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind, Page, ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.chunking.page_text import clean_text
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.pdf.columns import starts_cell
from sourcebound.ingest.loaders.pdf.furniture import PageFurniture, find_furniture
from sourcebound.ingest.loaders.pdf.hyphens import HYPHEN_MARK, join_divided_words
from sourcebound.ingest.loaders.pdf.layout import (
    Cell,
    Line,
    OutlineEntry,
    find_running_heads,
    rank_heading_styles,
    split_by_outline,
    split_by_style,
)
from sourcebound.ingest.loaders.pdf.ocr import Recognize, read_picture
from sourcebound.ingest.loaders.pdf.table import replace_tables
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

MEDIA_TYPE = "application/pdf"
PDFIUM_LOCK = threading.RLock()

_PASSWORD_ERROR = 4
_LINE = re.compile(r"[^\n]+")
_NON_SPACE = re.compile(r"\S+")
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
_BOLD_WEIGHT = 600


class _ReadPage(NamedTuple):
    """The lines of a page, and whether they were recognized in its picture."""

    lines: list[Line]
    is_recognized: bool


class _RawPage(NamedTuple):
    """The text of a page, and its lines by their place in it."""

    text: str
    above: tuple[Line, ...]
    """The furniture above the text."""
    lines: tuple[Line, ...]
    below: tuple[Line, ...]
    """The furniture below the text."""


def load_pdf(path: Path, data: bytes, recognize: Recognize | None = None) -> ParsedDocument:
    """Read a PDF.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        recognize: Reads the pages without text as pictures; None to leave them empty.

    Returns:
        A document with one `Page` for each page, numbered from 1. A page of pictures has an empty text, or the text
        that was recognized, and then `recognized_pages` has its number.

    Raises:
        DocumentError: With the code ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    import pypdfium2

    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    with PDFIUM_LOCK:
        try:
            with pypdfium2.PdfDocument(data) as document:
                read = [_read_page(document, index, recognize) for index in range(len(document))]
                outline = list(_read_outline(document))
                title = _read_string(lambda: document.get_metadata_value("Title"))
        except pypdfium2.PdfiumError as error:
            raise _make_error(path, error) from error
    raw_pages = _assemble_pages(join_divided_words([page.lines for page in read]))
    if not any(page.text.strip() for page in raw_pages):
        raise failures.nothing_recognized(path) if recognize else failures.no_text(path)
    pages = _split_into_blocks(raw_pages, outline)
    recognized = tuple(number for number, page in enumerate(read, start=1) if page.is_recognized)
    metadata = build_metadata(path, pages, title=title)
    return ParsedDocument(media_type=MEDIA_TYPE, metadata=metadata, pages=pages, recognized_pages=recognized)


def _make_error(path: Path, error: Exception) -> DocumentError:
    if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
        return failures.encrypted(path)
    return failures.unreadable(path, f"is not a readable PDF ({error})".replace(".)", ")"))


def _split_into_blocks(raw_pages: Sequence[_RawPage], outline: Sequence[OutlineEntry]) -> tuple[Page, ...]:
    by_outline = [
        split_by_outline(page.lines, [entry for entry in outline if entry.page_index == index])
        for index, page in enumerate(raw_pages)
    ]
    heading_count = sum(block.level > 0 for blocks in by_outline for block in blocks)
    is_outlined = bool(outline) and heading_count * 2 >= len(outline)
    if is_outlined:
        all_blocks: list[tuple[Block, ...]] = by_outline
    else:
        all_lines = [(*page.above, *page.lines, *page.below) for page in raw_pages]
        levels, running_heads = rank_heading_styles(all_lines), find_running_heads(all_lines)
        all_blocks = [split_by_style(page.lines, levels, running_heads) for page in raw_pages]
    framed = [
        (*_make_furniture(page.above), *blocks, *_make_furniture(page.below))
        for page, blocks in zip(raw_pages, all_blocks, strict=True)
    ]
    return tuple(
        _make_page(index, page.text, blocks, is_outlined=is_outlined)
        for index, (page, blocks) in enumerate(zip(raw_pages, framed, strict=True))
    )


def _make_page(index: int, text: str, blocks: Sequence[Block], *, is_outlined: bool) -> Page:
    """Make a page of blocks, with a blank line between a heading and the text, so that no sentence goes on in it."""
    parts: list[str] = []
    moved: list[Block] = []
    start = 0
    for number, block in enumerate(blocks):
        is_apart = number > 0 and _are_apart(text, blocks[number - 1], block, is_outlined=is_outlined)
        separator = "\n\n" if is_apart else "\n" * (number > 0)
        part = text[block.char_start : block.char_end]
        start += len(separator)
        parts += [separator, part]
        moved.append(block.model_copy(update={"char_start": start, "char_end": start + len(part)}))
        start += len(part)
    return Page(index=index, number=index + 1, text="".join(parts), blocks=tuple(moved))


def _are_apart(text: str, above: Block, below: Block, *, is_outlined: bool) -> bool:
    """Check whether a blank line is between two blocks: one is a heading, and no sentence runs over both.

    A line in the style of a heading may be a part of a sentence, if no outline names it. Then it ends with a full stop,
    a line above it with a comma, or the line below begins in lower case.
    """
    kinds = {above.kind, below.kind}
    if BlockKind.HEADING not in kinds or BlockKind.FURNITURE in kinds:
        return False
    ends = [text[block.char_end - 1] for block in (above, below) if block.kind is BlockKind.HEADING]
    runs_on = text[below.char_start].islower() or "." in ends or text[above.char_end - 1] == ","
    return is_outlined or not runs_on


def _read_outline(document: "PdfDocument") -> Iterator[OutlineEntry]:
    for bookmark in document.get_toc():
        destination = bookmark.get_dest()
        page_index = destination.get_index() if destination else None
        if page_index is not None:
            yield OutlineEntry(page_index, bookmark.level + 1, _read_string(bookmark.get_title))


def _read_string(read: Callable[[], str]) -> str:
    """Read a string of the outline or the metadata; empty if it is damaged, because the text does not depend on it."""
    try:
        return read()
    except UnicodeDecodeError:
        return ""


def _read_page(document: "PdfDocument", index: int, recognize: Recognize | None) -> _ReadPage:
    page = document[index]
    text_page = page.get_textpage()
    try:
        extracted = text_page.get_text_bounded()
        lines = _read_lines(text_page, extracted, align_characters(text_page, extracted))
        if lines or recognize is None:
            return _ReadPage(lines, is_recognized=False)
        lines = replace_tables(read_picture(page, recognize))
        return _ReadPage(lines, is_recognized=bool(lines))
    finally:
        text_page.close()
        page.close()


def align_characters(text_page: "PdfTextPage", extracted: str) -> Sequence[int]:
    """Return the index of each extracted character in PDFium's list of characters, which may have a few more."""
    from pypdfium2 import raw

    count = text_page.count_chars()
    if count == len(extracted):
        return range(count)
    char_indices = []
    char_index = 0
    for character in extracted:
        candidate = char_index
        while candidate < count and raw.FPDFText_GetUnicode(text_page, candidate) != ord(character):
            candidate += 1
        char_index = candidate if candidate < count else char_index
        char_indices.append(min(char_index, count - 1))
        char_index += 1
    return char_indices


def _read_lines(text_page: "PdfTextPage", extracted: str, char_indices: Sequence[int]) -> list[Line]:
    lines: list[Line] = []
    for match in _LINE.finditer(extracted.replace("\r", "\n")):
        visible = match.group().strip()
        text = clean_text(visible)
        if not text.strip():
            continue
        first = match.start() + len(match.group()) - len(match.group().lstrip())
        last = char_indices[first + len(visible) - 1]
        style = _measure_line(text_page, char_indices[first], last, is_divided=HYPHEN_MARK in visible)
        cells = _split_cells(text_page, extracted, range(first, first + len(visible)), char_indices)
        lines.append(style._replace(text=text, cells=cells))
    return replace_tables(lines)


def _assemble_pages(pages: Sequence[Sequence[Line]]) -> list[_RawPage]:
    """Join the lines of each page to its text, the furniture first and last, and set the offsets of each line."""
    return [_assemble_page(lines, furniture) for lines, furniture in zip(pages, find_furniture(pages), strict=True)]


def _assemble_page(lines: Sequence[Line], furniture: PageFurniture) -> _RawPage:
    outside = {*furniture.above, *furniture.below}
    body = [index for index in range(len(lines)) if index not in outside]
    placed: list[Line] = []
    start = 0
    for index in (*furniture.above, *body, *furniture.below):
        line = lines[index]
        placed.append(line._replace(start=start, end=start + len(line.text)))
        start += len(line.text) + 1
    top, bottom = len(furniture.above), len(lines) - len(furniture.below)
    text = "\n".join(line.text for line in placed)
    return _RawPage(text, tuple(placed[:top]), tuple(placed[top:bottom]), tuple(placed[bottom:]))


def _make_furniture(lines: Sequence[Line]) -> Iterator[Block]:
    for line in lines:
        yield Block(kind=BlockKind.FURNITURE, char_start=line.start, char_end=line.end)


def _split_cells(
    text_page: "PdfTextPage", extracted: str, span: range, char_indices: Sequence[int]
) -> tuple[Cell, ...]:
    """Split a line into cells at its wide gaps.

    A line that does not run from left to right is one cell. A line with a hyphen mark has no cells.
    """
    from pypdfium2 import raw

    cells: list[Cell] = []
    start, box, end_box = span.start, raw.FS_RECTF(), raw.FS_RECTF()
    for word in _NON_SPACE.finditer(extracted, span.start, span.stop):
        raw.FPDFText_GetLooseCharBox(text_page, char_indices[word.start()], box)
        raw.FPDFText_GetLooseCharBox(text_page, char_indices[word.end() - 1], end_box)
        left, right = min(box.left, end_box.left), max(box.right, end_box.right)
        if HYPHEN_MARK in word.group():
            return ()
        if cells and not starts_cell(left - cells[-1].right, cells[-1].size, word.group()):
            previous = cells[-1]
            text = clean_text(extracted[start : word.end()])
            cells[-1] = previous._replace(text=text, left=min(left, previous.left), right=max(right, previous.right))
        else:
            start = word.start()
            cells.append(_make_cell(text_page, char_indices[start], clean_text(word.group()), left, right))
    return tuple(cell for cell in cells if cell.text)


def _make_cell(text_page: "PdfTextPage", char_index: int, text: str, left: float, right: float) -> Cell:
    """Make a cell of one word. `char_index` is the index of its first character."""
    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, char_index, x, y)
    return Cell(text, left, right, y.value, _measure_font_size(text_page, char_index), _is_bold(text_page, char_index))


def _measure_font_size(text_page: "PdfTextPage", char_index: int) -> float:
    """Return the font size of a character on the page."""
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, char_index, matrix)
    scale: float = (matrix.c**2 + matrix.d**2) ** 0.5 or 1.0
    return float(raw.FPDFText_GetFontSize(text_page, char_index)) * scale


def _measure_line(text_page: "PdfTextPage", first: int, last: int, *, is_divided: bool) -> Line:
    """Return a line without text, with its style and extent from its first and last characters.

    A line with a divided word ends on another line of the page.
    """
    from pypdfium2 import raw

    box, end_box = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, first, box)
    raw.FPDFText_GetLooseCharBox(text_page, last, end_box)
    return Line(
        start=0,
        end=0,
        text="",
        size=_measure_font_size(text_page, first),
        bold=_is_bold(text_page, first) and _is_bold(text_page, last),
        left=box.left,
        right=end_box.right,
        bottom=box.bottom,
        drop=box.bottom - end_box.bottom if is_divided else 0.0,
    )


def _is_bold(text_page: "PdfTextPage", char_index: int) -> bool:
    from pypdfium2 import raw

    if raw.FPDFText_GetFontWeight(text_page, char_index) >= _BOLD_WEIGHT:
        return True
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    raw.FPDFText_GetFontInfo(text_page, char_index, name, len(name), flags)
    return _BOLD_NAME.search(name.value) is not None

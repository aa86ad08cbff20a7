"""A page of a PDF as an image, and the rectangles of words of its stored text.

The stored text differs from that of PDFium: hyphenated words are joined, and rows of tables repeat their headers. So
the words of both are aligned in order, and the rectangles of a range are those of the aligned words in it.
"""

import ctypes
import logging
import re
import struct
import zlib
from bisect import bisect
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from sourcebound.contracts.corpus.page_view import MarkedSpan, PageMarks, PageRequest, Rectangle
from sourcebound.ingest.loaders.pdf.load import PDFIUM_LOCK, align_characters

if TYPE_CHECKING:
    from pypdfium2 import PdfBitmap, PdfPage, PdfTextPage

MAX_PIXELS: Final = 12_000_000
MAX_GAP: Final = 1.5
"""The widest gap between words that a rectangle covers, in line heights. A wider one is between columns."""
UNITS: Final = 1_000_000
"""The device units of a page's width and height, into which PDFium converts positions."""
_WORD: Final = re.compile(r"\S+")
_IGNORED: Final = re.compile(r"[\W_\x02]+")


class _Word(NamedTuple):
    """A word of either text: its letters and digits, and its range of characters."""

    key: str
    start: int
    end: int


class _Box(NamedTuple):
    """A rectangle in the coordinates of the file, in which lines are horizontal and `top` is above `bottom`."""

    left: float
    bottom: float
    right: float
    top: float


class _Place(NamedTuple):
    """A word of the stored text that is on the page."""

    start: int
    end: int
    line: int
    """The number of its line in the stored text."""
    boxes: tuple[_Box, ...]
    """One, or one for each line of a hyphenated word."""


def view_page(data: bytes, request: PageRequest) -> bytes | PageMarks:
    """Return the image of a page in PNG, or the rectangles of ranges of its text.

    Args:
        data: The bytes of a PDF.
        request: The page, and the width of the image or the ranges.

    Raises:
        ValueError: The file has no such page, or cannot be read.
    """
    import pypdfium2

    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    with PDFIUM_LOCK:
        try:
            with pypdfium2.PdfDocument(data) as document:
                if request.number > len(document):
                    raise ValueError("the file has no such page")
                page = document[request.number - 1]
                try:
                    return _draw(page, request.width) if request.width else _mark(page, request)
                finally:
                    page.close()
        except pypdfium2.PdfiumError as error:
            raise ValueError("the file cannot be read") from error


def _draw(page: "PdfPage", width: int) -> bytes:
    page_width, page_height = page.get_size()
    scale = min(width / page_width, (MAX_PIXELS / (page_width * page_height)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
    try:
        return _write_png(bitmap)
    finally:
        bitmap.close()


def _write_png(bitmap: "PdfBitmap") -> bytes:
    """Return a bitmap of 8-bit channels as PNG, without a library that a confined process would have to load."""
    width, height, pixels = bitmap.width, bitmap.height, bytes(bitmap.buffer)
    kind = {1: 0, 3: 2, 4: 6}[bitmap.n_channels]
    starts = range(0, height * bitmap.stride, bitmap.stride)
    rows = b"".join(b"\0" + pixels[start : start + width * bitmap.n_channels] for start in starts)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 4)) + chunk(b"IEND", b"")


def _mark(page: "PdfPage", request: PageRequest) -> PageMarks:
    width, height = page.get_size()
    places = _find_words(page, request.text)
    spans = tuple(
        MarkedSpan(
            start=start,
            end=end,
            rectangles=tuple(
                _to_rectangle(page, box)
                for box in _join_boxes(
                    box for place in places if place.start < end and start < place.end for box in place.boxes
                )
            ),
        )
        for start, end in request.spans
    )
    return PageMarks(width=width, height=height, spans=spans)


def _find_words(page: "PdfPage", text: str) -> list[_Place]:
    """Return the words of the stored text that are on the page, in order."""
    text_page = page.get_textpage()
    try:
        extracted = text_page.get_text_bounded()
        indices = align_characters(text_page, extracted)
        line_ends = [place for place, character in enumerate(text) if character == "\n"]
        places = []
        for stored, found in _align_words(text, extracted):
            characters = [_read_box(text_page, indices[index]) for index in range(found.start, found.end)]
            boxes = tuple(_join_boxes(box for box in characters if box.right > box.left and box.top > box.bottom))
            if boxes:
                places.append(_Place(stored.start, stored.end, bisect(line_ends, stored.start), boxes))
    finally:
        text_page.close()
    return [place for _, line in groupby(places, key=lambda place: place.line) for place in _keep_own_line(list(line))]


def _keep_own_line(line: Sequence[_Place]) -> list[_Place]:
    """Return the words of a stored line that are on its own line of the page.

    A row of a table repeats its headers, and some of these words may be aligned with the header itself. Most words, or
    the lowest ones, are those of the row. A line with a hyphenated word continues on the next line, and stays whole.
    """
    if any(len(place.boxes) > 1 for place in line):
        return list(line)
    levels: list[list[_Place]] = []
    for place in line:
        level = next((level for level in levels if _overlap(level[0].boxes[0], place.boxes[0])), None)
        if level is None:
            levels.append([place])
        else:
            level.append(place)
    return max(levels, key=lambda level: (len(level), -level[0].boxes[0].bottom))


def _align_words(text: str, extracted: str) -> list[tuple[_Word, _Word]]:
    """Return the words that both texts have in the same order, as pairs."""
    stored, found = _list_words(text), _list_words(extracted)
    matcher = SequenceMatcher(None, [word.key for word in stored], [word.key for word in found], autojunk=False)
    return [
        (stored[block.a + number], found[block.b + number])
        for block in matcher.get_matching_blocks()
        for number in range(block.size)
    ]


def _list_words(text: str) -> list[_Word]:
    words = (_Word(_IGNORED.sub("", match.group()), match.start(), match.end()) for match in _WORD.finditer(text))
    return [word for word in words if word.key]


def _read_box(text_page: "PdfTextPage", index: int) -> _Box:
    """Return the box of a character, as high as its line."""
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, index, rectangle)
    return _Box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)


def _join_boxes(boxes: Iterator[_Box]) -> list[_Box]:
    """Join the boxes of neighbours on one line."""
    joined: list[_Box] = []
    for box in boxes:
        last = joined[-1] if joined else None
        if (
            last
            and _overlap(last, box)
            and _gap(last, box) < MAX_GAP * max(last.top - last.bottom, box.top - box.bottom)
        ):
            joined[-1] = _Box(
                min(last.left, box.left),
                min(last.bottom, box.bottom),
                max(last.right, box.right),
                max(last.top, box.top),
            )
        else:
            joined.append(box)
    return joined


def _overlap(one: _Box, other: _Box) -> bool:
    """Whether two boxes are on one line."""
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return shared > 0.5 * min(one.top - one.bottom, other.top - other.bottom)


def _gap(one: _Box, other: _Box) -> float:
    return max(other.left - one.right, one.left - other.right)


def _to_rectangle(page: "PdfPage", box: _Box) -> Rectangle:
    """Convert a box into a rectangle on the page as it is shown: rotated and cropped, from the top left."""
    corners = [_to_page(page, box.left, box.top), _to_page(page, box.right, box.bottom)]
    (left, right), (top, bottom) = (sorted(axis) for axis in zip(*corners, strict=True))
    return Rectangle(
        left=round(left, 2), top=round(top, 2), width=round(right - left, 2), height=round(bottom - top, 2)
    )


def _to_page(page: "PdfPage", x: float, y: float) -> tuple[float, float]:
    from pypdfium2 import raw

    width, height = page.get_size()
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, UNITS, UNITS, 0, x, y, across, down)
    return across.value * width / UNITS, down.value * height / UNITS

"""A page of a PDF as an image, and the rectangles of words of its stored text, compared with PDFium's own search."""

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pypdfium2
import pytest
from pypdfium2 import raw

from sourcebound.contracts.corpus.page_view import PageMarks, PageRequest, Rectangle
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.pdf.page_view import view_page
from support.pdf_files import write_pdf
from support.processes.databases import MANUALS

MANUAL = MANUALS / "hp-200-manual-rev-c.pdf"
TOLERANCE = 3.0
"""The points by which boxes of lines and of glyphs differ."""


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


def marks(data: bytes, number: int, text: str, *words: str) -> PageMarks:
    spans = tuple((text.index(each), text.index(each) + len(each)) for each in words)
    seen = view_page(data, PageRequest(number=number, text=text, spans=spans))
    assert isinstance(seen, PageMarks)
    return seen


def searched(data: bytes, number: int, words: str) -> list[Box]:
    """Return where PDFium finds words, from the top left corner of a page that is neither rotated nor cropped."""
    with pypdfium2.PdfDocument(data) as document:
        page = document[number - 1]
        text_page = page.get_textpage()
        search = text_page.search(words, match_case=True)
        start, count = search.get_next()
        boxes = [text_page.get_rect(each) for each in range(text_page.count_rects(start, count))]
        height = page.get_height()
        for each in (search, text_page, page):
            each.close()
    return [Box(left, height - top, right, height - bottom) for left, bottom, right, top in boxes]


def is_on(found: Rectangle, expected: Box) -> bool:
    differences = (
        found.left - expected.left,
        found.left + found.width - expected.right,
        max(0.0, found.top - expected.top),
        max(0.0, expected.bottom - found.top - found.height),
    )
    return all(abs(difference) <= TOLERANCE for difference in differences)


@pytest.mark.contract("R6-7")
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (13, "an oil charge of 0.65 litres in revision C."),
        (13, "Bearings and lubrication"),
        (5, "1.5 L/min of loop water"),
    ],
)
def test_the_rectangle_of_words_is_where_they_are(number: int, words: str) -> None:
    data = MANUAL.read_bytes()
    text = load_pdf(MANUAL, data).pages[number - 1].text
    (span,) = marks(data, number, text, words).spans
    (expected,) = searched(data, number, words)
    (found,) = span.rectangles
    assert is_on(found, expected), (found, expected)


def test_a_quote_of_two_lines_has_a_rectangle_on_each(tmp_path: Path) -> None:
    file = write_pdf(tmp_path / "two.pdf", "The relief valve of the ZQ-9", "is set to 7.5 bar. It is checked.")
    data = file.read_bytes()
    text = load_pdf(file, data).pages[0].text
    (span,) = marks(data, 1, text, "valve of the ZQ-9\nis set to 7.5 bar.").spans
    expected = [searched(data, 1, words)[0] for words in ("valve of the ZQ-9", "is set to 7.5 bar.")]
    assert len(span.rectangles) == 2
    assert all(map(is_on, span.rectangles, expected))


def test_a_row_of_a_table_is_marked_at_its_cells() -> None:
    """The stored row repeats the headers, which are elsewhere on the page."""
    data = MANUAL.read_bytes()
    pages = load_pdf(MANUAL, data).pages
    number, row = next((page.number, row) for page in pages for row in page.text.split("\n") if row.count(";") > 1)
    assert number is not None
    (span,) = marks(data, number, pages[number - 1].text, row).spans
    assert span.rectangles
    heights = {round(found.top) for found in span.rectangles}
    assert max(heights) - min(heights) <= TOLERANCE, (row, span.rectangles)


def rotate(data: bytes) -> bytes:
    with pypdfium2.PdfDocument(data) as document:
        document[0].set_rotation(90)
        document[0].set_cropbox(20, 500, 595, 842)
        written = io.BytesIO()
        document.save(written)
    return written.getvalue()


def test_rectangles_follow_a_page_that_is_rotated_and_cropped(tmp_path: Path) -> None:
    plain = write_pdf(tmp_path / "plain.pdf", "The relief valve", "is set to 7.5 bar.").read_bytes()
    data = rotate(plain)
    text = load_pdf(tmp_path / "plain.pdf", data).pages[0].text
    turned = marks(data, 1, text, "7.5 bar.")
    (found,) = turned.spans[0].rectangles
    (upright,) = searched(plain, 1, "7.5 bar.")
    assert turned.width == pytest.approx(342, abs=1)
    assert turned.height == pytest.approx(575, abs=1)
    assert found.left + found.width == pytest.approx(turned.width - upright.top, abs=TOLERANCE)
    assert found.top == pytest.approx(upright.left - 20, abs=TOLERANCE)


def test_words_that_are_not_on_the_page_have_no_rectangle() -> None:
    text = "Another text, which the page does not hold."
    assert marks(MANUAL.read_bytes(), 13, text, "Another text").spans[0].rectangles == ()


def inked(png: bytes) -> tuple[int, int, int]:
    """Return the width, the height and the count of dark pixels of a PNG."""
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    size = int.from_bytes(png[33:37], "big")
    rows = zlib.decompress(png[41 : 41 + size])
    assert len(rows) == height * (3 * width + 1)
    return width, height, sum(byte < 100 for byte in rows[1::3])


def test_the_image_of_a_page_has_the_width_and_the_ink_of_the_page(tmp_path: Path) -> None:
    data = write_pdf(tmp_path / "one.pdf", "The relief valve is set to 7.5 bar.").read_bytes()
    png = view_page(data, PageRequest(number=1, width=600))
    assert isinstance(png, bytes)
    width, height, dark = inked(png)
    assert width == pytest.approx(600, abs=1)
    assert height == pytest.approx(849, abs=1)
    assert 500 < dark < 20_000


def change(data: bytes) -> bytes:
    return b"no PDF"


@pytest.mark.parametrize(("number", "altered"), [(2, bytes), (1, change)])
def test_what_cannot_be_shown_is_an_error(tmp_path: Path, number: int, altered: Callable[[bytes], bytes]) -> None:
    data = altered(write_pdf(tmp_path / "one.pdf", "The relief valve.").read_bytes())
    with pytest.raises(ValueError, match="the file"):
        view_page(data, PageRequest(number=number, width=600))


def test_a_huge_page_has_an_image_of_bounded_size(tmp_path: Path) -> None:
    with pypdfium2.PdfDocument.new() as document:
        page = document.new_page(14_400, 14_400)
        raw.FPDFPage_GenerateContent(page)
        written = io.BytesIO()
        document.save(written)
        page.close()
    png = view_page(written.getvalue(), PageRequest(number=1, width=2400))
    assert isinstance(png, bytes)
    assert int.from_bytes(png[16:20], "big") * int.from_bytes(png[20:24], "big") <= 12_100_000

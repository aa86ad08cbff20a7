"""Page furniture is in no chunk, and a line with content is never furniture."""

from collections.abc import Callable, Sequence

import pytest
from fpdf import FPDF

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.contracts.corpus.page_view import PageMarks, PageRequest
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.loaders.pdf.furniture import find_furniture
from sourcebound.ingest.loaders.pdf.layout import Line
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.pdf.page_view import view_page
from sourcebound.ingest.prepare import LexicalCounter
from support.loading import Load, blocks
from support.pdf_lines import Placed, line
from support.places import ROOT
from support.processes.databases import MANUALS

Page = list[Line]
Write = Callable[[int], Page]


def body(page: int, first: float = 0.0) -> Page:
    """Six lines that no other page has."""
    letters = "abcdefghijklmnopqrst"
    return [line(first + number, (50, f"{letters[page]} {letters[number]} content")) for number in range(6)]


def furniture(*pages: Page) -> list[list[str]]:
    found = find_furniture(pages)
    return [
        [lines[index].text for index in (*each.above, *each.below)] for lines, each in zip(pages, found, strict=True)
    ]


def pages(count: int, write: Write) -> list[Page]:
    return [write(number) for number in range(count)]


def test_a_header_and_a_page_number_are_furniture_after_their_first_occurrence() -> None:
    found = furniture(
        *pages(5, lambda n: [line(-3, (50, "Pump PX-7, revision B")), *body(n), line(9, (50, f"Page {n + 1} of 5"))])
    )
    assert found[0] == []
    assert found[1:] == [["Pump PX-7, revision B", f"Page {number} of 5"] for number in range(2, 6)]


def test_a_page_number_alone_is_furniture_from_the_first_page_at_any_height() -> None:
    found = furniture(*pages(5, lambda n: [*body(n), line(7 + n * 3, (50, str(n + 40)))]))
    assert found == [[str(number)] for number in range(40, 45)]


def test_a_number_sign_is_not_a_number() -> None:
    texts = ("Page 1", "Page 2", "Page #", "Page 4", "Page 5")
    assert furniture(*[[*body(n), line(9, (50, text))] for n, text in enumerate(texts)]) == [
        *([], ["Page 2"], [], ["Page 4"], ["Page 5"]),
    ]


@pytest.mark.parametrize(
    "write",
    [
        lambda n: (50, f"PX-7 manual | {n + 2}"),
        lambda n: (50, f"PX-7 manual - Page {n + 2} of 9"),
        lambda n: (50, f"Seite {n + 2} von 9 · PX-7"),
        lambda n: (50, f"{n + 2} | Page"),
        lambda n: (50, f"Page: {n + 2}/9"),
        lambda n: (50, f"p. {n + 2}"),
    ],
)
def test_a_page_number_with_page_words_or_beside_a_title_is_furniture(write: Callable[[int], Placed]) -> None:
    found = furniture(*pages(5, lambda n: [*body(n), line(9, write(n))]))
    assert found == [[]] + [[write(number)[1]] for number in range(1, 5)]


def test_left_and_right_pages_may_have_different_headers() -> None:
    found = furniture(*pages(10, lambda n: [line(-3, (50, "Pump care" if n % 2 else "Chapter on seals")), *body(n)]))
    assert found == [[], []] + [["Chapter on seals"], ["Pump care"]] * 4


def test_each_text_of_a_header_stays_where_it_occurs_first() -> None:
    sections = ("3.1", "3.1", "3.2", "3.2", "3.2", "4.1")
    found = furniture(*[[line(-3, (50, f"Section {name}")), *body(n)] for n, name in enumerate(sections)])
    assert found == [[], ["Section 3.1"], [], ["Section 3.2"], ["Section 3.2"], []]


def test_headers_that_change_with_the_chapter_are_furniture_after_their_first_occurrence() -> None:
    def write(number: int) -> Page:
        name = ("Pump care", "Chapter on seals", "The motor", "Spare parts", "Index")[number // 4]
        return [line(-3, (50, name), (300, str(number + 1))), *body(number)]

    found = furniture(*pages(20, write))
    assert [index for index, lines in enumerate(found) if not lines] == [0, 4, 8, 12, 16]
    assert found[5] == ["Chapter on seals 6"]


@pytest.mark.parametrize("name", ["Chapter {}: R packages", "{}.2. The motor", "Appendix {}. Of the parts"])
def test_a_bold_header_of_numbered_sections_beside_the_page_number_is_furniture(name: str) -> None:
    def write(number: int) -> Page:
        text = name.format(number // 4 + 1)
        return [line(-3, (50, text), (300, str(number + 9)), bold=True), *body(number)]

    found = furniture(*pages(20, write))
    assert [index for index, lines in enumerate(found) if not lines] == [0, 4, 8, 12, 16]


def test_headers_on_single_pages_count_if_they_have_the_page_number() -> None:
    def write(number: int) -> Page:
        odd = f"{number}.1. Care of the {'abcdefghijklmnopqrst'[number]}"
        text = "Chapter 4. Pumps" if 4 <= number < 9 and number % 2 == 0 else odd
        return [line(-3, (50, text), (300, str(number + 1))), *body(number)]

    found = furniture(*pages(20, write))
    assert [lines for lines in found if lines] == [["Chapter 4. Pumps 7"], ["Chapter 4. Pumps 9"]]


@pytest.mark.parametrize(
    "write",
    [
        lambda n: [line(-3, (50, f"Part {'abcdefghij'[n // 2]} of the list")), *body(n)] if n < 4 else body(n, -3),
        lambda n: [line(-3, (50, f"Part {'abcdefghij'[n % 5]} of the list")), *body(n)],
        lambda n: [line(-3, (50, f"Part {'abcdefghij'[n // 2]} of the list"), bold=True), *body(n)],
        lambda n: [line(-1, (50, f"Part {'abcdefghij'[n // 2]} of the list")), *body(n)],
        lambda n: [line(-3 - n % 4, (50, f"Part {'abcdefghij'[n // 2]} of the list")), *body(n)],
    ],
)
def test_lines_on_few_pages_or_far_apart_or_like_headings_are_no_changing_headers(write: Write) -> None:
    assert furniture(*pages(11, write)) == [[]] * 11


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize(
    ("write", "content"),
    [
        (lambda n: [line(-1, (50, "Part"), (200, "Torque")), *body(n)], "the head of a table directly above its rows"),
        (
            lambda n: [
                line(-2, (50, "Part"), (200, "Torque")),
                line(0, (50, f"Bolt {'abcde'[n]}"), (200, "27 N·m")),
                *body(n, 1),
            ],
            "the head of a table with some space below it",
        ),
        (lambda n: [line(-3, (50, "WARNING: Hot surface")), *body(n)], "a warning on every page"),
        (lambda n: [line(-3, (50, "Vorsicht, heiß")), *body(n)], "a warning in another language"),
        (lambda n: [*body(n), line(9, (50, "Result: passed"))], "a value of each page"),
        (lambda n: [line(-3, (50, "Approved by:"), (200, "J. Roth")), *body(n)], "a value beside its label"),
        (lambda n: [line(-3 - n, (50, "See the plan.")), *body(n)], "a sentence at different heights"),
        (lambda n: [line(-3, (50, "Result: passed"), (300, "8")), *body(n)], "a value beside a number"),
        (lambda n: [line(-3, (50, "Record:"), (300, str(n + 1))), *body(n)], "a record that counts the pages"),
        (lambda n: [*body(n), line(9, (50, f"{9 - n * 3} bar"))], "a number that does not count the pages"),
        (lambda n: [*body(n), line(6, (50, "See the notes."))], "a line directly below the text"),
        (lambda n: [line(-3, (50, "Hot")), *body(n)][n > 3 :], "a line on four pages of twelve"),
        (
            lambda n: [*body(n), line(6.5, (50, "Keep dry")), *body(n + 10, 7.5)],
            "a line in the middle of the page",
        ),
        (
            lambda n: [line(-3, (50, f"Pump P-{n + 101}"), size=14), *body(n)],
            "the name of a part that counts the pages",
        ),
        (lambda n: [line(-3 - n, (50, f"Pump P-{n + 101}")), *body(n)], "such a name at different heights"),
        (lambda n: [line(-3, (50, f"Step {n + 1}"), bold=True), *body(n)], "a heading that counts the pages"),
        (lambda n: [line(-1, (50, f"Step {n + 1}")), *body(n)], "a line that counts the pages, above the text"),
        (lambda n: [line(-3, (50, f"Step {n + 1}")), *body(n)], "a line that counts the pages, set apart"),
        (lambda n: [line(-3, (50, "Step"), (90, str(n + 1)), size=14), *body(n)], "a heading in two parts"),
        (lambda n: [line(-1, (50, "Stage"), (200, str(n + 1))), *body(n)], "a row of a table that counts the pages"),
    ],
)
def test_a_line_with_content_is_never_furniture(write: Write, content: str) -> None:
    count = 12 if "twelve" in content else 5
    assert furniture(*pages(count, write)) == [[]] * count


def test_a_header_above_the_head_of_a_table_is_furniture_and_the_head_is_not() -> None:
    found = furniture(
        *pages(5, lambda n: [line(-5, (50, "Pump care")), line(-1, (50, "Part"), (200, "Torque")), *body(n)])
    )
    assert found == [[]] + [["Pump care"]] * 4


def test_rows_of_a_table_are_never_furniture() -> None:
    def write(number: int) -> Page:
        return [*body(number), line(9, (50, f"Page {number}"))._replace(is_row=True)]

    assert furniture(*pages(5, write)) == [[]] * 5


class _Manual(FPDF):
    """A manual whose header is drawn after the text, as some programs do."""

    def footer(self) -> None:
        self.set_font("Helvetica", size=8)
        self.set_y(10)
        self.cell(0, 5, "PX-7 Pump - Revision B")
        self.set_y(-15)
        self.cell(0, 5, f"Page {self.page_no()} of 4")


def _manual(texts: Sequence[str]) -> bytes:
    pdf = _Manual()
    for text in texts:
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        pdf.set_y(30)
        pdf.multi_cell(0, 6, text)
    return bytes(pdf.output())


TEXTS = [f"The {part} is checked every day. It is replaced once a year." for part in ("seal", "motor", "valve", "drum")]


def test_furniture_is_in_the_text_of_its_page_and_in_no_chunk(load: Load) -> None:
    document = load("pump.pdf", _manual(TEXTS))
    assert document.pages[2].text == f"PX-7 Pump - Revision B\n{TEXTS[2]}\nPage 3 of 4"
    assert blocks(document.pages[2], BlockKind.FURNITURE) == ["PX-7 Pump - Revision B", "Page 3 of 4"]
    chunks = chunk_document(document, "KB", LexicalCounter(), 300)
    assert [chunk.text for chunk in chunks[1:]] == TEXTS[1:]
    assert "Revision B" in chunks[0].text
    for chunk in chunks:
        assert document.pages[chunk.page_index].text[chunk.char_start : chunk.char_end] == chunk.text


def test_words_are_marked_at_their_place_next_to_furniture() -> None:
    data = _manual(TEXTS)
    page = load_pdf(ROOT / "pump.pdf", data).pages[2]
    start = page.text.index("valve")
    seen = view_page(data, PageRequest(number=3, text=page.text, spans=((start, start + 5),)))
    assert isinstance(seen, PageMarks)
    (rectangle,) = seen.spans[0].rectangles
    assert 80 < rectangle.top < 110
    assert 40 < rectangle.left < 60


def test_the_chunks_of_a_manual_are_free_of_its_running_header() -> None:
    path = MANUALS / "hp-200-manual-rev-c.pdf"
    document = load_pdf(path, path.read_bytes())
    header = "OM-HP200 · HP-200 Circulation Pump · Revision C"
    assert all(header in page.text for page in document.pages)
    chunks = chunk_document(document, "KB", LexicalCounter(), 320)
    assert [chunk.page_number for chunk in chunks if header in chunk.text] == [1]
    assert not [chunk.text for chunk in chunks if "of 16" in chunk.text and chunk.page_number != 1]

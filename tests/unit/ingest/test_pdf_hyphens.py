"""Words of a PDF that the ends of lines divide are whole, and hyphens of compounds stay."""

from time import process_time

import pytest
from fpdf import FPDF

from sourcebound.ingest.loaders.pdf.hyphens import join_divided_words
from sourcebound.ingest.loaders.pdf.layout import Line
from support.loading import Load, blocks
from support.pdf_lines import line

VOCABULARY = " ".join(
    first + second for first in ("mo", "ka", "tu", "ri", "se") for second in map(chr, range(0x3B1, 0x3B1 + 400))
)
"""More words than a short document has."""
LONGEST = 5
"""In seconds; if the time grows with the square of the length, it is longer."""


def joined(text: str, *others: str) -> str:
    """Return a line with marked hyphens, on a page of its own before pages of other texts."""
    pages = [[_line(text)], *([_line(other)] for other in others)]
    return join_divided_words(pages)[0][0].text


def _line(text: str) -> Line:
    return line(0, (50, text))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("system adminis\x02tration tasks", "The administration is small."),
        ("the Transac\x02tion ends", "a transaction"),
        ("Adminis\x02tration", "ADMINISTRATION and administration"),
    ],
)
def test_a_word_that_another_page_has_is_joined(text: str, other: str) -> None:
    assert joined(text, other) == text.replace("\x02", "")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("a user\x02defined value", "The user knows a defined value."),
        ("a read\x02only file", "A readonly variable of a read-only file."),
        ("engine IO\x02470", "The IO470 is another one."),
        ("the unit US\x02ER", "the user"),
        ("system adminis\x02tration tasks", "Nothing else."),
        ("ends with\x02", "ends with"),
    ],
)
def test_in_doubt_the_hyphen_stays(text: str, other: str) -> None:
    assert joined(text, other) == text.replace("\x02", "-")


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("in nomen\x02clature and", VOCABULARY, "in nomenclature and"),
        ("in nomen\x02clature and", "Few words.", "in nomen-clature and"),
        ("in nomen\x02clature and", f"{VOCABULARY} nomen", "in nomen-clature and"),
        ("a non\x02linear value", VOCABULARY, "a non-linear value"),
        ("a performance\x02critical part", VOCABULARY, "a performance-critical part"),
        ("by Addi\x02Wesley", VOCABULARY, "by Addi-Wesley"),
    ],
)
def test_a_long_document_knows_which_parts_are_no_words(text: str, other: str, expected: str) -> None:
    assert joined(text, other) == expected


def _pages(*texts: str) -> bytes:
    pdf = FPDF()
    for text in texts:
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, text)
    return bytes(pdf.output())


def test_a_page_is_read_with_the_words_of_the_whole_document(load: Load) -> None:
    data = _pages("The lid closes the adminis-\ntration box.\nIt is\nred.", "The administration is on the upper floor.")
    page = load("box.pdf", data).pages[0]
    assert page.text == "The lid closes the administration box.\nIt is\nred."


def test_a_divided_word_ends_no_paragraph(load: Load) -> None:
    text = "The adminis-\ntration of the box and\nof the lid and\nof the hinge and\nof the lock is simple."
    page = load("box.pdf", _pages(text)).pages[0]
    assert len(blocks(page)) == 1


def test_a_long_text_without_spaces_takes_no_longer_than_words() -> None:
    start = process_time()
    text = "a" * 60_000
    assert joined(text) == text
    assert process_time() - start < LONGEST

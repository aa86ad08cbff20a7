"""Pages without a text layer are read as pictures where that is asked for, and the document says so."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.errors import DocumentError
from sourcebound.ingest.loaders.pdf.load import load_pdf
from sourcebound.ingest.loaders.pdf.ocr import Picture, Reading
from sourcebound.ingest.loaders.select import parse_document
from sourcebound.ingest.prepare import name_source
from support.pictures import scanned_pdf

PATH = Path("scan.pdf")
DATA = scanned_pdf(["Pump care"], "This page has a text layer.", ["Torques"])


class Reader:
    """A reader that finds the same readings in every picture, and counts the pictures."""

    def __init__(self, *readings: Reading) -> None:
        self.readings = readings
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, picture: Picture) -> Sequence[Reading]:
        self.shapes.append(picture.shape)
        return self.readings


LINE = Reading("The seal is checked  daily.", 200, 300, 900, 340)


def test_only_pages_without_text_are_read_as_pictures() -> None:
    reader = Reader(LINE)
    document = parse_document(PATH, DATA, 10_000_000, reader)
    assert [page.text for page in document.pages] == [
        "The seal is checked daily.",
        "This page has a text layer.",
        "The seal is checked daily.",
    ]
    assert document.recognized_pages == (1, 3)
    assert [(shape[0], shape[2]) for shape in reader.shapes] == [(1800, 3)] * 2


def test_readings_on_one_row_are_one_row_of_a_table() -> None:
    cells = [("2023", 600, 300), ("2022", 900, 300)]
    cells += [("Sales", 200, 360), ("46,298", 600, 362), ("51,761", 900, 358)]
    cells += [("Costs", 200, 420), ("36,386", 600, 420), ("40,121", 900, 420)]
    reader = Reader(*(Reading(text, left, top, left + 25 * len(text), top + 36) for text, left, top in cells))
    assert load_pdf(PATH, scanned_pdf(["x"]), reader).pages[0].text == (
        "Sales; 2023: 46,298; 2022: 51,761\nCosts; 2023: 36,386; 2022: 40,121"
    )


def test_readings_next_to_each_other_are_one_line_and_those_below_another() -> None:
    reader = Reader(
        Reading("Pressure", 200, 300, 400, 340),
        Reading("27 bar", 500, 303, 640, 342),
        LINE._replace(top=400, bottom=440),
    )
    assert load_pdf(PATH, scanned_pdf(["x"]), reader).pages[0].text == "Pressure 27 bar\nThe seal is checked daily."


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize(("reader", "next_step"), [(None, "--ocr"), (Reader(), "Scan it again")])
def test_a_scan_without_recognized_text_is_refused_and_says_what_to_do(reader: Reader | None, next_step: str) -> None:
    with pytest.raises(DocumentError) as raised:
        load_pdf(PATH, scanned_pdf(["Pump care"]), reader)
    assert raised.value.failure_code == "NO_TEXT"
    assert next_step in raised.value.next_step


def test_a_page_that_stays_empty_is_not_called_recognized() -> None:
    document = load_pdf(PATH, DATA, Reader())
    assert (document.pages[0].text, document.recognized_pages) == ("", ())


@pytest.mark.parametrize(
    ("pages", "name"),
    [
        (([""], "a", [""]), "scan.pdf (text by OCR on pages 1, 3)"),
        (("a", [""]), "scan.pdf (text by OCR on page 2)"),
        (([""], [""]), "scan.pdf (text by OCR)"),
        (("a", "b"), "scan.pdf"),
    ],
)
def test_a_citation_names_the_pages_that_were_recognized(pages: Sequence[Sequence[str] | str], name: str) -> None:
    document: ParsedDocument = load_pdf(PATH, scanned_pdf(*pages), Reader(LINE))
    assert name_source("scan.pdf", document) == name

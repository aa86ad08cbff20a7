"""The tables, lists and line breaks of Rich Text files."""

from time import process_time

import pytest

from sourcebound.contracts.corpus.document import BlockKind
from support.loading import Load, blocks, headings, refusal


def row(*cells: bytes, start: bytes = rb"\trowd\cellx900\cellx1800 ", end: bytes = b"") -> bytes:
    return start + b"".join(rb"\pard\intbl " + cell + rb"\cell " for cell in cells) + end + rb"\row" + b"\n"


def write(*parts: bytes) -> bytes:
    return rb"{\rtf1\ansi " + b"".join(parts) + b"}"


INTRO = rb"\pard See below.\par "


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({"end": rb"{\trowd\cellx900\cellx1800}"}, {}),
        ({}, {"start": b""}),
    ],
)
def test_the_rows_of_a_table_of_rich_text_have_their_headers(
    load: Load, first: dict[str, bytes], second: dict[str, bytes]
) -> None:
    rows = row(rb"Part\par name", b"Torque", **first) + row(b"Bolt", rb"27 Nm\par dry", **second)
    page = load("a.rtf", write(INTRO, rows, rb"\pard It runs.\par ")).pages[0]
    assert blocks(page) == ["See below.", "Part name: Bolt; Torque: 27 Nm dry", "It runs."]
    assert blocks(page, BlockKind.TABLE_ROW) == ["Part name: Bolt; Torque: 27 Nm dry"]


def test_a_row_of_rich_text_whose_start_is_not_named_starts_with_its_line(load: Load) -> None:
    page = load("a.rtf", write(INTRO, row(b"Part", b"Torque", start=b""), row(b"Bolt", b"27 Nm"))).pages[0]
    assert blocks(page) == ["See below.", "Part: Bolt; Torque: 27 Nm"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (rb"\trowd Wear gloves.\row", ["See below.", "Wear gloves.", "It runs."]),
        (rb"Wear gloves.\row", ["See below.", "Wear gloves.", "It runs."]),
        (rb"\trowd Bolt\cell 27 Nm\cell dry\row", ["See below.", "Bolt; 27 Nm; dry", "It runs."]),
        (
            rb"Part\cell Torque\cell\trowd\row Nut\cell 9 Nm\cell\trowd\row",
            ["See below.", "Part: Nut; Torque: 9 Nm", "It runs."],
        ),
    ],
)
def test_no_text_of_a_damaged_row_of_rich_text_is_lost(load: Load, given: bytes, shown: list[str]) -> None:
    assert blocks(load("a.rtf", write(INTRO, given, rb"\pard It runs.\par ")).pages[0]) == shown


def test_two_tables_of_rich_text_have_their_own_headers_and_one_column_is_text(load: Load) -> None:
    first = row(b"Part", b"Torque") + row(b"Bolt", b"27 Nm")
    second = row(b"Oil", b"Volume") + row(b"VG 46", b"2 l")
    page = load("a.rtf", write(first, INTRO, second, INTRO, row(b"Wear gloves."))).pages[0]
    rows = ["Part: Bolt; Torque: 27 Nm", "Oil: VG 46; Volume: 2 l"]
    assert blocks(page, BlockKind.TABLE_ROW) == rows
    assert blocks(page)[-1] == "Wear gloves."


def test_a_bar_in_rich_text_is_no_cell(load: Load) -> None:
    assert load("a.rtf", write(rb"Type a|b or \\cell here.\par ")).pages[0].text == r"Type a|b or \cell here."


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        (rb"{\listtext 1.\tab}", "1. Stop the pump"),
        (rb"{\pntext\pard 1)\tab}", "1) Stop the pump"),
        (rb"{\listtext\f1\'b7\tab}", "· Stop the pump"),
        (rb"{\listtext\uc0\u8226 }", "• Stop the pump"),
        (rb"{\listtext\f2 o\tab}", "• Stop the pump"),
        (rb"{\listtext\f3\'a7\tab}", "• Stop the pump"),
    ],
)
def test_the_items_of_a_list_of_rich_text_are_one_list(load: Load, mark: bytes, shown: str) -> None:
    item = rb"\pard " + mark + rb"\ls1\ilvl0 %s\par "
    document = load("a.rtf", write(INTRO, item % b"Stop the pump", item % b"Drain it", INTRO))
    assert blocks(document.pages[0], BlockKind.LIST_ITEM) == [shown, shown.replace("Stop the pump", "Drain it")]
    assert f"{shown}\n{shown[:2]}" in document.pages[0].text
    assert headings(document) == []


def test_a_number_of_one_digit_without_a_mark_is_no_bullet(load: Load) -> None:
    items = rb"{\listtext 1\tab}Terms\par {\listtext 2\tab}End\par "
    assert blocks(load("a.rtf", write(items)).pages[0]) == ["1 Terms", "2 End"]


def test_a_numbered_clause_of_rich_text_is_a_paragraph_with_its_number(load: Load) -> None:
    page = load("a.rtf", write(rb"\pard{\listtext 2.1\tab}\ls1 The buyer pays.\par ")).pages[0]
    assert (blocks(page, BlockKind.PARAGRAPH), page.text) == (["2.1 The buyer pays."], "2.1 The buyer pays.")


def test_a_line_break_of_rich_text_ends_no_paragraph_and_two_do(load: Load) -> None:
    page = load("a.rtf", write(rb"\pard The pump\line runs.\line\line It is red.\par ")).pages[0]
    assert blocks(page) == ["The pump\nruns.", "It is red."]


def test_a_rich_text_of_empty_cells_has_no_text(load: Load) -> None:
    assert refusal(load, "a.rtf", write(row(b"", b""))).failure_code == "NO_TEXT"


def test_many_spaces_in_an_item_of_rich_text_take_no_time(load: Load) -> None:
    start = process_time()
    page = load("a.rtf", write(rb"{\listtext }", b" " * 60_000, rb"\par It runs.\par ")).pages[0]
    assert (blocks(page), process_time() - start < 5) == (["It runs."], True)


def test_a_bar_in_a_cell_of_rich_text_stays(load: Load) -> None:
    rows = row(b"Part", b"Type") + row(b"Bolt", b"a|b")
    assert blocks(load("a.rtf", write(rows)).pages[0]) == ["Part: Bolt; Type: a|b"]


def test_a_bold_item_with_a_bullet_is_no_heading_of_rich_text(load: Load) -> None:
    item = rb"{\listtext \'95\tab}{\b Wear gloves}\par "
    document = load("a.rtf", write(rb"\pard See below.\par ", item, rb"\pard It runs.\par "))
    assert (headings(document), blocks(document.pages[0])[1]) == ([], "\u2022 Wear gloves")

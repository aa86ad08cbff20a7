"""Blocks and headings of a PDF page, over hand-made lines."""

from time import process_time

import pytest
from fpdf import FPDF

from sourcebound.contracts.corpus.document import BlockKind, Page
from sourcebound.ingest.loaders.pdf.layout import (
    Line,
    OutlineEntry,
    rank_heading_styles,
    split_by_outline,
    split_by_style,
)
from support.loading import Load, blocks


def _line(number: int, text: str, size: float = 10, bold: bool = False, bottom: float | None = None) -> Line:
    start = number * 1000
    return Line(
        start, start + len(text), text, size, bold, 50, 500, bottom if bottom is not None else 700 - number * 12
    )


def test_small_print_does_not_turn_the_body_into_headings() -> None:
    prose = [_line(number, "Ordinary text of the report, in lines as long as this one is.", 12) for number in range(20)]
    notes = [
        _line(number, "Terms and conditions in small print, of which there are more.", 8) for number in range(20, 60)
    ]
    assert rank_heading_styles([prose, notes]) == {}


def test_a_long_run_of_bold_lines_is_not_a_heading() -> None:
    bold = [_line(number, "Warning text that goes on", bold=True) for number in range(5)]
    prose = [_line(number, "Ordinary text of the report " * 3) for number in range(5, 25)]
    lines = [*bold, *prose]
    kinds = {block.kind for block in split_by_style(lines, rank_heading_styles([lines]), frozenset())}
    assert kinds == {BlockKind.PARAGRAPH}


def test_a_paragraph_that_goes_on_in_the_next_column_is_one_block() -> None:
    lines = [_line(0, "The seal is made of", bottom=100), _line(1, "rubber and steel.", bottom=700)]
    assert [(b.char_start, b.char_end) for b in split_by_style(lines, {}, frozenset())] == [(0, 1017)]


def headings(lines: list[Line], running_heads: frozenset[str] = frozenset()) -> list[tuple[str, int]]:
    """Return the headings of a page with their levels. Two lines are large headings, of the levels 1 and 2."""
    larger = [_line(90, "Large", 20), _line(91, "Larger", 30)]
    levels = rank_heading_styles([[*(_line(number, "Ordinary text " * 9) for number in range(40)), *larger]])
    found = [block for block in split_by_style(lines, levels, running_heads) if block.level]
    return [
        ("/".join(line.text for line in lines if block.char_start <= line.start < block.char_end), block.level)
        for block in found
    ]


def _title(number: int, text: str, left: float = 200, right: float = 350) -> Line:
    return _line(number, text)._replace(left=left, right=right)


PROSE = _line(9, "Ordinary text of the report, from one edge to the other.")


def test_a_title_in_capitals_centred_over_the_text_is_a_heading_of_the_lowest_level() -> None:
    lines = [_title(0, "STATEMENTS OF INCOME"), _title(1, "AND EXPENSES"), _title(2, "(Unaudited)"), PROSE]
    assert headings(lines) == [("STATEMENTS OF INCOME/AND EXPENSES", 2)]


def test_a_title_as_wide_as_the_text_is_a_heading_with_its_shorter_line() -> None:
    lines = [_title(0, "STATEMENTS OF INCOME AND OF", 50, 500), _title(1, "EXPENSES"), PROSE]
    assert headings(lines) == [("STATEMENTS OF INCOME AND OF/EXPENSES", 2)]


def test_a_running_head_above_a_title_is_no_part_of_it() -> None:
    lines = [_title(0, "ACME AND SUBSIDIARIES"), _title(1, "BALANCE SHEETS"), PROSE]
    assert headings(lines, frozenset({"ACME AND SUBSIDIARIES"})) == [("BALANCE SHEETS", 2)]


@pytest.mark.parametrize(
    "lines",
    [
        [_title(0, "Statements of Income")],
        [_title(0, "ASSETS")],
        [_title(0, "LEFT OF THE MIDDLE", 80, 230)],
        [_title(0, "THIS TEXT IN CAPITALS RUNS OVER LINES", 50, 500), _title(1, "AND ENDS HERE", 50, 200)],
        [_title(0, "TOTAL 46,298 51,761")],
        [_title(number, "ONE OF FOUR LINES") for number in range(4)],
        [_title(0, "DO NOT OPEN THE COVER.")],
        [_title(0, "A) SWITCH OFF THE PUMP")],
        [_title(0, "EUROPEAN UNION"), _line(1, "and of other places")],
    ],
)
def test_other_lines_are_no_titles(lines: list[Line]) -> None:
    assert headings([*lines, PROSE]) == []


def test_a_run_of_large_lines_in_capitals_that_is_too_long_for_a_heading_has_no_titles() -> None:
    large = [_title(number, "CERTIFICATION PURSUANT TO")._replace(size=20) for number in range(5)]
    large[2] = large[2]._replace(text="Rule 13a of the Act")
    assert headings([*large, PROSE]) == []


def _kinds(*texts: str) -> list[BlockKind]:
    lines = [_line(number * 3, text) for number, text in enumerate(texts)]
    return [block.kind for block in split_by_style(lines, {}, frozenset())]


def test_a_list_item_with_numbers_or_dashes_is_no_row() -> None:
    items = (
        "• Copyright 2004 - 2007",
        "◦ Copyright 2004 - 2007",
        "– latency-test - standard test",
        "2. TERRAIN CONDITION - GRASS",
    )
    assert _kinds(*items, "Sales – 46 51") == [*[BlockKind.LIST_ITEM] * 3, BlockKind.TABLE_ROW, BlockKind.TABLE_ROW]


def test_a_line_that_ends_a_sentence_is_no_row() -> None:
    lines = [_line(0, "You can start them from the root shell. See"), _line(1, "Section 1.1.4 and Section 7.8.")]
    assert [block.kind for block in split_by_style(lines, {}, frozenset())] == [BlockKind.PARAGRAPH]


def test_a_line_that_ends_lower_than_it_begins_is_close_to_the_next_one() -> None:
    lines = [_line(0, "The administration of"), *(_line(number, "the box and") for number in range(2, 6))]
    assert len(split_by_style([lines[0]._replace(drop=12), *lines[1:]], {}, frozenset())) == 1


@pytest.mark.parametrize(
    ("texts", "title", "expected"),
    [
        (("32", "5 Transactions", "Ordinary text."), "5 Transactions", "5 Transactions"),
        (("5", "Transactions", "Ordinary text."), "5 Transactions", "5/Transactions"),
        (("Chapter one", "Transactions", "Ordinary text."), "Chapter one Transactions", "Chapter one/Transactions"),
        (("2023", "Ordinary text."), "2023", "2023"),
    ],
)
def test_the_number_of_a_page_above_a_title_is_no_part_of_it(texts: tuple[str, ...], title: str, expected: str) -> None:
    lines = [_line(number, text) for number, text in enumerate(texts)]
    found = [block for block in split_by_outline(lines, [OutlineEntry(0, 1, title)]) if block.level]
    within = [line.text for line in lines for block in found if block.char_start <= line.start < block.char_end]
    assert "/".join(within) == expected


def _page(load: Load, *texts: tuple[int, str], section: str = "") -> Page:
    pdf = FPDF()
    pdf.add_page()
    if section:
        pdf.set_font("Helvetica")
        pdf.start_section(section)
    for size, text in (*texts, (11, "The box is of wood. " * 20)):
        pdf.set_font("Helvetica", size=size)
        pdf.multi_cell(0, 8, text, new_x="LMARGIN", new_y="NEXT")
    return load("box.pdf", bytes(pdf.output())).pages[0]


def test_a_blank_line_is_between_a_heading_and_the_text(load: Load) -> None:
    title = "Common misconceptions about the lid of the box"
    page = _page(load, (11, "The lid is red."), (18, title), (11, "Its steel is heavy."))
    assert page.text.startswith(f"The lid is red.\n\n{title}\n\nIts steel is heavy.\nThe box")
    assert blocks(page, BlockKind.HEADING) == [title]


@pytest.mark.parametrize(
    ("above", "title", "below"),
    [
        ("The lid is red.", "Its steel is heavy, and the hinges are", "of brass."),
        ("It was filed with the Securities and", "Exchange Commission.", "The lid is red."),
        ("The lid, the box,", "The Hinges and the Lock", "are red."),
    ],
)
def test_no_blank_line_is_within_a_sentence_in_two_styles(load: Load, above: str, title: str, below: str) -> None:
    page = _page(load, (11, above), (18, title), (11, below))
    assert blocks(page, BlockKind.HEADING) == [title]
    assert f"{title}\n{below}" in page.text
    assert (f"{above}\n{title}" in page.text) is not above.endswith("red.")


def test_a_blank_line_is_below_a_heading_of_the_outline_whatever_follows(load: Load) -> None:
    page = _page(load, (11, "The lid,"), (11, "The command"), (11, "disassemble is one."), section="The command")
    assert page.text.startswith("The lid,\n\nThe command\n\ndisassemble is one.")


def test_a_long_number_that_a_letter_ends_is_no_title_and_takes_no_time() -> None:
    start = process_time()
    blocks = split_by_outline([_line(0, f"{'1' * 28}x"), _line(1, "It runs.")], [OutlineEntry(0, 1, "Pump")])
    assert {block.kind for block in blocks} == {BlockKind.PARAGRAPH}
    assert process_time() - start < 5


@pytest.mark.parametrize(
    ("text", "right", "is_item"),
    [
        ("certificate.", 110, True),
        ("certificates of the child are free of charge.", 800, False),  # its first word had room in the line above
        ("Certificates are free.", 110, False),
    ],
)
def test_a_line_that_goes_on_with_an_item_is_a_part_of_it(text: str, right: float, is_item: bool) -> None:
    item = _line(0, "• Include a copy of each birth")._replace(right=300)
    rest = _line(1, text)._replace(right=right)
    kinds = [block.kind for block in split_by_style([item, rest], {}, frozenset())]
    assert kinds == [BlockKind.LIST_ITEM] + [BlockKind.PARAGRAPH] * (not is_item)


def test_a_line_below_an_item_that_has_ended_is_no_part_of_it() -> None:
    item = _line(0, "• Include a copy.")._replace(right=300)
    assert len(split_by_style([item, _line(1, "and more")._replace(right=110)], {}, frozenset())) == 2

"""Blocks and headings of a PDF page, over hand-made lines."""

import pytest

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.pdf.layout import Line, rank_heading_styles, split_by_style


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

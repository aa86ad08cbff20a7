"""Blocks and headings of a PDF page, over hand-made lines."""

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

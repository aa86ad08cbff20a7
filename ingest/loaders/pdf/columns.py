"""Cells, visual rows and columns of a PDF page, told by the gaps between glyphs. Pure.

PDFium breaks lines by the order in which a file draws them, so a reader's row may be several lines. Lines that follow
one another on one baseline are one visual row here.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.layout import Cell, Line

# In sizes of type; words stand about a quarter apart, and seldom half where text is justified.
_CELL_GAP = 0.9
_CURRENCY_GAP = 0.4
_CLOSING_GAP = 1.5
_SAME_BASELINE = 0.45
_SAME_COLUMN = 0.2
_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$€£¥]")
_CLOSING = re.compile(r"[)%]+")
_FIGURE = re.compile(
    r"(?:[A-Z]{1,3})?[$€£¥]?\s?[-–—−+(<>~]*\s?[$€£¥]?\s?\d[\d.,’']*(?:\s?(?:%|x|bps|pts?\.?|[$€£¥]))?\)?\s?%?(?:\s?\(\w\))?"
    r"|[$€£¥]?\s?[-–—−*]+\s?%?|(?:n/?[am]\.?)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PERIOD = re.compile(r"(?:[^\W\d]|\W|\d{1,2}(?!\d))*\b(?:19|20)\d\d\b\W{0,2}")
_MOST_WORDS_OF_A_PERIOD = 8


class Column(NamedTuple):
    """The horizontal extent of a column, in points."""

    left: float
    right: float

    @property
    def middle(self) -> float:
        """Half way between its edges."""
        return (self.left + self.right) / 2


class Row(NamedTuple):
    """The lines on one baseline: `lines[first:end]` of the page."""

    first: int
    end: int
    line: Line
    """How the row looks as one line; its text and offsets are not used."""
    cells: tuple[Cell, ...]
    baseline: float
    size: float


def visual_rows(lines: Sequence[Line]) -> list[Row]:
    """The lines of a page, those that follow one another on one baseline joined."""
    rows: list[Row] = []
    for position, line in enumerate(lines):
        row = row_of(line, line.cells, position)
        if rows and (both := _on_one_baseline(rows[-1], row)):
            row = both
            rows.pop()
        rows.append(row)
    return rows


def row_of(line: Line, cells: Iterable[Cell], first: int, end: int | None = None) -> Row:
    """A row of these cells, from left to right, with the parts of a figure put together."""
    last = first + 1 if end is None else end
    ordered = with_whole_figures(sorted(cells, key=lambda cell: cell.left))
    if not ordered:
        return Row(first, last, line, (), line.bottom, line.size)
    baseline = min(cell.baseline for cell in ordered)
    look = line._replace(left=ordered[0].left, right=ordered[-1].right)
    return Row(first, last, look, ordered, baseline, max(cell.size for cell in ordered))


def is_level(cells: Sequence[Cell]) -> bool:
    """Whether cells stand on one baseline, give or take a superscript."""
    baselines = [cell.baseline for cell in cells]
    return max(baselines) - min(baselines) <= _SAME_BASELINE * max(cell.size for cell in cells)


def is_bold(row: Row) -> bool:
    """Whether every cell of a row begins in bold."""
    return all(cell.bold for cell in row.cells)


def _on_one_baseline(before: Row, row: Row) -> Row | None:
    cells = (*before.cells, *row.cells)
    if not before.cells or not row.cells or not is_level(cells):
        return None
    if row.cells[0].left < before.cells[-1].right - row.size * 0.1:
        return None
    return row_of(before.line, cells, before.first, row.end)


def with_whole_figures(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Cells with `$` put to the figure after it, and `)` or `%` to the one before; what stands close is one cell."""
    whole: list[Cell] = []
    for cell in cells:
        if whole and _belong_together(whole[-1], cell):
            whole[-1] = _together(whole[-1], cell)
        else:
            whole.append(cell)
    return tuple(whole)


def _belong_together(before: Cell, cell: Cell) -> bool:
    gap, size = cell.left - before.right, max(before.size, cell.size)
    if _CURRENCY.fullmatch(before.text) or (_CLOSING.fullmatch(cell.text) and gap < size * _CLOSING_GAP):
        return True
    return not starts_cell(gap, size, cell.text)


def starts_cell(gap: float, size: float, text: str) -> bool:
    """Whether text that stands `gap` points after other text on its line belongs to another cell.

    A sign of currency needs less of a gap: it may stand close to a figure of the column before.
    """
    return gap >= size * (_CURRENCY_GAP if _CURRENCY.fullmatch(text) else _CELL_GAP)


def _together(first: Cell, second: Cell) -> Cell:
    return first._replace(
        text=f"{first.text} {second.text}",
        right=max(first.right, second.right),
        baseline=min(first.baseline, second.baseline),
        size=max(first.size, second.size),
        bold=first.bold and second.bold,
    )


def joined(cells: Sequence[Cell]) -> str:
    """The text of cells as one line."""
    return " ".join(cell.text for cell in cells)


def is_figure(text: str) -> bool:
    """Whether a cell is an amount, a share, or a dash or `n/a` in place of one; a bare year is not."""
    return _FIGURE.fullmatch(text) is not None and _YEAR.fullmatch(text) is None


def is_period(text: str) -> bool:
    """Whether a header is a year or a date with one: `2023`, `July 29, 2023`, `Three Months Ended June 30, 2022`."""
    return _PERIOD.fullmatch(text) is not None and len(text.split()) <= _MOST_WORDS_OF_A_PERIOD


def columns_of(row: Row) -> tuple[Column, ...]:
    """One column for each cell of a row; none for a row that is not level."""
    if not row.cells or not is_level(row.cells):
        return ()
    return tuple(Column(cell.left, cell.right) for cell in row.cells)


def widened(columns: Sequence[Column], row: Row) -> tuple[Column, ...] | None:
    """The columns with a row added to them.

    Returns:
        None where two of its cells would share a column, or two columns would run into one another.
    """
    if not row.cells or not is_level(row.cells):
        return None
    found = list(columns)
    for cell in row.cells:
        near = [column for column in found if is_over(cell, column)]
        if len(near) > 1:
            return None
        edges = [cell.left, cell.right, *(edge for column in near for edge in column)]
        found = sorted([*(column for column in found if column not in near), Column(min(edges), max(edges))])
    taken = [column_of(cell, found) for cell in row.cells]
    clear = all(left.right < right.left for left, right in pairwise(found))
    return tuple(found) if clear and len(set(taken)) == len(taken) else None


def is_over(cell: Cell, column: Column) -> bool:
    """Whether a cell and a column share a vertical line, give or take less than a gutter."""
    slack = _SAME_COLUMN * cell.size
    return cell.left - slack < column.right and column.left < cell.right + slack


def column_of(cell: Cell, columns: Sequence[Column]) -> int:
    """The place of the column in which a cell stands: the one that it shares most of its width with."""
    shared = [min(cell.right, column.right) - max(cell.left, column.left) for column in columns]
    return shared.index(max(shared))

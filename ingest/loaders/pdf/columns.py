"""Cells, visual rows and columns of a PDF page, extended by the gaps between glyphs. Pure.

PDFium breaks lines by the order in which a file draws them, so one visible row may be several lines. Consecutive lines
on one baseline form one visual row here.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.layout import Cell, Line

# In font sizes. The gap between words is about a quarter, and seldom half in justified text.
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
        """The midpoint between its edges."""
        return (self.left + self.right) / 2


class Row(NamedTuple):
    """The lines on one baseline: `lines[first:end]` of the page."""

    first: int
    end: int
    line: Line
    """The style of the row as one line. Its text and offsets are not used."""
    cells: tuple[Cell, ...]
    baseline: float
    size: float


def group_visual_rows(lines: Sequence[Line]) -> list[Row]:
    """Group the lines of a page into visual rows: consecutive lines on one baseline are one row."""
    rows: list[Row] = []
    for position, line in enumerate(lines):
        row = make_row(line, line.cells, position)
        if rows and (both := _join_rows(rows[-1], row)):
            row = both
            rows.pop()
        rows.append(row)
    return rows


def make_row(line: Line, cells: Iterable[Cell], first: int, end: int | None = None) -> Row:
    """Make a row of cells, from left to right, and join the parts of each figure."""
    last = first + 1 if end is None else end
    ordered = join_figures(sorted(cells, key=lambda cell: cell.left))
    if not ordered:
        return Row(first, last, line, (), line.bottom, line.size)
    baseline = min(cell.baseline for cell in ordered)
    look = line._replace(left=ordered[0].left, right=ordered[-1].right)
    return Row(first, last, look, ordered, baseline, max(cell.size for cell in ordered))


def is_level(cells: Sequence[Cell]) -> bool:
    """Whether cells are on one baseline, within the tolerance of a superscript."""
    baselines = [cell.baseline for cell in cells]
    return max(baselines) - min(baselines) <= _SAME_BASELINE * max(cell.size for cell in cells)


def is_bold(row: Row) -> bool:
    """Whether every cell of a row begins in bold."""
    return all(cell.bold for cell in row.cells)


def _join_rows(before: Row, row: Row) -> Row | None:
    cells = (*before.cells, *row.cells)
    if not before.cells or not row.cells or not is_level(cells):
        return None
    if row.cells[0].left < before.cells[-1].right - row.size * 0.1:
        return None
    return make_row(before.line, cells, before.first, row.end)


def join_figures(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Join `$` to the figure after it, `)` and `%` to the figure before it, and cells without a gap to each other."""
    whole: list[Cell] = []
    for cell in cells:
        if whole and _is_one_cell(whole[-1], cell):
            whole[-1] = _join_cells(whole[-1], cell)
        else:
            whole.append(cell)
    return tuple(whole)


def _is_one_cell(before: Cell, cell: Cell) -> bool:
    gap, size = cell.left - before.right, max(before.size, cell.size)
    if _CURRENCY.fullmatch(before.text) or (_CLOSING.fullmatch(cell.text) and gap < size * _CLOSING_GAP):
        return True
    return not starts_cell(gap, size, cell.text)


def starts_cell(gap: float, size: float, text: str) -> bool:
    """Whether text that begins `gap` points after other text on its line belongs to another cell.

    A currency sign needs a smaller gap, because it may be close to a figure of the previous column.
    """
    return gap >= size * (_CURRENCY_GAP if _CURRENCY.fullmatch(text) else _CELL_GAP)


def _join_cells(first: Cell, second: Cell) -> Cell:
    return first._replace(
        text=f"{first.text} {second.text}",
        right=max(first.right, second.right),
        baseline=min(first.baseline, second.baseline),
        size=max(first.size, second.size),
        bold=first.bold and second.bold,
    )


def join_texts(cells: Sequence[Cell]) -> str:
    """Return the text of cells as one line."""
    return " ".join(cell.text for cell in cells)


def is_figure(text: str) -> bool:
    """Whether a cell is an amount, a share, or a dash or `n/a` instead of one. A year alone is not a figure."""
    return _FIGURE.fullmatch(text) is not None and _YEAR.fullmatch(text) is None


def is_period(text: str) -> bool:
    """Whether a header is a year or a date with one: `2023`, `July 29, 2023`, `Three Months Ended June 30, 2022`."""
    return _PERIOD.fullmatch(text) is not None and len(text.split()) <= _MOST_WORDS_OF_A_PERIOD


def make_columns(row: Row) -> tuple[Column, ...]:
    """Return one column for each cell of a row; no columns if the row is not level."""
    if not row.cells or not is_level(row.cells):
        return ()
    return tuple(Column(cell.left, cell.right) for cell in row.cells)


def extend_columns(columns: Sequence[Column], row: Row) -> tuple[Column, ...] | None:
    """Extend columns so that they include a row.

    Returns:
        The columns; None if two cells of the row would share a column, or two columns would overlap.
    """
    if not row.cells or not is_level(row.cells):
        return None
    extended = list(columns)
    for cell in row.cells:
        near = [column for column in extended if overlaps(cell, column)]
        if len(near) > 1:
            return None
        edges = [cell.left, cell.right, *(edge for column in near for edge in column)]
        extended = sorted([*(column for column in extended if column not in near), Column(min(edges), max(edges))])
    indices = [find_column(cell, extended) for cell in row.cells]
    clear = all(left.right < right.left for left, right in pairwise(extended))
    return tuple(extended) if clear and len(set(indices)) == len(indices) else None


def overlaps(cell: Cell, column: Column) -> bool:
    """Whether a cell and a column overlap horizontally, within a tolerance smaller than a gutter."""
    slack = _SAME_COLUMN * cell.size
    return cell.left - slack < column.right and column.left < cell.right + slack


def find_column(cell: Cell, columns: Sequence[Column]) -> int:
    """Return the index of the column of a cell: the one with the largest overlap."""
    shared = [min(cell.right, column.right) - max(cell.left, column.left) for column in columns]
    return shared.index(max(shared))

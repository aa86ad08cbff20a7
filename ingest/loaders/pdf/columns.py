"""The cells, visual rows and columns of a PDF page, separated by the gaps between glyphs. Pure.

PDFium breaks lines in the order in which a file draws text, so one visible row may be several lines. Consecutive lines
on one baseline form one visual row here.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.layout import Cell, Line

# In multiples of the font size. The gap between words is about 0.25, and seldom more than 0.5 in justified text.
_MIN_CELL_GAP = 0.9
_MIN_CURRENCY_GAP = 0.4
_MAX_CLOSING_GAP = 1.5
_BASELINE_TOLERANCE = 0.5
_COLUMN_TOLERANCE = 0.2
_TITLE_TOLERANCE = 1.0
_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$€£¥]")
_CLOSING_SIGNS = re.compile(r"[)%]+")
_FIGURE = re.compile(
    r"(?:[A-Z]{1,3})?[$€£¥]?\s?[-–—−+(<>~]*\s?[$€£¥]?\s?\d[\d.,’']*(?:\s?(?:%|x|bps|pts?\.?|[$€£¥]))?\)?\s?%?(?:\s?\(\w\))?"
    r"|[$€£¥]?\s?[-–—−*]+\s?%?|(?:n/?[am]\.?)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PERIOD = re.compile(r"(?:[^\W\d]|\W|\d{1,2}(?!\d))*\b(?:19|20)\d\d\b\W{0,2}")
_MAX_PERIOD_WORDS = 8


class Column(NamedTuple):
    """The horizontal extent of a column, in points."""

    left: float
    right: float

    @property
    def middle(self) -> float:
        """The midpoint between the edges."""
        return (self.left + self.right) / 2


class Row(NamedTuple):
    """The lines on one baseline: `lines[first:end]` of the page."""

    first: int
    end: int
    line: Line
    """The row as one line, for its style and extent. Its text and offsets are not used."""
    cells: tuple[Cell, ...]
    baseline: float
    size: float


def group_visual_rows(lines: Sequence[Line]) -> list[Row]:
    """Group the lines of a page into visual rows: consecutive lines on one baseline are one row."""
    rows: list[Row] = []
    for position, line in enumerate(lines):
        row = make_row(line, line.cells, position)
        if rows and (joined := _join_rows(rows[-1], row)):
            row = joined
            rows.pop()
        rows.append(row)
    return rows


def make_row(line: Line, cells: Iterable[Cell], first: int, end: int | None = None) -> Row:
    """Make a row of cells, sorted from left to right, and join the parts of each figure."""
    row_end = first + 1 if end is None else end
    ordered = join_figures(sorted(cells, key=lambda cell: cell.left))
    if not ordered:
        return Row(first, row_end, line, (), line.bottom, line.size)
    baseline = min(cell.baseline for cell in ordered)
    style = line._replace(left=ordered[0].left, right=ordered[-1].right)
    return Row(first, row_end, style, ordered, baseline, max(cell.size for cell in ordered))


def share_baseline(cells: Sequence[Cell]) -> bool:
    """Check whether cells are on one baseline. The tolerance allows a superscript."""
    baselines = [cell.baseline for cell in cells]
    return max(baselines) - min(baselines) <= _BASELINE_TOLERANCE * max(cell.size for cell in cells)


def is_bold(row: Row) -> bool:
    """Check whether every cell of a row begins in bold."""
    return all(cell.bold for cell in row.cells)


def _join_rows(previous: Row, row: Row) -> Row | None:
    cells = (*previous.cells, *row.cells)
    if not previous.cells or not row.cells or not share_baseline(cells):
        return None
    if row.cells[0].left < previous.cells[-1].right - row.size * 0.1:
        return None
    return make_row(previous.line, cells, previous.first, row.end)


def join_figures(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Join `$` to the figure after it, `)` and `%` to the figure before it, and cells without a gap between them."""
    joined: list[Cell] = []
    for cell in cells:
        if joined and _are_one_cell(joined[-1], cell):
            joined[-1] = _join_cells(joined[-1], cell)
        else:
            joined.append(cell)
    return tuple(joined)


def _are_one_cell(previous: Cell, cell: Cell) -> bool:
    gap, size = cell.left - previous.right, max(previous.size, cell.size)
    if _CURRENCY.fullmatch(previous.text) or (_CLOSING_SIGNS.fullmatch(cell.text) and gap < size * _MAX_CLOSING_GAP):
        return True
    return not starts_cell(gap, size, cell.text)


def starts_cell(gap: float, size: float, text: str) -> bool:
    """Check whether text that begins `gap` points after other text on its line starts a cell of its own.

    A currency sign needs a smaller gap, because it may be close to a figure of the previous column.
    """
    return gap >= size * (_MIN_CURRENCY_GAP if _CURRENCY.fullmatch(text) else _MIN_CELL_GAP)


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
    """Check whether a cell is an amount, a percentage, or a dash or `n/a` instead of one. A year is not a figure."""
    return _FIGURE.fullmatch(text) is not None and _YEAR.fullmatch(text) is None


def is_period(text: str) -> bool:
    """Check whether a header is a year, or ends with one: `2023`, `Three Months Ended June 30, 2022`."""
    return _PERIOD.fullmatch(text) is not None and len(text.split()) <= _MAX_PERIOD_WORDS


def make_columns(row: Row) -> tuple[Column, ...]:
    """Return one column for each cell of a row; no columns if the cells are not on one baseline."""
    if not row.cells or not share_baseline(row.cells):
        return ()
    return tuple(Column(cell.left, cell.right) for cell in row.cells)


def extend_columns(columns: Sequence[Column], row: Row) -> tuple[Column, ...] | None:
    """Extend columns to include the cells of a row.

    Returns:
        The columns; None if the row is not on one baseline, two of its cells would share a column, or two columns
        would overlap.
    """
    if not row.cells or not share_baseline(row.cells):
        return None
    extended = list(columns)
    for cell in row.cells:
        overlapping = [column for column in extended if overlaps(cell, column)]
        if len(overlapping) > 1:
            return None
        edges = [cell.left, cell.right, *(edge for column in overlapping for edge in column)]
        extended = sorted(
            [*(column for column in extended if column not in overlapping), Column(min(edges), max(edges))]
        )
    indices = [find_column(cell, extended) for cell in row.cells]
    are_separate = all(left.right < right.left for left, right in pairwise(extended))
    return tuple(extended) if are_separate and len(set(indices)) == len(indices) else None


def is_title_across(row: Row, columns: Sequence[Column]) -> bool:
    """Check whether a row is a title of one cell in capitals, without a number, centred over all columns: `ASSETS`."""
    if len(row.cells) != 1 or not row.cells[0].text.isupper() or any(map(str.isdigit, row.cells[0].text)):
        return False
    cell, table = row.cells[0], Column(columns[0].left, columns[-1].right)
    return abs((cell.left + cell.right) / 2 - table.middle) <= _TITLE_TOLERANCE * cell.size


def overlaps(cell: Cell, column: Column) -> bool:
    """Check whether a cell and a column overlap horizontally, with a tolerance that is smaller than a gutter."""
    tolerance = _COLUMN_TOLERANCE * cell.size
    return cell.left - tolerance < column.right and column.left < cell.right + tolerance


def find_column(cell: Cell, columns: Sequence[Column]) -> int:
    """Return the index of the column with which a cell overlaps most."""
    overlap_widths = [min(cell.right, column.right) - max(cell.left, column.left) for column in columns]
    return overlap_widths.index(max(overlap_widths))

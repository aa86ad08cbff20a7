"""Finds tables among the lines of a PDF page and writes their rows as the other formats do: `Header: value; …`. Pure.

A PDF has no tables, only glyphs below one another. A wrong header for a number is worse than no header, so a
table is only what leaves no doubt: rows whose cells keep clear gutters between their columns, below headers that stand
over exactly one column or are centred over a group of them, and that look like headers. Every other line stays as it
is. No text is lost: a header is repeated in each row that has a cell below it, and one without such a row is no header.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.columns import (
    Column,
    Row,
    column_of,
    columns_of,
    is_bold,
    is_figure,
    is_period,
    joined,
    visual_rows,
    widened,
)
from sourcebound.ingest.loaders.pdf.header import Header, find_header
from sourcebound.ingest.loaders.pdf.layout import Cell, Line
from sourcebound.ingest.loaders.table_rows import linearise

_LARGEST_STEP = 3.0
_LARGER_TYPE = 1.1
_EVEN = 1.2
_FEWEST_ROWS = 2
_MOST_ROWS = 150
_MOST_COLUMNS = 25
_FEWEST_PAGE_NUMBERS = 3


class _Body(NamedTuple):
    """The rows below a header; a row of one cell is a label and keeps its line."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    end: int
    """The visual row after the last."""


class _Table(NamedTuple):
    first: int
    """The first visual row that belongs to it."""
    end: int
    lines: tuple[Line, ...]


def with_tables(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, those of each table replaced by one line a row that carries its headers.

    Args:
        lines: The page's lines in reading order, with their cells.
    """
    rows = visual_rows(lines)
    result: list[Line] = []
    position = 0
    for table in _tables(rows):
        result.extend(line for row in rows[position : table.first] for line in lines[row.first : row.end])
        result.extend(table.lines)
        position = table.end
    result.extend(line for row in rows[position:] for line in lines[row.first : row.end])
    return result


def _tables(rows: Sequence[Row]) -> Iterator[_Table]:
    position = free = 0
    while position < len(rows):
        table = _table(rows, position, free)
        if table:
            yield table
            position = free = table.end
        position += not table


def _table(rows: Sequence[Row], start: int, free: int) -> _Table | None:
    """The table whose first full row is `rows[start]`; its header may reach up to `rows[free]`."""
    body = _body(rows, start)
    if not body:
        return None
    header = find_header(rows[free:start], body.columns, rows[start])
    if not header:
        return None
    body = _without_strangers(body, header)
    if not body or not _is_proven(body, header) or not _keeps_words_whole(rows, body):
        return None
    labels = tuple(rows[start - header.labels : start])
    return _Table(start - header.rows - header.labels, body.end, tuple(_written(body, header, labels)))


def _body(rows: Sequence[Row], start: int) -> _Body | None:
    columns = columns_of(rows[start])
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    taken = [rows[start]]
    for before, row in pairwise(rows[start : start + _MOST_ROWS]):
        if not 0 < before.baseline - row.baseline <= _LARGEST_STEP * before.size:
            break
        wider = widened(columns, row)
        if wider is None or row.size > rows[start].size * _LARGER_TYPE:
            break
        if len(row.cells) == 1 and not _is_label(row, wider):
            break
        columns = wider
        taken.append(row)
    return _trimmed(columns, taken, start)


def _is_label(row: Row, columns: Sequence[Column]) -> bool:
    """Whether the only cell of a row names the rows below it: it is in the first column and fits into it."""
    (cell,) = row.cells
    return column_of(cell, columns) == 0 and cell.right < columns[1].left


def _trimmed(columns: tuple[Column, ...], taken: Sequence[Row], start: int) -> _Body | None:
    full = [position for position, row in enumerate(taken) if len(row.cells) > 1]
    if len(full) < _FEWEST_ROWS:
        return None
    kept = tuple(taken[: full[-1] + 1])
    return _Body(columns, kept, start + len(kept))


def _without_strangers(body: _Body, header: Header) -> _Body | None:
    """The rows before the first that has words or a year where its column has figures, as a second header has."""
    figures = _figure_columns(body)
    start = body.end - len(body.rows)
    for position, row in enumerate(body.rows):
        cells = ((column_of(cell, body.columns), cell) for cell in row.cells)
        if any(column in figures and not is_figure(cell.text) for column, cell in cells) or _is_like(row, header):
            return _trimmed(body.columns, body.rows[:position], start)
    return body


def _is_like(row: Row, header: Header) -> bool:
    """Whether a row is set in bold as its header is, and has no figure."""
    return header.bold and len(row.cells) > 1 and is_bold(row) and not any(is_figure(cell.text) for cell in row.cells)


def _figure_columns(body: _Body) -> frozenset[int]:
    """Columns, other than the first, that begin with figures."""
    found = []
    for column in range(1, len(body.columns)):
        first = _cells(body, column)[:2]
        if first and all(is_figure(cell.text) for cell in first):
            found.append(column)
    return frozenset(found)


def _cells(body: _Body, column: int) -> list[Cell]:
    full = (row for row in body.rows if len(row.cells) > 1)
    return [cell for row in full for cell in row.cells if column_of(cell, body.columns) == column]


def _is_proven(body: _Body, header: Header) -> bool:
    """Whether every header heads something, and the type or the kind of the values tells them from the rows."""
    cells = [_cells(body, column) for column in range(len(body.columns))]
    if not all(cells[column] for column, name in enumerate(header.names) if name):
        return False
    figures = _figure_columns(body)
    if _are_page_numbers(body, figures):
        return False
    if header.bold and not any(cell.bold for row in body.rows[:1] for cell in row.cells[1:]):
        return True
    values = header.names[1:]
    several = any(len(cells[column]) >= _FEWEST_ROWS for column in figures)
    return several and (not header.names[0] or all(is_period(name) for name in values))


def _are_page_numbers(body: _Body, figures: frozenset[int]) -> bool:
    """Whether the only figures are whole numbers that never fall, as in a table of contents."""
    if len(figures) != 1:
        return False
    texts = [cell.text for column in figures for cell in _cells(body, column)]
    if len(texts) < _FEWEST_PAGE_NUMBERS or not all(text.isdecimal() for text in texts):
        return False
    return all(int(before) <= int(after) for before, after in pairwise(texts))


def _keeps_words_whole(rows: Sequence[Row], body: _Body) -> bool:
    """Whether no cell of words can go on in the line below it: a row cut in two would say what the table does not.

    Then the rows follow one another in even steps, each with its first cell, and the line below is set apart. Where
    the columns hold figures only, nothing goes on but a name in the first column, which stays the line that it is.
    """
    words = set(range(1, len(body.columns))) - _figure_columns(body)
    if not words:
        return True
    if any(len(row.cells) == 1 or column_of(row.cells[0], body.columns) for row in body.rows):
        return False
    steps = [before.baseline - row.baseline for before, row in pairwise(body.rows)]
    if max(steps) > min(steps) * _EVEN or any(_goes_on(body, column) for column in {0, *words}):
        return False
    if body.end == len(rows):
        return True
    step = body.rows[-1].baseline - rows[body.end].baseline
    return step <= 0 or step > max(steps) * _EVEN


def _goes_on(body: _Body, column: int) -> bool:
    """Whether a column that begins with a capital has a cell that does not."""
    texts = [cell.text for cell in _cells(body, column)]
    return not texts[0][0].islower() and any(text[0].islower() for text in texts)


def _written(body: _Body, header: Header, labels: Sequence[Row]) -> Iterator[Line]:
    names = list(header.names)
    if names[0] and any(is_period(name) for name in names[1:]):
        # `Years ended | 2023 | 2022`: what stands before periods may belong to them and not to the first column.
        yield header.line._replace(text=names[0])
        names[0] = ""
    full = [row for row in body.rows if len(row.cells) > 1]
    grid = [_spread(row, body.columns) for row in full]
    texts = iter(linearise([names, *grid], has_header=True))
    for row in (*labels, *body.rows):
        line = row.line._replace(text=joined(row.cells))
        yield line._replace(text=next(texts), is_row=True) if len(row.cells) > 1 else line


def _spread(row: Row, columns: Sequence[Column]) -> list[str]:
    texts = [""] * len(columns)
    for cell in row.cells:
        texts[column_of(cell, columns)] = cell.text
    return texts

"""Finds tables among the lines of a PDF page and writes their rows as the other formats do: `Header: value; …`. Pure.

A PDF has no tables, only positioned glyphs. A wrong header for a number is worse than no header, so only an
unambiguous table counts: rows with clear gutters between their columns, below headers that are over exactly one column
or centred over a group of columns, and that look like headers. Every other line stays unchanged. No text is lost: a
header is repeated in each row that has a cell below it, and a header without such a row is not a header.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.columns import (
    Column,
    Row,
    extend_columns,
    find_column,
    group_visual_rows,
    is_bold,
    is_figure,
    is_period,
    join_texts,
    make_columns,
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
    """The rows below a header. A row of one cell is a label and stays a line."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    end: int
    """The index after the last visual row."""


class _Table(NamedTuple):
    first: int
    """The first visual row that belongs to it."""
    end: int
    lines: tuple[Line, ...]


def replace_tables(lines: Sequence[Line]) -> list[Line]:
    """Replace the lines of each table on a page by one line for each row, with its headers.

    Args:
        lines: The page's lines in reading order, with their cells.
    """
    rows = group_visual_rows(lines)
    result: list[Line] = []
    position = 0
    for table in _find_tables(rows):
        result.extend(line for row in rows[position : table.first] for line in lines[row.first : row.end])
        result.extend(table.lines)
        position = table.end
    result.extend(line for row in rows[position:] for line in lines[row.first : row.end])
    return result


def _find_tables(rows: Sequence[Row]) -> Iterator[_Table]:
    position = free = 0
    while position < len(rows):
        table = _find_table(rows, position, free)
        if table:
            yield table
            position = free = table.end
        position += not table


def _find_table(rows: Sequence[Row], start: int, free: int) -> _Table | None:
    """Find the table whose first full row is `rows[start]`; its header may begin at `rows[free]`."""
    body = _find_body(rows, start)
    if not body:
        return None
    header = find_header(rows[free:start], body.columns, rows[start])
    if not header:
        return None
    body = _cut_at_second_header(body, header)
    if not body or not _is_reliable(body, header) or not _keeps_words_whole(rows, body):
        return None
    labels = tuple(rows[start - header.labels : start])
    return _Table(start - header.rows - header.labels, body.end, tuple(_render_lines(body, header, labels)))


def _find_body(rows: Sequence[Row], start: int) -> _Body | None:
    columns = make_columns(rows[start])
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    body_rows = [rows[start]]
    for before, row in pairwise(rows[start : start + _MOST_ROWS]):
        if not 0 < before.baseline - row.baseline <= _LARGEST_STEP * before.size:
            break
        wider = extend_columns(columns, row)
        if wider is None or row.size > rows[start].size * _LARGER_TYPE:
            break
        if len(row.cells) == 1 and not _is_label(row, wider):
            break
        columns = wider
        body_rows.append(row)
    return _trim_body(columns, body_rows, start)


def _is_label(row: Row, columns: Sequence[Column]) -> bool:
    """Whether the only cell of a row is a label of the rows below: it is within the first column."""
    (cell,) = row.cells
    return find_column(cell, columns) == 0 and cell.right < columns[1].left


def _trim_body(columns: tuple[Column, ...], body_rows: Sequence[Row], start: int) -> _Body | None:
    full = [position for position, row in enumerate(body_rows) if len(row.cells) > 1]
    if len(full) < _FEWEST_ROWS:
        return None
    trimmed = tuple(body_rows[: full[-1] + 1])
    return _Body(columns, trimmed, start + len(trimmed))


def _cut_at_second_header(body: _Body, header: Header) -> _Body | None:
    """Cut the body before the first row that looks like a second header: words or a year in a column of figures."""
    figures = _figure_columns(body)
    start = body.end - len(body.rows)
    for position, row in enumerate(body.rows):
        cells = ((find_column(cell, body.columns), cell) for cell in row.cells)
        has_words = any(column in figures and not is_figure(cell.text) for column, cell in cells)
        if has_words or _is_header_like(row, header):
            return _trim_body(body.columns, body.rows[:position], start)
    return body


def _is_header_like(row: Row, header: Header) -> bool:
    """Whether a row is bold like the header, and has no figure."""
    return header.bold and len(row.cells) > 1 and is_bold(row) and not any(is_figure(cell.text) for cell in row.cells)


def _figure_columns(body: _Body) -> frozenset[int]:
    """Return the columns, except the first, that begin with figures."""
    found = []
    for column in range(1, len(body.columns)):
        first = _column_cells(body, column)[:2]
        if first and all(is_figure(cell.text) for cell in first):
            found.append(column)
    return frozenset(found)


def _column_cells(body: _Body, column: int) -> list[Cell]:
    full = (row for row in body.rows if len(row.cells) > 1)
    return [cell for row in full for cell in row.cells if find_column(cell, body.columns) == column]


def _is_reliable(body: _Body, header: Header) -> bool:
    """Whether every header has values, and font or kind of the values distinguishes the header from the rows."""
    cells = [_column_cells(body, column) for column in range(len(body.columns))]
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
    """Whether the only figures are integers that never decrease, as in a table of contents."""
    if len(figures) != 1:
        return False
    texts = [cell.text for column in figures for cell in _column_cells(body, column)]
    if len(texts) < _FEWEST_PAGE_NUMBERS or not all(text.isdecimal() for text in texts):
        return False
    return all(int(before) <= int(after) for before, after in pairwise(texts))


def _keeps_words_whole(rows: Sequence[Row], body: _Body) -> bool:
    """Whether no cell of words can continue in the line below, because half a row would be a wrong statement.

    That is so if the rows have equal distances and a first cell each, and the line below the table is further away. If
    the columns hold only figures, only a name in the first column can continue, and it stays a line of its own.
    """
    words = set(range(1, len(body.columns))) - _figure_columns(body)
    if not words:
        return True
    if any(len(row.cells) == 1 or find_column(row.cells[0], body.columns) for row in body.rows):
        return False
    steps = [before.baseline - row.baseline for before, row in pairwise(body.rows)]
    if max(steps) > min(steps) * _EVEN or any(_may_continue(body, column) for column in {0, *words}):
        return False
    if body.end == len(rows):
        return True
    step = body.rows[-1].baseline - rows[body.end].baseline
    return step <= 0 or step > max(steps) * _EVEN


def _may_continue(body: _Body, column: int) -> bool:
    """Whether a column that begins with a capital has a cell that begins with a small letter."""
    texts = [cell.text for cell in _column_cells(body, column)]
    return not texts[0][0].islower() and any(text[0].islower() for text in texts)


def _render_lines(body: _Body, header: Header, labels: Sequence[Row]) -> Iterator[Line]:
    names = list(header.names)
    if names[0] and any(is_period(name) for name in names[1:]):
        # `Years ended | 2023 | 2022`: text before periods may belong to them and not to the first column.
        yield header.line._replace(text=names[0])
        names[0] = ""
    full = [row for row in body.rows if len(row.cells) > 1]
    grid = [_to_grid(row, body.columns) for row in full]
    texts = iter(linearise([names, *grid], has_header=True))
    for row in (*labels, *body.rows):
        line = row.line._replace(text=join_texts(row.cells))
        yield line._replace(text=next(texts), is_row=True) if len(row.cells) > 1 else line


def _to_grid(row: Row, columns: Sequence[Column]) -> list[str]:
    texts = [""] * len(columns)
    for cell in row.cells:
        texts[find_column(cell, columns)] = cell.text
    return texts

"""The tables of a PDF page, found among its lines and rendered as in the other formats: `Header: value; …`. Pure.

A PDF has no tables, only positioned glyphs. A wrong header for a number is worse than no header, so a table must be
unambiguous: its rows have clear gutters between the columns, and each of its headers looks like a header and is over
exactly one column or centred over a group of columns. All other lines stay unchanged. No text is lost, because each
row repeats the headers of its cells, and a column without cells cannot have a header.
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
    is_title_across,
    join_texts,
    make_columns,
)
from sourcebound.ingest.loaders.pdf.header import Header, find_header
from sourcebound.ingest.loaders.pdf.layout import Cell, Line
from sourcebound.ingest.loaders.table_rows import linearise

_MAX_STEP = 3.1
_MAX_SIZE_RATIO = 1.1
_MAX_STEP_RATIO = 1.2
_MIN_ROWS = 2
_MIN_FIGURES = 3
_MAX_ROWS = 150
_MAX_COLUMNS = 25
_MIN_PAGE_NUMBERS = 3


class _TableBody(NamedTuple):
    """The rows below a header. A row of one cell is a label, which remains an ordinary line."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    end: int
    """The index after the last visual row."""


class _Table(NamedTuple):
    """A table: the visual rows `rows[first:end]`, header included, and the lines that replace them."""

    first: int
    end: int
    lines: tuple[Line, ...]


def replace_tables(lines: Sequence[Line]) -> list[Line]:
    """Replace the lines of each table on a page with one line for each row, with its headers.

    Args:
        lines: The lines of the page in reading order, with their cells.
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
    position = first_free = 0
    while position < len(rows):
        table = _find_table(rows, position, first_free)
        if table:
            yield table
            position = first_free = table.end
        position += not table


def _find_table(rows: Sequence[Row], start: int, first_free: int) -> _Table | None:
    """Find the table whose first full row is `rows[start]`. Rows before `rows[first_free]` belong to another table."""
    body = _find_body(rows, start)
    if not body:
        return None
    header = find_header(rows[first_free:start], body.columns, rows[start])
    if not header:
        return None
    body = _cut_at_second_header(body, header)
    if not body or not _is_reliable(body, header) or not _has_complete_cells(rows, body):
        return None
    labels = tuple(rows[start - header.label_count : start])
    return _Table(start - header.row_count - header.label_count, body.end, tuple(_render_lines(body, header, labels)))


def _find_body(rows: Sequence[Row], start: int) -> _TableBody | None:
    columns = make_columns(rows[start])
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return None
    body_rows = [rows[start]]
    for previous, row in pairwise(rows[start : start + _MAX_ROWS]):
        if not 0 < previous.baseline - row.baseline <= _MAX_STEP * previous.size:
            break
        if row.size > rows[start].size * _MAX_SIZE_RATIO:
            break
        if is_title_across(row, columns):
            body_rows.append(row)
            continue
        extended = extend_columns(columns, row)
        if extended is None:
            break
        if len(row.cells) == 1 and not _is_label(row, extended):
            break
        columns = extended
        body_rows.append(row)
    return _trim_body(columns, body_rows, start)


def _is_label(row: Row, columns: Sequence[Column]) -> bool:
    """Check whether the only cell of a row is within the first column, and so is a label of the rows below."""
    (cell,) = row.cells
    return find_column(cell, columns) == 0 and cell.right < columns[1].left


def _trim_body(columns: tuple[Column, ...], body_rows: Sequence[Row], start: int) -> _TableBody | None:
    full_positions = [position for position, row in enumerate(body_rows) if len(row.cells) > 1]
    if len(full_positions) < (1 if any(map(_has_figures_alone, body_rows[:1])) else _MIN_ROWS):
        return None
    rows = tuple(body_rows[: full_positions[-1] + 1])
    return _TableBody(columns, rows, start + len(rows))


def _has_figures_alone(row: Row) -> bool:
    """Check whether a row is nothing but three figures or more, as the only one of a table of votes is."""
    return len(row.cells) >= _MIN_FIGURES and all(
        cell.text[-1:].isdigit() and is_figure(cell.text) for cell in row.cells
    )


def _cut_at_second_header(body: _TableBody, header: Header) -> _TableBody | None:
    """Cut the body before the first row that looks like a second header.

    Such a row has words or a year in a column of figures, or is bold like the header.
    """
    figure_columns = _find_figure_columns(body)
    start = body.end - len(body.rows)
    for position, row in enumerate(body.rows):
        if is_title_across(row, body.columns):
            continue
        cells = ((find_column(cell, body.columns), cell) for cell in row.cells)
        has_words = any(column in figure_columns and not is_figure(cell.text) for column, cell in cells)
        if has_words or _is_header_like(row, header):
            return _trim_body(body.columns, body.rows[:position], start)
    return body


def _is_header_like(row: Row, header: Header) -> bool:
    """Check whether a row is bold like the header and has no figure."""
    return header.bold and len(row.cells) > 1 and is_bold(row) and not any(is_figure(cell.text) for cell in row.cells)


def _find_figure_columns(body: _TableBody) -> frozenset[int]:
    """Return the indices of the columns, except the first, that begin with figures."""
    figure_columns = []
    for column in range(1, len(body.columns)):
        first = _get_column_cells(body, column)[:2]
        if first and all(is_figure(cell.text) for cell in first):
            figure_columns.append(column)
    return frozenset(figure_columns)


def _get_column_cells(body: _TableBody, column: int) -> list[Cell]:
    full_rows = (row for row in body.rows if len(row.cells) > 1)
    return [cell for row in full_rows for cell in row.cells if find_column(cell, body.columns) == column]


def _is_reliable(body: _TableBody, header: Header) -> bool:
    """Check that every header has values, and that their font or kind distinguishes the header from the rows."""
    cells = [_get_column_cells(body, column) for column in range(len(body.columns))]
    if not all(cells[column] for column, name in enumerate(header.names) if name):
        return False
    figure_columns = _find_figure_columns(body)
    if _are_page_numbers(body, figure_columns):
        return False
    if header.bold and not any(cell.bold for row in body.rows[:1] for cell in row.cells[1:]):
        return True
    values = header.names[1:]
    has_figure_column = any(len(cells[column]) >= _MIN_ROWS for column in figure_columns)
    return has_figure_column and (not header.names[0] or all(is_period(name) for name in values))


def _are_page_numbers(body: _TableBody, figure_columns: frozenset[int]) -> bool:
    """Check whether the only figures are integers that never decrease, as in a table of contents."""
    if len(figure_columns) != 1:
        return False
    texts = [cell.text for column in figure_columns for cell in _get_column_cells(body, column)]
    if len(texts) < _MIN_PAGE_NUMBERS or not all(text.isdecimal() for text in texts):
        return False
    return all(int(previous) <= int(text) for previous, text in pairwise(texts))


def _has_complete_cells(rows: Sequence[Row], body: _TableBody) -> bool:
    """Check that no cell of words continues in the line below, because half a row would be a wrong statement.

    No cell continues if the rows are evenly spaced and each has a first cell, and the line below the table is further
    away. If the other columns have only figures, only a name in the first column can continue. It is joined if its
    figures are on its last line. Otherwise, its rest remains a line of its own.
    """
    word_columns = set(range(1, len(body.columns))) - _find_figure_columns(body)
    if not word_columns:
        return True
    if any(len(row.cells) == 1 or find_column(row.cells[0], body.columns) for row in body.rows):
        return False
    steps = [previous.baseline - row.baseline for previous, row in pairwise(body.rows)]
    if max(steps) > min(steps) * _MAX_STEP_RATIO or any(
        _has_continued_cell(body, column) for column in {0, *word_columns}
    ):
        return False
    if body.end == len(rows):
        return True
    step = body.rows[-1].baseline - rows[body.end].baseline
    return step <= 0 or step > max(steps) * _MAX_STEP_RATIO


def _has_continued_cell(body: _TableBody, column: int) -> bool:
    """Check whether a cell begins with a lower-case letter, although the first cell of its column does not."""
    texts = [cell.text for cell in _get_column_cells(body, column)]
    return not texts[0][0].islower() and any(text[0].islower() for text in texts)


def _render_lines(body: _TableBody, header: Header, labels: Sequence[Row]) -> Iterator[Line]:
    names = list(header.names)
    if names[0] and any(is_period(name) for name in names[1:]):
        # `Years ended | 2023 | 2022`: text left of periods may belong to the periods and not to the first column.
        yield header.line._replace(text=names[0])
        names[0] = ""
    rows = _join_wrapped_names([*labels, *body.rows], body.columns)
    full_rows = [row for row in rows if len(row.cells) > 1]
    grid = [_place_cells(row, body.columns) for row in full_rows]
    texts = iter(linearise([names, *grid], has_header=True))
    for row in rows:
        line = row.line._replace(text=join_texts(row.cells))
        yield line._replace(text=next(texts), is_row=True) if len(row.cells) > 1 else line


def _join_wrapped_names(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """Join the first cell of a row to a label directly above it, if it begins with a lower-case letter.

    A label that ends with a colon or above two such rows belongs to all rows of its group. It stays, and so does a
    sentence, and a note in brackets.
    """
    joined: list[Row] = []
    for position, row in enumerate(rows):
        first = row.cells[0]
        is_rest = len(row.cells) > 1 and find_column(first, columns) == 0 and _goes_on(row)
        is_rest = is_rest and not any(map(_goes_on, rows[position + 1 : position + 2]))
        if is_rest and joined and len(joined[-1].cells) == 1 and _is_label(joined[-1], columns):
            name = joined[-1].cells[0].text
            if not name.endswith((":", ".")) and not name.startswith("("):
                first = first._replace(text=f"{name} {first.text}")
                del joined[-1]
        joined.append(row._replace(cells=(first, *row.cells[1:])))
    return joined


def _goes_on(row: Row) -> bool:
    """Check whether a row begins with a word in lower case; `iPad` is a name."""
    return row.cells[0].text.split()[0].islower()


def _place_cells(row: Row, columns: Sequence[Column]) -> list[str]:
    texts = [""] * len(columns)
    for cell in row.cells:
        texts[find_column(cell, columns)] = cell.text
    return texts

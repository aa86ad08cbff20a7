"""The header above the columns of a PDF table. Pure.

A header may have several lines and may span a group of columns (`Three Months Ended` above `2023 | 2022`). Each of its
cells must name exactly one column or one group. If the cells of a line with two or more cells do not, the table has no
reliable header.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from sourcebound.ingest.loaders.pdf.columns import (
    Column,
    Row,
    is_bold,
    is_figure,
    is_period,
    is_title_across,
    join_texts,
    make_row,
    overlaps,
    share_baseline,
)
from sourcebound.ingest.loaders.pdf.layout import Cell, Line

_MAX_ROWS_ABOVE = 16
_MAX_LEVELS = 4
_MAX_LABELS = 2
_MAX_ASSIGNMENTS = 1_000
_MAX_LEVEL_STEP = 1.75
_MAX_BODY_STEP = 3.0
_ALIGNMENT_TOLERANCE = 0.4
_CENTRING_TOLERANCE = 0.9
_MAX_NAME_LENGTH = 80
_MAX_SYMBOL_LENGTH = 3
_LIST_MARKER = re.compile(r"[•●○▪■◦‣⁃\uf0b7\uf0a7\uf06f]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)](?:\s|$)")


class Header(NamedTuple):
    """The name of each column, and the number of visual rows with the names."""

    names: tuple[str, ...]
    bold: bool
    row_count: int
    """The number of visual rows of the header. They end at the first label."""
    label_count: int
    """The number of one-cell rows between the header and the first full row."""
    line: Line


class _Level(NamedTuple):
    """The cells on one baseline, and the indices of the visual rows that contain them."""

    row: Row
    row_indices: frozenset[int]


def find_header(above: Sequence[Row], columns: Sequence[Column], first: Row) -> Header | None:
    """Find the header of a table among the rows above it.

    Args:
        above: The visual rows above the first full row, without those of another table.
        columns: The columns of the table.
        first: The first full row of the table: one with two or more cells.

    Returns:
        The header; None if a column other than the first has no name, or a name is ambiguous.
    """
    if not above or (len(above[-1].cells) > 1 and any(is_figure(cell.text) for cell in above[-1].cells)):
        return None
    label_count = _count_labels(above, columns, first)
    nearest = above[max(0, len(above) - label_count - _MAX_ROWS_ABOVE) : len(above) - label_count]
    levels = _stack_levels(_group_levels(nearest), columns, above[len(above) - label_count] if label_count else first)
    if not levels:
        return None
    used_indices = frozenset[int]().union(*(level.row_indices for level, _ in levels))
    start = min(used_indices)
    cells = [cell for level, _ in levels for cell in level.row.cells]
    is_complete = _count_glyphs(cells) == _count_glyphs(cell for row in nearest[start:] for cell in row.cells)
    if len(used_indices) != len(nearest) - start or not is_complete:
        return None
    names = tuple(_join_column_name(levels, column) for column in range(len(columns)))
    if not _are_valid_names(names):
        return None
    bold = all(is_bold(level.row) for level, _ in levels)
    return Header(names, bold, len(used_indices), label_count, levels[0][0].row.line)


def _count_labels(above: Sequence[Row], columns: Sequence[Column], first: Row) -> int:
    """Count the labels directly above the first row: rows of one cell in the first column, notes and titles."""
    count = 0
    below = first
    for row in reversed(above[-_MAX_LABELS:]):
        is_near = 0 < row.baseline - below.baseline <= _MAX_BODY_STEP * row.size
        if not is_near or len(row.cells) != 1 or not _is_label(row, columns):
            break
        count += 1
        below = row
    return count


def _is_label(row: Row, columns: Sequence[Column]) -> bool:
    cell = row.cells[0]
    is_in_first_column = overlaps(cell, columns[0]) and cell.right < columns[1].left
    return is_in_first_column or _is_note(row) or is_title_across(row, columns)


def _is_note(row: Row) -> bool:
    """Check whether a row is a note such as `(In thousands)`, which names no column."""
    text = join_texts(row.cells)
    return text.startswith("(") and text.endswith(")")


def _group_levels(nearest: Sequence[Row]) -> list[_Level]:
    """Group the cells above a table into levels by baseline, from the lowest up."""
    levels: list[list[tuple[int, Cell]]] = []
    for row_index, row in enumerate(nearest):
        for cell in row.cells:
            level = next((each for each in levels if _fits_level(cell, [other for _, other in each])), None)
            if level is None:
                levels.append([(row_index, cell)])
            else:
                level.append((row_index, cell))
    merged = [
        _Level(
            make_row(nearest[level[0][0]].line, [cell for _, cell in level], 0),
            frozenset(row_index for row_index, _ in level),
        )
        for level in levels
    ]
    return sorted(merged, key=lambda level: level.row.baseline)


def _fits_level(cell: Cell, others: Sequence[Cell]) -> bool:
    """Check whether a cell is on the baseline of others and overlaps none of them horizontally."""
    apart = (cell.right <= other.left or other.right <= cell.left for other in others)
    return share_baseline([cell, others[0]]) and all(apart)


def _stack_levels(
    levels: Sequence[_Level], columns: Sequence[Column], below: Row
) -> list[tuple[_Level, Sequence[range]]] | None:
    """Return the levels of the header from the lowest up, with the columns of each cell; None if ambiguous."""
    stack: list[tuple[_Level, Sequence[range]]] = []
    previous = below
    for level in (level for level in levels if level.row.baseline > below.baseline):
        row = level.row
        is_far = row.baseline - previous.baseline > (_MAX_LEVEL_STEP if stack else _MAX_BODY_STEP) * max(
            row.size, previous.size
        )
        if is_far or _is_note(row) or any(is_figure(cell.text) for cell in row.cells):
            break
        if stack and is_bold(stack[-1][0].row) and not is_bold(row):
            break
        assignment = _assign_columns(row.cells, columns, _compute_extents(stack, columns))
        if assignment is None and not stack:
            assignment = _assign_in_order(row.cells, columns)
        if assignment is None:
            if len(row.cells) > 1:
                return None
            break
        if stack and _may_be_body_row(level, stack[-1][0], columns):
            return None
        stack.append((level, assignment))
        previous = row
    return stack if len(stack) <= _MAX_LEVELS else None


def _may_be_body_row(level: _Level, lower: _Level, columns: Sequence[Column]) -> bool:
    """Check whether the lower level may be a row of words and the upper level its header.

    That is so if only one of the levels is bold, or the upper level is not bold and has a cell for every column.
    """
    return is_bold(level.row) != is_bold(lower.row) or (not is_bold(level.row) and len(level.row.cells) == len(columns))


def _compute_extents(stack: Sequence[tuple[_Level, Sequence[range]]], columns: Sequence[Column]) -> list[Column]:
    """Return for each column the extent with which a header cell above it must align.

    It is the extent of the highest cell in `stack` that names only this column, otherwise that of the column.
    """
    extents = list(columns)
    for level, assignment in stack:
        for cell, span in zip(level.row.cells, assignment, strict=True):
            if len(span) == 1:
                extents[span.start] = Column(cell.left, cell.right)
    return extents


def _assign_columns(
    cells: Sequence[Cell], columns: Sequence[Column], extents: Sequence[Column]
) -> Sequence[range] | None:
    """Return the columns that each cell names: one, or a group over which it is centred; None if ambiguous."""
    below = [[number for number, column in enumerate(columns) if overlaps(cell, column)] for cell in cells]
    single = [options[0] for options in below if len(options) == 1]
    if len(single) == len(cells) == len(set(single)) and set(single) >= set(range(1, len(columns))):
        return [range(number, number + 1) for number in single]
    candidates = [_list_candidates(cell, options, columns, extents) for cell, options in zip(cells, below, strict=True)]
    if prod(map(len, candidates)) > _MAX_ASSIGNMENTS:
        return None
    assignments = [
        assignment
        for assignment in product(*candidates)
        if all(left.stop <= right.start for left, right in pairwise(assignment))
    ]
    return assignments[0] if len(assignments) == 1 else None


def _assign_in_order(cells: Sequence[Cell], columns: Sequence[Column]) -> Sequence[range] | None:
    """Return one column for each of several periods or bold cells, if each column but the first has one, or None.

    A cell stands left of its column's right edge and right of the column before. So it may be left of the figures, over
    the room of their column.
    """
    are_names = all(is_period(cell.text) for cell in cells) or all(cell.bold for cell in cells)
    are_in_order = 1 < len(cells) == len(columns) - 1 and all(
        previous.right < cell.left and cell.right <= column.right
        for cell, (previous, column) in zip(cells, pairwise(columns), strict=True)
    )
    return [range(number, number + 1) for number in range(1, len(columns))] if are_names and are_in_order else None


def _list_candidates(
    cell: Cell, below: Sequence[int], columns: Sequence[Column], extents: Sequence[Column]
) -> list[range]:
    options = [range(below[0], below[0] + 1)] if len(below) == 1 and _is_aligned(cell, extents[below[0]]) else []
    for first in range(1, len(columns)):
        for last in range(first + 1, len(columns)):
            groups = (Column(each[first].left, each[last].right) for each in (columns, extents))
            if any(_is_centred(cell, group) for group in groups):
                options.append(range(first, last + 1))
    return options


def _is_centred(cell: Cell, group: Column) -> bool:
    """Check whether a cell is centred over a group of columns and no wider."""
    off_centre = abs((cell.left + cell.right) / 2 - group.middle)
    is_within = group.left <= cell.left and cell.right <= group.right
    return is_within and off_centre <= _CENTRING_TOLERANCE * cell.size


def _is_aligned(cell: Cell, column: Column) -> bool:
    tolerance = _ALIGNMENT_TOLERANCE * cell.size
    middle = (cell.left + cell.right) / 2
    edges = (cell.left - column.left, cell.right - column.right, middle - column.middle)
    return any(abs(edge) <= tolerance for edge in edges)


def _join_column_name(levels: Sequence[tuple[_Level, Sequence[range]]], column: int) -> str:
    texts = [
        cell.text
        for level, assignment in reversed(levels)
        for cell, span in zip(level.row.cells, assignment, strict=True)
        if column in span
    ]
    return " ".join(texts)


def _are_valid_names(names: Sequence[str]) -> bool:
    """Check that every column except the first has a name, all names differ, and each looks like a name."""
    return all(names[1:]) and len(set(names)) == len(names) and all(_looks_like_name(name) for name in names if name)


def _looks_like_name(name: str) -> bool:
    if len(name) > _MAX_NAME_LENGTH or ":" in name or _LIST_MARKER.match(name) or is_figure(name):
        return False
    letters = sum(character.isalpha() for character in name)
    digits = sum(character.isdigit() for character in name)
    return is_period(name) or letters > digits or (not digits and len(name) <= _MAX_SYMBOL_LENGTH)


def _count_glyphs(cells: Iterable[Cell]) -> int:
    """Count the characters of cells, without white space."""
    return sum(len("".join(cell.text.split())) for cell in cells)

"""Finds the headers above the columns of a PDF table. Pure.

A header may take several lines and may span a group of columns (`Three Months Ended` above `2023 | 2022`). Each of its
cells must name exactly one column or one group. If a line of two or more cells does not, the table has no reliable
header.
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
    is_level,
    is_period,
    join_texts,
    make_row,
    overlaps,
)
from sourcebound.ingest.loaders.pdf.layout import Cell, Line

_MOST_PARTS = 16
_MOST_LINES = 4
_MOST_LABELS = 2
_MOST_CHOICES = 1_000
_TIGHT = 1.75
_STEP_TO_BODY = 3.0
_ALIGNED = 0.4
_CENTRED = 0.9
_LONGEST_NAME = 80
_SHORTEST_SIGN = 3
_ITEM = re.compile(r"[•●○▪■◦‣⁃\uf0b7\uf0a7\uf06f]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)](?:\s|$)")


class Header(NamedTuple):
    """The name of each column, and the visual rows that hold the names."""

    names: tuple[str, ...]
    bold: bool
    rows: int
    """The number of visual rows of the header; they end where the labels begin."""
    labels: int
    """The number of one-cell rows between the header and the first full row."""
    line: Line


class _Level(NamedTuple):
    """The cells on one baseline, and the visual rows that they come from."""

    row: Row
    parts: frozenset[int]


def find_header(above: Sequence[Row], columns: Sequence[Column], first: Row) -> Header | None:
    """Find the header of a table.

    Args:
        above: The visual rows above the table's first full row that belong to no other table.
        columns: The columns of its rows.
        first: Its first full row.

    Returns:
        The header; None if a column other than the first has no name, or a name is ambiguous.
    """
    if not above or (len(above[-1].cells) > 1 and any(is_figure(cell.text) for cell in above[-1].cells)):
        return None
    labels = _count_labels(above, columns, first)
    pool = above[max(0, len(above) - labels - _MOST_PARTS) : len(above) - labels]
    levels = _stack_levels(_group_levels(pool), columns, above[len(above) - labels] if labels else first)
    if not levels:
        return None
    used = frozenset[int]().union(*(level.parts for level, _ in levels))
    start = min(used)
    cells = [cell for level, _ in levels for cell in level.row.cells]
    whole = _count_glyphs(cells) == _count_glyphs(cell for row in pool[start:] for cell in row.cells)
    if len(used) != len(pool) - start or not whole:
        return None
    names = tuple(_column_name(levels, column) for column in range(len(columns)))
    if not _are_valid_names(names):
        return None
    bold = all(is_bold(level.row) for level, _ in levels)
    return Header(names, bold, len(used), labels, levels[0][0].row.line)


def _count_labels(above: Sequence[Row], columns: Sequence[Column], first: Row) -> int:
    """Count the section labels directly above the first row: rows of one cell within the first column."""
    count = 0
    below = first
    for row in reversed(above[-_MOST_LABELS:]):
        near = 0 < row.baseline - below.baseline <= _STEP_TO_BODY * row.size
        if not near or len(row.cells) != 1 or not (_is_within(row.cells[0], columns) or _is_note(row)):
            break
        count += 1
        below = row
    return count


def _is_within(cell: Cell, columns: Sequence[Column]) -> bool:
    return overlaps(cell, columns[0]) and cell.right < columns[1].left


def _is_note(row: Row) -> bool:
    """Whether a row is a note such as `(In thousands)`, which names no column."""
    text = join_texts(row.cells)
    return text.startswith("(") and text.endswith(")")


def _group_levels(pool: Sequence[Row]) -> list[_Level]:
    """Group the cells above a table by baseline, the lowest first."""
    levels: list[list[tuple[int, Cell]]] = []
    for part, row in enumerate(pool):
        for cell in row.cells:
            level = next((each for each in levels if _is_on_level(cell, [other for _, other in each])), None)
            if level is None:
                levels.append([(part, cell)])
            else:
                level.append((part, cell))
    made = [
        _Level(make_row(pool[level[0][0]].line, [cell for _, cell in level], 0), frozenset(part for part, _ in level))
        for level in levels
    ]
    return sorted(made, key=lambda level: level.row.baseline)


def _is_on_level(cell: Cell, others: Sequence[Cell]) -> bool:
    """Whether a cell is on the baseline of others and overlaps none of them horizontally."""
    apart = (cell.right <= other.left or other.right <= cell.left for other in others)
    return is_level([cell, others[0]]) and all(apart)


def _stack_levels(
    levels: Sequence[_Level], columns: Sequence[Column], below: Row
) -> list[tuple[_Level, Sequence[range]]] | None:
    """Return the levels of the header from the lowest up, with the columns of each cell; None if ambiguous."""
    stack: list[tuple[_Level, Sequence[range]]] = []
    lowest = below
    for level in (level for level in levels if level.row.baseline > below.baseline):
        row = level.row
        far = row.baseline - lowest.baseline > (_TIGHT if stack else _STEP_TO_BODY) * max(row.size, lowest.size)
        if far or _is_note(row) or any(is_figure(cell.text) for cell in row.cells):
            break
        if stack and is_bold(stack[-1][0].row) and not is_bold(row):
            break
        places = _assign_columns(row.cells, columns, _header_extents(stack, columns))
        if places is None:
            if len(row.cells) > 1:
                return None
            break
        if stack and _may_be_the_header_of_words(level, stack[-1][0], columns):
            return None
        stack.append((level, places))
        lowest = row
    return stack if len(stack) <= _MOST_LINES else None


def _may_be_the_header_of_words(level: _Level, lower: _Level, columns: Sequence[Column]) -> bool:
    """Whether the lower level may be a row of words: only the upper one is bold, or it is plain and complete."""
    return is_bold(level.row) != is_bold(lower.row) or (not is_bold(level.row) and len(level.row.cells) == len(columns))


def _header_extents(stack: Sequence[tuple[_Level, Sequence[range]]], columns: Sequence[Column]) -> list[Column]:
    """Return the extent with which a cell of the next level must align: the header part below it, else the column."""
    heads = list(columns)
    for level, places in stack:
        for cell, place in zip(level.row.cells, places, strict=True):
            if len(place) == 1:
                heads[place.start] = Column(cell.left, cell.right)
    return heads


def _assign_columns(
    cells: Sequence[Cell], columns: Sequence[Column], heads: Sequence[Column]
) -> Sequence[range] | None:
    """Return the columns that each cell names: one, or a group that it is centred over; None if ambiguous."""
    over = [[number for number, column in enumerate(columns) if overlaps(cell, column)] for cell in cells]
    alone = [options[0] for options in over if len(options) == 1]
    if len(alone) == len(cells) == len(set(alone)) and set(alone) >= set(range(1, len(columns))):
        return [range(number, number + 1) for number in alone]
    candidates = [_candidates(cell, options, columns, heads) for cell, options in zip(cells, over, strict=True)]
    if prod(map(len, candidates)) > _MOST_CHOICES:
        return None
    choices = [
        choice for choice in product(*candidates) if all(left.stop <= right.start for left, right in pairwise(choice))
    ]
    return choices[0] if len(choices) == 1 else None


def _candidates(cell: Cell, over: Sequence[int], columns: Sequence[Column], heads: Sequence[Column]) -> list[range]:
    options = [range(over[0], over[0] + 1)] if len(over) == 1 and _is_aligned(cell, heads[over[0]]) else []
    for first in range(1, len(columns)):
        for last in range(first + 1, len(columns)):
            group = Column(columns[first].left, columns[last].right)
            centred = abs((cell.left + cell.right) / 2 - group.middle) <= _CENTRED * cell.size
            if centred and group.left <= cell.left and cell.right <= group.right:
                options.append(range(first, last + 1))
    return options


def _is_aligned(cell: Cell, column: Column) -> bool:
    slack = _ALIGNED * cell.size
    middle = (cell.left + cell.right) / 2
    edges = (cell.left - column.left, cell.right - column.right, middle - column.middle)
    return any(abs(edge) <= slack for edge in edges)


def _column_name(levels: Sequence[tuple[_Level, Sequence[range]]], column: int) -> str:
    parts = [
        cell.text
        for level, places in reversed(levels)
        for cell, place in zip(level.row.cells, places, strict=True)
        if column in place
    ]
    return " ".join(parts)


def _are_valid_names(names: Sequence[str]) -> bool:
    """Whether every column except the first has a name, all names differ, and each looks like a name."""
    return all(names[1:]) and len(set(names)) == len(names) and all(_looks_like_name(name) for name in names if name)


def _looks_like_name(name: str) -> bool:
    if len(name) > _LONGEST_NAME or ":" in name or _ITEM.match(name) or is_figure(name):
        return False
    letters = sum(character.isalpha() for character in name)
    digits = sum(character.isdigit() for character in name)
    return is_period(name) or letters > digits or (not digits and len(name) <= _SHORTEST_SIGN)


def _count_glyphs(cells: Iterable[Cell]) -> int:
    """Count the glyphs of cells."""
    return sum(len("".join(cell.text.split())) for cell in cells)

"""The head of a table whose cells are given: one row of names, or names below the names of groups of columns.

People write titles and notes above the head of a table in a spreadsheet, and leave columns empty.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from statistics import median
from typing import NamedTuple

Row = Sequence[str]

_MAX_HEADER_LENGTH = 80
_MIN_SENTENCE_WORDS = 4
_MIN_PROSE_WORDS = 5
_COMPARED_ROWS = 20
_MAX_NOTES = 8
_MIN_COLUMNS = 3
"""The least columns of a head below notes, or below the names of groups."""
_MIN_FIGURES = 0.8
_FIGURE = re.compile(r"[(<>~±+$£€¥−–-]*\s*\.?\d")


class Head(NamedTuple):
    """The head of a table."""

    above: Sequence[Row]
    """The rows above it: notes."""
    names: Row | None
    """The names of the columns; None without a head."""
    below: Sequence[Row]
    """The rows that it names, or all rows without a head."""


def find_head(rows: Sequence[Row], has_header: bool | None = None) -> Head:
    """Find the head of a table.

    Names below notes, names below those of groups, and further lines of names must stand above figures, because rows of
    words look like names.

    Args:
        rows: The cells of each row, without empty columns.
        has_header: Whether the first row is a header. If None, `looks_like_header` decides.
    """
    head = _find_names(rows, has_header)
    names, below = head.names, head.below
    while names and _goes_on(names, below):
        names = [f"{above} {name}".strip() for above, name in zip_longest(names, below[0], fillvalue="")]
        below = below[1:]
    return Head(head.above, names, below)


def _find_names(rows: Sequence[Row], has_header: bool | None) -> Head:
    if has_header is not False and (joined := _join_groups(rows)):
        return Head((), joined, rows[2:])
    if rows and (has_header or (has_header is None and looks_like_header(rows))):
        return Head((), rows[0], rows[1:])
    if has_header is False:
        return Head((), None, rows)
    for start in range(1, min(_MAX_NOTES + 1, len(rows) - 1)):
        if all(rows[start - 1]):
            break
        rest = rows[start:]
        if joined := _join_groups(rest):
            return Head(rows[:start], joined, rest[2:])
        if len(rest[0]) >= _MIN_COLUMNS and all(rest[0]) and looks_like_header(rest) and _names_figures(rest):
            return Head(rows[:start], rest[0], rest[1:])
    return Head((), None, rows)


def _goes_on(names: Row, below: Sequence[Row]) -> bool:
    """Check whether the names go on in the next row: nothing in its first cell, and words above figures in others."""
    if not below or not below[0] or not names[0] or below[0][0]:
        return False
    cells = [cell for cell in below[0] if cell]
    return bool(cells) and all(map(_looks_like_column_name, cells)) and _names_figures(below)


def _join_groups(rows: Sequence[Row]) -> Row | None:
    """Return `ODP1 Value; ODP1 Min; ODP2 Value` if names in the second row are repeated below groups of the first."""
    if len(rows) < 3 or len(rows[0]) != len(rows[1]) or len(rows[1]) < _MIN_COLUMNS or not all(rows[1][1:]):
        return None
    times = Counter(rows[1])
    if max(times.values()) < 2 or not all(any(map(str.isalpha, name)) for name in rows[1][1:]):
        return None
    names, group = list[str](), ""
    for above, name in zip(rows[0], rows[1], strict=True):
        group = above or (group if times[name] > 1 else "")
        names.append(f"{group} {name}".strip() if group != name else name)
    joined = [names, *rows[2:]]
    is_grouped = not all(rows[0]) or any(left == right for left, right in pairwise(rows[0]))
    return names if is_grouped and looks_like_header(joined) and _names_figures(joined) else None


def _names_figures(rows: Sequence[Row]) -> bool:
    """Check whether the first row has a word above a column of figures."""
    for position, name in enumerate(rows[0]):
        filled = [row[position] for row in rows[1 : 1 + _COMPARED_ROWS] if position < len(row) and row[position]]
        figures = sum(_FIGURE.match(cell) is not None for cell in filled)
        if name and not _FIGURE.match(name) and filled and figures >= _MIN_FIGURES * len(filled):
            return True
    return False


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row names the columns of the other rows.

    A header row is followed by another row and has two or more cells. Its cells are short and all different, and none
    is a numeric value; a year is allowed. Only the first cell may be empty, and above figures also the last ones. The
    first must not end in a colon, because such a cell names its row. Less than half of the cells are prose like the
    cells below them.
    """
    if len(rows) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    may_end_early = not first[-1] and _names_figures(rows)
    while may_end_early and len(first) > _MIN_COLUMNS and not first[-1]:
        first.pop()
    if len(first) < 2 or len(set(first)) < len(first) or first[0].endswith(":"):
        return False
    if not all(first[1:]) or not all(_looks_like_column_name(cell) for cell in first if cell):
        return False
    below = rows[1 : 1 + _COMPARED_ROWS]
    prose = [
        cell for position, cell in enumerate(first) if _is_prose(cell, [row[position : position + 1] for row in below])
    ]
    return len(prose) * 2 < len(first)


def _looks_like_column_name(cell: str) -> bool:
    letters = sum(character.isalpha() for character in cell)
    digits = sum(character.isdigit() for character in cell)
    is_year = cell.isdigit() and len(cell) == 4
    return len(cell) <= _MAX_HEADER_LENGTH and (letters > digits or is_year or (not digits and len(cell) <= 3))


def _is_prose(cell: str, below: Sequence[Sequence[str]]) -> bool:
    """Check whether a cell is a sentence, or has many words where the filled cells below it have as many."""
    words = len(cell.split())
    if cell.endswith(".") and words >= _MIN_SENTENCE_WORDS:
        return True
    counts = [len(text.split()) for cells in below for text in cells if text.strip()]
    return words >= _MIN_PROSE_WORDS and bool(counts) and median(counts) * 2 >= words

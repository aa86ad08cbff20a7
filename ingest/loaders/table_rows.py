"""Table rows as sentences: `Header: value; Header: value`.

A row that is quoted alone must still say what its numbers are, so every row carries its headers. Where no row
looks like a header the cells are given as they stand; nothing is invented.
"""

from collections.abc import Sequence

from sourcebound.ingest.chunking.page_text import collapse

_LONGEST_HEADER = 80


def linearise(rows: Sequence[Sequence[str]], has_header: bool | None = None) -> list[str]:
    """Write each row of a table as one line.

    Args:
        rows: Cells as the loader read them, the header row (if any) first.
        has_header: Whether the first row is a header; None asks `looks_like_header`.

    Returns:
        One line for each row with a visible cell. The header row has no line of its own unless it is the only row.
    """
    cells = [[collapse(cell) for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    captions = 0
    while len(cells) - captions > 2 and _spans_the_table(cells[captions]):
        captions += 1
    lines = [_without_headers(row) for row in cells[:captions]]
    return lines + _linearise_body(cells[captions:], has_header)


def _linearise_body(cells: list[list[str]], has_header: bool | None) -> list[str]:
    if has_header is None:
        has_header = looks_like_header(cells)
    if has_header and len(cells) > 1:
        return [_with_headers(cells[0], row) for row in cells[1:]]
    return [_without_headers(row) for row in cells]


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows names the columns of the rest.

    It does when a row follows it and it has two or more cells, all of them filled, short, different and without a
    number as a value. A first cell that ends in a colon names its row, and not a column.
    """
    if len(rows) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    if len(first) < 2 or len(set(first)) < len(first) or first[0].endswith(":"):
        return False
    named = [cell for cell in first[1:] if cell]
    return len(named) == len(first) - 1 and all(_names_a_column(cell) for cell in first if cell)


def _spans_the_table(row: Sequence[str]) -> bool:
    """Whether one merged cell, or only a first cell, fills the row: a caption above the header."""
    return len(row) > 1 and len({cell for cell in row if cell}) == 1 and bool(row[0])


def _names_a_column(cell: str) -> bool:
    letters = sum(character.isalpha() for character in cell)
    digits = sum(character.isdigit() for character in cell)
    is_year = cell.isdigit() and len(cell) == 4
    return len(cell) <= _LONGEST_HEADER and (letters > digits or is_year or (not digits and len(cell) <= 3))


def _with_headers(header: Sequence[str], row: Sequence[str]) -> str:
    pairs = []
    for position, cell in enumerate(row):
        if not cell:
            continue
        name = header[position].rstrip(": ") if position < len(header) else ""
        pairs.append(f"{name}: {cell}" if name else cell)
    return "; ".join(pairs)


def _without_headers(row: Sequence[str]) -> str:
    filled = [cell for position, cell in enumerate(row) if cell and (position == 0 or cell != row[position - 1])]
    if len(row) == 2 and len(filled) == 2:
        return f"{filled[0].rstrip(': ')}: {filled[1]}"
    return "; ".join(filled)

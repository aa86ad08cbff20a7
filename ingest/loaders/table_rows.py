"""The text of table rows: `Header: value; Header: value`.

Every row repeats the headers, because a row that is quoted alone must still say what its numbers mean. If no row looks
like a header, the row contains only its cells.
"""

from collections.abc import Sequence
from statistics import median

from sourcebound.ingest.chunking.page_text import collapse

_MAX_HEADER_LENGTH = 80
_MIN_SENTENCE_WORDS = 4
_MIN_PROSE_WORDS = 5
_COMPARED_ROWS = 20


def linearise(rows: Sequence[Sequence[str]], has_header: bool | None = None) -> list[str]:
    """Render each row of a table as one line.

    Args:
        rows: The cells of each row. A header row, if there is one, comes first.
        has_header: Whether the first row is a header. If None, `looks_like_header` decides.

    Returns:
        One line for each row that has text. A header row has a line of its own only if it is the only row.
    """
    cells = [[collapse(cell) for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    caption_count = 0
    while len(cells) - caption_count > 2 and _is_caption(cells[caption_count]):
        caption_count += 1
    lines = [_render_without_headers(row) for row in cells[:caption_count]]
    return lines + _linearise_below_captions(cells[caption_count:], has_header)


def _linearise_below_captions(cells: list[list[str]], has_header: bool | None) -> list[str]:
    if has_header is None:
        has_header = looks_like_header(cells)
    if has_header and len(cells) > 1:
        return [_render_with_headers(cells[0], row) for row in cells[1:]]
    return [_render_without_headers(row) for row in cells]


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row names the columns of the other rows.

    A header row is followed by another row and has two or more cells. Its cells are short and all different, and none
    is a numeric value; a year is allowed. Only the first cell may be empty. It must not end in a colon, because such a
    cell names its row. Less than half of the cells are prose like the cells below them.
    """
    if len(rows) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    if len(first) < 2 or len(set(first)) < len(first) or first[0].endswith(":"):
        return False
    if not all(first[1:]) or not all(_looks_like_column_name(cell) for cell in first if cell):
        return False
    below = rows[1 : 1 + _COMPARED_ROWS]
    prose = [cell for position, cell in enumerate(first) if _is_prose(cell, [row[position:][:1] for row in below])]
    return len(prose) * 2 < len(first)


def _is_caption(row: Sequence[str]) -> bool:
    """Check whether a row is a caption above the header: one merged cell, or only a first cell."""
    return len(row) > 1 and len({cell for cell in row if cell}) == 1 and bool(row[0])


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


def _render_with_headers(header: Sequence[str], row: Sequence[str]) -> str:
    pairs = []
    for position, cell in enumerate(row):
        if not cell:
            continue
        name = header[position].rstrip(": ") if position < len(header) else ""
        pairs.append(f"{name}: {cell}" if name else cell)
    return "; ".join(pairs)


def _render_without_headers(row: Sequence[str]) -> str:
    filled = [cell for position, cell in enumerate(row) if cell and (position == 0 or cell != row[position - 1])]
    if len(row) == 2 and len(filled) == 2:
        return f"{filled[0].rstrip(': ')}: {filled[1]}"
    return "; ".join(filled)

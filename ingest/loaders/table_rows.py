"""The text of table rows: `Header: value; Header: value`.

Every row repeats the headers, because a row that is quoted alone must still say what its numbers mean. If no row looks
like a header, the row contains only its cells.
"""

from collections.abc import Collection, Sequence

from sourcebound.ingest.chunking.page_text import collapse
from sourcebound.ingest.loaders.table_head import find_head

_MIN_NOTE_WORDS = 5
_MIN_COLUMNS = 3


def linearise(rows: Sequence[Sequence[str]], has_header: bool | None = None) -> list[str]:
    """Render each row of a table as one line.

    Args:
        rows: The cells of each row. A header row, if there is one, comes first.
        has_header: Whether the first row is a header. If None, `find_head` decides.

    Returns:
        One line for each row that has text. A header row has a line of its own only if it is the only row.
    """
    cells = [[collapse(cell) for cell in row] for row in rows]
    cells = _drop_empty_columns([row for row in cells if any(row)])
    if note := _read_note(cells):
        return [note]
    caption_count = 0
    while len(cells) - caption_count > 2 and _is_caption(cells[caption_count]):
        caption_count += 1
    lines = [_render_without_headers(row) for row in cells[:caption_count]]
    head = find_head(cells[caption_count:], has_header)
    lines += map(_render_without_headers, head.above)
    if head.names is None or not head.below:
        return lines + [_render_without_headers(row) for row in (head.names, *head.below) if row]
    values = {cell for row in head.below if len(set(row)) > 1 for cell in row}
    return lines + [_render_with_headers(head.names, row, values) for row in head.below]


def _drop_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """Drop the columns without text of a table that has three others; two others may be a term and its meaning."""
    width = max(map(len, rows), default=0)
    filled = [column for column in range(width) if any(column < len(row) and row[column] for row in rows)]
    if len(filled) < _MIN_COLUMNS:
        return rows
    return [[row[column] if column < len(row) else "" for column in filled] for row in rows]


def _read_note(rows: list[list[str]]) -> str:
    """Return a note that is drawn as a table, a title above one text; an empty text if the rows are no such note."""
    texts = [[*dict.fromkeys(filter(None, row))] for row in rows]
    if [len(row) for row in texts] != [1, 1]:
        return ""
    (title,), (text,) = texts
    is_note = title.replace(" ", "").isalpha() and len(title.split()) < _MIN_NOTE_WORDS <= len(text.split())
    return _render_without_headers([title, text]) if is_note else ""


def _is_caption(row: Sequence[str]) -> bool:
    """Check whether a row is a caption above the header: one merged cell, or only a first cell."""
    return len(row) > 1 and len({cell for cell in row if cell}) == 1 and bool(row[0])


def _render_with_headers(header: Sequence[str], row: Sequence[str], values: Collection[str]) -> str:
    """Return the cells with their names. A note or title in a row of its own, also in one merged cell, has no name.

    A row of equal cells is no title if their text is one of the values of other rows, or if all rows are like it.
    """
    is_note = len(row[0].split()) >= _MIN_NOTE_WORDS
    is_title = len(row) >= _MIN_COLUMNS and row[0].replace(" ", "").isalpha() and bool(values) and row[0] not in values
    is_merged = len(set(row)) == 1 and (is_note or is_title)
    if is_merged or (is_note and not any(row[1:])):
        return row[0]
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

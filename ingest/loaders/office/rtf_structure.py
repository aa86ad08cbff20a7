r"""The table cells, list items and line breaks of a Rich Text file, marked as `striprtf` reads them. Pure.

`striprtf` writes a cell with `|` after it, and a line break as it writes the end of a paragraph. The marks tell what it
was, and they never stay in the text.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ROW_START: Final = "\ue002"
_CELL: Final = "\ue003"
_ROW: Final = "\ue004"
_LINE: Final = "\ue005"
ITEM: Final = "\ue006"
"""It precedes the number or bullet of a list item."""
_WORDS: Final = {"trowd": _ROW_START, "cell": _CELL, "row": _ROW, "line": _LINE, "listtext": ITEM, "pntext": ITEM}
_SHOWN_ITEM: Final = "\\listtext "
"""`striprtf` leaves out `\\pntext`, the number or bullet of an item as older programs write it."""
_CONTROL: Final = re.compile(r"\\(?:([a-z]{1,32})(-?\d{1,10})? ?|[^a-z])", re.IGNORECASE)
_REMOVED: Final = str.maketrans("", "", f"{_ROW_START}{_CELL}{_ROW}{_LINE}")
_SEPARATOR: Final = "|"


class Part(NamedTuple):
    """The paragraphs between two tables, or a table."""

    paragraphs: list[str]
    rows: list[list[str]]
    """The cells of each row; empty for paragraphs."""


def mark_structure(rtf: str) -> str:
    """Add a mark to each control word of a row, a cell, a line break, and the number or bullet of a list item."""
    return _CONTROL.sub(_mark, rtf)


def read_parts(text: str) -> Iterator[Part]:
    """Yield the paragraphs and tables of a text that `striprtf` made of a marked file, in order."""
    rows: list[list[str]] = []
    *with_rows, rest = text.split(_ROW)
    for segment in with_rows:
        before, start, row = segment.partition(_ROW_START)
        is_started = start and (_CELL in row or _CELL not in before)
        if not is_started and rows:
            before, row = "", segment
        elif not is_started:
            before, row = _split_before_last_line(segment)
        if before.strip():
            yield from _flush(rows)
            rows = []
            yield Part(_split_paragraphs(before), [])
        *cells, unfinished = map(_read_cell, row.split(_CELL))
        if unfinished:
            cells.append(unfinished)
        if cells:
            rows.append(cells)
    yield from _flush(rows)
    yield Part(_split_paragraphs(rest), [])


def _mark(control: re.Match[str]) -> str:
    mark = _WORDS.get(control[1] or "")
    if mark is None:
        return control[0]
    shown = f"{{\\uc0\\u{ord(mark)}}}"
    return f"{_SHOWN_ITEM}{shown}" if mark == ITEM else f"{shown}{control[0]}"


def _flush(rows: list[list[str]]) -> Iterator[Part]:
    if rows:
        yield Part([], rows)


def _split_before_last_line(segment: str) -> tuple[str, str]:
    """Split a segment before the line with its first cell, where nothing says where the row starts."""
    start = segment.partition(_CELL)[0].rfind("\n") + 1
    return segment[:start], segment[start:]


def _read_cell(cell: str) -> str:
    return cell.strip().removeprefix(_SEPARATOR).translate(_REMOVED).replace(ITEM, "").strip()


def _split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text. Line breaks stay in them; two of them end a paragraph."""
    lines = text.replace(f"{_LINE}\n", _LINE).split("\n")
    broken = [each.replace(_LINE, "\n").translate(_REMOVED) for line in lines for each in line.split(_LINE * 2)]
    return [each.strip("\n") for each in broken if each.strip()]

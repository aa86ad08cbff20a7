"""Markdown blocks of an answer, with offsets: the first step of `segment_v1` (R5-5).

Only structure that ends a statement is recognized: code fences, headings, list items, table rows, and line breaks that
separate statements instead of wrapping one.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+\S")
TABLE_ROW: Final = re.compile(r"\s*\|.*\|(?:\s*\[C\d+\])*\s*$")
TABLE_RULE: Final = re.compile(r"\s*(?:\|\s*)?:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?$")
LIST_MARKER: Final = re.compile(r"(?:[-*+•◦▪‣⁃·–]|\(?(?:\d{1,3}[.)]+|[a-z][.)]+|[ivx]{1,4}[.)]+|[A-Z]\)))\s+(?=\S)")
DECIMAL_MARKER: Final = re.compile(r"\d{1,3}\.\d")
"""What only looks like the marker of a further item: `3.5 m`."""
INLINE_MARKER: Final = re.compile(r"(?:(?<=\s)|^)(?:[•⁃‣▪·]\s*)?(?P<number>\d{1,3}|[a-z])(?:\.\)|\.|\))(?=\s*\S)")
LONE_MARKER: Final = re.compile(r"\W*(?:\d{1,3}|[a-zA-Z])(?:\.\)|[.)])")
SECTION_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.")
BULLET: Final = re.compile(r"(?:(?<=\s)|^)[•⁃‣▪]\s*(?=\S)")
ENUMERATED: Final = re.compile(r"\s*\(\w{1,5}\)(?=\s)")
"""The marker of an item in brackets. `sentencex` takes all that follows it for one sentence."""
QUOTE_MARK: Final = re.compile(r"\s*(?:>\s?)+")
STATEMENT_END: Final = re.compile(r"""[.!?…。！？｡؟۔।॥:;：；]["'”’»)\]*_]*\s*$|\]\s*$""")
CITED_END: Final = re.compile(r"\[C\d+\][\s.;,]*$")
MAX_HEADING_WORDS: Final = 12


class TextBlockKind(StrEnum):
    """The kind of a block."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


class TextBlock(NamedTuple):
    """`text[start:end]`, without quote marks and outer white space."""

    kind: TextBlockKind
    start: int
    end: int


class Line(NamedTuple):
    """`text[start:end]` without its line break."""

    start: int
    end: int
    text: str


def split_blocks(text: str) -> list[TextBlock]:
    """Cut a text into blocks.

    Args:
        text: An answer, Markdown or plain.

    Returns:
        The blocks in order. Table rules and blank lines belong to no block.
    """
    return [block for block in _read_blocks(text, _split_lines(text)) if block.start < block.end]


def _split_lines(text: str) -> list[Line]:
    lines, start = [], 0
    for piece in text.splitlines(keepends=True):
        content = piece.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        lines.append(Line(start, start + len(content), content))
        start += len(piece)
    return lines


def _read_blocks(text: str, lines: list[Line]) -> Iterator[TextBlock]:
    index = 0
    while index < len(lines):
        line = lines[index]
        fence = FENCE.match(line.text)
        if fence:
            last = _find_fence_end(lines, index, fence[1])
            yield TextBlock(TextBlockKind.CODE, line.start, lines[last].end)
            index = last + 1
        elif not line.text.strip():
            index += 1
        elif _is_single_line(line.text) or _is_table_head(lines, index):
            yield from _read_single(lines, index)
            index += 1
        else:
            last = _find_paragraph_end(lines, index)
            yield from _read_paragraph(text, lines[index : last + 1])
            index = last + 1


def _find_fence_end(lines: list[Line], index: int, mark: str) -> int:
    for last in range(index + 1, len(lines)):
        if lines[last].text.strip().startswith(mark[0] * len(mark)):
            return last
    return len(lines) - 1


def _is_single_line(line: str) -> bool:
    """Whether a line is a block by itself, whatever its neighbours."""
    return bool(HEADING.match(line) or TABLE_ROW.match(line) or TABLE_RULE.match(line))


def _is_table_head(lines: list[Line], index: int) -> bool:
    next_line = lines[index + 1].text if index + 1 < len(lines) else ""
    return "|" in lines[index].text and "|" in next_line and bool(TABLE_RULE.match(next_line))


def _read_single(lines: list[Line], index: int) -> Iterator[TextBlock]:
    line = lines[index]
    if TABLE_RULE.match(line.text):
        return
    if HEADING.match(line.text) and len(line.text.split()) <= MAX_HEADING_WORDS + 1:
        yield _line_block(TextBlockKind.HEADING, line, 0)
    elif HEADING.match(line.text):
        yield _line_block(TextBlockKind.PARAGRAPH, line, len(line.text) - len(line.text.lstrip(" #")))
    else:
        is_head = _is_table_head(lines, index)
        yield _line_block(TextBlockKind.HEADING if is_head else TextBlockKind.TABLE_ROW, line, 0)


def _line_block(kind: TextBlockKind, line: Line, skip: int) -> TextBlock:
    visible = line.text[skip:]
    start = line.start + skip + len(visible) - len(visible.lstrip())
    return TextBlock(kind, start, line.start + skip + len(visible.rstrip()))


def _find_content(line: Line) -> tuple[int, bool]:
    """Return the offset of a line's content, after quote marks, and whether the line opens a list item."""
    quote = QUOTE_MARK.match(line.text)
    offset = quote.end() if quote else 0
    offset += len(line.text[offset:]) - len(line.text[offset:].lstrip())
    return offset, bool(LIST_MARKER.match(line.text, offset))


def _find_paragraph_end(lines: list[Line], index: int) -> int:
    last = index
    for next_index in range(index + 1, len(lines)):
        line = lines[next_index]
        if not line.text.strip() or FENCE.match(line.text) or _is_single_line(line.text) or _find_content(line)[1]:
            break
        if _is_table_head(lines, next_index):
            break
        last = next_index
    return last


def _read_paragraph(text: str, lines: list[Line]) -> Iterator[TextBlock]:
    """Join the lines that wrap one statement. Every other line break ends a statement."""
    offset, is_item = _find_content(lines[0])
    kind = TextBlockKind.LIST_ITEM if is_item else TextBlockKind.PARAGRAPH
    start = lines[0].start + offset
    wraps = len(lines) > 1 and any(STATEMENT_END.search(line.text) for line in lines)
    for previous, line in pairwise(lines):
        content = line.text[_find_content(line)[0] :]
        if wraps and _continues(previous.text, content):
            continue
        yield TextBlock(kind, start, previous.start + len(previous.text.rstrip()))
        start = line.start + _find_content(line)[0]
    yield TextBlock(kind, start, lines[-1].start + len(lines[-1].text.rstrip()))


def _continues(previous: str, content: str) -> bool:
    """Whether a line continues the statement of the previous line."""
    if CITED_END.search(previous) or STATEMENT_END.search(previous):
        return False
    return content[:1].islower() or previous.rstrip().endswith((",", "-", "–", "(", "/")) or content.startswith("[C")


def list_starts(text: str, *, knows_decimals: bool) -> list[int]:
    """Return the starts of list items within one line, or only the start of the text if it has no such list.

    Args:
        text: The line.
        knows_decimals: Whether a number with decimals (`3.5 m`) is no marker.
    """
    bullets = [] if text.isascii() else [match.start() for match in BULLET.finditer(text)]
    if len(bullets) >= 2:
        return sorted({0, *bullets})
    if not INLINE_MARKER.match(text, len(text) - len(text.lstrip())):
        return [0]  # a list begins with the text
    markers = [(match.start(), match["number"]) for match in INLINE_MARKER.finditer(text)]
    run: list[tuple[int, str]] = []
    for position, number in markers:
        if run and knows_decimals and DECIMAL_MARKER.match(text, position):
            continue
        if (run and _next_marker(run[-1][1]) == number) or (not run and not text[:position].strip()):
            run.append((position, number))
    return sorted({0, *(position for position, _ in run)}) if len(run) >= 2 else [0]


def _next_marker(number: str) -> str:
    return str(int(number) + 1) if number.isdigit() else chr(ord(number) + 1)

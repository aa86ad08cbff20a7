"""Markdown blocks of an answer, with offsets: the first cut of `segment_v1` (contract R5-5).

Only what changes where a statement ends is recognised: code fences, headings, list items, table rows, and the line
breaks that separate statements from those that merely wrap one.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+\S")
TABLE_ROW: Final = re.compile(r"\s*\|.*\|(?:\s*\[C\d+\])*\s*$")
TABLE_RULE: Final = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
LIST_MARKER: Final = re.compile(r"(?:[-*+•◦▪‣⁃·–]|\(?(?:\d{1,3}[.)]+|[a-z][.)]+|[ivx]{1,4}[.)]+|[A-Z]\)))\s+(?=\S)")
QUOTE_MARK: Final = re.compile(r"\s*(?:>\s?)+")
STATEMENT_END: Final = re.compile(r"""[.!?…。！？｡؟۔।॥:;：；]["'”’»)\]*_]*\s*$|\]\s*$""")
CITED_END: Final = re.compile(r"\[C\d+\][\s.;,]*$")
MAX_HEADING_WORDS: Final = 12


class TextBlockKind(StrEnum):
    """What a block is."""

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
    """Cuts a text into blocks.

    Args:
        text: An answer, Markdown or plain.

    Returns:
        The blocks in order; table rules and blank lines belong to none.
    """
    return [block for block in _blocks(text, _lines(text)) if block.start < block.end]


def _lines(text: str) -> list[Line]:
    lines, start = [], 0
    for piece in text.splitlines(keepends=True):
        content = piece.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        lines.append(Line(start, start + len(content), content))
        start += len(piece)
    return lines


def _blocks(text: str, lines: list[Line]) -> Iterator[TextBlock]:
    index = 0
    while index < len(lines):
        line = lines[index]
        fence = FENCE.match(line.text)
        if fence:
            last = _fence_end(lines, index, fence[1])
            yield TextBlock(TextBlockKind.CODE, line.start, lines[last].end)
            index = last + 1
        elif not line.text.strip():
            index += 1
        elif _is_single(line.text) or _is_table_head(lines, index):
            yield from _single(lines, index)
            index += 1
        else:
            last = _paragraph_end(lines, index)
            yield from _paragraph(text, lines[index : last + 1])
            index = last + 1


def _fence_end(lines: list[Line], index: int, mark: str) -> int:
    for last in range(index + 1, len(lines)):
        if lines[last].text.strip().startswith(mark[0] * len(mark)):
            return last
    return len(lines) - 1


def _is_single(line: str) -> bool:
    """Whether a line is a block of its own whatever stands around it."""
    return bool(HEADING.match(line) or TABLE_ROW.match(line) or TABLE_RULE.match(line))


def _is_table_head(lines: list[Line], index: int) -> bool:
    follows = lines[index + 1].text if index + 1 < len(lines) else ""
    return "|" in lines[index].text and "|" in follows and bool(TABLE_RULE.match(follows))


def _single(lines: list[Line], index: int) -> Iterator[TextBlock]:
    line = lines[index]
    if TABLE_RULE.match(line.text):
        return
    if HEADING.match(line.text) and len(line.text.split()) <= MAX_HEADING_WORDS + 1:
        yield _block(TextBlockKind.HEADING, line, 0)
    elif HEADING.match(line.text):
        yield _block(TextBlockKind.PARAGRAPH, line, len(line.text) - len(line.text.lstrip(" #")))
    else:
        head = _is_table_head(lines, index)
        yield _block(TextBlockKind.HEADING if head else TextBlockKind.TABLE_ROW, line, 0)


def _block(kind: TextBlockKind, line: Line, skip: int) -> TextBlock:
    visible = line.text[skip:]
    start = line.start + skip + len(visible) - len(visible.lstrip())
    return TextBlock(kind, start, line.start + skip + len(visible.rstrip()))


def _content(line: Line) -> tuple[int, bool]:
    """Offset of a line's content within it, quote marks left out, and whether it opens a list item."""
    quote = QUOTE_MARK.match(line.text)
    offset = quote.end() if quote else 0
    offset += len(line.text[offset:]) - len(line.text[offset:].lstrip())
    return offset, bool(LIST_MARKER.match(line.text, offset))


def _paragraph_end(lines: list[Line], index: int) -> int:
    last = index
    for following in range(index + 1, len(lines)):
        line = lines[following]
        if not line.text.strip() or FENCE.match(line.text) or _is_single(line.text) or _content(line)[1]:
            break
        if _is_table_head(lines, following):
            break
        last = following
    return last


def _paragraph(text: str, lines: list[Line]) -> Iterator[TextBlock]:
    """Joins the lines that wrap one statement; each other line break ends one."""
    offset, is_item = _content(lines[0])
    kind = TextBlockKind.LIST_ITEM if is_item else TextBlockKind.PARAGRAPH
    start = lines[0].start + offset
    wraps = len(lines) > 1 and any(STATEMENT_END.search(line.text) for line in lines)
    for before, line in pairwise(lines):
        content = line.text[_content(line)[0] :]
        if wraps and _continues(before.text, content):
            continue
        yield TextBlock(kind, start, before.start + len(before.text.rstrip()))
        start = line.start + _content(line)[0]
    yield TextBlock(kind, start, lines[-1].start + len(lines[-1].text.rstrip()))


def _continues(before: str, content: str) -> bool:
    """Whether a line goes on with the statement of the line before it."""
    if CITED_END.search(before) or STATEMENT_END.search(before):
        return False
    return content[:1].islower() or before.rstrip().endswith((",", "-", "–", "(", "/")) or content.startswith("[C")

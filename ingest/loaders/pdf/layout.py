"""Finds headings, list items, table rows and paragraphs among the lines of a PDF page. Pure.

A PDF knows glyphs, not paragraphs. The rules here are few and look only at what a reader sees: size, weight, gaps and
bullets. A wrong guess costs a worse cut or a missing heading, never text: every line ends up in exactly one block.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind

_LARGER = 1.12
_COMMON = 0.15
_RUNNING_PAGES = 3
_RUNNING_SHARE = 0.3
_WIDE_GAP = 1.45
_WIDE_HEADING_GAP = 1.7
_LONGEST_HEADING = 120
_MOST_HEADING_LINES = 3
_MOST_LEVELS = 6
_MOST_WORDS_BEFORE_STOP = 14
_BULLET = re.compile(r"[•●○▪■◦‣⁃\uf0b7\uf0a7\uf06f]\s*|[-–—*]\s+|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+\S")
_NUMBER = re.compile(r"[-–—+(]*[$€£]?[-–—(]*\d[\d.,:/%)]*|[$€£%)—–-]+")
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"”’)\]]*$")
_OPENING = "“\"'‘([§¿¡"
_NOT_WORD = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"^(?:[\dA-Z]{1,3}[.)]?(?:\d+\.?)*)\s+")


class Cell(NamedTuple):
    """A part of a line without a wide gap, in points; `baseline` is that of its first glyph."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: bool


class Line(NamedTuple):
    """One line of a page: `text[start:end]` of the page's text, and its style, in points."""

    start: int
    end: int
    text: str
    size: float
    bold: bool
    left: float
    right: float
    bottom: float
    cells: tuple[Cell, ...] = ()
    """The cells of the line; empty if a word is hyphenated at the line's end."""
    is_row: bool = False
    """Whether the text is a table row with its headers."""


class Style(NamedTuple):
    """The style that distinguishes headings from body text; sizes are rounded to half a point."""

    size: float
    bold: bool


class OutlineEntry(NamedTuple):
    """One bookmark of the document's outline; `level` counts from 1."""

    page_index: int
    level: int
    title: str


Levels = Mapping[Style, int]


def heading_levels(pages: Sequence[Sequence[Line]]) -> dict[Style, int]:
    """Rank the styles that stand out from the body: the largest is level 1.

    Every style that sets a good part of the text is body, so a report with a small-print annex keeps its body type.

    Args:
        pages: The lines of every page.

    Returns:
        The level of each heading style; empty where nothing stands out.
    """
    weights: Counter[Style] = Counter()
    for line in (line for page in pages for line in page):
        weights[_style(line)] += len(line.text)
    if not weights:
        return {}
    total = weights.total()
    common = [style for style, weight in weights.items() if weight >= total * _COMMON]
    body = max(common or [weights.most_common(1)[0][0]])
    standing_out = [style for style in weights if style not in common and _stands_out(style, body)]
    ranked = sorted(standing_out, key=lambda style: (-style.size, not style.bold))
    return {style: min(rank, _MOST_LEVELS) for rank, style in enumerate(ranked, start=1)}


def running_heads(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the lines that are on so many pages that they are page headers or footers, not section headings."""
    counts = Counter(text for page in pages for text in {line.text for line in page})
    most = max(_RUNNING_PAGES, len(pages) * _RUNNING_SHARE)
    return frozenset(text for text, count in counts.items() if count > most)


def blocks_by_style(lines: Sequence[Line], levels: Levels, running: frozenset[str]) -> tuple[Block, ...]:
    """Split one page into blocks; headings are recognized by their style.

    Args:
        lines: The page's lines in reading order.
        levels: What `heading_levels` found for the document.
        running: What `running_heads` found for the document; these lines are never headings.
    """
    marks: list[int] = [0] * len(lines)
    position = 0
    while position < len(lines):
        run = 0 if lines[position].text in running else _heading_run(lines, position, levels)
        if 0 < run <= _MOST_HEADING_LINES:
            marks[position : position + run] = [levels[_style(lines[position])]] * run
        position += max(run, 1)
    return _group(lines, marks)


def blocks_by_outline(lines: Sequence[Line], entries: Sequence[OutlineEntry]) -> tuple[Block, ...]:
    """Split one page into blocks; headings are those of the document's outline.

    Args:
        lines: The page's lines in reading order.
        entries: The outline entries that point at this page.
    """
    marks = [0] * len(lines)
    for entry in entries:
        for position in _find_title(lines, entry.title):
            marks[position] = entry.level
    return _group(lines, marks)


def _style(line: Line) -> Style:
    return Style(round(line.size * 2) / 2, line.bold)


def _stands_out(style: Style, body: Style) -> bool:
    return style.size >= body.size * _LARGER or (style.bold and not body.bold and style.size >= body.size * 0.95)


def _heading_run(lines: Sequence[Line], start: int, levels: Levels) -> int:
    """Return the number of lines from `start` on that share a heading style and look like a heading."""
    style = _style(lines[start])
    if style not in levels:
        return 0
    end = start
    while end < len(lines) and _style(lines[end]) == style and _reads_like_heading(lines[end]):
        if end > start and _stands_apart(lines[end - 1], lines[end]):
            break
        end += 1
    return end - start


def _reads_like_heading(line: Line) -> bool:
    text = line.text
    letters = sum(character.isalpha() for character in text)
    if len(text) > _LONGEST_HEADING or letters < 3 or letters < len(text) / 2:
        return False
    if text[0].islower() or not (text[0].isalnum() or text[0] in _OPENING):
        return False
    return (
        not text.endswith((",", ";"))
        and not (text.endswith(".") and len(text.split()) > _MOST_WORDS_BEFORE_STOP)
        and not _is_row(line)
    )


def _find_title(lines: Sequence[Line], title: str) -> range:
    """Return the positions of the one to three lines that together spell a title; empty if there are none."""
    wanted = _letters(title)
    alternatives = {wanted, _letters(_NUMBERING.sub("", title))} - {""}
    for start in range(len(lines)):
        spelled = ""
        for end in range(start, min(start + _MOST_HEADING_LINES, len(lines))):
            spelled = f"{spelled} {lines[end].text}"
            if _letters(spelled) in alternatives or _letters(_NUMBERING.sub("", spelled.strip())) in alternatives:
                return range(start, end + 1)
    return range(0)


def _letters(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def _group(lines: Sequence[Line], marks: Sequence[int]) -> tuple[Block, ...]:
    gaps = [gap for before, line in pairwise(lines) if (gap := _gap(before, line)) > 0]
    leading = median(gaps) if gaps else 0.0
    blocks: list[Block] = []
    first = 0
    for position in range(1, len(lines) + 1):
        if position == len(lines) or _starts_block(lines, marks, first, position, leading):
            if lines:
                blocks.append(_block(lines, marks, first, position - 1))
            first = position
    return tuple(blocks)


def _block(lines: Sequence[Line], marks: Sequence[int], first: int, last: int) -> Block:
    kind = BlockKind.HEADING if marks[first] else _kind(lines[first])
    return Block(kind=kind, char_start=lines[first].start, char_end=lines[last].end, level=marks[first])


def _kind(line: Line) -> BlockKind:
    if _is_row(line):
        return BlockKind.TABLE_ROW
    return BlockKind.LIST_ITEM if _BULLET.match(line.text) else BlockKind.PARAGRAPH


def _is_row(line: Line) -> bool:
    if line.is_row:
        return True
    tokens = line.text.split()
    numbers = sum(_NUMBER.fullmatch(token) is not None for token in tokens)
    return numbers >= 2 and numbers >= len(tokens) * 0.35


def _starts_block(lines: Sequence[Line], marks: Sequence[int], first: int, position: int, leading: float) -> bool:
    before, line = lines[position - 1], lines[position]
    if marks[position] or marks[position - 1]:
        same_heading = marks[position] == marks[position - 1] and _style(before) == _style(line)
        return not same_heading or position - first >= _MOST_HEADING_LINES or _stands_apart(before, line)
    if _kind(line) is not BlockKind.PARAGRAPH or _is_row(before):
        return True
    gap = _gap(before, line)
    if gap < 0:
        return _SENTENCE_END.search(before.text) is not None or not line.text[0].islower()
    if leading and gap > leading * _WIDE_GAP:
        return True
    return _left_a_list(lines[first], line) or _ends_short(lines[first : position + 1])


def _left_a_list(item: Line, line: Line) -> bool:
    return _kind(item) is BlockKind.LIST_ITEM and line.left <= item.left + 1


def _ends_short(lines: Sequence[Line]) -> bool:
    """Whether the second to last line ends a sentence far from the right edge of its paragraph."""
    before = lines[-2]
    widest = max(line.right for line in lines)
    width = widest - min(line.left for line in lines)
    return _SENTENCE_END.search(before.text) is not None and before.right < widest - width * 0.15


def _stands_apart(before: Line, line: Line) -> bool:
    return not 0 <= _gap(before, line) <= max(before.size, line.size) * _WIDE_HEADING_GAP


def _gap(before: Line, line: Line) -> float:
    """Return the distance of `line` below `before`; negative when it is above, as at the top of a column."""
    return before.bottom - line.bottom

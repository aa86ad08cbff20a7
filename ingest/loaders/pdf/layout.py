"""The layout of a PDF page: headings, list items, table rows and paragraphs among its lines. Pure.

A PDF stores glyphs, not paragraphs. The few rules here use only what a reader sees: size, weight, gaps and bullets.
A wrong guess causes a wrong block boundary or a missing heading, but it never loses text, because every line is in
exactly one block.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from sourcebound.contracts.corpus.document import Block, BlockKind

_HEADING_SIZE_RATIO = 1.12
_MIN_BODY_SHARE = 0.15
_MAX_HEADING_PAGES = 3
_MAX_HEADING_PAGE_SHARE = 0.3
_PARAGRAPH_GAP_RATIO = 1.45
_MAX_HEADING_GAP = 1.7
_MAX_HEADING_LENGTH = 120
_MAX_HEADING_LINES = 3
_MIN_TITLE_WORDS = 2
_MAX_OFF_CENTRE = 0.02
_MAX_LEVELS = 6
_MAX_WORDS_BEFORE_FULL_STOP = 14
_LIST_MARKER = re.compile(r"[•●○▪■◦‣⁃\uf0b7\uf0a7\uf06f]\s*|[-–—*]\s+|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+\S")
_DASH_MARKER = re.compile(r"^[-–—*]\s+(?=[^\W\d_])")
_NUMBER = re.compile(r"[-–—+(]*[$€£]?[-–—(]*\d[\d.,:/%)]*|[$€£%)—–-]+")
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"”’)\]]*$")
_OPENING_MARKS = "“\"'‘([§¿¡"
_NON_WORD = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"^[\dA-Z]{1,3}[.)]?(?:\d+(?:\.\d+)*\.?)?\s+")


class Cell(NamedTuple):
    """A part of a line without a wide gap. Positions are in points; `baseline` is that of the first glyph."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: bool


class Line(NamedTuple):
    """One line of a page: its offsets in the page's text, and its style and extent in points."""

    start: int
    end: int
    text: str
    size: float
    bold: bool
    left: float
    right: float
    bottom: float
    cells: tuple[Cell, ...] = ()
    """The cells of the line; empty if the line has a word that is hyphenated at a line's end."""
    is_row: bool = False
    """Whether the text is a table row with its headers."""
    drop: float = 0.0
    """How far its end is below its beginning: a word that is hyphenated at a line's end joins two lines."""


class Style(NamedTuple):
    """The style that distinguishes headings from body text; sizes are rounded to half a point."""

    size: float
    bold: bool


class OutlineEntry(NamedTuple):
    """One bookmark of the document's outline; `level` counts from 1."""

    page_index: int
    level: int
    title: str


HeadingLevels = Mapping[Style, int]


def rank_heading_styles(pages: Sequence[Sequence[Line]]) -> dict[Style, int]:
    """Rank the heading styles of a document: the largest is level 1.

    Every style with a large share of the text is a body style, such as the small print of an annex. A heading style is
    larger than the largest body style, or bold where that style is not.

    Args:
        pages: The lines of every page.

    Returns:
        The level of each heading style; empty if the pages have no heading styles.
    """
    weights: Counter[Style] = Counter()
    for line in (line for page in pages for line in page):
        weights[get_style(line)] += len(line.text)
    if not weights:
        return {}
    total = weights.total()
    body_styles = [style for style, weight in weights.items() if weight >= total * _MIN_BODY_SHARE]
    body_style = max(body_styles or [weights.most_common(1)[0][0]])
    heading_styles = [style for style in weights if style not in body_styles and is_heading_style(style, body_style)]
    ranked = sorted(heading_styles, key=lambda style: (-style.size, not style.bold))
    return {style: min(rank, _MAX_LEVELS) for rank, style in enumerate(ranked, start=1)}


def find_running_heads(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the texts of lines that are on so many pages that they are page headers or footers."""
    counts = Counter(text for page in pages for text in {line.text for line in page})
    page_limit = max(_MAX_HEADING_PAGES, len(pages) * _MAX_HEADING_PAGE_SHARE)
    return frozenset(text for text, count in counts.items() if count > page_limit)


def split_by_style(lines: Sequence[Line], levels: HeadingLevels, running_heads: frozenset[str]) -> tuple[Block, ...]:
    """Split one page into blocks. The style of a line decides whether it is a heading, or its capitals and its place.

    A title in capitals, centred over its text or table, is a heading in any style. It has the lowest level of the
    document's headings.

    Args:
        lines: The lines of the page in reading order.
        levels: The levels of the document's heading styles, from `rank_heading_styles`.
        running_heads: The page headers and footers of the document, from `find_running_heads`. They are not headings.
    """
    line_levels: list[int] = [0] * len(lines)
    position = 0
    while position < len(lines):
        heading_lines = 0 if lines[position].text in running_heads else _count_heading_lines(lines, position, levels)
        if 0 < heading_lines <= _MAX_HEADING_LINES:
            line_levels[position : position + heading_lines] = [levels[get_style(lines[position])]] * heading_lines
        position += max(heading_lines, 1)
    for position in _find_titles(lines, levels, running_heads):
        line_levels[position] = max(levels.values(), default=1)
    return _group_into_blocks(lines, line_levels)


def split_by_outline(lines: Sequence[Line], entries: Sequence[OutlineEntry]) -> tuple[Block, ...]:
    """Split one page into blocks. Headings are the lines that the document's outline names.

    Args:
        lines: The lines of the page in reading order.
        entries: The outline entries that point at this page.
    """
    line_levels = [0] * len(lines)
    for entry in entries:
        for position in _find_title(lines, entry.title):
            line_levels[position] = entry.level
    return _group_into_blocks(lines, line_levels)


def get_style(line: Line) -> Style:
    """Return the style of a line."""
    return Style(round(line.size * 2) / 2, line.bold)


def is_heading_style(style: Style, body_style: Style) -> bool:
    """Check whether a style is larger than that of the text, or bold where that is not."""
    return style.size >= body_style.size * _HEADING_SIZE_RATIO or (
        style.bold and not body_style.bold and style.size >= body_style.size * 0.95
    )


def _count_heading_lines(lines: Sequence[Line], start: int, levels: HeadingLevels) -> int:
    """Count the lines from `start` that share a heading style and look like one heading."""
    style = get_style(lines[start])
    if style not in levels:
        return 0
    end = start
    while end < len(lines) and get_style(lines[end]) == style and _looks_like_heading(lines[end]):
        if end > start and _is_separated(lines[end - 1], lines[end]):
            break
        end += 1
    return end - start


def _find_titles(lines: Sequence[Line], levels: HeadingLevels, running_heads: frozenset[str]) -> Iterator[int]:
    """Yield the positions of titles in capitals that have no heading style, centred between the page's edges."""
    left, right = min((line.left for line in lines), default=0), max((line.right for line in lines), default=0)

    def may_be_title(line: Line) -> bool:
        off_centre = abs(line.left + line.right - left - right) / 2
        is_centred = off_centre <= (right - left) * _MAX_OFF_CENTRE
        is_other = get_style(line) in levels or line.text in running_heads
        return is_centred and line.text.isupper() and not is_other

    for may_be, run in groupby(range(len(lines)), lambda position: may_be_title(lines[position])):
        positions = list(run)
        title = [lines[position] for position in positions]
        is_indented = any(line.left > left + line.size for line in title)
        words = sum(len(line.text.split()) for line in title)
        is_short = len(title) <= _MAX_HEADING_LINES and words >= _MIN_TITLE_WORDS
        if may_be and is_indented and is_short and all(map(_looks_like_heading, title)):
            below = lines[positions[-1] + 1].text if positions[-1] + 1 < len(lines) else ""
            is_text = _SENTENCE_END.search(title[-1].text) or _LIST_MARKER.match(title[0].text.lower())
            if not is_text and not below[:1].islower():
                yield from positions


def _looks_like_heading(line: Line) -> bool:
    text = line.text
    letters = sum(character.isalpha() for character in text)
    if len(text) > _MAX_HEADING_LENGTH or letters < 3 or letters < len(text) / 2:
        return False
    if text[0].islower() or not (text[0].isalnum() or text[0] in _OPENING_MARKS):
        return False
    return (
        not text.endswith((",", ";"))
        and not (text.endswith(".") and len(text.split()) > _MAX_WORDS_BEFORE_FULL_STOP)
        and not _is_table_row(line)
    )


def _find_title(lines: Sequence[Line], title: str) -> range:
    """Return the positions of the one to three lines that together form a title; empty if there are none.

    A number alone above them belongs to the title only if the title needs it: it may be the number of the page.
    """
    normalized = _normalize_title(title)
    targets = {normalized, _normalize_title(_NUMBERING.sub("", title))} - {""}
    for start in range(len(lines)):
        joined = ""
        for end in range(start, min(start + _MAX_HEADING_LINES, len(lines))):
            joined = f"{joined} {lines[end].text}"
            if _normalize_title(joined) in targets or _normalize_title(_NUMBERING.sub("", joined.strip())) in targets:
                is_paged = lines[start].text.isdecimal() and not normalized.startswith(lines[start].text)
                return range(start + (is_paged and end > start), end + 1)
    return range(0)


def _normalize_title(text: str) -> str:
    return _NON_WORD.sub("", text).casefold()


def _group_into_blocks(lines: Sequence[Line], line_levels: Sequence[int]) -> tuple[Block, ...]:
    gaps = [gap for previous, line in pairwise(lines) if (gap := _measure_gap(previous, line)) > 0]
    line_spacing = median(gaps) if gaps else 0.0
    blocks: list[Block] = []
    first = 0
    for position in range(1, len(lines) + 1):
        if position == len(lines) or _starts_block(lines, line_levels, first, position, line_spacing):
            if lines:
                blocks.append(_make_block(lines, line_levels, first, position - 1))
            first = position
    return tuple(blocks)


def _make_block(lines: Sequence[Line], line_levels: Sequence[int], first: int, last: int) -> Block:
    kind = BlockKind.HEADING if line_levels[first] else _classify_line(lines[first])
    return Block(kind=kind, char_start=lines[first].start, char_end=lines[last].end, level=line_levels[first])


def _classify_line(line: Line) -> BlockKind:
    if _is_table_row(line):
        return BlockKind.TABLE_ROW
    return BlockKind.LIST_ITEM if _LIST_MARKER.match(line.text) else BlockKind.PARAGRAPH


def _is_table_row(line: Line) -> bool:
    if line.is_row:
        return True
    if line.text.startswith(("•", "◦")) or line.text.endswith("."):
        return False
    tokens = _DASH_MARKER.sub("", line.text).split()
    numbers = sum(_NUMBER.fullmatch(token) is not None for token in tokens)
    return numbers >= 2 and numbers >= len(tokens) * 0.35


def _starts_block(
    lines: Sequence[Line], line_levels: Sequence[int], first: int, position: int, line_spacing: float
) -> bool:
    previous, line = lines[position - 1], lines[position]
    if line_levels[position] or line_levels[position - 1]:
        same_heading = line_levels[position] == line_levels[position - 1] and get_style(previous) == get_style(line)
        return not same_heading or position - first >= _MAX_HEADING_LINES or _is_separated(previous, line)
    if _classify_line(line) is not BlockKind.PARAGRAPH or _is_table_row(previous):
        return True
    gap = _measure_gap(previous, line)
    if gap < 0:
        return _SENTENCE_END.search(previous.text) is not None or not line.text[0].islower()
    if line_spacing and gap > line_spacing * _PARAGRAPH_GAP_RATIO:
        return True
    return _ends_list_item(lines[first], previous, line) or _ends_paragraph(lines[first : position + 1])


def _ends_list_item(item: Line, previous: Line, line: Line) -> bool:
    """Check whether a line below an item is no part of it: it is not indented, and does not go on with its sentence."""
    is_item = _classify_line(item) is BlockKind.LIST_ITEM
    return is_item and line.left <= item.left + 1 and not _goes_on(previous, line)


def _goes_on(previous: Line, line: Line) -> bool:
    """Check whether a sentence runs over two lines: its next word had no room in the first, if that is as wide."""
    word = len(line.text.split(maxsplit=1)[0]) + 1
    is_full = previous.right + (line.right - line.left) / len(line.text) * word >= line.right
    return line.text[0].islower() and is_full and not _SENTENCE_END.search(previous.text)


def _ends_paragraph(lines: Sequence[Line]) -> bool:
    """Check whether the second to last line ends a sentence far from the right edge of its paragraph."""
    previous = lines[-2]
    widest = max(line.right for line in lines)
    width = widest - min(line.left for line in lines)
    return _SENTENCE_END.search(previous.text) is not None and previous.right < widest - width * 0.15


def _is_separated(previous: Line, line: Line) -> bool:
    return not 0 <= _measure_gap(previous, line) <= max(previous.size, line.size) * _MAX_HEADING_GAP


def _measure_gap(previous: Line, line: Line) -> float:
    """Return the distance of `line` below the end of `previous`; negative if it is above, as in a new column."""
    return previous.bottom - previous.drop - line.bottom

"""The page furniture of a PDF: page numbers, and the headers and footers that are repeated on most pages. Pure.

Furniture stays in the text of its page, at the beginning or the end, and is in no chunk. A line with content must never
become furniture, so it is furniture only if all of this holds:

1. It is among the outermost rows of its page.
2. Its text is on at least two pages in five, with other digits at most. It is at one height of the page, or is a page
   number alone. Running heads that change with the chapter are on as many pages together. Each is on two pages nearby,
   and has not the style of a heading, unless it names a numbered section next to a page number.
3. Unless it is a page number alone, a gap separates it from the text of the page, so that it is not the head of a table
   that continues. It begins with no signal word of a warning, is no value after a label ("Result: passed"), and is
   not a row of a table.

A page number is a number that counts the pages, with page words at most ("Page 3 of 12"). A part number ("P-101") or a
step ("Step 2") may also count the pages, and is content. So a page number in a longer line is one only if it is a part
of that line on its own, and the line has not the style of a heading.

The first occurrence of each text stays ordinary text, because only it may name the document or its revision. Texts are
compared without their page numbers.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.page_number import is_page_number
from sourcebound.ingest.loaders.pdf.layout import Line, Style, get_style, is_heading_style

_EDGE_ROWS: Final = 3
_MIN_SHARE: Final = 0.4
"""Less than a half, because left and right pages may have different headers."""
_MIN_PAGES: Final = 4
_MIN_NUMBERED_PAGES: Final = 3
_MIN_COUNTING: Final = 0.6
_HEIGHT_TOLERANCE: Final = 3.0
_MAX_PAGES_APART: Final = 2
"""Left and right pages may have different headers."""
_SAME_ROW: Final = 0.5
_MIN_GAP: Final = 1.6
"""The smallest gap between furniture and text, in distances between lines."""
_TABLE_GAP: Final = 3.0
_MAX_SPACING: Final = 2.5
"""The widest distance between lines of a text, in font sizes. A page of few rows has no usual distance."""
_DIGITS: Final = re.compile(r"\d+")
_FREE_NUMBER: Final = re.compile(r"(?<![\w./-])\d+(?![\w./-])")
_SEPARATOR: Final = re.compile(r"\s[–—-]\s|[|·•]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_MAX_LENGTH: Final = 160
_MAX_PAGE_DIGITS: Final = 4
_CONTENT: Final = re.compile(
    r"[^:]{1,40}:\s*\S"
    r"|\W*(?:warning|caution|danger|warnung|vorsicht|gefahr|achtung|avertissement|attention|advertencia|precauci[oó]n"
    r"|peligro|avvertenza|attenzione|pericolo)\b",
    re.IGNORECASE,
)
"""A value after its label, and the signal word of a warning."""
_SECTION: Final = re.compile(r"(?:[^\W\d_]+ )?(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*[.:]? .*[^\W\d_]{2}.*")
"""A numbered section with its name: `Chapter 8: Spare parts`, `4.6. The motor`."""


class _Place(NamedTuple):
    """A line at an edge of its page."""

    page: int
    line: int
    height: float
    text: str
    numbers: tuple[int, ...]
    """The numbers that may be the page number."""
    is_number: bool
    """Whether the line is a page number alone."""
    is_heading: bool
    """Whether it has the style of a heading."""


class _Found(NamedTuple):
    """A line that may be furniture: its text without the page number, and whether it is a page number alone."""

    identity: str
    is_number: bool


class PageFurniture(NamedTuple):
    """The furniture of one page, as indices of its lines: above its text, and below."""

    above: tuple[int, ...]
    below: tuple[int, ...]


def find_furniture(pages: Sequence[Sequence[Line]]) -> list[PageFurniture]:
    """Find the page furniture of a document.

    Args:
        pages: The lines of every page, in any order.

    Returns:
        The furniture of each page. A line is never furniture where its text occurs for the first time, unless it is a
        page number alone.
    """
    rows = [_group_rows(lines) for lines in pages]
    candidates: dict[tuple[int, int], _Found] = {}
    for is_above in (True, False):
        groups = _group_places(pages, rows, is_above).values()
        judged = [_judge_changing(groups, len(pages)), *(_judge(places, len(pages)) for places in groups)]
        candidates |= {(place.page, place.line): found for place, found in chain.from_iterable(judged)}
    furniture = []
    seen: set[str] = set()
    for number, (lines, page_rows) in enumerate(zip(pages, rows, strict=True)):
        above = _take_from_edge(lines, page_rows, number, candidates)
        below = _take_from_edge(lines, page_rows[above:][::-1], number, candidates)
        edges = page_rows[:above], page_rows[len(page_rows) - below :]
        found = (tuple(_drop_first(number, chain.from_iterable(edge), candidates, seen)) for edge in edges)
        furniture.append(PageFurniture(*found))
    return furniture


def _group_rows(lines: Sequence[Line]) -> list[list[int]]:
    """Return the lines of a page by their height, from the highest row to the lowest."""
    rows: list[list[int]] = []
    for index in sorted(range(len(lines)), key=lambda index: -lines[index].bottom):
        if rows and lines[rows[-1][0]].bottom - lines[index].bottom <= lines[index].size * _SAME_ROW:
            rows[-1].append(index)
        else:
            rows.append([index])
    return rows


def _group_places(
    pages: Sequence[Sequence[Line]], rows: Sequence[Sequence[Sequence[int]]], is_above: bool
) -> dict[tuple[str, ...], list[_Place]]:
    """Return the lines at one edge of all pages, by their text without its digits."""
    usual = _find_usual_style(pages)
    groups: dict[tuple[str, ...], list[_Place]] = defaultdict(list)
    for number, (lines, page_rows) in enumerate(zip(pages, rows, strict=True)):
        edge = page_rows[:_EDGE_ROWS] if is_above else page_rows[-_EDGE_ROWS:]
        for index in (index for row in edge for index in row):
            line = lines[index]
            is_number, names_section = is_page_number(line.text), _names_section(line)
            is_heading = is_heading_style(get_style(line), usual) and not (names_section and line.size <= usual.size)
            has_number = is_number or (_has_page_number(line) and not is_heading)
            is_value = _CONTENT.match(line.text) and not (is_number or names_section)
            if line.is_row or len(line.text) > _MAX_LENGTH or is_value:
                continue
            numbers = tuple(int(found[0][:9]) for found in _find_numbers(line.text, is_number)) if has_number else ()
            place = _Place(number, index, line.bottom, line.text, numbers, is_number, is_heading)
            groups[tuple(_DIGITS.split(line.text))].append(place)
    return groups


def _find_usual_style(pages: Sequence[Sequence[Line]]) -> Style:
    weights: Counter[Style] = Counter()
    for line in chain.from_iterable(pages):
        weights[get_style(line)] += len(line.text)
    return max(weights, key=weights.__getitem__, default=Style(0.0, bold=False))


def _has_page_number(line: Line) -> bool:
    """Check whether a part of a line is a page number: a cell, or what is between two separators."""
    return any(map(is_page_number, (*(cell.text for cell in line.cells), *_SEPARATOR.split(line.text))))


def _names_section(line: Line) -> bool:
    """Check whether a line has two cells: the name of a numbered section, and a page number."""
    texts = sorted((cell.text for cell in line.cells), key=str.isdecimal)
    return len(texts) == 2 and texts[1].isdecimal() and _SECTION.fullmatch(texts[0]) is not None


def _find_numbers(text: str, is_number: bool) -> list[re.Match[str]]:
    return list((_DIGITS if is_number else _FREE_NUMBER).finditer(text))


def _judge(places: Sequence[_Place], page_count: int) -> list[tuple[_Place, _Found]]:
    """Return the places of one text that may be furniture: those that count the pages, or are at the usual height."""
    on_pages = len({place.page for place in places})
    if on_pages < page_count * _MIN_SHARE:
        return []
    slot = _find_page_number(places)
    if slot is not None and places[0].is_number and on_pages >= _MIN_NUMBERED_PAGES:
        return [(place, _Found(_mask(place, slot), is_number=True)) for place in places]
    height = median(place.height for place in places)
    level = [place for place in places if abs(place.height - height) <= _HEIGHT_TOLERANCE]
    if len({place.page for place in level}) < max(_MIN_PAGES, page_count * _MIN_SHARE):
        return []
    return [(place, _Found(_mask(place, slot), is_number=False)) for place in level]


def _judge_changing(groups: Collection[Sequence[_Place]], page_count: int) -> list[tuple[_Place, _Found]]:
    """Return the places of running heads that change with the chapter: together they are on as many pages as others.

    Each is at one height with them, and has the number of its page or the same text as one at most two pages away.
    """
    running = [place for places in groups for place in _find_running(places)]
    heights = Counter(round(place.height) for place, _ in running)
    level: list[tuple[_Place, _Found]] = []
    for height in heights:
        near = [each for each in running if abs(each[0].height - height) <= _HEIGHT_TOLERANCE]
        numbered = [
            place
            for place in chain.from_iterable(groups)
            if place.numbers and not place.is_number and abs(place.height - height) <= _HEIGHT_TOLERANCE
        ]
        offsets = Counter(number - place.page for place in numbered for number in set(place.numbers))
        offset = max(offsets, key=offsets.__getitem__, default=0)
        on_pages = {place.page for place in numbered if place.page + offset in place.numbers}
        if len({place.page for place, _ in near} | on_pages) >= max(_MIN_PAGES, page_count * _MIN_SHARE):
            level.extend(near)
    return level


def _find_running(places: Sequence[_Place]) -> Iterator[tuple[_Place, _Found]]:
    """Yield the places of one text that have another one within two pages at their height."""
    slot = _find_page_number(places)
    by_page: dict[int, list[_Place]] = defaultdict(list)
    for place in places:
        by_page[place.page].append(place)
    steps = [step for step in range(-_MAX_PAGES_APART, _MAX_PAGES_APART + 1) if step]
    for place in places:
        near = (other for step in steps for other in by_page.get(place.page + step, ()))
        is_repeated = any(abs(place.height - other.height) <= _HEIGHT_TOLERANCE for other in near)
        if is_repeated and not place.is_heading and not place.is_number:
            yield place, _Found(_mask(place, slot), is_number=False)


def _find_page_number(places: Sequence[_Place]) -> int | None:
    """Return which number of a text counts the pages: it differs from the place of its page by the same amount."""
    for slot in range(min(len(place.numbers) for place in places)):
        offsets = Counter(place.numbers[slot] - place.page for place in places)
        if offsets.most_common(1)[0][1] >= len(places) * _MIN_COUNTING:
            return slot
    return None


def _mask(place: _Place, slot: int | None) -> str:
    """Return the text of a place without its page number."""
    if slot is None:
        return place.text
    start, end = _find_numbers(place.text, place.is_number)[slot].span()
    return f"{place.text[:start]}\0{place.text[end:]}"


def _take_from_edge(
    lines: Sequence[Line], rows: Sequence[Sequence[int]], page: int, candidates: Mapping[tuple[int, int], _Found]
) -> int:
    """Return how many of the rows, from the edge of the page inwards, are furniture."""
    spacing = _measure_spacing(lines, rows)
    count = taken = 0
    while count < len(rows) and all((page, index) in candidates for index in rows[count]):
        count += 1
        is_number = all(candidates[page, index].is_number for index in rows[count - 1])
        if is_number or count == len(rows) or _is_apart(lines, rows[count - 1], rows[count], spacing):
            taken = count
    return taken


def _measure_spacing(lines: Sequence[Line], rows: Sequence[Sequence[int]]) -> float:
    """Return the usual distance between the rows of a page."""
    heights = [lines[row[0]].bottom for row in rows]
    return median([abs(one - other) for one, other in pairwise(heights)] or [0.0])


def _is_apart(lines: Sequence[Line], row: Sequence[int], inner: Sequence[int], spacing: float) -> bool:
    """Check whether a gap separates a row from the one further inwards. Rows of a table need a wider one."""
    gap = abs(lines[row[0]].bottom - lines[inner[0]].bottom)
    size = max(lines[index].size for index in (*row, *inner))
    is_table = all(sum(max(1, len(lines[index].cells)) for index in each) > 1 for each in (row, inner))
    return gap >= max(min(spacing, size * _MAX_SPACING) * _MIN_GAP, size * (_TABLE_GAP if is_table else _MIN_GAP))


def _drop_first(
    page: int, taken: Iterable[int], candidates: Mapping[tuple[int, int], _Found], seen: set[str]
) -> Iterator[int]:
    """Yield the lines whose text occurred before, or is a page number alone."""
    for index in taken:
        identity = candidates[page, index].identity
        if identity in seen or not _LETTER.search(identity):
            yield index
        seen.add(identity)

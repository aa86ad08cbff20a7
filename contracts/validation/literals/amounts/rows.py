"""Numbers in a row: `969 977 7 (2)` are four, `1 245 300` is one, and `| EUR | 22.5 |` is in euros (R5-8)."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from sourcebound.contracts.validation.literals.amounts.units import ALL_UNITS
from sourcebound.contracts.validation.literals.literal import PART, Literal

BLANK: Final = re.compile("[ \u00a0\u202f]")
JOINED: Final = re.compile(r"\d{1,3}(?:[, \u00a0\u202f]\d{3})+")
CELL: Final = r"\(?[$€£]?\d[\d.,]*\)?%?"
ROW: Final = re.compile(rf"{CELL}(?:[ \u00a0\u202f]+(?:[-–—][ \u00a0\u202f]+){{0,3}}{CELL})+")
"""Numbers with blanks between them. A dash between two is an empty cell, or that of a range."""
DASH: Final = re.compile(r"(?<=[ \u00a0\u202f])[-–—](?=[ \u00a0\u202f])")
LEAST_DASHES: Final = 2
"""The dashes of a row that are no range."""
MARK: Final = re.compile(r"[(),.%$€£]")
"""What no group of digits has, so that the numbers next to it are numbers of their own."""
TABLE_ROW: Final = re.compile(r"^[ \t]*\|[^\n]*\|[ \t]*$", re.MULTILINE)
MONEY: Final = frozenset("eur gbp usd chf jpy € £ $ ¥".split())
"""What a cell that only names a currency has, in lower case."""
DECIMAL: Final = re.compile(r"[-−–(]?\d[\d,.\u00a0\u202f ]*\)?")
LEAST_CELLS: Final = 5
MOST_GROUPS: Final = 3
"""The most groups of digits of one number next to others: `45 120 445 790` are four numbers of a row."""
KINDS: Final = frozenset({"number", "identifier"})
"""The second is that of numbers without a value."""


def numbers_of_rows(text: str, literals: Sequence[Literal]) -> list[Literal]:
    """Return the single numbers of those that were read as one with blanks, although they are cells of a row.

    No number has commas and blanks. Without commas, a row has five cells or more, and one of them is in brackets or has
    a mark, or two are empty, or the one number would have four groups and more. A part that begins with 0 is a group of
    digits.

    Args:
        text: The plain text of a source.
        literals: Its literals.
    """
    joined = [each for each in literals if each.kind in KINDS and BLANK.search(each.text)]
    if not joined:
        return []
    rows = list(ROW.finditer(text))
    starts = [match.start() for match in rows]
    return [part for each in joined for part in _parts(each, rows, starts)]


def _parts(literal: Literal, rows: Sequence[re.Match[str]], starts: Sequence[int]) -> Iterator[Literal]:
    found = JOINED.search(literal.text)
    parts = BLANK.split(found[0]) if found else []
    if not found or len(parts) < 2 or any(part.startswith("0") for part in parts):
        return
    start = literal.start + found.start()
    place = bisect_right(starts, start) - 1
    row = rows[place][0] if place >= 0 and start < rows[place].end() else ""
    cells = len(row.split())
    has_mark = MARK.search(row) is not None or len(DASH.findall(row)) >= LEAST_DASHES
    is_cell = cells >= LEAST_CELLS and (has_mark or MOST_GROUPS < len(parts) < cells)
    if "," not in found[0] and not is_cell:
        return
    for part in parts:
        yield Literal("number", part, start, frozenset([f"n{int(part.replace(',', ''))}"]))
        start += len(part) + 1


def row_forms(apart: Sequence[Literal]) -> Iterator[tuple[str, str | None]]:
    """Yield the forms of single numbers. They support a bare number only."""
    yield from ((form, PART) for each in apart for form in each.forms)


def with_currencies(text: str, literals: Sequence[Literal]) -> list[Literal]:
    """Return literals in which a number of a row has the currency of the one cell of the row that only names one.

    Args:
        text: The plain text of a source.
        literals: Its literals.
    """
    rows = [(match, {cell.strip().casefold() for cell in match[0].split("|")}) for match in TABLE_ROW.finditer(text)]
    found = [
        (match.start(), match.end(), ALL_UNITS[min(named)]) for match, cells in rows if len(named := cells & MONEY) == 1
    ]
    starts = [start for start, _, _ in found]

    def convert(literal: Literal) -> Literal:
        place = bisect_right(starts, literal.start) - 1
        is_in = place >= 0 and literal.start < found[place][1]
        is_bare = literal.kind == "number" and literal.unit is None and DECIMAL.fullmatch(literal.text.strip())
        return literal._replace(unit=found[place][2]) if is_in and is_bare else literal

    return list(map(convert, literals)) if found else list(literals)

"""Scales in the heads of tables and columns: under "in thousands", 5,200 is 5.2 million (R5-8)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

from sourcebound.contracts.validation.literals.amounts.numbers import scaled_form
from sourcebound.contracts.validation.literals.amounts.units import ALL_UNITS
from sourcebound.contracts.validation.literals.literal import Literal, LiteralIndex

MONEY: Final = r"(?:US\$|\$|€|£|¥|usd|eur|euros?|gbp|jpy|(?:U\.?S\.? )?dollars?|pounds?)"
SCALE: Final = (
    r"(?P<scale>hundreds?|thousands?|millions?|billions?|mio\.?|mrd\.?|mn|bn|miles|milliers|migliaia|tausend"
    r"|tsd\.?|millones|milioni|millionen|milliards|miliardi|milliarden)"
)
COUNTED: Final = (
    rf"(?:{MONEY}|amounts?|figures?|values?|numbers?|data|expressed|stated|shown|reported|units?|shares?"
    r"|angaben|beträge|werte|montants?|chiffres|importes|cifras|importi|valori)"
)
"""What a scale follows."""
PLACED: Final = r"(?:in (?:this|these|the (?:following|above)) \w+\s+)?"
"""Where what a scale follows stands: `Amounts in this note are in £ million`."""
HEAD: Final = re.compile(
    rf"(?:(?:^|[(\[|,;:]\s*|\b{COUNTED}\s+{PLACED}|(?P<before>{MONEY})\s?)(?:are\s+)?(?:in|en)\s+(?:(?P<middle>{MONEY})\s?)?{SCALE}\b(?:\s+(?:of\s+|d[ei]\s+|d')(?P<after>{MONEY}))?"
    rf"|[(\[|]\s*(?P<plain>{MONEY})?\s?(?:in\s+)?"
    rf"(?P<zeros>'?000(?:,000)?s?|{SCALE.replace('scale', 'alone')}|(?P<millions>(?<=[(€£$])m(?=\))))\s*(?=[)\]|,])"
    rf"|^(?P<named>{MONEY})\s?{SCALE.replace('scale', 'name')}(?=:\s[^;\n]+;\s[^:;\n]{{1,80}}:\s)"
    rf"|(?:^|[(\[|,;:]\s*|\b(?:in|en)\s+)(?:(?:in|en)\s+)?(?P<letter>[tk])(?P<money>€|eur|chf|usd)(?!\w))"
    rf"(?!\s+(?:of|d[ei])\b|\s+d')",
    re.IGNORECASE | re.MULTILINE,
)
"""A scale where it is a head: at the start of a line, in brackets, in a cell, or after what it counts."""
ALONE: Final = re.compile(rf"[(*_]{{0,4}}(?:{MONEY}\s?)?(?:in\s)?{SCALE}(?:\s?{MONEY})?[)*_]{{0,4}}", re.IGNORECASE)
"""A cell of nothing but a scale."""
MARKS: Final = (
    "hundred thousand million billion mio mrd mn bn miles milliers migliaia tausend tsd millones milioni milliard "
    "miliardi 000 t€ k€ (m) €m) £m) $m) teur keur tchf kchf tusd kusd"
).split()
"""Each scale has one of these, in lower case; other texts are skipped."""
FACTORS: Final = {
    "hundred": 10**2, "thousand": 10**3, "000": 10**3, "million": 10**6, "mio": 10**6, "mn": 10**6,
    "mile": 10**3, "millier": 10**3, "migliaia": 10**3, "tausend": 10**3, "tsd": 10**3, "millone": 10**6,
    "milioni": 10**6, "millionen": 10**6, "milliard": 10**9, "miliardi": 10**9, "milliarden": 10**9,
    "t": 10**3, "k": 10**3, "m": 10**6, "000,000": 10**6, "billion": 10**9, "mrd": 10**9, "bn": 10**9,
}  # fmt: skip
SCALE_GROUPS: Final = ("scale", "zeros", "alone", "name", "millions", "letter")
MAX_HEADS: Final = 50
"""The most heads of a chunk that are read."""
FIELDS: Final = re.compile(r"[^;\n]+; [^:;\n]{1,80}: ")
"""The beginning of a row that names its values."""
LETTER: Final = re.compile(r"[^\W\d_]")
DIGIT: Final = re.compile(r"\d")
VALUE: Final = re.compile(r"[:|][^;|]*\d")
"""A value with a digit. The name of a column may be a year."""
PERIOD: Final = re.compile(
    r"\W*(?:(?:FY|[QH][1-4]|\d{1,2} [A-Z][a-z]+|[A-Z][a-z]+ \d{1,2},?)\s?)?(?:19|20)\d\d\W*", re.IGNORECASE
)
"""The head of a column that says only when: `FY 2023`."""
SCALED: Final = re.compile(r"\b(?:in|en)\s", re.IGNORECASE)
"""What tells a scale without a currency from a unit or a name: `Miles` may be either."""
LINE: Final = re.compile(r"[^\n]*")


class Scale(NamedTuple):
    """A scale, the currency in its head, and the text that it holds for."""

    factor: int
    unit: str | None
    start: int
    end: int
    column: int | None
    """The column of the table, None for every column."""


def scaled_forms(text: str, literals: list[Literal]) -> list[tuple[str, str | None]]:
    """Return the form and unit of every number of a chunk that stands under a scale.

    Args:
        text: The plain text of the chunk.
        literals: Its literals, in order.

    Returns:
        The forms at scale. They come on top of those as written.
    """
    scales = find_scales(text)
    if not scales:
        return []
    forms = []
    for literal in literals:
        holding = [scale for scale in scales if scale.start <= literal.start < scale.end]
        if literal.kind != "number" or not holding:
            continue
        start = max(scale.start for scale in holding)
        for scale in holding:
            if scale.start == start and _column(text, literal.start, scale) == scale.column:
                forms += _at_scale(literal, scale)
    return forms


def wrong_scales(statement: str, cited: Sequence[LiteralIndex]) -> Iterator[str]:
    """Yield every scale that a statement names as a head does, if its chunks name only others: `(in millions)`.

    Args:
        statement: The plain text of the statement.
        cited: The literals of the cited chunks.
    """
    said = find_scales(statement)
    held = {scale.factor for source in cited for scale in find_scales(source.plain)} if said else set()
    if held:
        yield from (head[0].strip("([|,;: ") for head in HEAD.finditer(statement) if _factor(head) not in held)


def find_scales(text: str) -> list[Scale]:
    """Find the scales of a text.

    One in a row of values is that of the row or of its cell, one in the head of a table that of the column, and any
    other holds up to the next one.
    """
    folded = text.casefold()
    if not any(mark in folded for mark in MARKS):
        return []
    found = [(head, _values_of_row(text, head)) for head in islice(HEAD.finditer(text), MAX_HEADS)]
    scales = [_to_scale(head, *values) for head, values in found if values]
    heads = [head for head, values in found if not values]
    for number, head in enumerate(heads):
        line_start, line_end = _line_around(text, head)
        line = text[line_start:line_end]
        same_line = [other for other in heads[number + 1 :][:9] if other.start() < line_end]
        following = heads[number + 1 + len(same_line)] if number + 1 + len(same_line) < len(heads) else None
        end = following.start() if following else len(text)
        cells = [bool(HEAD.search("|" + cell + "|")) for cell in _cells(line)]
        column = line[: head.end() - line_start].strip().lstrip("|").count("|") if _is_cell(line, cells) else None
        scales.append(_to_scale(head, line_end if column is not None else head.end(), end, column))
        if column == 0 and (scales[-1].unit or SCALED.search(head[0])):
            scales += _of_periods(scales[-1], text, line)
    return scales


def _of_periods(scale: Scale, text: str, head: str) -> list[Scale]:
    """Return the scale of the first cell of a head for the columns of periods: `| Item (£m) | 2023 |`.

    A cell of nothing but the scale is that of each column: `| EUR thousand | Vehicles |`. A first column with numbers
    of its own keeps its scale for itself.
    """
    lines = text[scale.start + 1 : scale.end].splitlines(keepends=True)
    rows = list(takewhile(lambda line: line.lstrip().startswith("|"), lines))
    first, *others = _cells(head)
    is_alone = ALONE.fullmatch(first.strip()) is not None
    if not is_alone and any(DIGIT.search(_cells(row)[0]) for row in rows):
        return []
    end = scale.start + 1 + sum(map(len, rows))
    columns = [number for number, cell in enumerate(others, start=1) if is_alone or PERIOD.fullmatch(cell)]
    return [scale._replace(column=column, end=end) for column in columns]


def _cells(row: str) -> list[str]:
    return row.strip().strip("|").split("|")


def _to_scale(head: re.Match[str], start: int, end: int, column: int | None = None) -> Scale:
    money = next(
        (
            part
            for part in (head["before"], head["middle"], head["after"], head["plain"], head["named"], head["money"])
            if part
        ),
        None,
    )
    return Scale(_factor(head), ALL_UNITS.get(money.casefold().split()[-1]) if money else None, start, end, column)


def _factor(head: re.Match[str]) -> int:
    word = next(head[group] for group in SCALE_GROUPS if head[group])
    name = word.casefold().strip("'.")
    return FACTORS.get(name.removesuffix("s"), 0) or FACTORS.get(name, 1)


def _line_around(text: str, head: re.Match[str]) -> tuple[int, int]:
    return text.rfind("\n", 0, head.start() + 1) + 1, LINE.match(text, head.end()).end()  # type: ignore[union-attr]


def _values_of_row(text: str, head: re.Match[str]) -> tuple[int, int] | None:
    """Return the place of the values of a row that has a scale in a name: `Lending (£m); 2023: 587`, or None.

    After `Lending (£m): 587` only this value has it. A row that has nothing but the scale is a head, and so is one
    without values.
    """
    start, end = _line_around(text, head)
    line, at = text[start:end], head.end() - start
    if "|" in line:
        is_first = not line[:at].strip().lstrip("|").count("|")
        is_body = "|" in text[:start].rstrip("\n").rpartition("\n")[2]
        cell, values = line.strip().strip("|").partition("|")[0], line[at:] if is_first and is_body else ""
    elif FIELDS.match(line):
        cell, rest = line[line.rfind(";", 0, head.start() - start) + 1 :].partition(";")[::2]
        name, _, value = cell.partition(": ")
        if head[0] in name and VALUE.match(f": {value}"):
            return head.end(), end - len(rest) - bool(rest)
        cell, values = cell if head[0] in name else value, line[at:]
    else:
        return None
    return (head.end(), end) if LETTER.search(cell.replace(head[0], "")) and VALUE.search(values) else None


def _is_cell(line: str, cells: list[bool]) -> bool:
    """Return whether a line is the head of a table with more than one filled cell, so that a scale is of its column."""
    filled = [cell for cell in _cells(line) if cell.strip()]
    return line.count("|") > 0 and len(filled) > 1 and any(cells)


def _column(text: str, position: int, scale: Scale) -> int | None:
    """Return the column of a position, None where the scale is not of a column."""
    if scale.column is None:
        return None
    line_start = text.rfind("\n", 0, position) + 1
    return text[line_start:position].lstrip().removeprefix("|").count("|")


def _at_scale(literal: Literal, scale: Scale) -> list[tuple[str, str | None]]:
    if (literal.unit not in (None, scale.unit) and scale.unit is not None) or literal.unit == ALL_UNITS["%"]:
        return []
    unit = literal.unit or scale.unit
    forms = (scaled_form(form, scale.factor) for form in literal.forms)
    return [(form, each) for form in forms if form for each in {unit, literal.unit}]

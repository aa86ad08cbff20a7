"""The numbers of a workbook (.xlsx) that its cells show with a sign or a unit: `16.4%` for 0.1639, `$9,500` for 9500.

`python-calamine` returns the stored numbers alone. Numbers without a sign or a unit, and dates, are not read here.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.archive import Element, read_xml

Place = tuple[int, int]
"""The row and the column of a cell, from 0."""

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BUILT_IN: Final = {9: "0%", 10: "0.00%"}
_CONDITION: Final = re.compile(r"\[[<>=]")
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_LITERAL: Final = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]')
"""Quoted text, an escaped character, and a currency with its locale."""
_SKIPPED: Final = re.compile(r"\[[^\]]*\]|[_*].")
"""A colour, and blanks as wide as a sign."""
_CODE: Final = re.compile(
    r"(?P<before>[^#0?.,;%\w]*)(?P<whole>[#0?,]*[#0?])(?:\.(?P<decimals>[#0?]*))?(?P<scale>,*)(?P<after>[^#0?;\w]*)"
)
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_GROUP: Final = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_MOST_DECIMALS: Final = 15
_LONGEST_CODE: Final = 255
_MOST: Final = 1e12
"""Larger numbers are shown as they are stored."""
_FIRST_PRIVATE: Final = 0xE000
"""The first of the characters that replace such text while a code is read."""
_CONTEXT: Final = Context(prec=60)


class NumberFormat(NamedTuple):
    """The way in which a cell shows a number."""

    before: str
    after: str
    factor: Decimal
    """100 for percentages; 0.001 for numbers that are shown in thousands."""
    least_digits: int
    """The digits before the point, filled up with zeros."""
    decimals: int
    least_decimals: int
    is_grouped: bool


def read_formats(data: bytes) -> dict[str, dict[Place, NumberFormat]]:
    """Return the formats of the cells of each sheet that show a sign or a unit, by the name of the sheet.

    Args:
        data: The bytes of a workbook (.xlsx).

    Raises:
        KeyError: A part of the workbook is missing.
        XMLSyntaxError: A part is not well-formed.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        styles = _read_styles(archive)
        if not styles:
            return {}
        return {name: dict(_read_cells(archive, part, styles)) for name, part in _iter_sheets(archive)}


def _read_styles(archive: zipfile.ZipFile) -> dict[str, NumberFormat]:
    """Return the formats by the number of the cells' style."""
    if "xl/styles.xml" not in archive.namelist():
        return {}
    root = read_xml(archive, "xl/styles.xml")
    codes = {str(number): code for number, code in _BUILT_IN.items()}
    codes |= {each.get("numFmtId", ""): each.get("formatCode", "") for each in root.iter(f"{_MAIN}numFmt")}
    formats = {number: found for number, code in codes.items() if (found := parse_format(code))}
    used = [style.get("numFmtId", "") for styles in root.iter(f"{_MAIN}cellXfs") for style in styles]
    return {str(style): formats[number] for style, number in enumerate(used) if number in formats}


def _iter_sheets(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the name of each sheet and the name of its part."""
    relations = read_xml(archive, "xl/_rels/workbook.xml.rels")
    targets = {each.get("Id"): each.get("Target", "") for each in relations}
    for sheet in read_xml(archive, "xl/workbook.xml").iter(f"{_MAIN}sheet"):
        target = targets.get(sheet.get(_ID), "")
        part = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
        if part in archive.namelist():
            yield sheet.get("name", ""), part


def _read_cells(
    archive: zipfile.ZipFile, part: str, styles: Mapping[str, NumberFormat]
) -> Iterator[tuple[Place, NumberFormat]]:
    from lxml import etree

    with archive.open(part) as file:
        cells = etree.iterparse(
            file, tag=f"{_MAIN}row", resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        for _, row in cells:
            yield from _read_row(row, styles)
            row.clear()


def _read_row(row: Element, styles: Mapping[str, NumberFormat]) -> Iterator[tuple[Place, NumberFormat]]:
    for cell in row.iter(f"{_MAIN}c"):
        style, reference = styles.get(cell.get("s", "")), _REFERENCE.fullmatch(cell.get("r", ""))
        if style and reference:
            column = 0
            for letter in reference[1]:
                column = column * 26 + ord(letter) - ord("A") + 1
            yield (int(reference[2]) - 1, column - 1), style


def parse_format(code: str) -> NumberFormat | None:
    """Parse a format code, such as `"$"#,##0.00` or `0.0%`.

    Returns:
        The format for positive numbers; None if it shows no sign and no unit, or no plain number.
    """
    if _CONDITION.search(code) or _PRIVATE.search(code) or len(code) > _LONGEST_CODE:
        return None
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        literals.append(next((each for each in match.groups() if each is not None), ""))
        return chr(_FIRST_PRIVATE + len(literals) - 1)

    found = _CODE.fullmatch(_SKIPPED.sub("", _LITERAL.sub(keep, code)).partition(";")[0])
    decimals = (found["decimals"] or "") if found else ""
    if not found or len(decimals) > _MOST_DECIMALS:
        return None
    before, after = _unmask(found["before"], literals).lstrip(), _unmask(found["after"], literals).rstrip()
    if not (before + after).strip(" ()+-"):
        return None
    is_percentage = "%" in found["before"] + found["after"]
    factor = Decimal(100) if is_percentage else Decimal(1).scaleb(-3 * len(found["scale"]))
    whole = found["whole"]
    return NumberFormat(before, after, factor, whole.count("0"), len(decimals), decimals.count("0"), "," in whole)


def _unmask(text: str, literals: list[str]) -> str:
    return _PRIVATE.sub(lambda match: literals[ord(match[0]) - _FIRST_PRIVATE], text)


def show_number(number: float, style: NumberFormat) -> str:
    """Return a number as a cell shows it, a negative one with a minus; a number out of range as it is stored."""
    if not abs(number) < _MOST:
        return f"{number:.15g}"
    step = Decimal(1).scaleb(-style.decimals)
    value = _CONTEXT.multiply(abs(Decimal(repr(number))), style.factor).quantize(step, ROUND_HALF_UP, _CONTEXT)
    whole, point, decimals = f"{value:f}".partition(".")
    whole = whole.zfill(style.least_digits)
    decimals = decimals[: style.least_decimals] + decimals[style.least_decimals :].rstrip("0")
    shown = _GROUP.sub(",", whole) if style.is_grouped else whole
    minus = "-" if number < 0 and value else ""
    return f"{minus}{style.before}{shown}{point if decimals else ''}{decimals}{style.after}"

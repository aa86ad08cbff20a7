"""The numbers of a workbook (.xlsx) that its cells show with a sign or a unit: `16.4%` for 0.1639, `$9,500` for 9500.

`python-calamine` returns the stored numbers alone. Numbers without a sign or a unit, and dates, are not read here.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

from sourcebound.ingest.loaders.archive import Element, read_xml

Place = tuple[int, int]
"""The row and the column of a cell, from 0."""

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BUILT_IN: Final = {9: "0%", 10: "0.00%"}
_SKIPPED: Final = re.compile(r"\[\$(?P<sign>[^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].")
"""A currency with its locale, a colour or a condition, and blanks as wide as a sign."""
_QUOTED: Final = re.compile(r'"([^"]*)"|\\(.)')
_CODE: Final = re.compile(
    r"(?P<before>[^#0?.,;%\w]*)(?P<whole>[#0?,]*[#0?])(?:\.(?P<decimals>[#0?]*))?(?P<scale>,*)(?P<after>[^#0?;\w]*)"
)
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_MOST_DECIMALS: Final = 15
_LONGEST_CODE: Final = 255
_MOST: Final = 1e12
"""Larger numbers are shown as they are stored."""
_LITERAL: Final = 0xE000
"""The first of the characters that replace quoted text while a code is read."""


class NumberFormat(NamedTuple):
    """The way in which a cell shows a number."""

    before: str
    after: str
    factor: Decimal
    """100 for percentages; 0.001 for numbers that are shown in thousands."""
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
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[1] if match[1] is not None else match[2])
        return chr(_LITERAL + len(quoted) - 1)

    masked = _QUOTED.sub(keep, code[:_LONGEST_CODE])
    found = _CODE.fullmatch(_SKIPPED.sub(lambda match: match["sign"] or "", masked).partition(";")[0])
    decimals = (found["decimals"] or "") if found else ""
    if not found or len(decimals) > _MOST_DECIMALS:
        return None
    before, after = (_unmask(found[side], quoted).strip() for side in ("before", "after"))
    if not (before + after).strip("()+-"):
        return None
    factor = Decimal(100) if "%" in before + after else Decimal(1).scaleb(-3 * len(found["scale"]))
    gap = " " * (found["after"][:1] == " " or _unmask(found["after"], quoted).startswith(" "))
    return NumberFormat(before, gap + after, factor, len(decimals), decimals.count("0"), "," in found["whole"])


def _unmask(text: str, quoted: list[str]) -> str:
    return "".join(quoted[ord(each) - _LITERAL] if each >= chr(_LITERAL) else each for each in text)


def show_number(number: float, style: NumberFormat) -> str:
    """Return a number as a cell shows it, a negative one with a minus; a number out of range as it is stored."""
    if not abs(number) < _MOST:
        return f"{number:.15g}"
    step = Decimal(1).scaleb(-style.decimals)
    value = abs(Decimal(repr(number)) * style.factor).quantize(step, ROUND_HALF_UP)
    shown = f"{value:,f}" if style.is_grouped else f"{value:f}"
    for _ in range(style.decimals - style.least_decimals):
        shown = shown.removesuffix("0")
    minus = "-" if number < 0 and value else ""
    return f"{minus}{style.before}{shown.removesuffix('.')}{style.after}"

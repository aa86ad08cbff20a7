"""The loader of spreadsheets (.xlsx, .xls, .ods): each sheet is a page, each row a block with its headers.

Cells have the values that were stored last. A formula without a stored value is an empty cell. A workbook (.xlsx) shows
percentages, amounts of money and units as its cells do.
"""

import io
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sourcebound.contracts.corpus.document import BlockKind, Page, ParsedDocument
from sourcebound.ingest.chunking.page_text import PageComposer
from sourcebound.ingest.loaders.archive import ARCHIVE_ERRORS, check_archive
from sourcebound.ingest.loaders.metadata import build_metadata
from sourcebound.ingest.loaders.sheets.number_formats import NumberFormat, Place, read_formats, show_number
from sourcebound.ingest.loaders.table_rows import linearise
from sourcebound.ingest.sandbox import failures

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

MEDIA_TYPES: Final = {
    ".xls": "application/vnd.ms-excel",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_ZIP: Final = b"PK"

Cell = int | float | str | bool | time | date | datetime | timedelta


def load_spreadsheet(path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
    """Read a spreadsheet.

    Args:
        path: The path of the file. Messages name the file, and its stem is the fallback title.
        data: The bytes of the file.
        max_bytes: The size limit of the file. An unpacked archive may be ten times as large.

    Returns:
        A document with one page, without a number, for each sheet that is not empty.

    Raises:
        DocumentError: With the code TOO_LARGE, ENCRYPTED, NO_TEXT or UNREADABLE.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    try:
        if data.startswith(_ZIP):
            check_archive(path, data, max_bytes)
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        formats = _read_formats(data)
        sheets = [
            (name, _read_rows(workbook.get_sheet_by_name(name), formats.get(name, {}))) for name in workbook.sheet_names
        ]
    except PasswordError as error:
        raise failures.encrypted(path) from error
    except (*ARCHIVE_ERRORS, CalamineError, ValueError) as error:
        raise failures.unreadable(path, f"is not a readable spreadsheet ({error})") from error
    pages: list[Page] = []
    for name, rows in sheets:
        lines = linearise(rows)
        if not lines:
            continue
        composer = PageComposer()
        composer.add(BlockKind.HEADING, name, level=1)
        for line in lines:
            composer.add(BlockKind.TABLE_ROW, line)
        pages.append(composer.page(len(pages)))
    if not pages:
        raise failures.no_text(path)
    media_type = MEDIA_TYPES.get(path.suffix.lower(), XLSX)
    metadata = build_metadata(path, tuple(pages), title=path.stem)
    return ParsedDocument(media_type=media_type, metadata=metadata, pages=tuple(pages))


def _read_formats(data: bytes) -> dict[str, dict[Place, NumberFormat]]:
    """Return the formats of an .xlsx workbook, by the name of the sheet; none if they cannot be read."""
    from lxml.etree import XMLSyntaxError

    try:
        return read_formats(data) if data.startswith(_ZIP) else {}
    except (LookupError, XMLSyntaxError, *ARCHIVE_ERRORS):
        return {}


def _read_rows(sheet: "CalamineSheet", formats: Mapping[Place, NumberFormat]) -> list[list[str]]:
    """Return the texts of the cells. A merged cell is repeated in each row and column that it covers (not in .ods)."""
    top, left = sheet.start or (0, 0)
    rows = [
        [show_cell(cell, formats.get((row, column))) for column, cell in enumerate(cells, left)]
        for row, cells in enumerate(sheet.to_python(), top)
    ]
    for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ():
        covered = rows[max(first_row - top, 0) : max(last_row - top + 1, 0)]
        start = max(first_column - left, 0)
        text = covered[0][start] if covered and start < len(covered[0]) else ""
        for row in covered if text else ():
            for column in range(start, min(last_column - left + 1, len(row))):
                row[column] = row[column] or text
    return rows


def show_cell(cell: Cell, style: NumberFormat | None = None) -> str:
    """Return the text of a cell: whole numbers without a fraction, dates and times in ISO form."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if style and isinstance(cell, int | float):
        return show_number(cell, style)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)

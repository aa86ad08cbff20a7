"""A workbook is read as its cells show percentages, amounts of money and units (IX-1)."""

import io
import zipfile

import pytest
import xlsxwriter

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.sheets.number_formats import parse_format, show_number
from support.loading import Load, blocks
from support.office_files import archive


@pytest.mark.contract("IX-1")
def test_a_workbook_is_read_as_its_cells_show_it(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        formats = {code: book.add_format({"num_format": code}) for code in ("0.0%", '"$"#,##0', "0.00", '0.0 "bar"')}
        for name, first in (("North", 1), ("South & East", 4)):
            sheet = book.add_worksheet(name)
            sheet.write_row(first, 2, ["Pump", "Share", "Price", "Flow", "Pressure"])
            sheet.write(first + 1, 2, "P-101")
            for column, (number, code) in enumerate(
                [(0.1639, "0.0%"), (9500.4, '"$"#,##0'), (12.5, "0.00"), (2.45, '0.0 "bar"')], 3
            ):
                sheet.write(first + 1, column, number, formats[code])
    document = load("pumps.xlsx", buffer.getvalue())
    row = ["Pump: P-101; Share: 16.4%; Price: $9,500; Flow: 12.5; Pressure: 2.5 bar"]
    assert [blocks(page, BlockKind.TABLE_ROW) for page in document.pages] == [row, row]


@pytest.mark.contract("IX-1")
def test_texts_and_truths_with_a_number_format_stay_as_they_are(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        percent = book.add_format({"num_format": "0%"})
        sheet = book.add_worksheet()
        for row, values in enumerate([["Part", "Share", "Done"], ["Bolt", "most", True], ["Nut", 1e300, False]]):
            sheet.write_row(row, 0, values, percent)
    assert blocks(load("parts.xlsx", buffer.getvalue()).pages[0], BlockKind.TABLE_ROW) == [
        "Part: Bolt; Share: most; Done: TRUE",
        "Part: Nut; Share: 1e+300; Done: FALSE",
    ]


@pytest.mark.contract("IX-1")
@pytest.mark.parametrize(
    ("code", "number", "shown"),
    [
        ("0%", 0.385, "39%"),
        ("0.00%", -0.0617, "-6.17%"),
        ("0.##%", 0.125, "12.5%"),
        ("#%", 0.5, "50%"),
        ('_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_)', 1234.5, "$1,234.50"),
        ("[$$-409]#,##0.00_);[Red]\\([$$-409]#,##0.00\\)", -472, "-$472.00"),
        ("#,##0.00\\ [$€-40C]", 355232.32, "355,232.32 €"),
        ('0.0"°C"', 21.44, "21.4°C"),
        ('#,##0.0,,"M"', 12_345_678, "12.3M"),
        ('#,##0," thousand"', 12_345_678, "12,346 thousand"),
        ("0.0%", -0.0001, "0.0%"),
        ("0.0\\%", 16.4, "16.4%"),
        ('0.0"%"', 16.4, "16.4%"),
        ("[$￥-804]#,##0.00", 9500, "￥9,500.00"),
        ("[$USD] #,##0.00", 5, "USD 5.00"),
        ('"INV-"0000', 7, "INV-0007"),
        ('"No. "0,000', 7, "No. 0,007"),
        ('"Year "0', 2020, "Year 2020"),
        ("0.000000000000000%", 5e11, "50000000000000.000000000000000%"),
    ],
)
def test_a_number_is_shown_with_its_sign_or_unit(code: str, number: float, shown: str) -> None:
    style = parse_format(code)
    assert style is not None
    assert show_number(number, style) == shown


@pytest.mark.parametrize(
    "code",
    ["General", "0.00", "#,##0", "#,##0_);(#,##0)", "yyyy\\-mm\\-dd", "[$-409]mmmm\\ d\\,\\ yyyy;@", "h:mm", "0.00E+00",
     "# ?/?", "@", "", f"0.{'0' * 40}%", "%", '[>=1000000]0.0,,"M";0', "\ue0000%"],
)  # fmt: skip
def test_other_formats_are_left_alone(code: str) -> None:
    assert parse_format(code) is None


def test_a_share_far_to_the_right_is_shown_as_its_cell_does(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "Share")
        sheet.write(0, 30, 0.5, book.add_format({"num_format": "0%"}))
    assert load("share.xlsx", buffer.getvalue()).pages[0].text.endswith("50%")


def test_a_sheet_that_is_not_well_formed_is_shown_as_it_is_stored(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        book.add_worksheet().write(0, 0, 0.5, book.add_format({"num_format": "0%"}))
    with zipfile.ZipFile(buffer) as whole:
        parts = {name: whole.read(name).decode() for name in whole.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert (
        load("share.xlsx", archive(parts | {sheet: parts[sheet].replace('r="A1"', 'r="A1" r="A1"')}))
        .pages[0]
        .text.endswith("\n0.5")
    )


def test_a_cell_without_its_place_is_shown_as_it_is_stored(load: Load) -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        book.add_worksheet().write(0, 0, 0.5, book.add_format({"num_format": "0%"}))
    assert load("share.xlsx", buffer.getvalue()).pages[0].text.endswith("\n50%")
    with zipfile.ZipFile(buffer) as whole:
        parts = {name: whole.read(name).decode() for name in whole.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    stripped = archive(parts | {sheet: parts[sheet].replace(' r="A1"', "")})
    assert load("share.xlsx", stripped).pages[0].text.endswith("\n0.5")

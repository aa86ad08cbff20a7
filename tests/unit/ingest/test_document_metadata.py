"""Metadata from the text of a document, and the text of table rows: pure rules."""

from datetime import date

import pytest

from sourcebound.ingest.loaders.metadata import find_date, find_revision, looks_like_title, parse_date
from sourcebound.ingest.loaders.table_rows import linearise


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Revision C", "C"),
        ("Rev. 3", "3"),
        ("REV: 2.1", "2.1"),
        ("Document: PM-7 | Revision No. B", "B"),
        ("Document: PM-7; Issue: 4", "4"),
        ("Revision of the valves is due", None),
        ("See Rev. 3 for details", None),
        ("Issue", None),
    ],
)
def test_find_revision(line: str, expected: str | None) -> None:
    assert find_revision(["Pump manual", line]) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Effective date: 2024-03-01", date(2024, 3, 1)),
        ("Date: 1 March 2024", date(2024, 3, 1)),
        ("Report date: March 1st, 2024", date(2024, 3, 1)),
        ("Issued 13/03/2024", date(2024, 3, 13)),
        ("Date: 03/04/2024", None),
        ("Date: 31 February 2024", None),
        ("Date & Time: 11/30/2007, 1200 CST", None),
        ("The date: 2024-03-01 was fixed", None),
    ],
)
def test_find_date(line: str, expected: date | None) -> None:
    assert find_date(["Pump manual", line]) == expected


@pytest.mark.parametrize("text", ["", "someday", "12/2024", "2024", "1 Foo 2024", "32/01/2024"])
def test_incomplete_dates_are_unknown(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize("text", ["", "untitled", "Document1", "a_b_c", "12-34", "report.docx", "x" * 300])
def test_what_does_not_look_like_a_title(text: str) -> None:
    assert not looks_like_title(text)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Part", "Nm"], ["Nut", "45"]], ["Part: Nut; Nm: 45"]),
        ([["", "2023", "2022"], ["Revenue", "46", "51"]], ["Revenue; 2023: 46; 2022: 51"]),
        ([["Torque", "45 Nm"], ["Pressure", "3 bar"]], ["Torque: 45 Nm", "Pressure: 3 bar"]),
        ([["Grade:", "Steel"], ["Use:", "Bolts"]], ["Grade: Steel", "Use: Bolts"]),
        ([["No.", "Dist. in km."], ["1", "5"]], ["No.: 1; Dist. in km.: 5"]),
        ([["HUP", "It reads it again."], ["TERM", "Exits."]], ["HUP: It reads it again.", "TERM: Exits."]),
        (
            [["-a", "list all that it finds"], ["-b", "list no more"]],
            ["-a: list all that it finds", "-b: list no more"],
        ),
        ([["Name", "Place of birth"], ["Bo", "City of Bonn"]], ["Name: Bo; Place of birth: City of Bonn"]),
        ([["Town", "Share of people in work"], ["Bonn", "5%"]], ["Town: Bonn; Share of people in work: 5%"]),
        (
            [["Pump", "Date", "What the last test found"], ["P-1", "May", "No leak at all"]],
            ["Pump: P-1; Date: May; What the last test found: No leak at all"],
        ),
        ([["1", "2", "3"], ["4", "5", "6"]], ["1; 2; 3", "4; 5; 6"]),
        ([["All pumps", "All pumps"], ["Name", "Flow"], ["P-1", "40"]], ["All pumps", "Name: P-1; Flow: 40"]),
        ([["Only", "a", "header"]], ["Only; a; header"]),
        ([["", ""], []], []),
    ],
)
def test_linearise(rows: list[list[str]], expected: list[str]) -> None:
    assert linearise(rows) == expected

"""The head of a table in a spreadsheet or a web page: below notes, below groups, and among empty columns."""

from collections.abc import Sequence

import pytest

from sourcebound.ingest.loaders import table_head
from sourcebound.ingest.loaders.table_rows import linearise

PEOPLE = [["Name", "Work", "Age"], ["Ann", "cook", "31"], ["Ben", "baker", "52"], ["Cleo", "judge", "47"]]
NAMED = ["Name: Ann; Work: cook; Age: 31", "Name: Ben; Work: baker; Age: 52", "Name: Cleo; Work: judge; Age: 47"]


def test_a_head_below_notes_names_the_columns() -> None:
    notes = [["Our people", "", "as of May"], ["", "not checked", ""]]
    assert linearise([*notes, *PEOPLE]) == ["Our people; as of May", "not checked", *NAMED]


def test_words_below_notes_are_no_head_above_words() -> None:
    rows = [["Cherry", "red", ""], ["Pea", "green", "small"], ["Plum", "blue", "big"], ["Lime", "green", "sour"]]
    assert linearise(rows) == ["Cherry; red", "Pea; green; small", "Plum; blue; big", "Lime; green; sour"]


def test_full_rows_above_a_head_are_no_notes() -> None:
    rows = [["1", "2", "3"], *PEOPLE]
    assert linearise(rows)[:2] == ["1; 2; 3", "Name; Work; Age"]


def test_names_that_repeat_below_groups_are_named_with_them() -> None:
    rows = [
        ["", "Men", "", "Women", ""],
        ["Age", "Town", "Land", "Town", "Land"],
        ["50-54", "15.4", "11.7", "8.4", "8.7"],
        ["55-59", "24.3", "18.1", "13.6", "11.7"],
    ]
    assert linearise(rows)[0] == "Age: 50-54; Men Town: 15.4; Men Land: 11.7; Women Town: 8.4; Women Land: 8.7"
    spanned = [["", "Men", "Men", "Women", "Women"], *rows[1:]]
    assert linearise(spanned, has_header=True) == linearise(rows)


def test_values_that_repeat_are_no_names_below_groups() -> None:
    rows = [["", "alpha", "arm", "hurd"], ["testing", "1", "1", "-"], ["unstable", "2", "-", "1"]]
    assert linearise(rows)[0] == "testing; alpha: 1; arm: 1; hurd: -"


def test_columns_without_text_hide_no_head() -> None:
    assert linearise([[*row[:1], "", *row[1:], "", ""] for row in PEOPLE]) == NAMED


def test_a_few_cells_beyond_the_head_have_no_name() -> None:
    rows = [[*row, ""] for row in PEOPLE]
    rows[2][-1] = "retired"
    assert linearise(rows) == [NAMED[0], f"{NAMED[1]}; retired", NAMED[2]]


def test_a_term_with_its_meaning_is_no_head_beside_an_empty_column() -> None:
    rows = [["%d", "", "day of month: 00"], ["%f", "", "seconds: SS.SSS"], ["%H", "", "hour: 00-24"]]
    assert linearise(rows)[0] == "%d; day of month: 00"


def test_a_note_that_is_drawn_as_a_table_is_one_line() -> None:
    text = "The seal is changed once a year."
    assert linearise([["", "Note", ""], ["", text, text]]) == [f"Note: {text}"]
    assert linearise([["Next >>>"], [text]]) == ["Next >>>", text]


def test_a_note_below_a_table_has_no_name() -> None:
    note = "Ages are those of the last day of May."
    assert linearise([*PEOPLE, [note, "", ""], ["Total", "", ""]]) == [*NAMED, note, "Name: Total"]


def test_a_title_or_note_in_a_merged_cell_among_the_rows_has_no_name() -> None:
    note = "Ages are those of the last day of May."
    rows = [*PEOPLE, ["Staff of Leeds"] * 3, ["1", "1", "1"], [note] * 3]
    assert linearise(rows)[-3:-2] + linearise(rows)[-1:] == ["Staff of Leeds", note]
    assert "Name: 1" in linearise(rows)[-2]
    assert linearise([["Valve", "Open"], ["V1", "no"], ["yes", "yes"]])[-1] == "Valve: yes; Open: yes"


def test_names_over_several_lines_are_joined() -> None:
    rows = [
        ["Function", "Share", "Least", "Most"],
        ["", "of all", "monthly", "monthly"],
        ["", "", "pay", "pay"],
        ["Sales", "16.4%", "1,000", "12,800"],
        ["Finance", "59.5%", "900", "13,900"],
    ]
    names = "Function: Sales; Share of all: 16.4%; Least monthly pay: 1,000; Most monthly pay: 12,800"
    assert linearise(rows)[0] == names
    assert linearise(rows, has_header=True) == linearise(rows)
    assert len(linearise(rows)) == 2


def test_a_row_with_a_figure_below_the_names_is_no_line_of_names() -> None:
    rows = [["Function", "Share", "Least"], ["", "see note", "900"], ["Sales", "17%", "800"], ["Costs", "18%", "700"]]
    assert linearise(rows)[0] == "Share: see note; Least: 900"


def test_a_row_of_words_below_the_names_is_no_line_of_names() -> None:
    rows = [["Day", "Cook", "Meal"], ["", "Ann", "soup"], ["Tuesday", "Ben", "fish"], ["Friday", "Cleo", "stew"]]
    assert linearise(rows)[0] == "Cook: Ann; Meal: soup"
    unnamed = [["", "2023", "2022"], ["", "unaudited", "audited"], ["Sales", "46", "51"], ["Costs", "12", "13"]]
    assert linearise(unnamed)[0] == "2023: unaudited; 2022: audited"


def test_a_table_without_text_has_no_rows_also_if_it_has_header_cells() -> None:
    assert linearise([["", ""], [" ", ""]], has_header=True) == []


def test_the_head_of_a_wide_table_with_few_names_is_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def count(rows: Sequence[table_head.Row]) -> bool:
        calls.append(len(rows))
        return True

    monkeypatch.setattr(table_head, "_names_figures", count)
    assert linearise([["Name", "Work", "Age", *[""] * 50], ["Ann", "cook", *["31"] * 51]])[0].startswith("Name: Ann")
    assert len(calls) == 1


def test_equal_values_in_a_row_have_their_names() -> None:
    rows = [["Linux", "macOS", "Windows"], ["yes", "yes", "yes"], ["yes", "no", "yes"]]
    assert linearise(rows)[0] == "Linux: yes; macOS: yes; Windows: yes"
    assert linearise([rows[0], ["no"] * 3, ["yes"] * 3])[0] == "Linux: no; macOS: no; Windows: no"


def test_a_name_that_is_not_repeated_is_in_no_group() -> None:
    rows = [["", "Men", "", "Women", "", ""], ["Age", "Town", "Land", "Town", "Land", "Mean"], ["50", *"12345"]]
    rows.append(["60", *"23456"])
    assert linearise(rows)[0] == "Age: 50; Men Town: 1; Men Land: 2; Women Town: 3; Women Land: 4; Mean: 5"


def test_different_names_above_values_that_repeat_are_no_groups() -> None:
    rows = [["Code", "From", "To"], ["A", "Leeds", "Leeds"], ["7", "1", "2"]]
    assert linearise(rows)[0] == "Code: A; From: Leeds; To: Leeds"


def test_a_head_with_nothing_below_it_is_a_line() -> None:
    assert linearise([["Name", "Work", "Age"]], has_header=True) == ["Name; Work; Age"]
    assert linearise([["Name", "Work"], ["", "his"]], has_header=True) == ["Work: his"]

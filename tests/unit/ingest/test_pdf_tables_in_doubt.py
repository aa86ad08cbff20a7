"""Lines of a PDF page that are no table, or no more of one: they stay as they are."""

import pytest

from sourcebound.ingest.loaders.pdf.layout import Line
from support.pdf_lines import COSTS, SALES, STEP, YEARS, Placed, line, middle, right, texts, unchanged


def test_one_row_is_not_a_table() -> None:
    assert unchanged(YEARS, SALES)


def test_rows_without_a_header_stay() -> None:
    assert unchanged(SALES, COSTS)


def test_words_under_a_plain_line_of_words_stay() -> None:
    names = [("Location", "Aircraft"), ("Death Valley", "Beech"), ("Reno", "Cessna")]
    assert unchanged(*(line(number, (50, left), (200, right)) for number, (left, right) in enumerate(names)))


def test_figures_under_a_plain_line_of_words_with_a_first_cell_stay() -> None:
    """`Rating | BBB | BB` may be the first row of a table whose header is not there."""
    assert unchanged(line(0, (50, "Rating"), right(300, "BBB"), right(400, "BB")), SALES, COSTS)


def test_a_form_stays() -> None:
    fields = [("Certificate:", "Age:"), ("Private", "38"), ("Student", "41")]
    assert unchanged(*(line(n, (50, left), (200, right), bold=not n) for n, (left, right) in enumerate(fields)))


def test_a_table_of_contents_stays() -> None:
    entries = [("Safety", "4"), ("Storage", "5"), ("Repair", "12")]
    header = line(0, (50, "Chapter"), (400, "Page"), bold=True)
    assert unchanged(
        header, *(line(n, (50, name), right(420, page)) for n, (name, page) in enumerate(entries, start=1))
    )


@pytest.mark.parametrize("mark", ["•", "1.", "(a)"])
def test_a_list_stays(mark: str) -> None:
    assert unchanged(
        line(0, (50, mark), (70, "Items"), bold=True),
        line(1, (50, mark), (70, "One")),
        line(2, (50, mark), (70, "Two")),
    )


def test_two_columns_of_prose_under_bold_titles_stay() -> None:
    left = ["Before use", "The valve is closed and", "the pump is left to cool", "until it is cold."]
    other = ["After use", "The basin is drained and", "the seal is inspected by", "the mechanic."]
    pairs = enumerate(zip(left, other, strict=True))
    assert unchanged(*(line(number, (50, one), (300, two), bold=not number) for number, (one, two) in pairs))


def test_a_row_whose_cell_goes_on_below_leaves_the_table_as_it_is() -> None:
    header = line(0, (50, "Fault"), (200, "Remedy"), bold=True)
    rows = [line(1, (50, "Leak"), (200, "Replace the seal and")), line(2, (50, "Heat"), (200, "Drain"))]
    assert unchanged(header, *rows, line(3, (200, "the bolts")))
    assert unchanged(header, rows[0], line(1.8, (50, "Loss"), (200, "Check")), line(3, (50, "Heat"), (200, "Drain")))
    assert unchanged(header, rows[0], line(2, (200, "Both"), (300, "Bolts")), line(3, (50, "Heat"), (200, "Drain")))


def test_a_header_over_two_columns_alone_is_in_doubt() -> None:
    assert unchanged(line(0, middle(335, "Amounts")), SALES, COSTS)


def test_headers_of_the_same_name_are_in_doubt() -> None:
    assert unchanged(line(0, right(300, "2023"), right(400, "2023")), SALES, COSTS)


def test_a_header_that_heads_nothing_leaves_the_lines() -> None:
    assert unchanged(line(0, right(300, "2023"), right(400, "2022"), right(500, "2021")), SALES, COSTS)


def test_a_column_without_a_header_leaves_the_lines() -> None:
    assert unchanged(line(0, right(300, "2023")), SALES, COSTS)


def test_a_line_of_two_cells_that_name_no_column_leaves_the_lines() -> None:
    above = line(0, (180, "Actual"), (320, "Forecast"))
    assert unchanged(
        above, line(1, right(300, "2023"), right(400, "2022")), *(_moved(each, 1) for each in (SALES, COSTS))
    )


@pytest.mark.parametrize(
    "names",
    [
        [(240, "2023"), (390, "2022")],
        [(60, "2023"), (340, "2022")],
        [(240, "2023"), (290, "2022")],
    ],
    ids=["right of its column", "over the column before", "left of its column"],
)
def test_names_over_other_columns_leave_the_lines(names: list[Placed]) -> None:
    assert unchanged(
        line(0, *names),
        line(1, (50, "Sales"), right(300, "46"), right(400, "51")),
        line(2, (50, "Costs"), right(300, "36"), right(400, "-")),
    )


def test_words_left_of_the_figures_are_no_names() -> None:
    assert unchanged(line(0, (150, "Annual Report"), (330, "ACME Corp")), SALES, COSTS)


def test_a_line_of_one_cell_beside_the_only_figures_leaves_the_lines() -> None:
    rows = (line(number, (50, name), right(300, "46")) for number, name in ((1, "Sales"), (2, "Costs")))
    assert unchanged(line(0, (200, "Results")), *rows)


@pytest.mark.parametrize(
    "header",
    [
        line(-1, (50, "Property"), right(300, "Small"), right(400, "Large")),
        line(-1, right(300, "Small"), right(400, "Large"), bold=True),
    ],
    ids=["a cell for every column", "another weight"],
)
def test_a_row_of_words_below_the_header_is_not_a_part_of_it(header: Line) -> None:
    assert unchanged(header, line(0, right(300, "Steel"), right(400, "Brass")), SALES, COSTS)


def test_a_bold_header_of_which_a_column_has_no_part_leaves_the_lines() -> None:
    assert unchanged(line(0, (50, "Item"), right(300, "2023"), bold=True), SALES, COSTS)


def test_a_header_whose_only_value_is_not_in_the_table_leaves_the_lines() -> None:
    header = line(0, right(300, "2023"), right(400, "2022"), right(500, "2021"))
    assert unchanged(header, SALES, COSTS, line(3, (50, "Rating"), right(300, "BBB"), right(400, "8"), right(500, "7")))


def test_bold_rows_below_a_bold_line_stay() -> None:
    names = [("Location", "Aircraft"), ("Death Valley", "Beech"), ("Reno", "Cessna")]
    assert unchanged(*(line(n, (50, left), (200, right), bold=True) for n, (left, right) in enumerate(names)))


def test_bold_figures_below_a_bold_line_with_a_first_cell_stay() -> None:
    rating = line(0, (50, "Rating"), right(300, "BBB"), right(400, "BB"), bold=True)
    rows = [line(n, (50, "Sales"), right(300, "46"), right(400, "51"), bold=True) for n in (1, 2)]
    assert unchanged(rating, *rows)


def test_a_line_read_between_header_and_rows_leaves_the_lines() -> None:
    aside = line(-9, (450, "See the notes."))
    assert unchanged(YEARS, aside, SALES, COSTS)


def test_a_note_above_the_header_keeps_its_line() -> None:
    assert texts(line(-1, middle(335, "(Unaudited)")), YEARS, SALES, COSTS)[:2] == [
        "(Unaudited)",
        "Sales; 2023: 46,298; 2022: 51,761",
    ]


def test_a_label_or_an_empty_first_cell_among_rows_of_words_leaves_the_lines() -> None:
    header, leak = line(0, (50, "Fault"), (200, "Remedy"), bold=True), line(1, (50, "Leak"), (200, "Seal"))
    heat, noise = line(3, (50, "Heat"), (200, "Drain")), line(4, (50, "Noise"), (200, "Oil"))
    assert unchanged(header, leak, line(2, (50, "2 weeks")), heat, noise)
    wide = line(0, (50, "Fault"), (200, "Remedy"), (300, "Tool"), bold=True)
    full = [line(n, (50, "Leak"), (200, "Seal"), (300, "Key")) for n in (1, 3, 4)]
    assert unchanged(wide, full[0], line(2, (200, "Bolts"), (300, "Torch")), *full[1:])


def test_a_second_bold_header_ends_a_table_of_words() -> None:
    first, second = (line(n, (50, "Fault"), (200, name), bold=True) for n, name in ((0, "Remedy"), (3, "Cause")))
    rows = [line(n, (50, "Leak"), (200, "Seal")) for n in (1, 2, 4, 5)]
    assert texts(first, *rows[:2], second, *rows[2:]) == [
        *(each.text for each in (first, *rows[:2])),
        *["Fault: Leak; Cause: Seal"] * 2,
    ]


def test_a_header_far_above_is_none() -> None:
    assert unchanged(line(-2.5, right(300, "2023"), right(400, "2022")), SALES, COSTS)


def test_the_table_ends_before_a_cell_that_is_no_figure() -> None:
    stranger = line(3, (50, "Rating"), right(300, "BBB"), right(400, "BB"))
    assert texts(YEARS, SALES, COSTS, stranger)[2:] == [stranger.text]


def test_the_table_ends_before_cells_that_run_over_two_columns() -> None:
    wide = line(3, (50, "Note"), (270, "see the notes on page four"))
    assert texts(YEARS, SALES, COSTS, wide)[2:] == [wide.text]


def test_the_table_ends_before_two_cells_in_one_column() -> None:
    split = line(3, (50, "Net"), (90, "sales"), right(300, "5"), right(400, "6"))
    assert texts(YEARS, SALES, COSTS, split)[2:] == [split.text]


def test_the_table_ends_before_a_lone_cell_that_is_no_label() -> None:
    lone, more = line(3, right(300, "7")), line(4, (50, "Tax"), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, COSTS, lone, more)[2:] == [lone.text, more.text]


@pytest.mark.parametrize("title", [middle(225, "Equity"), middle(180, "EQUITY"), middle(225, "PRO FORMA 2021")])
def test_the_table_ends_before_another_line_than_a_title_in_capitals_over_its_middle(title: Placed) -> None:
    more = line(4, (50, "Debt"), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, COSTS, line(3, title), more)[2:] == [title[1], more.text]


def test_the_table_ends_before_larger_type() -> None:
    heading = line(3, (50, "Outlook"), size=14)
    more = line(4, (50, "Sales"), right(300, "47"), right(400, "43"))
    assert texts(YEARS, SALES, COSTS, heading, more)[2:] == [heading.text, more.text]


def test_the_table_ends_at_a_wide_gap() -> None:
    later = line(6, (50, "Sales"), right(300, "47"), right(400, "43"))
    assert texts(YEARS, SALES, COSTS, later)[2:] == [later.text]


def _moved(each: Line, steps: float) -> Line:
    cells = tuple(cell._replace(baseline=cell.baseline - steps * STEP) for cell in each.cells)
    return each._replace(bottom=each.bottom - steps * STEP, cells=cells)

"""Tables of a PDF page: which lines become rows with their headers, and that no word is lost."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from sourcebound.contracts.corpus.document import BlockKind
from sourcebound.ingest.loaders.pdf.table import replace_tables
from support.loading import Load, blocks
from support.pdf_lines import COSTS, SALES, STEP, YEARS, line, middle, right, texts, unchanged

# What becomes a table


def test_rows_of_figures_carry_the_years_above_them() -> None:
    found = replace_tables([YEARS, SALES, COSTS])
    assert [each.text for each in found] == [
        "Sales; 2023: 46,298; 2022: 51,761",
        "Cost of sales; 2023: (36); 2022: -",
    ]
    assert all(each.is_row for each in found)


def test_rows_of_words_carry_a_bold_header() -> None:
    assert texts(
        line(0, (50, "Fault"), (200, "Remedy"), bold=True),
        line(1, (50, "Seal leaks"), (200, "Replace the seal")),
        line(2, (50, "Motor hot"), (200, "Check the shims")),
    ) == ["Fault: Seal leaks; Remedy: Replace the seal", "Fault: Motor hot; Remedy: Check the shims"]


def test_what_stands_before_periods_keeps_its_line() -> None:
    header = line(0, (50, "Years ended"), right(300, "2023"), right(400, "2022"))
    assert texts(header, SALES, COSTS)[:2] == ["Years ended", "Sales; 2023: 46,298; 2022: 51,761"]


def test_a_label_between_rows_keeps_its_line() -> None:
    found = replace_tables(
        [
            YEARS,
            line(1, (50, "Operating activities")),
            line(2, (50, "Sales"), right(300, "46"), right(400, "51")),
            line(3, (50, "Other income:")),
            line(4, (50, "Interest"), right(300, "1"), right(400, "2")),
        ]
    )
    assert [each.text for each in found] == [
        "Operating activities",
        "Sales; 2023: 46; 2022: 51",
        "Other income:",
        "Interest; 2023: 1; 2022: 2",
    ]
    assert [each.is_row for each in found] == [False, True, False, True]


VOTES = line(2, right(100, "57,172,731"), right(200, "13,324,080"), right(300, "170,172"))


def test_one_row_of_figures_alone_carries_the_words_above_it() -> None:
    votes = line(1, right(100, "For"), right(200, "Against"), right(300, "Abstentions"), bold=True)
    result = "For: 57,172,731; Against: 13,324,080; Abstentions: 170,172"
    after = line(3, (50, "Based on these votes, the proposal was approved."))
    assert texts(votes, VOTES, after) == [result, "Based on these votes, the proposal was approved."]


def test_one_row_with_a_word_or_below_nothing_is_no_table() -> None:
    assert unchanged(line(1, (50, "These are the votes of all proposals of the meeting.")), VOTES)
    assert unchanged(YEARS, SALES)
    assert unchanged(
        line(1, right(200, "For"), right(300, "Against"), bold=True), line(2, right(200, "46"), right(300, "51"))
    )
    names = line(1, (50, "Part"), (150, "Colour"), (250, "Place"), bold=True)
    assert unchanged(names, line(2, (50, "Seal"), (150, "blue"), (250, "Outlet")))


NARROW = line(2, (50, "Sales"), right(300, "46"), right(400, "51"))
MORE_NARROW = line(3, (50, "Costs"), right(300, "36"), right(400, "-"))


def test_names_left_of_their_figures_are_read_in_order() -> None:
    found = texts(line(1, (240, "2023"), (340, "2022")), NARROW, MORE_NARROW)
    assert found == ["Sales; 2023: 46; 2022: 51", "Costs; 2023: 36; 2022: -"]


def test_a_header_over_the_names_of_a_group_goes_before_each_of_them() -> None:
    found = texts(line(0, middle(300, "Retail")), line(1, (240, "2023"), (340, "2022")), NARROW, MORE_NARROW)
    assert found == ["Sales; Retail 2023: 46; Retail 2022: 51", "Costs; Retail 2023: 36; Retail 2022: -"]


def test_a_line_that_is_wider_than_its_group_keeps_its_line() -> None:
    wide = line(0, middle(300, "In thousands of euros, if nothing else is said"))
    found = texts(wide, line(1, (240, "2023"), (340, "2022")), NARROW, MORE_NARROW)
    assert found == [wide.text, "Sales; 2023: 46; 2022: 51", "Costs; 2023: 36; 2022: -"]


def test_a_raised_mark_of_a_note_stays_in_the_first_cell() -> None:
    mark = line(1, (75, "(1)"), right(300, "46"), right(400, "51"))
    raised = mark._replace(cells=(mark.cells[0]._replace(baseline=mark.bottom + 4.8, size=8.0), *mark.cells[1:]))
    found = texts(YEARS, line(1, (50, "Sales")), raised, COSTS)
    assert found == ["Sales (1); 2023: 46; 2022: 51", "Cost of sales; 2023: (36); 2022: -"]


@pytest.mark.parametrize(
    ("above", "name", "expected"),
    [
        ("Income from affiliates", "of others", ["Income from affiliates of others; 2023: 1; 2022: 2"]),
        ("Income from affiliates", "Others", ["Income from affiliates", "Others; 2023: 1; 2022: 2"]),
        ("Adjustments:", "of others", ["Adjustments:", "of others; 2023: 1; 2022: 2"]),
        ("See note 4.", "of others", ["See note 4.", "of others; 2023: 1; 2022: 2"]),
        ("PHONES", "iPhone", ["PHONES", "iPhone; 2023: 1; 2022: 2"]),
        ("(in euros)", "of others", ["(in euros)", "of others; 2023: 1; 2022: 2"]),
    ],
)
def test_a_name_of_two_lines_stays_whole(above: str, name: str, expected: list[str]) -> None:
    rows = line(2, (50, above)), line(3, (50, name), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, *rows) == ["Sales; 2023: 46,298; 2022: 51,761", *expected]


def test_a_label_over_several_rows_in_lower_case_stays() -> None:
    names = (50, "Deferred tax assets"), (50, "current"), (50, "non-current")
    first, second = ((right(300, "1"), right(400, "2")), (right(300, "3"), right(400, "4")))
    assert texts(YEARS, SALES, line(2, names[0]), line(3, names[1], *first), line(4, names[2], *second))[1:] == [
        "Deferred tax assets",
        "current; 2023: 1; 2022: 2",
        "non-current; 2023: 3; 2022: 4",
    ]


def test_a_group_may_be_centred_over_its_columns_too() -> None:
    wide = (
        line(number, (50, name), right(300, "1,046,298.5"), right(400, "9"), right(500, "7"))
        for number, name in ((2, "Sales"), (3, "Costs"))
    )
    years = line(1, right(300, "2023"), right(400, "2022"), right(500, "2021"))
    assert texts(line(0, middle(322, "Half year")), years, *wide)[0].startswith("Sales; Half year 2023: 1,046,298.5")


def test_a_title_over_the_rows_is_no_part_of_a_name() -> None:
    rows = line(2, middle(225, "OTHER")), line(3, (50, "of others"), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, *rows)[1:] == ["OTHER", "of others; 2023: 1; 2022: 2"]


def test_a_row_that_begins_in_lower_case_is_apart_from_the_row_above() -> None:
    row = line(2, (50, "of others"), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, row)[1:] == ["of others; 2023: 1; 2022: 2"]


def test_titles_in_capitals_over_the_rows_keep_their_lines() -> None:
    found = texts(
        YEARS,
        line(1, middle(225, "ASSETS")),
        line(2, (50, "Cash"), right(300, "46"), right(400, "51")),
        line(3, (50, "Stock"), right(300, "6"), right(400, "5")),
        line(4, middle(225, "LIABILITIES AND EQUITY")),
        line(5, (50, "Debt"), right(300, "1"), right(400, "2")),
    )
    assert found == [
        "ASSETS",
        "Cash; 2023: 46; 2022: 51",
        "Stock; 2023: 6; 2022: 5",
        "LIABILITIES AND EQUITY",
        "Debt; 2023: 1; 2022: 2",
    ]


def test_a_table_goes_on_below_an_empty_line() -> None:
    wide = line(2 + 30.5 / STEP, (50, "Net"), right(300, "1"), right(400, "2"))
    assert texts(YEARS, SALES, COSTS, wide)[-1] == "Net; 2023: 1; 2022: 2"


def test_a_header_over_a_group_goes_before_each_of_its_columns() -> None:
    groups = line(0, middle(235, "Three Months"), middle(435, "Six Months"))
    years = line(1, *(right(edge, year) for edge, year in ((200, "2023"), (300, "2022"), (400, "2023"), (500, "2022"))))
    rows = [
        line(
            number,
            (50, name),
            *(right(edge, f"{value}") for edge, value in zip(range(200, 501, 100), values, strict=True)),
        )
        for number, name, values in ((2, "Sales", (1111, 2222, 3333, 4444)), (3, "Costs", (5555, 6666, 7777, 8888)))
    ]
    assert texts(groups, years, *rows)[0] == (
        "Sales; Three Months 2023: 1111; Three Months 2022: 2222; Six Months 2023: 3333; Six Months 2022: 4444"
    )


def test_a_header_of_several_lines_is_read_column_by_column() -> None:
    assert texts(
        line(0, middle(200, "Gross")),
        line(1, middle(200, "Amount")),
        line(0, middle(350, "Number of")),
        line(1, middle(350, "Shares")),
        line(2, (50, "Tradenames"), middle(200, "1,080"), middle(350, "5.4")),
        line(3, (50, "Technology"), middle(200, "6,400"), middle(350, "2.6")),
    ) == [
        "Tradenames; Gross Amount: 1,080; Number of Shares: 5.4",
        "Technology; Gross Amount: 6,400; Number of Shares: 2.6",
    ]


def test_currency_and_percent_signs_stay_with_their_figures() -> None:
    assert texts(
        YEARS,
        line(1, (50, "Sales"), (260, "$"), right(300, "4,629"), (360, "$"), right(400, "5,176")),
        line(2, (50, "Margin"), right(300, "21.4"), (310, "%"), right(400, "22.5"), (410, "%")),
        line(3, (50, "Result"), (260, "$"), right(304, "(47)"), (319, "$"), right(400, "3")),
    ) == [
        "Sales; 2023: $ 4,629; 2022: $ 5,176",
        "Margin; 2023: 21.4 %; 2022: 22.5 %",
        "Result; 2023: $ (47); 2022: $ 3",
    ]


def test_a_currency_sign_close_to_a_figure_is_that_of_the_next() -> None:
    tight = line(3, (50, "Result"), (260, "$"), right(302, "(47)"), (307, "$"), right(400, "3"))
    assert texts(YEARS, SALES, COSTS, tight)[2:] == ["Result; 2023: $ (47); 2022: $ 3"]


def test_a_percent_sign_far_from_a_figure_is_a_cell_of_its_own() -> None:
    header = line(0, right(300, "2023"), right(400, "2022"), right(460, "%"))
    rows = [
        line(n, (50, name), right(300, "9"), right(400, "8"), right(460, "12.5")) for n, name in ((1, "A"), (2, "B"))
    ]
    assert texts(header, *rows)[0] == "A; 2023: 9; 2022: 8; %: 12.5"


def test_what_stands_before_a_period_keeps_its_line_beside_other_headers_too() -> None:
    header = line(0, (50, "Type"), right(300, "2023"), right(400, "Change"), bold=True)
    assert texts(header, SALES, COSTS)[:2] == ["Type", "Sales; 2023: 46,298; Change: 51,761"]


def test_stacked_signs_of_a_header_are_not_read_from_left_to_right() -> None:
    raised = line(-0.25, right(300, "2023"), middle(390, "%"))
    assert unchanged(raised, line(0.05, middle(380, "Change")), SALES, COSTS)


def test_a_row_that_was_drawn_as_two_lines_is_one_row() -> None:
    drawn_apart = [line(1, (50, "Receivables")), line(0.8, (107, "(1)"), right(300, "581"), right(400, "591"))]
    assert texts(YEARS, *drawn_apart, COSTS)[0] == "Receivables (1); 2023: 581; 2022: 591"


def test_a_note_in_brackets_names_no_column() -> None:
    note = line(1, middle(285, "(In thousands)"))
    rows = [line(n, (50, name), right(300, "1,234"), right(400, "5,678")) for n, name in ((2, "Sales"), (3, "Costs"))]
    assert texts(YEARS, note, *rows)[:2] == ["(In thousands)", "Sales; 2023: 1,234; 2022: 5,678"]


def test_a_line_that_may_stand_over_one_column_or_all_keeps_its_line() -> None:
    caption = line(0, middle(292.5, "Benefits"))
    names = line(1, middle(200, "Here"), middle(292.5, "There"), middle(385, "Total"))
    rows = [line(n, (50, "Row"), middle(200, "14.5"), middle(292.5, "15.5"), middle(385, "30.0")) for n in (2, 3)]
    assert texts(caption, names, *rows)[:2] == ["Benefits", "Row; Here: 14.5; There: 15.5; Total: 30.0"]


def test_two_tables_on_a_page_keep_to_their_own_headers() -> None:
    below = [
        line(3, right(300, "2021"), right(400, "2020")),
        line(4, (50, "Sales"), right(300, "47"), right(400, "43")),
        line(5, (50, "Costs"), right(300, "12"), right(400, "13")),
    ]
    assert texts(YEARS, SALES, COSTS, *below)[2:] == ["Sales; 2021: 47; 2020: 43", "Costs; 2021: 12; 2020: 13"]


def test_what_stands_around_a_table_is_untouched() -> None:
    above = line(-3, (50, "The figures of the group were as follows, in millions of dollars, before tax and interest:"))
    below = line(5, (50, "See the notes to these statements, which are an integral part of them, and the audit."))
    found = replace_tables([above, YEARS, SALES, COSTS, below])
    assert (found[0], found[-1], len(found)) == (above, below, 4)


# No glyph is lost, whatever the page

_TEXTS = st.sampled_from(
    ["2023", "2022", "July 1, 2023", "$", "45", "(3)", "—", "%", "Total", "Seal", "(net)", "a:", "•"]
)
_PLACES = st.sampled_from([50.0, 120.0, 200.0, 203.0, 300.0, 400.0])
_LINES = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.2, 1.0, 1.2, 2.0]),
        st.dictionaries(_PLACES, _TEXTS, min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=9,
)


@given(_LINES)
def test_every_word_of_the_lines_is_in_the_result(drawn: list[tuple[float, dict[float, str], bool]]) -> None:
    position, lines = 0.0, []
    for step, cells, bold in drawn:
        position += step
        lines.append(line(position, *sorted(cells.items()), bold=bold))
    before = Counter(word for each in lines for word in each.text.split())
    after = Counter(word.rstrip(";:") for each in replace_tables(lines) for word in each.text.split())
    assert not Counter({word.rstrip(";:"): count for word, count in before.items()}) - after


# Real glyphs


def make_pdf(write: Callable[[FPDF], None]) -> bytes:
    pdf = FPDF()
    pdf.add_page()
    write(pdf)
    return bytes(pdf.output())


def _table(pdf: FPDF) -> None:
    pdf.set_font("Helvetica", size=9)
    rows = (("Quantity", "Alarm", "Trip"), ("Vibration", "4.5 mm/s", "7.1 mm/s"), ("Temperature", "82 °C", "95 °C"))
    with pdf.table(rows, col_widths=(60, 30, 30), padding=0.8):
        pass
    pdf.ln(6)
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, "The limits apply to both bearings.", new_x="LMARGIN", new_y="NEXT")


def test_a_table_of_a_file_becomes_rows_and_its_chunks_find_their_place(load: Load) -> None:
    page = load("pump.pdf", make_pdf(_table)).pages[0]
    assert blocks(page, BlockKind.TABLE_ROW) == [
        "Quantity: Vibration; Alarm: 4.5 mm/s; Trip: 7.1 mm/s",
        "Quantity: Temperature; Alarm: 82 °C; Trip: 95 °C",
    ]
    assert page.text.endswith("\nThe limits apply to both bearings.")
    assert re.fullmatch(r"(Quantity: [^\n]*\n){2}The limits.*", page.text)


def test_two_columns_of_justified_prose_are_not_a_table(load: Load) -> None:
    prose = "The pump moves water from the basin to the tower. It must not run dry. " * 12

    def write(pdf: FPDF) -> None:
        pdf.set_font("Helvetica", size=10)
        with pdf.text_columns(ncols=2, gutter=8, text_align="JUSTIFY", text=prose):
            pass

    page = load("pump.pdf", make_pdf(write)).pages[0]
    assert blocks(page, BlockKind.TABLE_ROW) == []
    assert " ".join(page.text.split()) == prose.strip()


def _words_at(*rows: tuple[tuple[float, float, str], ...]) -> Callable[[FPDF], None]:
    """Draw words at the given positions in the given order, the first row in bold."""

    def write(pdf: FPDF) -> None:
        for number, row in enumerate(rows):
            pdf.set_font("Helvetica", style="" if number else "B", size=10)
            for x, y, text in row:
                pdf.text(x, y, text)

    return write


HEADER = ((20, 20, "Fault"), (90, 20, "Remedy"))
ROWS = tuple(((20.0, 20.0 + 6 * n, f"Leak {n}"), (90.0, 20.0 + 6 * n, "Replace")) for n in (1, 2, 3))


def test_words_drawn_in_their_order_are_a_table(load: Load) -> None:
    page = load("pump.pdf", make_pdf(_words_at(HEADER, *ROWS))).pages[0]
    assert blocks(page, BlockKind.TABLE_ROW)[0] == "Fault: Leak 1; Remedy: Replace"


def test_a_word_broken_at_the_end_of_a_line_makes_no_cell(load: Load) -> None:
    broken = ((20.0, 38.0, "Leak 3"), (90.0, 38.0, "Repla-")), ((90.0, 43.0, "cement of it"),)
    page = load("pump.pdf", make_pdf(_words_at(HEADER, *ROWS[:2], *broken))).pages[0]
    assert ("Repla-cement" in page.text, "\x02" in page.text) == (True, False)

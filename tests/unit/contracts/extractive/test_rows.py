"""Rows of tables in an extractive answer: where one begins and ends, and which thing it is about (R4-9)."""

from collections.abc import Mapping, Sequence

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.answer_types import find_type
from sourcebound.contracts.extractive.features import Reading
from sourcebound.contracts.extractive.question import Asked, Question, read_question
from sourcebound.contracts.extractive.ranking import ALL_SAID, MORE_TRANSLATED, Ranked, Ranking, rank
from sourcebound.contracts.extractive.reading import Reader
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.subjects import has_agent, is_other_row, is_whole_row
from sourcebound.contracts.extractive.weights import NARROW, NO_BOUNDS, WIDE, Bounds, read_weights
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts, build_prompt, read_prompt
from support.builders import answer_bundle, policy

ENERGY = ("Heating of halls; 2023: 1,240; 2022: 1,310", "Lighting; 2023: 322; 2022: 298", "Air; 2023: 870; 2022: 905")

SENTENCE = "In 2022, 1,400 MWh of energy were used for heating."


def prompt_of(question: str, *chunks: str) -> PromptParts:
    """Return the parts of a prompt with these chunks."""
    return read_prompt(build_prompt(answer_bundle(*chunks, question=question), policy()).prompt.messages)


def texts(question: str, text: str) -> list[str]:
    """Return the quoted sentences for a question on a chunk."""
    return [sentence.text for sentence in answer(prompt_of(question, text))]


def reader_of(odds: Mapping[str, int]) -> Reader:
    """Return a reader that has these odds for sentences, in hundredths of a logit."""

    def read(question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]) -> list[list[Reading]]:
        return [[Reading(odds.get(each.text, 0), 500) for each in part] for _, part in chunks]

    return read


@pytest.mark.contract("R4-9")
def test_a_row_ends_before_the_text_below_its_table() -> None:
    row = "Name: Dona Young; Votes for: 53,876,257; Votes against: 6,074,467"
    rows = f"Name: Ann Walker; Votes for: 55,528,794; Votes against: 4,419,340\n{row}"
    below = "Based on the votes above, each of the nominees was elected."
    assert texts("How many votes against Dona Young were there?", f"{rows}\n{below}") == [row]
    rows, row = (text.replace("Name: ", "") for text in (rows, row))
    assert texts("How many votes against Dona Young were there?", f"{rows}\n{below}") == [row]


@pytest.mark.contract("R4-9")
def test_a_row_that_the_page_has_cut_goes_on_below() -> None:
    row = "Name: Dona Young; Company: the largest of the\nbakeries in the north"
    found = texts("At which company is Dona Young?", f"Name: Ann Walker; Company: a mill\n{row}")
    assert found == [row.replace("\n", " ")]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "rows", "place"),
    [
        (
            "How much was paid for 401(k) contributions in 2022?",
            [
                "Net revenue from the sale of goods; 2023: 46,298; 2022: $ 51,761",
                "401(k) contributions for all employees; 2023: 71; 2022: 63",
            ],
            1,
        ),
        (
            "How many locations are leased?",
            [
                "Leased locations of the company and its subsidiaries; Number: 922",
                "Owned locations of the company and its subsidiaries; Number: 24",
            ],
            0,
        ),
    ],
)
def test_a_row_without_a_name_of_its_first_column_is_quoted_alone(question: str, rows: list[str], place: int) -> None:
    assert texts(question, "\n".join(rows)) == [rows[place]]


@pytest.mark.contract("R4-9")
def test_a_sentence_with_one_colon_after_a_semicolon_is_no_row() -> None:
    cut = (
        "Stop the pump before it runs dry; there is one reason: the shaft of the",
        "Perla goes on turning for a minute.",
    )
    assert texts("When should I stop the pump?", "\n".join(cut)) == [" ".join(cut)]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("chunks", "place"),
    [(["\n".join(ENERGY)], 0), (ENERGY[::-1], 2), ([f"The plant.\n\n{SENTENCE}\n{ENERGY[2]}"], 3)],
    ids=["one table", "three tables", "a sentence"],
)
def test_what_the_question_names_comes_before_another_row_of_its_table(chunks: Sequence[str], place: int) -> None:
    prompt = prompt_of("How much energy was used for heating in 2022?", *chunks)
    ranked = rank(prompt, read_question(prompt.question), reader_of({ENERGY[2]: 600})).ranked
    assert ranked[0].sentence.text == (*ENERGY, SENTENCE)[place]
    assert len(ranked) == len({each.sentence.text for each in ranked})


@pytest.mark.contract("R4-9")
def test_a_row_far_behind_another_does_not_come_first() -> None:
    prompt = prompt_of("How much energy was used for heating in 2022?", "\n".join(ENERGY))
    ranked = rank(prompt, read_question(prompt.question), reader_of({ENERGY[2]: 1000, ENERGY[0]: -1000})).ranked
    assert ranked[0].sentence.text == ENERGY[2]


@pytest.mark.contract("R4-9")
def test_no_row_answers_for_a_thing_that_the_table_lacks() -> None:
    assert texts("How much energy was used for heating in 2022?", "\n".join(ENERGY)) == [ENERGY[0]]
    assert texts("How much energy was used for cooling in 2022?", "\n".join(ENERGY)) == []


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(("odds", "answers"), [(350, True), (-1, False)])
def test_another_row_answers_only_if_it_is_read_as_an_answer(odds: int, answers: bool) -> None:
    prompt = prompt_of("How much energy did the lamps use in 2023?", ENERGY[1])
    ranking = rank(prompt, read_question(prompt.question), reader_of({ENERGY[1]: odds}))
    assert is_other_row(ranking.question, ranking.ranked[0].sentence)
    assert ranking.answers is answers


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("odds", "question", "answers"),
    [
        (-101, "Who built the HP-200 pump?", False),
        (-99, "Who built the HP-200 pump?", True),
        (-101, "Who issued the HP-200 manual?", True),
    ],
)
def test_an_unlikely_sentence_answers_only_with_a_word_of_what_is_asked(
    odds: int, question: str, answers: bool
) -> None:
    sentence = "This manual of the HP-200 pump was issued by Utilities Engineering."
    ranking = rank(prompt_of(question, sentence), read_question(question), reader_of({sentence: odds}))
    assert ranking._replace(answering=ranking.minimum).answers is answers


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("own", "chunk", "odds", "narrow", "wide"),
    [
        (249, 849, 299, False, False),
        (250, 849, 299, False, True),
        (300, 849, 299, True, True),
        (249, 849, 300, True, True),
        (249, 850, 0, True, True),
        (300, 349, 199, False, False),
        (300, 349, 200, False, True),
        (300, 350, 0, False, True),
        (300, 449, 349, False, True),
        (300, 450, 0, True, True),
        (300, 349, 350, True, True),
    ],
)
def test_odds_decide_where_few_words_are_shared(own: int, chunk: int, odds: int, narrow: bool, wide: bool) -> None:
    sentence = "The HP-200 pump is painted grey."
    ranking = rank(prompt_of("Which colour has the HP-200 pump?", sentence), read_question("Which colour has it?"))
    features = ranking.ranked[0].features | {"own": own, "chunk": chunk, "odds": odds, "aspect_own": 1}
    first = ranking.ranked[0]._replace(features=features)
    ranking = ranking._replace(ranked=(first,), answering=ranking.minimum)
    assert ranking._replace(bounds=NARROW).answers is narrow
    assert ranking._replace(bounds=WIDE).answers is wide


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("asked", "is_read", "bounds"),
    [
        ("How often is the filter changed?", True, NARROW),
        ("How often is the filter changed?", False, WIDE),
        ("Wie oft wird der Filter gewechselt?", False, WIDE),
        ("Wie oft wird der Filter gewechselt?", True, NO_BOUNDS),
    ],
)
def test_less_must_be_held_of_a_translation_and_of_words_alone(asked: str, is_read: bool, bounds: Bounds) -> None:
    sentence = "The filter is changed every month."
    reader = reader_of({sentence: 100}) if is_read else None
    assert rank(prompt_of(asked, sentence), read_question("How often is the filter changed?"), reader).bounds == bounds


@pytest.mark.contract("R4-9")
def test_the_minimum_of_a_translated_question_is_higher() -> None:
    sentence, question = "The filter is changed every month.", read_question("How often is the filter changed?")
    asked = (question.text, "Wie oft wird der Filter gewechselt?")
    english, german = (rank(prompt_of(each, sentence), question, reader_of({sentence: 100})) for each in asked)
    assert german.minimum - english.minimum == MORE_TRANSLATED
    assert rank(prompt_of(asked[1], sentence), question).minimum == read_weights(embedded=False).minimum


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "row", "is_other"),
    [
        ("How many accidents happened in the canteen in 2023?", "Warehouse; 2023: 3; 2022: 5", True),
        ("How many accidents happened in the warehouse in 2023?", "Warehouse; 2023: 3; 2022: 5", False),
        ("Which department had 5 accidents?", "Warehouse; 2023: 3; 2022: 5", False),
        ("How many employees does assembly have?", "Department: Painting; Head: Tom Okafor; Employees: 12", True),
        ("How many employees does Okafor lead?", "Department: Painting; Head: Tom Okafor; Employees: 12", False),
        ("What is the limit of the alarm?", "Alarm: A-203; Limit: 17.5 bar", False),
        ("What is the phone number?", "Warranty period: 24 months; Phone number: 030 1234", False),
        ("What is the weight of the report's pump?", "Maximum pressure: 10 bar; Weight: 14 kg", True),
        ("How many accidents happened in the canteen?", "There were 3 accidents in the warehouse in 2023.", False),
    ],
)
def test_the_names_of_columns_do_not_say_what_a_row_is_about(question: str, row: str, is_other: bool) -> None:
    (sentence,) = read_evidence([EvidencePart("C0", "report.pdf", row)])
    assert is_other_row(read_question(question), sentence) is is_other


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "row", "is_whole"),
    [
        ("Who replaces the bearings?", "Task: Replace both bearings; Done by: Workshop", True),
        ("Who replaces the lamps?", "Task: Replace both bearings; Done by: Workshop", False),
        ("Who replaces the bearings?", "Task: Replace both bearings; Section: 10.4", False),
        ("What is the lead time of the impeller?", "Description: Open impeller; Lead time: 11 weeks", True),
        ("What is the lead time of the impeller?", "Description: Open impeller; Test lead time: 11 weeks", False),
        ("What is the name of the driver?", "Message: Oil pressure; Driver: Stop at once", False),
        ("What is the colour of the grey pump?", "Thing: Pump; Colour: grey", False),
        ("Who changed the seal in February?", "Date: 2025-02-12; Work done: Seal changed; Done by: M. Ferrante", True),
        ("Who changed the seal in March?", "Date: 2025-02-12; Work done: Seal changed; Done by: M. Ferrante", False),
        ("Who replaces the bearings?", "Both bearings are replaced by the workshop.", False),
    ],
)
def test_a_row_with_all_words_of_the_question_has_the_asked_value(question: str, row: str, is_whole: bool) -> None:
    (sentence,) = read_evidence([EvidencePart("C0", "report.pdf", row)])
    assert is_whole_row(read_question(question), sentence) is is_whole


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "row", "answers"),
    [
        ("Who replaces the bearings?", "Task: Replace both bearings; Done by: Workshop", True),
        ("Who replaces the bearings?", "Task: Replace both bearings; Section: 10.4", False),
        ("Who replaces the bearings?", "Task: Replace both bearings; Done by: none", False),
        ("Where is the valve tested?", "Test: Safety valve; Place: workshop", True),
        ("Where is the valve tested?", "Test: Safety valve; Place: none", False),
    ],
)
def test_the_minimum_is_lower_for_such_a_row(question: str, row: str, answers: bool) -> None:
    ranking = rank(prompt_of(question, row), read_question(question))
    assert ranking._replace(answering=ranking.minimum - 1).answers is answers
    assert not ranking._replace(answering=ranking.minimum - 2_000_000).answers


@pytest.mark.contract("R4-9")
def test_a_date_in_numbers_says_its_month() -> None:
    dates = {"2025-02-12": True, "2025/2/12": True, "2025-03-12": False, "12025-02-12": False, "2025-021": False}
    for date, says in dates.items():
        (sentence,) = read_evidence([EvidencePart("C0", "orders.csv", f"The seal was changed on {date}.")])
        assert (read_question("Which seal in February?").weights.keys() <= sentence.stems) is says, date


@pytest.mark.contract("R4-9")
def test_a_row_of_the_thing_that_its_heading_names_answers() -> None:
    row = "Interval: 500 hours; Quantity: 3 litres; Tool: key 17"
    assert texts("What is the interval of the oil change?", f"## Oil change\n\n{row}") == [row]


@pytest.mark.contract("R4-9")
def test_a_row_that_begins_with_a_bracket_is_a_row() -> None:
    rows = (
        "Total current liabilities of the company; 2023: 12; 2022: 15",
        "(Loss) income before taxes; 2023: 46; 2022: 51",
    )
    assert texts("What was the income before taxes in 2022?", "\n".join(rows)) == [rows[1]]


LOWER = (
    "name: Norway; income: 64304; note: low",
    "name: Oman; income: 48226; note: It is high.",
    "name: Peru; income: 9",
)


@pytest.mark.contract("R4-9")
def test_a_row_whose_first_column_is_in_lower_case_is_a_row() -> None:
    sentences = read_evidence([EvidencePart("C0", "table.csv", "\n".join(LOWER))])
    assert [(each.text, each.is_quotable) for each in sentences] == [(row, True) for row in LOWER]
    assert texts("What is the income of Oman?", "\n".join(LOWER)) == [LOWER[1]]


@pytest.mark.contract("R4-9")
def test_rows_are_cut_at_no_question_mark_and_may_begin_with_a_number_sign() -> None:
    rows = [
        "#: 9; Task: Mail the plans to vendors; Status: New; Assigned To: Horace; Done?: TRUE",
        "#: 10; Task: Invite the vendors; Status: New; Assigned To: Emil; Done?: FALSE",
        "#: 11; Task: Gather the questions; Status: New; Assigned To: Ann",
        "#: 12; Task: Answer them; Status: Old; Assigned To: Mary; Done?: TRUE",
    ]
    assert [each.text for each in read_evidence([EvidencePart("C0", "tasks.xlsx", "\n".join(rows))])] == rows
    assert texts("Who mails the plans to the vendors?", "\n".join(rows)) == rows[:1]


@pytest.mark.parametrize("name", ["#", "№", "%"])
def test_a_row_may_begin_with_a_sign_as_its_name(name: str) -> None:
    rows = [f"{name}: {number}; Task: Mail the plans; Status: New" for number in (9, 10)]
    assert [each.text for each in read_evidence([EvidencePart("C0", "tasks.xlsx", "\n".join(rows))])] == rows


def test_rows_without_heads_stay_apart() -> None:
    rows = ["Gwen Ifill; journalist; 61; born on 1955-09-29", "John Glenn; astronaut; 95; born on 1921-07-28"]
    assert [each.text for each in read_evidence([EvidencePart("C0", "table.csv", "\n".join(rows))])] == rows
    prose = "We saw the pump; it ran; the valve was open; and all of the\ntanks were full; nobody came."
    assert [each.text for each in read_evidence([EvidencePart("C0", "a.txt", prose)])] == [prose.replace("\n", " ")]


@pytest.mark.contract("R4-9")
def test_the_row_with_exactly_the_asked_name_comes_first() -> None:
    half, whole = "Race: Half Ben Nevis; Climb: 2200; Time: 47.6", "Race: Ben Nevis; Climb: 4400; Time: 85.6"
    question = "What is the time of the Ben Nevis race?"
    read = reader_of({half: 300, whole: 100})
    assert [each.text for each in answer(prompt_of(question, f"{half}\n{whole}"), read)] == [whole]
    far = rank(prompt_of(question, f"{half}\n{whole}"), read_question(question), reader_of({half: 900, whole: -900}))
    assert far.ranked[0].sentence.text == half


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(("year", "answered"), [(2010, True), (2012, False)])
def test_what_is_said_of_another_year_is_no_answer(year: int, answered: bool) -> None:
    sentence = "In 2010, 7,738 students of Texas were given a benefit."
    question = f"How many students of Texas were given a benefit in {year}?"
    found = answer(prompt_of(question, sentence), reader_of({sentence: 600}))
    assert [each.text for each in found] == ([sentence] if answered else [])
    titled = answer(prompt_of(question, f"Benefits in 2012\n\n{sentence}"), reader_of({sentence: 600}))
    assert [each.text for each in titled] == [sentence]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "time",
    [
        "since 2008",
        "in the 2000s",
        "between 2008 and 2012",
        "in 2008 and 2010",
        "in the years 2008 to 2012",
        "in 2008-2012",
    ],
)
def test_a_span_of_years_is_no_other_year(time: str) -> None:
    sentence = "In 2010, 7,738 students of Texas were given a benefit."
    question = f"How many students of Texas were given a benefit {time}?"
    assert [each.text for each in answer(prompt_of(question, sentence), reader_of({sentence: 600}))] == [sentence]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("name", ["Ben Nevis", "The Ben Nevis"])
def test_the_best_of_rows_with_the_asked_name_stays_first(name: str) -> None:
    best, other = f"Race: {name}; Year: 2001; Time: 85.6", "Race: Ben Nevis; Year: 2002; Time: 86.1"
    found = answer(prompt_of("What is the time of the Ben Nevis race?", f"{other}\n{best}"), reader_of({best: 300}))
    assert [each.text for each in found] == [best]


@pytest.mark.contract("R4-9")
def test_a_figure_below_the_asked_name_has_the_asked_kind() -> None:
    question = read_question("What is the rotor area of the turbine T-1?")
    (row,) = read_evidence([EvidencePart("C0", "table.csv", "name: T-1; rotor_area: 21121; height: 100")])
    found = find_type(question, row)
    assert found is not None
    assert [row.words[place].form for place in found] == ["21121"]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the reason of the fault?", Asked.REASON),
        ("What was the main reason for the fire?", Asked.REASON),
        ("Which band plays first?", Asked.OTHER),
        ("Which artist plays first?", Asked.PERSON),
    ],
)
def test_the_asked_kind(question: str, asked: Asked) -> None:
    assert read_question(question).asked is asked


@pytest.mark.contract("R4-9")
def test_wrapped_prose_with_one_semicolon_a_line_is_no_row() -> None:
    prose = "The valve of the second pump was opened by the guard; the lid of\nTank B was closed; it was late."
    assert [each.text for each in read_evidence([EvidencePart("C0", "a.txt", prose)])] == [prose.replace("\n", " ")]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "text", "is_said"),
    [
        ("Who releases the pump?", "Quality assurance releases the pump after a sample has met the limits.", True),
        ("Who may release the pump?", "Quality assurance releases the pump after a sample has met the limits.", True),
        ("After a repair, who releases the pump?", "After a repair the pump is released by quality assurance.", True),
        ("Who releases the pump?", "The pump is rinsed and then releases steam.", False),
        ("Who releases the pump?", "Quality assurance releases the certificate.", False),
        ("Who is the owner of the pump?", "Quality assurance is the owner of the pump.", False),
        ("What releases the pump?", "Quality assurance releases the pump.", False),
        ("Who releases the pump?", "Nobody releases the pump.", False),
        ("Who releases the pump?", "Pressing the red button releases the pump.", False),
        ("Who releases the pump?", "The pump is released by Friday.", False),
        ("Who releases the pump?", "The pump is released by pressing the button.", False),
        ("Who opens the valve?", "Carefully open the valve.", False),
        ("Who orders parts?", "Rush orders of parts cost more.", False),
        ("Who releases the pump?", "Pump: P-1; Released by: Quality assurance", False),
    ],
)
def test_a_sentence_says_who_does_what_is_asked(question: str, text: str, is_said: bool) -> None:
    (sentence,) = read_evidence((EvidencePart("C0", "manual.pdf", text),))
    assert has_agent(read_question(question), sentence) is is_said


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(("text", "answers"), [("Quality releases the pump.", True), ("A valve of the pump.", False)])
def test_who_does_all_that_is_asked_answers_at_a_lower_minimum(text: str, answers: bool) -> None:
    (sentence,) = read_evidence((EvidencePart("C0", "manual.pdf", text),))
    features = {"type_missing": 0, "aspect_own": 1, "own": 1000, "chunk": 1000, "odds": 0}
    ranked = (Ranked(sentence, features, 0),)
    low = Ranking(read_question("Who releases the pump?"), (sentence,), ranked, -ALL_SAID, 0, WIDE)
    assert low.answers is answers
    assert low._replace(answering=-ALL_SAID - 1).answers is False

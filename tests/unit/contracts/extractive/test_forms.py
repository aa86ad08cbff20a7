"""The form that a question asks for, without which a sentence is no answer (R4-9)."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.question import Asked, read_question
from sourcebound.contracts.extractive.vocabulary.sharp import read_sharp
from sourcebound.contracts.extractive.wording.courtesy import strip_courtesy
from sourcebound.contracts.prompt.build import build_prompt, read_prompt
from support.builders import answer_bundle, policy


def texts(question: str, *chunks: str) -> list[str]:
    """Return the quoted sentences for a question on these chunks."""
    prompt = build_prompt(answer_bundle(*chunks, question=question), policy()).prompt
    return [sentence.text for sentence in answer(read_prompt(prompt.messages))]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "near", "right"),
    [
        (
            "On which day is the boiler tested?",
            "The boiler is tested every week.",
            "The test of the boiler is done on Sunday.",
        ),
        (
            "How often is the belt of the loom replaced?",
            "The belt of the loom is replaced with 3 per cent of slack.",
            "The belt of the loom has an interval of 6 months.",
        ),
        (
            "What does a bulb for the lamp cost?",
            "A bulb for the lamp is tightened with 3 turns.",
            "A bulb for the lamp sells for 12 euros.",
        ),
        (
            "What is the serial number of the crane?",
            "The serial number of the crane is on its plate.",
            "The crane was built in Kiel as KR-2044.",
        ),
        (
            "When will edition D of the map be issued?",
            "The map is valid until edition D has been issued.",
            "Edition D of the map is planned for May 2027.",
        ),
        (
            "After how many hours is the oil of the saw changed for the first time?",
            "The oil of the saw is changed every 3,000 hours.",
            "The oil of the saw is changed after the first 300 hours.",
        ),
    ],
)
def test_a_sentence_without_the_asked_form_is_no_answer(question: str, near: str, right: str) -> None:
    assert texts(question, near) == []
    assert texts(question, f"{near} {right}") == [right]


@pytest.mark.contract("R4-9")
def test_a_row_names_a_person_only_under_a_head_for_one() -> None:
    fault = "| Fault of the fan | Remedy |\n|---|---|\n| Belt torn | Replace the belt |\n"
    task = "| Task | Done by |\n|---|---|\n| Replace the belt of the fan | Workshop |\n"
    assert texts("Who replaces the belt of the fan?", fault) == []
    assert texts("Who replaces the belt of the fan?", fault, task) == [
        "Task: Replace the belt of the fan; Done by: Workshop"
    ]


@pytest.mark.contract("R4-9")
def test_a_unit_in_the_head_of_a_column_is_a_unit_of_its_values() -> None:
    table = "| Format of the line | Cap torque (Nm) |\n|---|---|\n| F3 | 1.6 |\n"
    assert texts("Which cap torque is set for format F3 of the line?", table) == [
        "Format of the line: F3; Cap torque (Nm): 1.6"
    ]


@pytest.mark.contract("R4-9")
def test_a_question_about_a_part_is_not_answered_about_another_part() -> None:
    oil = "The oil of the HP-200 is changed every 400 hours. The HP-300 is dry."
    assert texts("How often is the oil of the HP-200 changed?", oil) == [oil.split(". ")[0] + "."]
    assert texts("How often is the filter of the HP-200 changed?", oil) == []


@pytest.mark.contract("R4-9")
def test_a_question_that_only_names_a_label_asks_nothing() -> None:
    assert texts("And in revision B?", "This is revision B of the manual. The limits of revision B apply.") == []


@pytest.mark.contract("R4-9")
def test_a_wish_to_be_given_something_asks_what_it_is() -> None:
    assert (
        strip_courtesy("Can you give me the telephone number of the desk?")
        == "what is the telephone number of the desk?"
    )
    assert read_question("what is the telephone number of the desk?").asked is Asked.CONTACT
    assert strip_courtesy("Can you give the number away?") == "Can you give the number away?"


@pytest.mark.contract("R4-9")
def test_the_form_may_stand_for_the_words_that_ask_for_it() -> None:
    sharp = read_sharp("At what temperature does the door unlock?", Asked.MEASURE)
    assert sharp
    assert sharp.said.search("less than 80 °C")
    assert sharp.stems == {"temperatur"}
    assert read_sharp("What unlocks the door?", Asked.OTHER) is None


@pytest.mark.contract("R4-9")
def test_the_value_of_a_row_is_not_that_of_a_thing_beside_it() -> None:
    points = "| Point | Location | Sample volume |\n|---|---|---|\n| SP-2 | Outlet of tank T-110 | 500 mL |\n"
    tanks = "| Tank | Volume |\n|---|---|\n| Tank T-110 | 900 litres |\n"
    assert texts("What is the volume of tank T-110?", points) == []
    assert texts("What is the volume of tank T-110?", points, tanks) == ["Tank: Tank T-110; Volume: 900 litres"]


@pytest.mark.contract("R4-9")
def test_a_sentence_with_the_label_of_the_question_precedes_the_others() -> None:
    plate = "The serial number of an HP-200 is a number such as KR-01. The HP-300 has none."
    report = "The serial number of pump B is KR-77. The seal of pump B was dry."
    assert texts("What is the serial number of HP-200 pump B?", plate, report) == [
        "The serial number of pump B is KR-77."
    ]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "near", "right"),
    [
        (
            "What colour is the lid of the kettle?",
            "The lid of the kettle comes in many colours.",
            "The lid of the kettle is painted green.",
        ),
        (
            "In which direction does the fan turn?",
            "The fan must turn in one direction.",
            "The fan runs clockwise.",
        ),
        (
            "What size is the valve of the boiler?",
            "The valve of the boiler opens for 30 seconds.",
            "The valve of the boiler is DN 25.",
        ),
    ],
)
def test_a_sentence_with_a_form_of_many_members_precedes_the_others(question: str, near: str, right: str) -> None:
    assert texts(question, f"{near} {right}") == [right]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "chunk"),
    [
        ("How often is the map downloaded?", "The map has 300,000 downloads / week."),
        ("How often is the belt checked?", "The belt is checked 5 times/week."),
        ("On which days is the canteen open?", "The canteen is open Mon to Fri."),
        ("On which days is the canteen open?", "The canteen is open on weekdays."),
        ("On which days is the canteen open?", "The canteen is open daily."),
        ("Which date format does the export use?", "The export uses the date format YYYY-MM-DD."),
        ("At what speed does the conveyor run?", "The conveyor runs at 12 m/min."),
        ("At what speed does the conveyor run?", "The conveyor runs at 900 min-1."),
        ("How tall is the fence?", "The fence is two metres tall."),
        ("In which direction does the belt move?", "The belt moves forward."),
        ("In which direction does the belt move?", "The belt moves towards the door."),
        ("In which direction does the belt move?", "The belt moves backwards."),
        ("What size are the gloves?", "The gloves are size XL."),
        ("What size are the gloves?", "The gloves are XL."),
        ("What day-to-day tasks does the porter do?", "The porter does day-to-day tasks such as sweeping the yard."),
        ("Which day shift supervisor signs the log?", "The day shift supervisor Jane Miller signs the log."),
        ("Which year group uses the hall?", "The hall is used by the youngest year group."),
        ("What is the diameter of the pipe?", "The diameter of the pipe is DN 50."),
        ("What is the length of the cable?", "The crane has a 30-metre cable."),
        ("What is the maximum length of a name?", "A name cannot be longer than 32 characters."),
        ("What line width does the editor wrap at?", "The editor wraps lines at 80 columns of text."),
        ("What colour is the frame?", "The colour of the frame is RAL 3000."),
        ("What colour is the frame?", "The frame is painted in copper."),
        ("At what temperature is the sample kept?", "The sample is kept at room temperature."),
        ("What is the batch number of the paint?", "The batch number of the paint is 42."),
        ("What is the batch number of the paint?", "The paint is from batch 42."),
        ("What pressure does the hot water loop have?", "The hot water loop has a pressure of 3 bar."),
        ("How much does the crane weigh?", "The crane weighs two tonnes."),
    ],
)
def test_an_answer_in_an_uncommon_form_is_given(question: str, chunk: str) -> None:
    assert texts(question, chunk) == [chunk]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize("place", ["at example.org/day", "in the folder /week", "by the month/day/year stamp"])
def test_a_unit_of_time_after_the_slash_of_a_path_or_a_date_is_no_frequency(place: str) -> None:
    assert texts("How often is the map updated?", f"The map is updated {place}.") == []


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "chunk",
    [
        "The serial number of the crane is from OP-01 to OP-99.",
        "The serial numbers of the crane run OP-01 to OP-99.",
        "The serial number of the crane begins with the letters OP200.",
        "The serial number of the crane is on its 4 plates.",
    ],
)
def test_a_range_or_a_beginning_is_no_number_of_a_thing(chunk: str) -> None:
    assert texts("What is the serial number of the crane?", chunk) == []

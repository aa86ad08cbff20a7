"""Which sentences an extractive answer has: one, the steps, the list, both sides, or none (R4-9)."""

import pytest

from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.features import lexical_features
from sourcebound.contracts.extractive.question import Asked, read_question
from sourcebound.contracts.extractive.ranking import rank
from sourcebound.contracts.extractive.sentences import read_evidence
from sourcebound.contracts.prompt.build import EvidencePart, build_prompt, read_prompt
from support.builders import answer_bundle, policy

FILTER_STEPS = (
    "Changing the filter of the washer\n\n"
    "1. Close the water valve of the washer.\n"
    "2. Unscrew the lid of the filter.\n"
    "3. Take the old filter out and rinse the housing.\n"
    "4. Insert the new filter and tighten the lid by hand.\n\n"
    "The washer weighs 70 kg."
)
VALVES = (
    "The HP-200 has a relief valve that opens at 6 bar.\n\nThe HP-300 has a relief valve that opens at 9 bar.\n\n"
    "The HP-400 has no relief valve."
)
ALARMS = (
    "## Alarms of the chiller\n\n| Alarm | Meaning | Limit |\n|---|---|---|\n"
    "| A-203 | High condenser pressure | 17.5 bar |\n| A-207 | Low evaporator pressure | 2.4 bar |\n"
)


def texts(question: str, *chunks: str) -> list[str]:
    """Return the quoted sentences for a question on these chunks."""
    prompt = build_prompt(answer_bundle(*chunks, question=question), policy()).prompt
    return [sentence.text for sentence in answer(read_prompt(prompt.messages))]


@pytest.mark.contract("R4-9")
def test_a_question_for_one_thing_gets_one_sentence() -> None:
    manual = (
        "The compressor runs at 8 bar. The compressor was built by Atlas in Antwerp. "
        "The compressor needs 40 litres of oil. Oil is changed every 2000 hours."
    )
    assert texts("Who built the compressor?", manual) == ["The compressor was built by Atlas in Antwerp."]
    assert texts("How much oil does the compressor need?", manual) == ["The compressor needs 40 litres of oil."]
    assert texts("How often is the oil changed?", manual) == ["Oil is changed every 2000 hours."]


@pytest.mark.contract("R4-9")
def test_an_acronym_is_found_as_the_evidence_writes_it() -> None:
    manual = "Total Organic Carbon is at most 200 ppb. The analyser weighs 12 kg."
    assert texts("What is the limit of TOC?", manual) == ["Total Organic Carbon is at most 200 ppb."]


@pytest.mark.contract("R4-9")
def test_a_procedure_is_quoted_from_its_first_step_to_its_last() -> None:
    steps = texts("How do I change the filter of the washer?", FILTER_STEPS)
    assert [step[:2] for step in steps] == ["1.", "2.", "3.", "4."]


@pytest.mark.contract("R4-9")
def test_instructions_in_a_paragraph_are_quoted_together_without_what_follows() -> None:
    text = (
        "The scanner stands in room 12. From the menu, choose Network. Enter the address of the scanner. "
        "Press OK to connect the scanner to the network. The scanner was bought in 2019."
    )
    assert texts("How do I connect the scanner to the network?", text) == [
        "From the menu, choose Network.",
        "Enter the address of the scanner.",
        "Press OK to connect the scanner to the network.",
    ]


@pytest.mark.contract("R4-9")
def test_a_list_is_quoted_only_where_a_list_is_asked_for() -> None:
    text = (
        "The cleaning kit of the camera\n\n- a brush for the camera lens\n- a cloth for the camera body\n"
        "- a blower for the camera sensor\n"
    )
    assert len(texts("What are the parts of the cleaning kit of the camera?", text)) == 3
    assert texts("What is for the sensor of the camera?", text) == ["- a blower for the camera sensor"]


@pytest.mark.contract("R4-9")
def test_a_comparison_gets_one_sentence_for_each_side_in_the_order_of_the_question() -> None:
    said = texts("At which pressure does the relief valve open on the HP-300 and on the HP-200?", VALVES)
    assert said == [
        "The HP-300 has a relief valve that opens at 9 bar.",
        "The HP-200 has a relief valve that opens at 6 bar.",
    ]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question",
    ["What distinguishes the probe from the gauge?", "What sets the probe apart from the gauge?",
     "How do the probe and the gauge differ in what they measure?"],
)  # fmt: skip
def test_a_comparison_in_other_words_gets_one_sentence_for_each_side(question: str) -> None:
    text = "The gauge measures the level. It is old. The probe measures the pressure. Both are blue."
    assert texts(question, text) == ["The probe measures the pressure.", "The gauge measures the level."]


@pytest.mark.contract("R4-9")
def test_a_reason_comes_with_the_sentence_that_it_goes_on_from() -> None:
    text = (
        "The guard of the saw stays closed. This prevents injuries, because the blade of the saw is sharp. "
        "Saws are red."
    )
    assert texts("Why does the guard of the saw prevent injuries?", text) == [
        "The guard of the saw stays closed.",
        "This prevents injuries, because the blade of the saw is sharp.",
    ]


@pytest.mark.contract("R4-9")
def test_a_row_of_a_table_is_quoted_with_the_heads_of_its_columns() -> None:
    assert texts("What is the limit of alarm A-207 of the chiller?", ALARMS) == [
        "Alarm: A-207; Meaning: Low evaporator pressure; Limit: 2.4 bar"
    ]


@pytest.mark.contract("R4-9")
def test_an_identifier_that_others_stand_beside_must_be_the_one_that_was_asked_for() -> None:
    assert texts("At which pressure does the relief valve of the HP-300 open?", VALVES) == [
        "The HP-300 has a relief valve that opens at 9 bar."
    ]
    assert texts("At which pressure does the relief valve of the HP-500 open?", VALVES) == []


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "How many ships did the port of Bergen have by the 1700s?",
            "The port of Bergen had 90 ships in the 18th century.",
        ),
        ("What was the revenue of the port in FY2022?", "The revenue of the port was 3 million euros in 2022."),
        ("How does COVID-19 spread on ships?", "On ships the virus that causes COVID-19 spreads through the air."),
    ],
)
def test_a_word_with_digits_that_has_no_like_in_the_evidence_is_no_identifier(question: str, sentence: str) -> None:
    assert texts(question, f"{sentence} The harbour office is painted white.") == [sentence]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "furniture",
    [
        "Torque of the drain plug",
        "![Torque of the drain plug](torque.svg)",
        "[![torque of the drain plug](https://img.shields.io/badge/torque.svg)](https://example.org)",
        "What is the torque of the drain plug?",
        "The torque of the drain plug is:",
        "Torque of the drain plug ........ 12",
        "and the torque of the drain plug",
    ],
)
def test_it_never_quotes_a_title_a_badge_a_question_a_lead_in_or_a_fragment(furniture: str) -> None:
    fact = "The drain plug takes a torque of 18 Nm."
    assert texts("What is the torque of the drain plug?", f"{furniture}\n\n{fact}") == [fact]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "fragment",
    [
        "Anna Weber repaired the boiler of the laundry in May 2019 and ...",
        "… Anna Weber repaired the boiler of the laundry in May 2019.",
        "Anna Weber … repaired the boiler of the laundry in May 2019.",
    ],
)
def test_a_sentence_with_words_left_out_is_not_quoted(fragment: str) -> None:
    whole = "The boiler was repaired by Jan Novak."
    assert texts("Who repaired the boiler of the laundry in May 2019?", f"{fragment}\n\n{whole}") == [whole]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "sentence",
    [
        "The valves of the press are numbered 1, 2, ... and 9 from the left.",
        "The valves of the press are set by valve [NUMBER] ... on the console.",
        "The valves of the press opened slowly... until 2019.",
        "The valves of the press are set to 4 ... 20 mA.",
        "The valves of the press work at -20 … +60 °C.",
    ],
)
def test_an_ellipsis_that_leaves_nothing_out_is_quoted(sentence: str) -> None:
    assert texts("Which valves does the press have?", sentence) == [sentence]


@pytest.mark.contract("R4-9")
def test_a_sentence_that_says_no_more_than_the_question_is_no_answer() -> None:
    assert texts("How do I remove the account of the scanner?", "Remove the account of the scanner.") == []


@pytest.mark.contract("R4-9", "R5-16")
def test_steps_are_quoted_without_a_sentence_that_gives_the_question_back() -> None:
    text = "You can customize the timer options. From the clock, tap the timer. Tap the three dots to see the options."
    question = "How can I customize the timer options?"
    assert texts(question, text) == ["From the clock, tap the timer.", "Tap the three dots to see the options."]


@pytest.mark.contract("R4-9", "R5-16")
def test_an_option_that_gives_the_question_back_is_not_quoted_and_nor_are_the_others() -> None:
    options = (
        "Rate: Set the rate of the speech. Pitch: Set the pitch of the speech. Reset: Reset the rate and the pitch."
    )
    step = "From Settings, tap Text-to-speech for options."
    assert texts("How do I set the pitch of the speech?", options) == []
    assert texts("How do I set the pitch of the speech?", f"{step} {options}") == [step]


@pytest.mark.contract("R4-9", "R5-16")
def test_a_later_step_that_gives_the_question_back_stays() -> None:
    steps = ["Hold the power key for ten seconds.", "Reset the scanner.", "Press the green key."]
    assert texts("How do I reset the scanner?", " ".join(steps)) == steps


@pytest.mark.contract("R4-9", "R5-16")
def test_no_warning_goes_with_the_options() -> None:
    warning = "Warning: Use no other cable."
    options = "Rate: Set the rate of the speech. Pitch: Set the pitch of the speech."
    step = "From Settings, tap Text-to-speech for options."
    assert texts("How do I set the pitch of the speech?", f"{step} {warning} {options}") == [step, warning]


@pytest.mark.contract("R4-9", "R5-16")
def test_an_item_with_the_words_of_the_question_stays_in_its_list() -> None:
    steps = ["- Reset the scanner.", "- Hold the key.", "- Press the green key."]
    assert texts("How do I reset the scanner?", "## Reset the scanner\n\n" + "\n".join(steps)) == steps


@pytest.mark.contract("R4-9", "R5-16")
def test_a_line_with_the_words_of_the_question_stays_above_its_list() -> None:
    lines = ["These parts of the press must be oiled:", "- The shaft", "- The parts of the press", "- The hinge"]
    text = "\n\n".join((lines[0], "\n".join(lines[1:])))
    assert texts("Which parts of the press must be oiled?", text) == lines


@pytest.mark.contract("R4-9", "R5-16")
@pytest.mark.parametrize(
    "text", ["Vectors are compared exactly.", "## Notes\n\n- Vectors are compared exactly.\n- Rows."]
)
def test_the_words_of_a_question_are_no_reason(text: str) -> None:
    assert texts("Why are vectors compared exactly first?", text) == []


@pytest.mark.contract("R4-9")
def test_a_sentence_that_the_page_has_cut_is_quoted_whole() -> None:
    text = (
        "The scanner of the archive was bought from a dealer in Antwerp who\n"
        "Friedrich knew, and the archive paid 900 euros for it."
    )
    assert texts("How much did the archive pay for the scanner?", text) == [" ".join(text.split())]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    "question",
    ["Who is the mayor of Lisbon?", "When was the violin concerto first performed?", "How do I bake sourdough bread?"],
)
def test_it_refuses_a_question_whose_subject_is_in_no_chunk(question: str) -> None:
    assert texts(question, FILTER_STEPS, VALVES, ALARMS) == []


@pytest.mark.contract("R4-9")
def test_each_row_of_named_values_is_a_sentence_of_its_own() -> None:
    rows = [
        f"Equipment: HP-200; Part number: {number}; Description: {name}; Tightening torque: {torque} N·m"
        for number, name, torque in (("20-3007", "Oil drain plug", 18), ("20-3008", "Oil sight glass", 8))
    ]
    assert texts("What is the tightening torque of the oil sight glass?", "\n".join(rows)) == rows[1:]


@pytest.mark.contract("R4-9")
def test_a_name_in_a_program_answers_a_question_for_an_option_or_a_variable() -> None:
    text = (
        "The cache of the runner uses this environment variable on Windows. Set `RUNNER_NO_CACHE` to disable the cache "
        "of the runner. The cache of the runner is fast."
    )
    assert texts("Which environment variable disables the cache of the runner?", text) == [
        "Set `RUNNER_NO_CACHE` to disable the cache of the runner."
    ]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When was the pump installed?", Asked.TIME),
        ("Which exception is raised when the pump stops?", Asked.CODE),
        ("What happens to the oil when the pump stops?", Asked.OTHER),
        ("Where is the pump?", Asked.PLACE),
        ("Which flag keeps the files where they are?", Asked.CODE),
    ],
)
def test_a_clause_in_a_question_does_not_say_what_it_asks_for(question: str, asked: Asked) -> None:
    assert read_question(question).asked is asked


@pytest.mark.contract("R4-9")
def test_the_named_value_of_a_row_is_worth_more_than_the_same_words_elsewhere() -> None:
    question = read_question("At which interval is TT-118 calibrated?")
    row, other = read_evidence(
        [EvidencePart("C0", "register.md", "Tag: TT-118; Interval: 6 months\n\nTT-118 has an interval of its own.\n")]
    )
    weights = dict.fromkeys(question.weights, 100)
    described = [lexical_features(question, each, weights, each.stems) for each in (row, other)]
    assert [each["field"] > 0 for each in described] == [True, False]
    assert [each["heaviest_missing"] for each in described] == [1000, 1000]
    assert lexical_features(question, row, weights | {"calibrat": 10}, row.stems)["heaviest_missing"] == 100


@pytest.mark.contract("R4-9")
def test_a_sentence_without_an_identifier_belongs_to_the_only_one_of_its_chunk() -> None:
    question = read_question("How does the motor of the HP-200 turn?")
    turning = "The motor turns clockwise. It is earthed. The HP-200 stands on four feet."
    prompt = build_prompt(
        answer_bundle(turning, f"{turning} Not so the HP-300.", question=question.text), policy()
    ).prompt
    ranked = rank(read_prompt(prompt.messages), question).ranked
    assert [each.sentence.chunk for each in ranked if "clockwise" in each.sentence.text] == [0]


@pytest.mark.contract("R4-9")
def test_the_row_of_another_identifier_is_not_quoted_for_the_row_before_it() -> None:
    head = "| Point | Use of the water |\n|---|---|\n"
    points = head + "| POU-3 | Final rinse |\n| POU-4 | Use of the steam, used for water |\n"
    assert texts("What is the water at POU-3 used for?", points) == ["Point: POU-3; Use of the water: Final rinse"]

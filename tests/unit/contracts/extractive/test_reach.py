"""What a sentence reaches beyond its own words: its document's name, a wrapped line, a column, another word (R4-9)."""

import pytest

from sourcebound.contracts.extractive import ranking
from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.features import lexical_features
from sourcebound.contracts.extractive.labels import name_document, spell_source
from sourcebound.contracts.extractive.question import Asked, read_question
from sourcebound.contracts.extractive.sentences import Sentence, read_evidence
from sourcebound.contracts.extractive.subjects import is_headed, names_only_the_thing
from sourcebound.contracts.extractive.weights import read_weights
from sourcebound.contracts.prompt.build import EvidencePart, PromptParts, build_prompt, read_prompt
from support.builders import answer_bundle, policy

ORDERS = (
    "Work order: WO-41; Date: 2024-03-12; Work done: Belt of the mill replaced; Done by: K. Olsen\n"
    "Work order: WO-42; Date: 2024-05-02; Work done: Lamp of the hall replaced; Done by: R. Brandt"
)


def read(text: str, source: str = "notes.txt") -> list[Sentence]:
    """Read one chunk."""
    return read_evidence([EvidencePart("C0", source, text)])


def features(question: str, text: str, source: str = "notes.txt") -> dict[str, int]:
    """Return the features of the first sentence of a chunk."""
    sentence = read(text, source)[0]
    asked = read_question(question)
    return lexical_features(asked, sentence, dict.fromkeys(asked.weights, 100), sentence.stems)


def texts(question: str, *chunks: str) -> list[str]:
    """Return the quoted sentences for a question on these chunks."""
    prompt: PromptParts = read_prompt(build_prompt(answer_bundle(*chunks, question=question), policy()).prompt.messages)
    return [sentence.text for sentence in answer(prompt)]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("kx-40-mill-manual-rev-b.pdf, p. 13", "kx mill manual rev b kx40"),
        ("report-dv-2023-007.rtf", "report dv 2023 dv2023007 dv2023 reportdv2023007 reportdv2023"),
        ("sop-qa-9.md", "sop qa qa9 sopqa9"),
        ("Normans.txt", "Normans"),
        ("mx200.csv", "mx200"),
        ("plan 2024", "plan 2024 plan2024"),
    ],
)
def test_the_identifiers_of_a_document_are_read_from_its_name(source: str, words: str) -> None:
    assert spell_source(source) == words


@pytest.mark.contract("R4-9")
def test_the_name_of_a_document_is_read_in_its_order() -> None:
    assert name_document("kx-40_mill-manual.rev-b.pdf, p. 13") == "kx 40 mill manual rev b"


@pytest.mark.contract("R4-9")
def test_a_sentence_belongs_to_the_identifier_of_its_document() -> None:
    sentence = read("The lid is locked. The lid opens at 40 °C.", "kx-40-mill-manual.pdf, p. 2")[1]
    assert "kx40" in sentence.title
    assert "2" not in sentence.title
    assert features("At what temperature does the KX-40 open?", "It opens at 40 °C.", "kx-40.md")["names_far"] == 0
    assert features("At what temperature does the KX-40 open?", "It opens at 40 °C.", "kx-50.md")["names_far"] == 1000


@pytest.mark.contract("R4-9")
def test_a_sentence_that_begins_within_a_long_line_is_joined_over_its_end() -> None:
    page = (
        "No more than three starts per hour are permitted for the mill. The noise level of the\n"
        "KX-40 at its rated point is 71 dB(A)."
    )
    assert [each.text for each in read(page)][-1] == "The noise level of the KX-40 at its rated point is 71 dB(A)."


@pytest.mark.contract("R4-9")
def test_a_condition_answers_when_something_happens_and_not_when_it_happened() -> None:
    alarm = "The alarm is raised when the tank is full."
    assert features("When is the alarm raised?", alarm)["type"] == 1000
    assert features("When was the alarm raised?", alarm)["type_missing"] == 1000
    assert features("When is the valve opened?", "The valve is opened at 4.7 bar.")["type"] == 1000
    assert features("When was the valve opened?", "The valve was opened at 4.7 bar.")["type_missing"] == 1000
    assert features("When is the valve opened?", "The valve is opened by hand.")["type_missing"] == 1000


@pytest.mark.contract("R4-9")
def test_a_role_answers_who() -> None:
    assert features("Who may open the panel?", "The panel is opened by trained electricians only.")["type"] == 1000
    assert features("Who may open the panel?", "The panel is opened by its two screws only.")["type_missing"] == 1000
    assert features("Who turns the shaft?", "The porter turns the shaft.")["type"] == 1000
    assert features("Who turns the shaft?", "The porter has a shaft.")["type_missing"] == 1000
    assert features("Who turns the shaft?", "It is found under shaft 2.")["type_missing"] == 1000
    assert features("Which electricians may open it?", "It is opened by electricians.")["type"] == 0


@pytest.mark.contract("R4-9")
def test_a_column_that_holds_the_asked_kind_lets_the_row_name_the_value() -> None:
    row, mill = ORDERS.split("\n")[0], "the belt of the mill"
    assert features(f"Who replaced {mill}?", row)["field"] == 1000
    assert features(f"When was {mill} replaced?", row)["field"] == 1000
    assert features(f"Why was {mill} replaced?", row)["field"] == 0
    assert texts(f"Who replaced {mill}?", ORDERS) == [row]


@pytest.mark.contract("R4-9")
def test_of_a_row_only_the_values_that_are_asked_about_count_as_its_length() -> None:
    row, *others = ORDERS.split("\n")
    long = f"{row}; Remark: the belt was ordered from the works and came after three weeks by rail"
    question = "When was the mill replaced?"
    assert features(question, f"{long}\n{others[0]}")["length"] == features(question, ORDERS)["length"]


@pytest.mark.contract("R4-9")
def test_a_row_answers_only_what_one_of_its_words_names() -> None:
    rows = "# KX-40\n\nProperty of the KX-40: Oil charge; Value: 3 kg\nProperty of the KX-40: Speed; Value: 90 rpm"
    assert texts("What is the oil charge of the KX-40?", rows) == ["Property of the KX-40: Oil charge; Value: 3 kg"]
    assert texts("How much does the KX-40 weigh?", rows) == []


@pytest.mark.contract("R4-9")
def test_the_first_row_of_a_chunk_is_no_title_of_it() -> None:
    row, other = ORDERS.split("\n")
    question = "Who replaced the torn belt of the mill?"
    assert features(question, ORDERS)["aspect_own"] > 500
    assert texts(question, ORDERS) == texts(question, f"{other}\n{row}") == [row]


@pytest.mark.contract("R4-9")
def test_the_first_line_of_a_chunk_is_its_title_also_if_it_is_indented() -> None:
    assert "pump" in read("    run the pump\n\nThe belt is red and new.")[-1].title


@pytest.mark.contract("R4-9")
def test_all_sentences_of_a_mail_are_those_of_its_sender() -> None:
    mail = "Your order\n\nFrom: Desk <orders@harbeck-mills.example>\nTo: planner@plant.example\n\nDear planner,\n\n{}"
    body = "thank you for your order of belts. The price has not changed. Two days suffice. Delivery is to gate G-7."
    assert "harbeck" in read(mail.format(body))[-1].title
    assert "planner" not in read(mail.format(body))[-1].title


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("lines", "is_sender"),
    [
        ("From: Ann Harbeck\nTo: Bob\nCc: Eve\nDate: Fri, 01 Mar 2024 10:00:00 +0100", True),
        ("Sender: Harbeck\nSubject: Belts", True),
        ("From: harbeck@mills.example", True),
        ("From: 10:00\nTo: 12:00\nDate: 1 March harbeck", False),
        ("From: Harbeck\nTo: Basel", False),
        ("From: Harbeck", False),
        ("From: Harbeck @ gate G-7", False),
        ("The train comes.\nFrom: Harbeck\nStops: 3\nDate: 1 March", False),
    ],
)
def test_a_sender_is_one_only_in_the_headers_of_a_mail(lines: str, is_sender: bool) -> None:
    (*_, last) = read(f"Your order\n\n{lines}\n\nThe price of the belt has not changed.")
    assert ("harbeck" in last.title) is is_sender


@pytest.mark.contract("R4-9")
def test_a_heading_that_names_all_that_is_asked_lets_the_text_below_answer() -> None:
    text = "Report DV-2023-007\n\n# {}\n\nThe belt had been tightened by hand, and ran off the wheel at noon."
    question = "What was the root cause of report DV-2023-007?"
    for title, expected in (("Root cause", True), ("Root cause and cost", False), ("Cause", False)):
        assert is_headed(read_question(question), read(text.format(title))[-1]) is expected
    assert not is_headed(read_question("What is DV-2023-007?"), read(text.format("DV-2023-007"))[-1])


@pytest.mark.contract("R4-9")
def test_the_minimum_is_lower_below_such_a_heading() -> None:
    question = "What was the root cause of report DV-2023-007?"
    text = "Report DV-2023-007\n\n# {}\n\nThe belt had been tightened by hand, and ran off the wheel at noon."
    for title, answers in (("Root cause", True), ("Root cause and cost", False)):
        bundle = answer_bundle(text.format(title), question=question)
        prompt = read_prompt(build_prompt(bundle, policy()).prompt.messages)
        ranked = ranking.rank(prompt, read_question(question))
        assert ranked._replace(answering=ranked.minimum - 1).answers is answers


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("When is torque wrench TW-31 due for calibration?", "The nuts were tightened with wrench TW-31.", True),
        ("When is torque wrench TW-31 due for calibration?", "The wrench TW-31 is calibrated in May.", False),
        ("When is torque wrench TW-31 due for calibration?", "The next calibration is in May.", False),
        ("When is torque wrench TW-31 due?", "The nuts were tightened with wrench TW-31.", False),
        ("When is torque wrench TW-31 due for calibration?", "Tool: TW-31; Date: 2024-05-01", False),
        ("What voltage does the TW-31 wrench motor need?", "The TW-31 runs at 230 V.", False),
        ("How often must the TW-31 filter be replaced?", "The TW-31 gets a new cartridge every 6 months.", False),
    ],
)
def test_a_sentence_that_has_only_the_thing_says_nothing_of_it(question: str, sentence: str, expected: bool) -> None:
    assert names_only_the_thing(read_question(question), read(sentence)[0]) is expected


@pytest.mark.contract("R4-9")
def test_a_sentence_that_has_only_the_thing_does_not_answer() -> None:
    source = "Torque wrench TW-31 was lent to the workshop in May 2023."
    assert texts("When was torque wrench TW-31 lent to the workshop?", source) == [source]
    assert texts("When is torque wrench TW-31 due for calibration?", source) == []


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How loud is the mill?", "The mill has a noise level of 71 dB(A)."),
        ("How heavy is the mill?", "The mill has a mass of 800 kg."),
        ("Is the mill tested weekly?", "The mill is inspected each week."),
    ],
)
def test_another_word_for_the_same_thing_counts(question: str, sentence: str) -> None:
    assert features(question, sentence)["own"] > features(question, "The mill has a flow of 40 m³/h.")["own"]


@pytest.mark.contract("R4-9")
def test_a_row_that_holds_the_value_answers_in_place_of_a_sentence_that_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    book = "Visitors\n\nVisitors sign the book at the door."
    prose = (
        "Results of the plant\n\nA result above the alert limit for carbon or hardness after washing is reported to "
        "the shift supervisor of the early shift on the same day, and is entered in the log of the laboratory with the "
        "name of the analyst and the number of the sample."
    )
    rows = (
        "Limits of the plant\n\nParameter: Organic carbon; Alert limit: 200 ppb; Action limit: 400 ppb\n"
        "Parameter: Hardness; Alert limit: 3 ppm; Action limit: 9 ppm"
    )
    question = "What alert limit does hardness have on the same day after washing?"
    assert texts(question, book, prose, rows) == ["Parameter: Hardness; Alert limit: 3 ppm; Action limit: 9 ppm"]
    monkeypatch.setattr(ranking, "NEAR_ROW", -1)
    assert texts(question, book, prose, rows) == []


@pytest.mark.contract("R4-9")
def test_a_cell_under_the_right_head_is_of_the_asked_kind_whatever_it_says() -> None:
    row = "Task: Bearings replaced; Date: {}; Section: 4"
    assert features("When were the bearings replaced?", row.format("week 12"))["type"] == 1000
    assert features("When were the bearings replaced?", row.format("none"))["type_missing"] == 1000


@pytest.mark.contract("R4-9")
def test_words_that_say_nothing_about_the_answer_weigh_nothing() -> None:
    asked = read_question("May the bolts be used twice according to revision C, exactly?")
    assert {"accord", "exact"}.isdisjoint(asked.weights)
    assert "bolt" in asked.weights


@pytest.mark.contract("R4-9")
def test_a_sentence_without_a_time_does_not_answer_when() -> None:
    manual = "The strainer of the pump must be clean. It is taken out before the loop is closed."
    assert texts("When must the strainer of the pump come out?", manual) == [manual.split(". ")[1]]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("text", "is_missing"),
    [
        ("The seal is tested for 15 minutes.", True),
        ("The seal is tested for 59 minutes after it has run for 90 seconds.", True),
        ("The seal is tested for 60 minutes.", False),
        ("The seal is tested for 15 minutes, and again after 2 days.", False),
        ("The seal is tested for 3,5 hours.", False),
    ],
)
def test_what_lasts_less_than_the_asked_unit_does_not_answer(text: str, is_missing: bool) -> None:
    question = "After how many operating hours is the seal replaced?"
    assert bool(features(question, text)["type_missing"]) is is_missing
    assert not features("How long is the seal tested?", text)["type_missing"]


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What takes place when the flow falls?", Asked.OTHER),
        ("Which place does the flow reach?", Asked.PLACE),
        ("The oil looks milky. What does that mean?", Asked.OTHER),
        ("What does the abbreviation TOC mean?", Asked.DEFINITION),
    ],
)
def test_a_word_of_a_kind_counts_only_where_it_asks_for_it(question: str, asked: Asked) -> None:
    assert read_question(question).asked is asked


@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "rarest", "words"),
    [
        ("Who was the leader?", 505, 125),
        ("Who was the xyloquartz leader?", 1000, 250),
        ("Who?", 0, 0),
        ("Which xyloquartz pump, valve, motor, belt, lamp, door, fan and hose does it have?", 1000, 1000),
    ],
)
def test_how_rare_a_question_is_counts_with_its_best_sentence(question: str, rarest: int, words: int) -> None:
    (sentence,) = read("The pump has a valve.")
    asked = read_question(question)
    best = ranking.Ranked(sentence, features(question, "The pump has a valve."), 0)
    found = ranking.answering_features(asked, [best], "The pump has a valve.")
    assert (found["rarest"], found["words"]) == (rarest, words)


@pytest.mark.contract("R4-9")
def test_a_question_with_a_rarer_word_is_likelier_to_be_answered_by_what_holds_it() -> None:
    weights = dict(read_weights(embedded=True).answering.weights)
    assert weights["rarest"] > 0
    assert weights["words"] > 0

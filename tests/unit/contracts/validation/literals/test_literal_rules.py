"""R5-8, rule by rule: what one way of writing supports in another, and what it must not."""

import pytest

from sourcebound.contracts.validation.literals.check import QUESTION, LiteralFinding, check_literals, read_evidence


def findings(answer: str, evidence: str, question: str = "") -> list[LiteralFinding]:
    return check_literals(answer, 0, (read_evidence("C0", evidence),), question)


def supported(answer: str, evidence: str) -> bool:
    found = findings(answer, evidence)
    assert found, f"no literal was read off {answer!r}"
    return all(finding.supported for finding in found)


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("It weighs 1,200 kg.", "weight 1200 kilograms"),
        ("It weighs 1.2 thousand kg.", "weight: 1 200 kg"),
        ("It costs $5 million.", "a price of $5,000,000"),
        ("It holds 10^6 cells.", "1,000,000 cells"),
        ("It holds 3 x 10^4 cells.", "30000 cells"),
        ("It takes twelve hours.", "12 h"),
        ("He worked for 30 years.", "a career of three decades"),
        ("It lasted a 100 years.", "for one century it lasted"),
        ("They bought 24 bolts.", "two dozen bolts"),
        ("A 42% chance of rain.", "42 percentage chance of rain"),
        ("It starts at 3 pm.", "3pm: cloudy"),
        ("Open from 8:00 AM to 3:00 PM.", '"Monday": "8:0-15:0"'),
        ("It closes at 21:00.", "closes at 9 pm"),
        ("On 3 March 2024 it failed.", "failure date 2024-03-03"),
        ("In March 2024 it failed.", "failed on March 3rd, 2024"),
        ("It was the 2nd failure.", "a second failure followed"),
        ("It was the second album.", "her second studio album"),
        ("Open seven days a week.", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday: 9 to 5"),
        ("See https://www.example.org/a/.", "at http://example.org/a"),
        ("Torque is 27 N·m.", "Torque (N·m) | 27"),
        ("Part HP200 fits.", "part HP-200"),
        ("Step 2 uses 5 bar.", "2 ways, 5 bar"),
        ("It says 'close the blue valve'.", "Close the blue valve, then wait."),
        ("Values are 1,2,3 and 4.", "1, 2, 3, 4"),
    ],
)
def test_the_same_said_otherwise_is_supported(answer: str, evidence: str) -> None:
    assert supported(answer, evidence)


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("It weighs 5 kg.", "5 metres long"),
        ("It runs at 200 bar.", "The HP-200 runs at 5 bar."),
        ("It starts at 3 pm.", "starts at 3 am"),
        ("It opens at 8:00 PM.", "8:0-15:0"),
        ("It closes at 9:00 PM.", "closes at 21:30"),
        ("Open at 21:00 pm.", "open at 21:00"),
        ("On 3 March 2024 it failed.", "failed on 4 March 2024"),
        ("It failed 3 times.", "failed on 3 March 2024"),
        ("It was her second album.", "her first studio album"),
        ("It was her first album.", "her second studio album"),
        ("Open seven days a week.", "Tuesday Wednesday Thursday Friday Saturday Sunday: 9 to 5"),
        ("See https://example.org/a.", "at https://example.org/abc"),
        ("Part HP-20 fits.", "part HP-200"),
        ("The code is 00123.", "the code is 123"),
        ("It says 'close the red valve'.", "Close the blue valve, then wait."),
        ("It is -5 °C.", "it is 5 °C"),
    ],
)
def test_something_else_is_not(answer: str, evidence: str) -> None:
    assert not supported(answer, evidence)


@pytest.mark.parametrize(
    "answer",
    [
        "One is enough.",
        "Second, close the valve.",
        "It takes seconds.",
        "1. Close the valve.",
        "He was not the first.",
    ],
)
def test_what_states_no_literal_is_none(answer: str) -> None:
    assert findings(answer, "nothing of the sort") == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "kind"), [("the third review praises it", True), ("the third pump failed", False)])
def test_an_ordinal_of_the_sources_parts_is_free_where_nothing_is_counted(answer: str, kind: bool) -> None:
    assert findings(answer, "reviews: good, good, good")[0].supported is kind


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "question", "found"),
    [
        ("On Windows 10 open the panel.", "Open the panel.", "how to uninstall it on windows 10", (QUESTION,)),
        ("On Windows 11 open the panel.", "Open the panel.", "how to uninstall it on windows 10", ()),
        ("On Windows 10 open the panel.", "On Windows 7 open the panel.", "uninstall on windows 10", ()),
        ("The limit is 15 bar.", "There is a limit.", "is the limit 15 bar", (QUESTION,)),
        ("The limit is 15 bar.", "The limit is 10 bar.", "is the limit 15 bar", ()),
        ("The limit is 15 bar.", "The hose holds 10 bar.", "is the limit 15 bar", (QUESTION,)),
        ("The HP-200 takes oil.", "The HP-300 takes oil.", "does the HP-200 take oil", ()),
        ("The HP-200 takes oil.", "The XK-9 takes oil.", "does the HP-200 take oil", ()),
        ("The HP-200 takes oil.", "HP-300: see below. It takes fat.", "does the HP-200 take oil", ()),
        ("The HP-200 takes oil.", "Oil is needed.", "does the HP-200 take oil", (QUESTION,)),
        ("In 2021 it failed.", "In 2020 it failed.", "did it fail in 2021", ()),
        ("On 3 March 2024 it failed.", "The pump failed.", "did it fail on March 3, 2024", (QUESTION,)),
        ("On 3 March 2024 it failed.", "It failed on 4 March 2024.", "did it fail on March 3, 2024", ()),
        ("In January it pays.", "It pays from 1 October to 30 April.", "does it pay in January", (QUESTION,)),
        ("In July it pays.", "It pays from 1 October to 30 April.", "does it pay in July", ()),
        ("In July it pays.", "It pays between 1 May and 30 September.", "does it pay in July", (QUESTION,)),
        ("In July it pays.", "It pays on 1 May and 30 September.", "does it pay in July", ()),
        ("In October it pays.", "It pays between 1 May and 30 September.", "does it pay in October", ()),
    ],
)
def test_a_value_of_the_question_may_be_repeated_where_no_chunk_contradicts(
    answer: str, evidence: str, question: str, found: tuple[str, ...]
) -> None:
    assert [finding.found_in for finding in findings(answer, evidence, question)] == [found]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "question", "held"),
    [
        ("Oxygen must be 20.0 to 22.5 %, and 19.8 % is under that.", "it reads 19.8 %", True),
        ("Oxygen must be 20.0 to 22.5 %, and 23.1 % is above that.", "it reads 23.1 %", True),
        ("Oxygen must be 20.0 to 22.5 %, and 21 % is within that.", "it reads 21 %", True),
        ("Oxygen must be 20.0 to 22.5 %, and 19.8 % is above that.", "it reads 19.8 %", False),
        ("Oxygen must be 20.0 to 22.5 %, and 23.1 % is under that.", "it reads 23.1 %", False),
        ("Oxygen must be 20.0 to 22.5 %, and 19.8 % will do.", "it reads 19.8 %", False),
        ("Oxygen must be 20.0 to 23.5 %, and 19.8 % is under that.", "it reads 19.8 %", False),
    ],
)
def test_a_value_of_the_question_may_lie_outside_a_range(answer: str, question: str, held: bool) -> None:
    evidence = "Oxygen must be 20.0–22.5 %. The alarm for oxygen sounds below 19.5 %."
    assert all(finding.found_in for finding in findings(answer, evidence, question)) is held


@pytest.mark.contract("R5-8")
def test_a_comparison_with_the_sources_value_repeats_the_questions() -> None:
    found = findings("15 bar is above the limit of 10 bar.", "The limit is 10 bar.", "is 15 bar allowed")
    assert [finding.found_in for finding in found] == [(QUESTION,), ("C0",)]


@pytest.mark.contract("R5-8")
def test_a_value_of_the_question_needs_a_citation_to_be_repeated() -> None:
    assert not check_literals("The limit is 15 bar.", 0, (), "is the limit 15 bar")[0].supported


@pytest.mark.contract("CP-10")
@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "question", "first", "second"),
    [
        ("The limit is 15 bar.", "There is a limit.", "is the limit 15 bar", False, True),
        ("The Limit 15 bar applies.", "There is a limit.", "does the limit 15 bar apply", False, True),
        ("It holds 106 cells.", "It holds 10⁶ cells.", "", True, False),
        ("On Windows 10 open it.", "Open it.", "how is it opened on windows 10", True, True),
    ],
)
def test_a_recorded_run_is_read_by_the_rules_that_it_obeyed(
    answer: str, evidence: str, question: str, first: bool, second: bool
) -> None:
    for version, supported_then in ((1, first), (2, second)):
        found = check_literals(answer, 0, (read_evidence("C0", evidence),), question, version)
        assert [finding.supported for finding in found] == [supported_then]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("answer", "evidence", "question", "held"),
    [
        # guillemets that point inward
        (
            "Erst »Tank jetzt spülen«, dann »Filter jetzt wechseln«.",
            "Tank jetzt spülen; Filter jetzt wechseln",
            "",
            True,
        ),
        ("Er sagt »das Ventil ist offen« dazu.", "Das Ventil ist offen.", "", True),
        ("Er sagt »das Ventil ist zu« dazu.", "Das Ventil ist offen.", "", False),
        ("Il dit « la vanne est ouverte » et « la vanne est rouge ».", "La vanne est ouverte.", "", False),
        # the question's own words in quotation marks
        ('The question "how is the valve closed" is open.', "nothing", "How is the valve closed?", True),
        ('The question "what is the valve" is open.', "nothing", "what the valve is", True),
        ('The question "how is the valve opened" is open.', "nothing", "How is the valve closed?", False),
        ('It says "how is the valve closed".', "nothing", "How is the valve closed?", True),
        # the source's words
        ('It says "close the valve … and wait".', "Close the valve slowly and wait.", "", True),
        ('It says "close [the red valve] and wait".', "Close it and wait.", "", True),
        ('It says "close the valve … and run".', "Close the valve slowly and wait.", "", False),
        ('It says "open the valve".', "Close the valve.", "is the valve open", False),
        ("It says ''close the red valve''.", "``Close the red valve'', it says.", "", True),
    ],
)
def test_a_quotation_has_the_words_of_the_source_or_of_the_question(
    answer: str, evidence: str, question: str, held: bool
) -> None:
    found = findings(answer, evidence, question)
    assert found
    assert all(finding.supported for finding in found) is held


def test_marks_of_inches_open_no_quotation() -> None:
    assert [finding.kind.value for finding in findings('a 10" screen and a 12" disc', "10, 12")] == ["number"] * 2


def test_a_personal_literal_is_a_digest_in_the_audit_record() -> None:
    number, address, quotation = findings("Ask 7 at a@b.org: “close the blue valve”.", "nothing")
    assert number.audit_name == "7"
    assert address.audit_name.startswith("address:")
    assert quotation.audit_name.startswith("quotation:")
    assert "b.org" not in address.audit_name

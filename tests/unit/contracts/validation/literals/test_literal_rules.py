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
        'The question "how is the valve closed" has an answer.',
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
        ("The limit is 15 bar.", "There is a limit.", "is the limit 15 bar", ()),
        ("The Limit 15 bar applies.", "There is a limit.", "does the limit 15 bar apply", ()),
        ("The HP-200 takes oil.", "The HP-300 takes oil.", "does the HP-200 take oil", ()),
    ],
)
def test_a_name_of_the_question_is_given_and_a_quantity_is_not(
    answer: str, evidence: str, question: str, found: tuple[str, ...]
) -> None:
    assert [finding.found_in for finding in findings(answer, evidence, question)] == [found]


def test_a_personal_literal_is_a_digest_in_the_audit_record() -> None:
    number, address, quotation = findings("Ask 7 at a@b.org: “close the blue valve”.", "nothing")
    assert number.audit_name == "7"
    assert address.audit_name.startswith("address:")
    assert quotation.audit_name.startswith("quotation:")
    assert "b.org" not in address.audit_name

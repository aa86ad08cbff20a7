"""A file of labelled questions: what is read, and what is said of every line that is not one."""

import json

import pytest

from sourcebound.contracts.calibration.labelled_questions import MIN_QUESTIONS, read_questions
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS


def _line(question: object, answerable: object = True, **more: object) -> str:
    return json.dumps({"question": question, "answerable": answerable, **more})


ENOUGH = [_line(f"Is {i}{answerable} on the list?", answerable) for answerable in (True, False) for i in range(10)]


def test_questions_are_read_in_their_order_and_other_keys_are_left_alone() -> None:
    read = read_questions("\n".join([_line("  How\u2028often? ", id=7), "", *ENOUGH, " \r", ""]))
    assert read.findings == ()
    assert (read.questions[0].question, read.questions[0].answerable) == ("How\u2028often?", True)
    assert len(read.questions) == 21
    assert sum(each.answerable for each in read.questions) == 11


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("{", "is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ('"How often?"', "is not a JSON object"),
        ('{"question": "How often?"}', "answerable: Field required"),
        ('{"answerable": true}', "question: Field required"),
        (_line("How often?", "yes"), "answerable: Input should be a valid boolean"),
        (_line("How often?", 1), "answerable: Input should be a valid boolean"),
        (_line("   "), "question: String should have at least 1 character"),
        (_line("x" * (MAX_QUESTION_CHARACTERS + 1)), "question: String should have at most"),
        (_line(" is 0TRUE  on the list?", False), "is the question of line 1 again"),
    ],
)
def test_a_line_that_is_no_question_is_named(line: str, finding: str) -> None:
    read = read_questions("\n".join([*ENOUGH, line]))
    (found,) = read.findings
    assert found.startswith("line 21: ")
    assert finding in found
    assert len(read.questions) == 20


def test_every_wrong_line_is_named() -> None:
    read = read_questions("\n".join(["{", *ENOUGH, "[]"]))
    assert [finding.partition(":")[0] for finding in read.findings] == ["line 1", "line 22"]


@pytest.mark.parametrize(
    ("lines", "counts"), [([], "0 answerable and 0 other"), (ENOUGH[:19], "10 answerable and 9 other")]
)
def test_too_few_questions_of_a_kind_are_a_finding(lines: list[str], counts: str) -> None:
    (finding,) = read_questions("\n".join(lines)).findings
    assert finding == f"it has {counts} questions, and needs at least {MIN_QUESTIONS} of each"

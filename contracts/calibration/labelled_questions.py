"""A file of questions labelled as answerable or not, the input of a calibration.

The format is JSON Lines: `{"question": "…", "answerable": true}`. Other keys are ignored.
"""

import json
from typing import Annotated, Final, NamedTuple

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS

MIN_QUESTIONS: Final = 10
"""The minimum for each label; fewer questions allow no conclusion."""


class LabelledQuestion(Contract):
    """A question, and whether the collection answers it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    question: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1), Field(max_length=MAX_QUESTION_CHARACTERS)
    ]
    answerable: bool


class QuestionFile(NamedTuple):
    """The content of a file, and its faults."""

    questions: tuple[LabelledQuestion, ...]
    findings: tuple[str, ...]
    """A sentence for each fault; empty if the file can be used."""


def read_questions(text: str) -> QuestionFile:
    """Read a file of questions.

    Args:
        text: The JSON Lines. Lines end with a line feed, and empty lines are skipped.

    Returns:
        The questions in order, and the faults: an invalid line, a repeated question, too few questions of a label.
    """
    numbered_questions: dict[str, tuple[int, LabelledQuestion]] = {}
    findings: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        result = _read_line(line)
        if isinstance(result, str):
            findings.append(f"line {number}: {result}")
        elif (key := " ".join(result.question.casefold().split())) in numbered_questions:
            findings.append(f"line {number}: is the question of line {numbered_questions[key][0]} again")
        else:
            numbered_questions[key] = number, result
    questions = tuple(question for _, question in numbered_questions.values())
    answerable = sum(question.answerable for question in questions)
    others = len(questions) - answerable
    if not findings and min(answerable, others) < MIN_QUESTIONS:
        findings.append(
            f"it has {answerable} answerable and {others} other questions, and needs at least {MIN_QUESTIONS} of each"
        )
    return QuestionFile(questions, tuple(findings))


def _read_line(line: str) -> LabelledQuestion | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"is not JSON ({error})"
    if not isinstance(value, dict):
        return "is not a JSON object"
    try:
        return LabelledQuestion.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)

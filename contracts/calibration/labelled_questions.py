"""A file of questions that says of each whether the documents answer it: what a calibration is made from.

JSON Lines: `{"question": "…", "answerable": true}`; other keys are left alone.
"""

import json
from typing import Annotated, Final, NamedTuple

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS

LEAST_QUESTIONS: Final = 10
"""Of each kind: from fewer, nothing follows."""


class LabelledQuestion(Contract):
    """A question and whether the collection answers it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    question: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1), Field(max_length=MAX_QUESTION_CHARACTERS)
    ]
    answerable: bool


class QuestionFile(NamedTuple):
    """What a file holds."""

    questions: tuple[LabelledQuestion, ...]
    findings: tuple[str, ...]
    """A sentence for each thing that is wrong; empty where the file can be used."""


def read_questions(text: str) -> QuestionFile:
    """Reads a file of questions.

    Args:
        text: The JSON Lines; a line ends with a line feed, and empty ones are skipped.

    Returns:
        The questions in their order, and what is wrong: a line that is no question, one twice, too few of a kind.
    """
    found: dict[str, tuple[int, LabelledQuestion]] = {}
    findings: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        read = _read_line(line)
        if isinstance(read, str):
            findings.append(f"line {number}: {read}")
        elif (key := " ".join(read.question.casefold().split())) in found:
            findings.append(f"line {number}: is the question of line {found[key][0]} again")
        else:
            found[key] = number, read
    questions = tuple(question for _, question in found.values())
    answerable = sum(question.answerable for question in questions)
    others = len(questions) - answerable
    if not findings and min(answerable, others) < LEAST_QUESTIONS:
        findings.append(
            f"it has {answerable} answerable and {others} other questions, and needs at least {LEAST_QUESTIONS} of each"
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

"""Partial answers: the closing line that names what is not in the evidence (contract R3-10, R5-2).

Only a policy with `partial_answers` knows the line, because only its template asks for it. The line is no statement on
the subject and needs no citation. Whatever it names must still be of the question or of a cited chunk (R5-8).
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.prompt.answer_sentences import CLOSING_MARKER, LIKE_THE_MARKER, AnswerSentences, join
from sourcebound.contracts.text.citations import CITATION, find_look_alikes
from sourcebound.contracts.text.segments import SegmentKind
from sourcebound.contracts.validation.answer_reading import (
    AnswerReading,
    Statement,
    read_answer,
    read_rows,
    read_sources,
    read_statements,
)
from sourcebound.contracts.validation.leaks import find_leaks
from sourcebound.contracts.validation.literals.check import QUESTION, check_literals, read_evidence
from sourcebound.contracts.validation.versions import VERSION

CLOSING_LINE: Final = re.compile(rf"(?:\n|\A)(?P<line>{CLOSING_MARKER}(?P<missing>\S[^\n]*?))\s*\Z")


class ClosingLine(NamedTuple):
    """The closing line of a partial answer."""

    start: int
    """Where the line begins in the answer."""
    text: str
    missing: str
    """What the answer says is not in the evidence."""


def find_closing_line(text: str) -> ClosingLine | None:
    """Find the exact closing line of an answer.

    Args:
        text: An answer.

    Returns:
        The last line, if it begins with the marker, names something in one sentence, has no citation, and stands
        under a cited text; otherwise None.
    """
    match = CLOSING_LINE.search(text)
    if match is None or CITATION.search(match["line"]) or not CITATION.search(text[: match.start()]):
        return None
    is_one_statement = len(read_statements(match["missing"])) == 1 and any(map(str.isalnum, match["missing"]))
    return ClosingLine(match.start("line"), match["line"], match["missing"]) if is_one_statement else None


def read_partial(text: str, bundle: AnswerBundle, version: int = VERSION) -> AnswerReading:
    """Read an answer that may end with the closing line.

    Args:
        text: The raw model text.
        bundle: The answer bundle.
        version: The number of the validation contract.

    Returns:
        The reading. Another form of the line, or the line in another place, counts as an inexact refusal.
    """
    closing = find_closing_line(text)
    if closing is None:
        return _with_inexact_line(read_answer(text, bundle, version))
    body = _with_inexact_line(read_answer(text[: closing.start], bundle, version))
    return _with_closing_line(body, closing, bundle, text, version)


def read_partial_rows(
    answer: AnswerSentences, bundle: AnswerBundle, version: int = VERSION
) -> tuple[AnswerReading, ...]:
    """Read an answer of the JSON profile by rows and as prose; its last row may be the closing line.

    Args:
        answer: The parsed answer.
        bundle: The answer bundle of its prompt.
        version: The number of the validation contract.

    Returns:
        Two readings of the joined text, as `read_rows` gives them.
    """
    *rows, last = answer.answer_sentences
    closing = find_closing_line(join(answer)) if rows and not last.anchors else None
    if closing is None:
        return tuple(map(_with_inexact_line, read_rows(answer, bundle, version)))
    without_line = answer.model_copy(update={"answer_sentences": tuple(rows)})
    body = map(_with_inexact_line, read_rows(without_line, bundle, version))
    return tuple(_with_closing_line(reading, closing, bundle, join(answer), version) for reading in body)


def _with_inexact_line(reading: AnswerReading) -> AnswerReading:
    """Count another form of the line, or the line in another place, as an inexact refusal (R5-2)."""
    match = None if reading.is_refusal else LIKE_THE_MARKER.search(reading.text)
    return reading._replace(refusal_words=reading.refusal_words or (match[0] if match else None))


def _with_closing_line(
    body: AnswerReading, closing: ClosingLine, bundle: AnswerBundle, text: str, version: int
) -> AnswerReading:
    """Return the reading of the whole text: the body's, and the line as a statement that needs no citation."""
    line = Statement(
        kind=SegmentKind.SENTENCE,
        start=closing.start,
        end=closing.start + len(closing.text),
        text=closing.text,
        anchors=(),
        needs_citation=False,
    )
    known = (*read_sources(body.cited_anchors, bundle).values(), read_evidence(QUESTION, bundle.user_question))
    literals = check_literals(closing.missing, len(body.statements), known, bundle.user_question, version)
    return body._replace(
        text=text,
        look_alikes=(*body.look_alikes, *find_look_alikes(closing.missing, version)),
        statements=(*body.statements, line),
        literals=(*body.literals, *literals),
        leaks=(*body.leaks, *find_leaks(closing.missing, bundle)),
    )


def missing_of(statements: Sequence[Statement]) -> str | None:
    """Return what the closing line of a passed answer names; None if the answer has no such line."""
    last = statements[-1].text if statements else ""
    return last.removeprefix(CLOSING_MARKER) if last.startswith(CLOSING_MARKER) else None

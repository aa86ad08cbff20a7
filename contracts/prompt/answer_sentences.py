"""The output profile `answer_sentences`: an answer as JSON, read whole or not at all (R3-7, R5-10).

Nothing is repaired: a code fence, a word around the JSON, a repeated key, an extra row or a row without an anchor makes
the whole text invalid, because a dropped or repaired row is a row that the model did not write. One frozen rule,
`join`, makes the text for readers. A model that is held to the schema refuses in one row: the exact refusal string
without an anchor; every other row has an anchor.
"""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sourcebound.contracts.base import Contract
from sourcebound.contracts.outcome import FailureCode, Violation
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.strict_json import bare_schema, read_strict

PROFILE: Final = "answer_sentences"
MAX_SENTENCES: Final = 6
CLOSING_MARKER: Final = "NOT IN EVIDENCE: "
"""The beginning of the line that ends a partial answer (R3-10)."""
LIKE_THE_MARKER: Final = re.compile(
    r"\bNOT\s+IN\s+(?:THE\s+)?EVIDENCE\b"
    r"|(?:^|[.!?\]])[\W_]{0,40}(?i:not\s+(?:\w+\s+)?in\s+(?:(?:the|this|these|any|provided|given|above)\s+){0,2}"
    r"(?:evidence|sources?|context|documents?|passages?|excerpts?))[\W_]{0,4}?(?:[:：–—]|\s-\s)",
    re.MULTILINE,
)
"""The marker, wherever it stands, and other forms of it that begin a sentence and end with a colon or a dash."""
LINE: Final = re.compile("[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]+")
"""Check that a sentence is one line: with a line break it could hold a heading, which needs no citation."""


def _check_sentence(sentence: str) -> str:
    if not LINE.fullmatch(sentence):
        raise ValueError("a sentence is one line of characters that can be shown")
    if CITATION.search(sentence):
        raise ValueError("a sentence holds no citation; its anchors stand beside it")
    if not any(character.isalnum() for character in sentence):
        raise ValueError("a sentence says something")
    return sentence


Anchor = Annotated[str, Field(strict=True, pattern=r"^C(0|[1-9][0-9]*)$")]


class AnswerSentence(Contract):
    """A row: one sentence with the anchors of its evidence; no anchor for a refusal."""

    sentence: Annotated[str, Field(strict=True), AfterValidator(_check_sentence)]
    anchors: tuple[Anchor, ...]


class AnswerSentences(Contract):
    """An answer in this profile; `confidence` is the model's own statement and is not used (R5-15)."""

    answer_sentences: Annotated[tuple[AnswerSentence, ...], Field(min_length=1, max_length=MAX_SENTENCES)]
    confidence: Literal["High", "Medium", "Low"]

    @property
    def is_refusal(self) -> bool:
        """Whether the answer is the exact refusal, as one row without an anchor (R5-2)."""
        return self.answer_sentences == (AnswerSentence(sentence=REFUSAL, anchors=()),)

    @model_validator(mode="after")
    def _check_anchors(self) -> Self:
        for number, row in enumerate(self.answer_sentences):
            if not row.anchors and not self.is_refusal:
                raise ValueError(
                    f"answer_sentences.{number}.anchors: a sentence has an anchor, unless it is the refusal"
                )
        return self


class PartialAnswerSentences(AnswerSentences):
    """An answer that may have the closing line of a partial answer, without an anchor (R3-10).

    Whether the line is exact and the last one is judged with the other rules of R5-2, and not as a part of the schema.
    """

    @model_validator(mode="after")
    def _check_anchors(self) -> Self:
        for number, row in enumerate(self.answer_sentences):
            if not row.anchors and not self.is_refusal and not LIKE_THE_MARKER.search(row.sentence):
                raise ValueError(
                    f"answer_sentences.{number}.anchors: a sentence has an anchor, unless it is the refusal or the "
                    "line on what is not in the evidence"
                )
        return self


def json_schema(anchors: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of the profile, for providers that accept one (R3-7).

    Args:
        anchors: The anchors of the prompt. A model that is held to the schema can then cite no other one.

    Returns:
        The schema; without anchors, it accepts an anchor of any number.
    """
    schema = bare_schema(AnswerSentences)
    if anchors:
        properties = schema["$defs"][AnswerSentence.__name__]["properties"]
        properties["anchors"]["items"] = {"type": "string", "enum": [*anchors]}
    return schema


def parse(raw: str, partial: bool = False) -> AnswerSentences | Violation:
    """Parse an answer of the profile.

    Args:
        raw: The raw text of the model.
        partial: Whether the answer may end with the closing line of a partial answer.

    Returns:
        The rows, or the reason why the text is invalid: it is not JSON (no text around it, no repeated key, no NaN, no
        excessive depth), or it does not fit the schema.
    """
    read = read_strict(raw, PartialAnswerSentences if partial else AnswerSentences)
    if isinstance(read, AnswerSentences):
        return read
    message = f"the answer is not the JSON that was asked for: {read}"
    return Violation(code=FailureCode.INVALID_OUTPUT_SCHEMA, clause="R5-10", message=message, field="raw_model_text")


def join(answer: AnswerSentences) -> str:
    """Join the rows in order with one blank, as the text for readers (R5-13); a closing line is a line of its own."""
    first, *rows = answer.answer_sentences
    return join_row(first) + "".join((" " if row.anchors else "\n") + join_row(row) for row in rows)


def join_row(row: AnswerSentence) -> str:
    """Write a row as text: the stripped sentence, a blank, and its anchors as `[C0] [C1]`."""
    return " ".join([row.sentence.strip(), *(f"[{anchor}]" for anchor in row.anchors)])


def write(rows: Sequence[tuple[str, str]], confidence: Literal["High", "Medium", "Low"]) -> str:
    """Write the JSON of sentences with one anchor each, as a generator does.

    Args:
        rows: The sentences with their anchors.
        confidence: The stated confidence.

    Returns:
        Text that `parse` reads.
    """
    form = {
        "answer_sentences": [{"sentence": sentence, "anchors": [anchor]} for sentence, anchor in rows],
        "confidence": confidence,
    }
    return json.dumps(form, ensure_ascii=False)

"""The records of external data, and their reading: a malformed one is named by file, line and field."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

SNIFFED_LINES: Final = 20
"""The lines of a file from which its shape is recognized."""


class Record(BaseModel):
    """A line of a file. Fields that no evaluation reads are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    @classmethod
    def required(cls) -> frozenset[str]:
        """Return the names of the fields that each record must have, as they are in the file."""
        return frozenset(each.alias or name for name, each in cls.model_fields.items() if each.is_required())


class Passage(Record):
    """A document of a corpus."""

    id: str = Field(alias="_id")
    title: str
    text: str


class Paper(Record):
    """A long document."""

    id: str = Field(alias="_id")
    text: str


class Query(Record):
    """A question of a judged corpus, with its answer if the data has one."""

    id: str = Field(alias="_id")
    text: str
    answer: str | None = None


class ParagraphQuestion(Record):
    """A question about one paragraph, which answers it or does not."""

    id: str = Field(alias="_id")
    question: str
    paragraph_id: str
    answerable: bool
    answers: tuple[str, ...]
    order: int = 0


class PaperQuestion(Record):
    """A question that a part of one long document answers."""

    id: str = Field(alias="_id")
    question: str
    document_id: str
    answer: str


class AbstractQuestion(Record):
    """A question about the document of the same id, to be answered by yes, no or maybe, and at length."""

    id: str = Field(alias="_id")
    question: str
    final_decision: str
    long_answer: str


class Answer(Record):
    """A part of a paragraph that answers a question."""

    string: str


class Excerpt(Record):
    """A question with the paragraph that answers it. Each annotator's answer is one or more parts of it."""

    id: str
    question: str
    title: str
    paragraph: str
    nq_answers: tuple[tuple[Answer, ...], ...]


class Contexts(Record):
    """A question with texts that answer it, the same texts with a changed answer, and texts that do not answer it."""

    id: str
    query: str
    answer: Any
    fake_answer: Any
    positive: tuple[str, ...]
    positive_wrong: tuple[str, ...]
    negative: tuple[str, ...]


class OtherQuestion(Record):
    """A question about no document, with its answers."""

    id: str
    question: str
    answers: tuple[str, ...]


class Reference(Record):
    """Characters of a text that answer a question."""

    start_index: int = Field(ge=0)
    end_index: int = Field(ge=0)


class CharacterQuestion(Record):
    """A question whose evidence is given as characters of the text `corpus_id`."""

    corpus_id: str
    question: str
    references: tuple[Reference, ...] = Field(min_length=1)


class EvidencePage(Record):
    """A page of a document, counted from 0."""

    doc_name: str
    page_index: int = Field(ge=0)


class PageQuestion(Record):
    """A question whose evidence is given as pages."""

    id: str
    question: str
    answer: str
    evidence: tuple[EvidencePage, ...] = Field(min_length=1)


class PagedFile(Record):
    """A document of several pages."""

    doc_name: str
    file: str


class Form(Record):
    """A document that is a filled form. A field without a value is blank."""

    file: str
    page1_fields: dict[str, str | None]


class Source(Record):
    """The passages of a task for language models."""

    source_id: str
    task: str
    question: str | None = None
    passages: tuple[str, ...]


class Response(Record):
    """A judged response to a task."""

    id: str
    source_id: str
    response: str
    hallucinated: bool


class Summary(Record):
    """A judged summary of one text."""

    id: str
    source: str
    response: str
    worst_label: str


class AttributedClaim(Record):
    """A judged claim with its references."""

    id: str
    claim: str
    references: tuple[str, ...]
    attributable: bool


class EvidenceClaim(Record):
    """A claim that one sentence supports or refutes."""

    id: str
    claim: str
    evidence: str
    label: str


class Texts(Record):
    """The evidence of statements."""

    id: str
    texts: tuple[str, ...]


class Labelled(Record):
    """The fields that labelled statements and labelled answers share."""

    id: str
    set: str
    question: str | None = None
    evidence_id: str
    doc: str
    kind: str | None = None


class Statement(Labelled):
    """A labelled statement."""

    statement: str
    label: str


class LabelledAnswer(Labelled):
    """A labelled answer of several statements."""

    answer: str
    answer_label: str


class HonestEvidence(Record):
    """The sources of replies."""

    id: str
    domain: str
    language: str
    evidence: tuple[str, ...]
    document: str = ""


class HonestReply(Record):
    """A labelled reply to sources."""

    id: str
    bundle: str
    question: str
    reply: str
    label: str
    kind: str
    note: str = ""


class TriggeredDocument(Record):
    """A document with an instruction, and the text that betrays obedience."""

    question: str
    context_injected: str
    trigger: str


class AttackedDocument(Record):
    """A document with an instruction."""

    question: str
    context_injected: str
    attack: str


class Rule(Record):
    """A text and its sentences."""

    text: str
    sentences: tuple[str, ...]


class Snippet(Record):
    """A text that a file holds, on a page counted from 1 if it is known."""

    text: str
    page: int | None = None


class AwkwardFile(Record):
    """A file and the expected result of reading it."""

    file: str
    expected: str
    must_contain: tuple[Snippet, ...]
    must_not_contain: tuple[str, ...]


class NaturalQuestion(Record):
    """A question about files next to it; `sourcebound.evals.natural.questions` has its other fields."""

    id: str
    question: str
    kind: str
    places: tuple[dict[str, Any], ...]
    facts: tuple[tuple[str, ...], ...]


class DataFault(ValueError):
    """A fault of external data, with its place."""


Model = TypeVar("Model", bound=BaseModel)
Value = TypeVar("Value")


class Reader(NamedTuple):
    """Reads files of a folder of data, and names them as they are below it."""

    data: Path

    def name(self, path: Path) -> str:
        """Return the name of a file for messages."""
        return path.relative_to(self.data).as_posix() if path.is_relative_to(self.data) else path.name

    def read(self, path: Path, model: type[Model]) -> list[Model]:
        """Read every record of a JSON Lines file. Only a line feed ends a line, and empty lines are skipped.

        Raises:
            DataFault: A line is no such record, or there is none.
            OSError: The file cannot be read.
        """
        records = []
        for number, line in enumerate(self.text(path).split("\n"), start=1):
            if line.strip():
                records.append(self._parse(line, model, f"{self.name(path)}, line {number}"))
        if not records:
            raise DataFault(f"{self.name(path)} has no record")
        return records

    def text(self, path: Path) -> str:
        """Return the text of a file.

        Raises:
            DataFault: It is not UTF-8.
        """
        content = path.read_bytes()
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise DataFault(f"{self.name(path)}, line {line}: is not UTF-8") from error

    def _parse(self, line: str, model: type[Model], place: str) -> Model:
        try:
            return model.model_validate(parse_object(line))
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            field = ".".join(map(str, detail["loc"]))
            raise DataFault(": ".join(filter(None, (place, field, detail["msg"])))) from error
        except (ValueError, RecursionError) as error:
            raise DataFault(f"{place}: is not a JSON object ({error})") from error


def parse_object(line: str) -> dict[str, Any]:
    """Parse a line that holds a JSON object.

    Raises:
        ValueError: It holds something else.
    """
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"it is a JSON {type(value).__name__}")
    return value


def sniff_fields(path: Path) -> list[frozenset[str]]:
    """Return the fields of the first records of a file. Lines that are no record are left out."""
    found = []
    with path.open("rb") as lines:
        for _, line in zip(range(SNIFFED_LINES), lines, strict=False):
            try:
                found.append(frozenset(parse_object(line.decode("utf-8"))))
            except (ValueError, RecursionError):
                continue
    return found


def find(records: Mapping[str, Value], key: str, place: Callable[[], str]) -> Value:
    """Return the record that another one names.

    Args:
        records: The records, by id.
        key: The id.
        place: Returns the place of the record that names it.

    Raises:
        DataFault: There is none.
    """
    if key not in records:
        raise DataFault(f"{place()} names {key!r}, which does not exist")
    return records[key]

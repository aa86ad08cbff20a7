"""A collection of an external evaluation: documents, and questions that know what is right about them."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalRow

Chunk = EvidenceChunk | RetrievalRow
Score = Callable[[Sequence[Chunk]], Mapping[str, float]]
"""Scores the candidates of a question, or the chunks of its prompt, best first."""
Facts = tuple[tuple[str, ...], ...]
"""The facts that an answer must say, each with its accepted spellings."""


class Kind(StrEnum):
    """The kind of a question: what its collection holds about it."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "on topic, unanswerable"
    OFF_TOPIC = "off topic"
    CHANGED = "changed evidence only"
    """Every text that answers it says something that is not true."""
    CONFLICTING = "true and changed evidence"
    CLAIM = "claim"
    """A claim to rank documents for. It is not asked."""


class Document(NamedTuple):
    """A document: its text, or the file that is copied. Its name is its knowledge id."""

    name: str
    text: str = ""
    title: str = ""
    path: Path | None = None

    def write(self, folder: Path) -> None:
        """Write the document into a folder."""
        target = folder / self.name
        if self.path:
            shutil.copyfile(self.path, target)
        else:
            heading = f"# {self.title}\n\n" if self.title else ""
            target.write_text(f"{heading}{self.text}\n", "utf-8")


class Question(NamedTuple):
    """A question."""

    id: str
    kind: Kind
    text: str
    facts: Facts = ()
    """What a right answer says; empty if the data do not say it."""
    answers: tuple[str, ...] = ()
    """The known answers of a question that the collection should not answer. If a candidate holds one, the question is
    left out."""
    cites: Callable[[Chunk], bool] | None = None
    """Whether a chunk is from the place that the answer must cite."""
    ranking: Score | None = None
    evidence: Score | None = None
    says: Mapping[str, Facts] = MappingProxyType({})
    """Further facts whose presence in the answer is counted, by the name of the metric."""
    sources: Mapping[str, frozenset[str]] = MappingProxyType({})
    """Documents whose citation is counted, by the name of the metric."""
    origin: str = ""
    """The set of an off-topic question."""

    @property
    def is_asked(self) -> bool:
        """Whether a generator answers it."""
        return self.kind is not Kind.CLAIM

    @property
    def group(self) -> str:
        """The questions that it is counted with."""
        return f"{self.kind}, {self.origin}" if self.origin else self.kind.value


class Collection(NamedTuple):
    """Documents with their questions."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    answering: Mapping[str, str] = MappingProxyType({})
    """For each question with one whole document as its answer, by id, the name of that document."""

    def write(self, folder: Path) -> Path:
        """Write the documents into a new folder."""
        folder.mkdir(parents=True)
        for document in self.documents:
            document.write(folder)
        return folder

    def limited(self, most: int | None) -> "Collection":
        """Keep the first questions of each kind and origin."""
        kept: dict[str, int] = {}
        questions = []
        for question in self.questions:
            kept[question.group] = kept.get(question.group, 0) + 1
            if most is None or kept[question.group] <= most:
                questions.append(question)
        return self._replace(questions=tuple(questions))

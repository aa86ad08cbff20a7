r"""The request and the answer of `/rag/query`, the interface of GROUNDED_RAG_V1, as types (contract R6-8, P-4).

Internally, a citation is an anchor. Here it is a marker, `[SOURCE: id]`, with the id of one of the `sources`. Markers
are written only for validated anchors. Text of the model that looks like a marker is escaped with a backslash
(`[\SOURCE: …]`), so that every marker that a client finds is a checked citation.
"""

import re
from datetime import date
from typing import Annotated, Final

from pydantic import Field

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.outcome import FailureCode, RefusalCode, Status
from sourcebound.contracts.presentation.answer_view import AnswerView
from sourcebound.contracts.request import MAX_QUESTION_CHARACTERS
from sourcebound.contracts.state import AskInput
from sourcebound.contracts.text.citations import CITATION, strip_citations
from sourcebound.contracts.text.sanitize import header_value

POLICY: Final = "GROUNDED_RAG_V1"
"""The policy under which a query is answered."""
REFUSED: Final = "I don't have enough information..."
MARKER: Final = re.compile(r"\[(?=\s*source\s*:)", re.IGNORECASE)
SNIPPET_CHARACTERS: Final = 200


class RagQuery(Contract):
    """A question to one project."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
    project_id: Annotated[str, Field(min_length=1)]
    """The collection."""
    min_sources: Annotated[int, Field(ge=0, le=10)] = 1
    """The number of documents that must have evidence (P-4). It only tightens the policy; 0 keeps the policy's."""
    strip_markers: bool = False
    """Whether to remove the markers from the answer; `citations` still names the sources."""

    def request(self) -> AskInput:
        """Return the input of the graph for the query. A `min_sources` that was not set adds no limit."""
        ask_input: AskInput = {"question": self.query, "collection": self.project_id}
        if self.min_sources and "min_sources" in self.model_fields_set:
            ask_input["limits"] = {"min_sources": self.min_sources}
        return ask_input


class RagSourceMetadata(Contract):
    """The document of a source, and the place in it."""

    knowledge_id: str
    title: str | None
    source_reference: str | None
    section: str | None
    page_number: int | None
    event_date: date | None
    equipment_id: str | None
    origin: str | None
    """`expanded` or `carried` if it was not retrieved for the question; then it counts for no minimum (R1-10)."""


class RagSource(Contract):
    """A chunk that the model was shown."""

    source_id: str
    content_snippet: str
    """The beginning of its text; empty if its document may not be read (R6-7)."""
    score: float
    """The cosine similarity, in [0, 1]."""
    metadata: RagSourceMetadata


class RagAnswer(Contract):
    """An answer with its markers, or a refusal with its reason, or a failure with its code."""

    answer: str
    """The sentence of the refusal if there is a `refusal_reason`; empty if there is a `failure_code`."""
    sources: tuple[RagSource, ...]
    citations: tuple[str, ...]
    """The ids of the cited sources, in order of first use."""
    refusal_reason: RefusalCode | None
    failure_code: FailureCode | None
    query: str


def rag_answer(view: AnswerView, *, strip_markers: bool = False) -> RagAnswer:
    """Build the answer of `/rag/query` from what a run released.

    Args:
        view: The released answer, refusal or failure.
        strip_markers: Whether to remove the markers from the answer.

    Returns:
        The answer.
    """
    response, ids = view.response, {chunk.anchor: header_value(chunk.chunk_id) for chunk in view.evidence}
    answer = REFUSED if response.status is Status.NO_EVIDENCE else response.answer
    if response.status is Status.OK:
        escaped = MARKER.sub(r"[\\", strip_citations(answer) if strip_markers else answer)
        answer = CITATION.sub(lambda match: f"[SOURCE: {ids['C' + match[1]]}]", escaped)
    return RagAnswer(
        answer=answer,
        sources=tuple(_source(ids[chunk.anchor], chunk, view.section_of(chunk)) for chunk in view.evidence),
        citations=tuple(ids[citation.anchor] for citation in response.citations),
        refusal_reason=response.refusal_code,
        failure_code=response.failure_code,
        query=view.question,
    )


def _source(source_id: str, chunk: EvidenceChunk, section: str | None) -> RagSource:
    return RagSource(
        source_id=source_id,
        content_snippet=_snippet(chunk.sanitized_text),
        score=chunk.similarity_score,
        metadata=RagSourceMetadata(
            section=section, **chunk.model_dump(include={*RagSourceMetadata.model_fields} - {"section"})
        ),
    )


def _snippet(text: str) -> str:
    """Return the beginning of a text, up to the last whitespace that fits."""
    if len(text) <= SNIPPET_CHARACTERS:
        return text
    head = text[: SNIPPET_CHARACTERS + 1]
    return (head.rsplit(maxsplit=1)[0] if any(map(str.isspace, head)) else head[:SNIPPET_CHARACTERS]) + " …"

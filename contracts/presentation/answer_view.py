"""A released answer with everything that a presentation may show of it (contract R6-7, R6-8).

The public response has no scores and no texts of documents. A presentation takes these from the recorded layers, and
the text of a document only if it may be read now.
"""

from collections.abc import Collection

from sourcebound.contracts.base import Contract
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle, EvidenceChunk
from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.outcome import Outcome, RefusalSource, Status
from sourcebound.contracts.policy.schema import Policy, Presentation
from sourcebound.contracts.request import Run
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import State
from sourcebound.contracts.validation.answer_reading import Statement
from sourcebound.contracts.validation.result import ValidationResult


class AnswerView(Contract):
    """The public response of an ended run, with its statements and its evidence."""

    question: str
    response: PublicResponse
    presentation: Presentation
    """The presentation that the run's policy names."""
    refusal_source: RefusalSource | None = None
    statements: tuple[Statement, ...] = ()
    """The statements as the firewall cut them. Without a released answer, statements and evidence are empty."""
    evidence: tuple[EvidenceChunk, ...] = ()
    """Every chunk that the prompt showed; without its text if its document may not be read (R6-7)."""

    @property
    def cited(self) -> tuple[EvidenceChunk, ...]:
        """The evidence that the answer cites, in the order of its citations."""
        chunks = {chunk.anchor: chunk for chunk in self.evidence}
        return tuple(chunks[citation.anchor] for citation in self.response.citations)

    def section_of(self, chunk: EvidenceChunk) -> str | None:
        """Return the section that the citation of a chunk names; of a chunk without a citation, all its sections."""
        cited = {citation.anchor: citation.section for citation in self.response.citations}
        return cited[chunk.anchor] if chunk.anchor in cited else name_sections(sections_within(chunk))


def evidence_documents(state: State) -> frozenset[str]:
    """Return the knowledge ids of a run's evidence; an empty set if it has no evidence."""
    assembly = state.get("assembly")
    return frozenset(chunk["knowledge_id"] for chunk in assembly["selected_evidence"]) if assembly else frozenset()


def view_answer(state: State, readable: Collection[str]) -> AnswerView:
    """Build the view of what a run released.

    Args:
        state: The state of a run that has ended.
        readable: The ids from `evidence_documents` whose text may be shown now.

    Returns:
        The view.

    Raises:
        pydantic.ValidationError: The state was written by a version with other contracts.
    """
    response, outcome = PublicResponse.model_validate(state["response"]), Outcome.model_validate(state["outcome"])
    view = AnswerView(
        question=Run.model_validate(state["run"]).question,
        response=response,
        presentation=Policy.model_validate(state["policy"]).presentation,
        refusal_source=outcome.refusal_source if response.status is Status.NO_EVIDENCE else None,
    )
    if response.status is not Status.OK:
        return view
    bundle = AnswerBundle.model_validate(state["assembly"])
    validation = ValidationResult.model_validate(state["validation"])
    evidence = tuple(
        chunk if chunk.knowledge_id in readable else chunk.model_copy(update={"sanitized_text": ""})
        for chunk in bundle.selected_evidence
    )
    return view.model_copy(update={"statements": validation.statements, "evidence": evidence})

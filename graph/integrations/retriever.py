"""The retrieval of the engine for the chains of others: gated and selected evidence as LangChain documents.

No model is called and no run is recorded. What a chain makes of the documents is not validated; `check_answer` can.
"""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from sourcebound.contracts.evidence.answer_bundle import EvidenceChunk
from sourcebound.contracts.evidence.sections import name_sections, sections_within
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.calls import AnyEngine, acall_engine, call_engine
from sourcebound.graph.integrations.sync_engine import SyncEngine


class EvidenceRetriever(BaseRetriever):
    """A retriever over an engine; `as_retriever` makes it."""

    engine: Engine | SyncEngine
    request: dict[str, Any]
    context: RunContext | None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        asked = self._asked(query)
        return _to_documents(call_engine(self.engine, lambda opened: opened.retrieve(asked, self.context)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        asked = self._asked(query)
        return _to_documents(await acall_engine(self.engine, lambda opened: opened.retrieve(asked, self.context)))

    def _asked(self, query: str) -> AskInput:
        return AskInput(**{**self.request, "question": query})  # type: ignore[typeddict-item]


def as_retriever(
    engine: AnyEngine, request: AskInput | None = None, context: RunContext | None = None
) -> EvidenceRetriever:
    """Make a retriever that returns the evidence which a run would show its model.

    Args:
        engine: An engine. With a `SyncEngine` the retriever works in `invoke` too.
        request: The fields of every request except the question: collection, filters, limits such as `top_k`.
        context: The policy, if it differs from the settings. It has the gate, the budget and the limits of selection.

    Returns:
        The retriever. A document has the text as a prompt shows it, the id of its chunk, and as metadata what is known
        of `anchor`, `knowledge_id`, `title`, `section`, `page_number`, `source_reference`, `event_date`,
        `equipment_id` and `similarity_score`. A question that the gate refuses has no documents.

    Raises:
        SourceboundError: A call of the retriever raises what `Engine.retrieve` raises, and `ASYNC_ENGINE` if it does
            not await and the engine is asynchronous.
    """
    return EvidenceRetriever(engine=engine, request={**(request or {})}, context=context)


def _to_documents(evidence: tuple[EvidenceChunk, ...]) -> list[Document]:
    return [
        Document(page_content=chunk.sanitized_text, id=chunk.chunk_id, metadata=_describe(chunk)) for chunk in evidence
    ]


def _describe(chunk: EvidenceChunk) -> dict[str, Any]:
    """Return what is known of a chunk as metadata, with all sections that it runs through."""
    values = chunk.model_dump(
        mode="json",
        include={
            "anchor", "knowledge_id", "title", "page_number", "source_reference", "event_date", "equipment_id",
            "similarity_score",
        },
    )  # fmt: skip
    values["section"] = name_sections(sections_within(chunk))
    return {name: value for name, value in values.items() if value is not None}

"""SOURCE_BOUNDED_V1 and GROUNDED_RAG_V1 over a real index: the gate, the probe, and what a reader is shown."""

import json
from typing import Any

import pytest

from sourcebound.contracts.outcome import RefusalCode
from sourcebound.contracts.presentation.rag_query import POLICY, RagQuery, rag_answer
from sourcebound.contracts.presentation.render import present
from sourcebound.contracts.state import RunContext
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.vector_codec import PackedVector
from support.processes.databases import COLLECTION

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Who composed the second symphony for zeppelin and harpsichord?"
GROUNDED = RunContext(policy=POLICY)


class Nobody:
    """An access port that denies every read."""

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        return False


async def _ask(engine: Engine, question: str, collection: str = COLLECTION, **stated: Any) -> dict[str, Any]:
    query = RagQuery(query=question, project_id=collection, **stated)
    response = await engine.ask(query.request(), GROUNDED)
    return rag_answer(await engine.answer(response.run_id)).model_dump(mode="json")


@pytest.mark.contract("R1-2")
@pytest.mark.contract("R1-3")
@pytest.mark.contract("R1-11")
async def test_each_early_refusal_costs_what_it_must_and_no_more(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    dense = ChunkSearch.dense

    async def counted(self: ChunkSearch, vector: PackedVector, limit: int, **options: bool) -> dict[str, float]:
        asked.append(limit)
        return await dense(self, vector, limit, **options)

    monkeypatch.setattr(ChunkSearch, "dense", counted)
    unknown = await _ask(engine, QUESTION, "elsewhere")
    assert (unknown["refusal_reason"], asked) == (RefusalCode.COLLECTION_NOT_FOUND, [])
    weak = await _ask(engine, OFF_TOPIC)
    assert (weak["refusal_reason"], asked) == (RefusalCode.NO_RELEVANT_CONTENT, [1])
    few = await _ask(engine, QUESTION, min_sources=10)
    assert (few["refusal_reason"], asked) == (RefusalCode.INSUFFICIENT_SOURCES, [1, 1, 8])
    answered = await _ask(engine, QUESTION, min_sources=0)
    assert answered["refusal_reason"] is None
    assert answered["citations"]


@pytest.mark.contract("R6-8")
@pytest.mark.contract("R6-7")
async def test_an_answer_has_its_sources_and_their_texts_are_asked_for_anew(engine: Engine) -> None:
    response = await engine.ask({"question": QUESTION}, GROUNDED)
    shown = json.loads(present(await engine.answer(response.run_id)))
    ids = [source["source_id"] for source in shown["sources"]]
    assert 1 <= len(ids) <= 6
    assert {*shown["citations"]} <= {*ids}
    assert all(f"[SOURCE: {citation}]" in shown["answer"] for citation in shown["citations"])
    assert all(source["content_snippet"] for source in shown["sources"])
    assert [source["score"] for source in shown["sources"]] == sorted(
        (source["score"] for source in shown["sources"]), reverse=True
    )
    closed = json.loads(present(await engine.answer(response.run_id, Nobody(), "a stranger")))
    assert [source["content_snippet"] for source in closed["sources"]] == [""] * len(ids)
    assert closed["answer"] == shown["answer"]


@pytest.mark.contract("R1-11")
@pytest.mark.contract("R6-8")
async def test_a_source_bounded_answer_names_document_section_page_and_score(engine: Engine) -> None:
    response = await engine.ask({"question": QUESTION}, RunContext(policy="SOURCE_BOUNDED_V1"))
    view = await engine.answer(response.run_id)
    head, _, sources = present(view).partition("\n\nSources:\n")
    assert head.endswith(f"Answer:\n{response.answer}")
    (chunk, *_) = view.cited
    assert sources.splitlines()[0] == (
        f"- [{chunk.anchor}] hp-200-manual-rev-c.pdf, {chunk.section}, p. {chunk.page_number} "
        f"(score: {chunk.similarity_score:.2f})"
    )
    refused = await engine.ask({"question": OFF_TOPIC}, RunContext(policy="SOURCE_BOUNDED_V1"))
    assert refused.refusal_code in (RefusalCode.BELOW_SIMILARITY_GATE, RefusalCode.INSUFFICIENT_SOURCES)


async def test_a_run_that_is_not_there_or_was_erased_shows_no_answer(engine: Engine) -> None:
    with pytest.raises(RequestError, match="no such run"):
        await engine.answer("nothing")
    response = await engine.ask({"question": QUESTION}, GROUNDED)
    await engine.erase(response.run_id, response.run_id)
    with pytest.raises(RequestError, match="erased") as caught:
        await engine.answer(response.run_id)
    assert caught.value.failure_code == "RUN_ERASED"

"""The engine's retrieval for the chains of others: what a prompt would show, and nothing that the gate refuses."""

import pytest
from langchain_core.documents import Document

from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.errors import RequestError, SourceboundError, UsageError
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.retriever import as_retriever
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from support.embedding import OFF_TOPIC, QUESTION, open_sync_engine
from support.processes.databases import rows


@pytest.mark.contract("R2-A2")
async def test_the_documents_are_the_evidence_of_a_run(engine: Engine, library: str) -> None:
    documents = await as_retriever(engine).ainvoke(QUESTION)
    assert rows(library, "SELECT 1 FROM runs") == []
    run_id = (await engine.ask({"question": QUESTION})).run_id
    shown = (await engine.state(run_id))["assembly"]["selected_evidence"]
    assert [(each.id, each.page_content) for each in documents] == [
        (each["chunk_id"], each["sanitized_text"]) for each in shown
    ]
    assert [each.metadata["anchor"] for each in documents] == [f"C{number}" for number in range(len(shown))]


async def test_a_document_says_where_it_is_from(engine: Engine) -> None:
    first = (await as_retriever(engine).ainvoke(QUESTION))[0]
    assert isinstance(first, Document)
    assert "0.65 litres" in first.page_content
    score = first.metadata.pop("similarity_score")
    assert 0.4 < score < 1
    assert first.metadata == {
        "anchor": "C0",
        "knowledge_id": first.metadata["knowledge_id"],
        "title": "HP-200 Circulation Pump: Operating and Maintenance Manual, Revision C",
        "section": "10 Bearings and lubrication > 10.3 Oil change",
        "page_number": 13,
        "source_reference": first.metadata["source_reference"],
        "event_date": "2024-03-04",
        "equipment_id": "HP-200",
    }


@pytest.mark.contract("R1-11")
async def test_a_question_that_the_gate_refuses_has_no_documents(engine: Engine) -> None:
    assert await as_retriever(engine).ainvoke(OFF_TOPIC) == []


async def test_filters_and_limits_are_those_of_the_program(engine: Engine) -> None:
    request: AskInput = {"filters": {"equipment_id": "HP-300"}, "limits": {"max_chunks": 2}}
    documents = await as_retriever(engine, request).ainvoke("To what is the spring compression of the seal set?")
    assert 1 <= len(documents) <= 2
    assert {each.metadata["equipment_id"] for each in documents} == {"HP-300"}


def test_it_works_without_await(library: str, minilm: MiniLmEmbedder) -> None:
    with open_sync_engine(library, minilm) as engine:
        assert "0.65 litres" in as_retriever(engine).invoke(QUESTION)[0].page_content
        assert engine.retrieve({"question": OFF_TOPIC}) == ()


async def test_a_failure_is_an_error_and_not_an_empty_list(engine: Engine, library: str) -> None:
    with pytest.raises(RequestError) as nowhere:
        await as_retriever(engine, {"collection": "nowhere"}).ainvoke(QUESTION)
    assert nowhere.value.failure_code == "collection_not_found"
    with pytest.raises(RequestError) as empty:
        await as_retriever(engine).ainvoke(" ")
    assert empty.value.failure_code == "INVALID_REQUEST"
    with pytest.raises(SourceboundError) as policy:
        await as_retriever(engine, context=RunContext(policy="NONE")).ainvoke(QUESTION)
    assert policy.value.failure_code == "UNKNOWN_POLICY"
    rows(library, "UPDATE chunks SET text = replace(text, '0.65 litres', '0.85 litres')")
    with pytest.raises(RequestError) as altered:
        await as_retriever(engine).ainvoke(QUESTION)
    assert altered.value.failure_code == "CHUNK_ALTERED"


async def test_a_synchronous_call_of_an_asynchronous_engine_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(UsageError, match="SyncEngine"):
        as_retriever(engine).invoke(QUESTION)

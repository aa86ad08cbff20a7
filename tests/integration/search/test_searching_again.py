"""A process that searches again remembers what it can, and finds what one that has just begun finds (R1-5, R1-9)."""

import select
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.pq import TransactionStatus

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.store.connection.database import read_snapshot
from sourcebound.store.connection.queries import query
from sourcebound.store.search import chunk_queries as search
from sourcebound.store.search import vector_cache
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.chunk_queries import SentQuery as AskedRows
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.store.search.vector_cache import CollectionVectors, SharedVectors, VectorCache
from sourcebound.store.search.vector_codec import PackedVector, pack_vector, vector_text
from sourcebound.wiring import Services
from support.placing import Asked
from support.processes.databases import COLLECTION, ingest, rows
from support.retrieving import QUESTION, policy_with, retrieve, run_for

QUESTIONS = (QUESTION, "How often is the filter changed?", "coupling", "?")


def _found(bundle: RetrievalBundle) -> Mapping[str, Any]:
    return bundle.model_dump(exclude={"request_id", "run_id", "retrieval_latency_ms"})


async def _afresh(services: Services, question: str = QUESTION) -> Mapping[str, Any]:
    """As a process that has just begun finds it."""
    retriever = PostgresRetriever(services.pool, services.open_embedder, services.open_reranker)
    return _found(await retriever.retrieve(run_for(question, policy_with()), policy_with()))


async def _search_twice(services: Services) -> None:
    for _ in range(2):
        await retrieve(services)


@pytest.mark.contract("R1-2")
async def test_near_chunks_of_another_collection_are_not_compared(library_services: Services, library: str) -> None:
    """Simulate a database that was recreated while a process cached the numbers of the previous one."""
    ((collection_id,),) = rows(library, "SELECT collection_id FROM collections")
    numbers = [number for (number,) in rows(library, "SELECT chunk_no FROM chunks LIMIT 3")]
    values = {"vector": f"[{','.join(['1'] * 768)}]", "chunk_nos": numbers, "collection_id": collection_id + 1}
    async with library_services.pool.connection() as connection:
        assert await (await connection.execute(query("ordered_candidates"), values)).fetchall() == []


@pytest.mark.contract("P-5")
@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_words_that_a_chunk_holds_are_those_that_the_database_finds_in_it(
    library_services: Services, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """Those whose postings were read are not looked for in the text; here all of them are."""
    request_rows, looked_for = ChunkSearch.request_rows, list[int]()

    async def ask_all(self: ChunkSearch, *arguments: Any) -> Any:
        looked_for.append(len(self._terms_read))
        self._terms_read.clear()
        return await request_rows(self, *arguments)

    found = await _afresh(library_services, question)
    monkeypatch.setattr(ChunkSearch, "request_rows", ask_all)
    assert await _afresh(library_services, question) == found
    assert [known > 0 for known in looked_for] == [question != "?"]


@pytest.mark.parametrize(("rounding", "ordered"), [(1e-9, []), (9.0, ["ordered_candidates"])])
async def test_a_search_of_the_same_state_sends_two_statements_or_three(
    library_services: Services,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    rounding: float,
    ordered: list[str],
) -> None:
    monkeypatch.setattr(vector_cache, "DISTANCE_TOLERANCE", rounding)
    await _search_twice(library_services)
    asked.names.clear()

    async def not_needed(name: str) -> Collection | None:
        raise AssertionError(name)

    monkeypatch.setattr(library_services.retriever._index, "find_collection", not_needed)
    await retrieve(library_services)
    assert asked.names == ["question_words", *ordered, "candidate_rows"]


async def test_what_the_database_found_is_there_once_this_process_has_compared(
    library_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps what it found until somebody asks for it, or for the next; nobody does so while vectors are compared."""
    await _search_twice(library_services)
    near, order, sockets, came = CollectionVectors.near, ChunkSearch._order_nearest, list[int](), list[bool]()

    async def noting(self: ChunkSearch, *arguments: Any) -> Any:
        sockets[:] = [self._connection.fileno()]
        return await order(self, *arguments)

    def comparing(self: CollectionVectors, *arguments: Any) -> Any:
        came.append(bool(select.select(sockets, [], [], 10)[0]))
        return near(self, *arguments)

    monkeypatch.setattr(ChunkSearch, "_order_nearest", noting)
    monkeypatch.setattr(CollectionVectors, "near", comparing)
    expected = await _afresh(library_services)
    assert _found(await retrieve(library_services)) == expected
    assert came == [True]


@pytest.mark.contract("R1-6")
async def test_distances_that_are_compared_are_those_of_the_database(library_services: Services, asked: Asked) -> None:
    policy = policy_with(mmr_lambda=0.5)
    retriever = PostgresRetriever(library_services.pool, library_services.open_embedder, library_services.open_reranker)
    expected = _found(await retriever.retrieve(run_for(QUESTION, policy), policy))
    await _search_twice(library_services)
    asked.names.clear()
    assert _found(await retrieve(library_services, policy=policy)) == expected
    assert asked.lists() == ["ordered_candidates"]


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize(("few", "kept"), [(0, 0), (0, 10**6), (10, 2), (10**6, 0)])
async def test_postings_may_come_along_come_later_or_be_kept(
    library_services: Services, monkeypatch: pytest.MonkeyPatch, asked: Asked, few: int, kept: int
) -> None:
    found = [await _afresh(library_services, question) for question in QUESTIONS]
    monkeypatch.setattr(search, "FEW_POSTINGS", few)
    monkeypatch.setattr(search, "CACHED_POSTINGS", kept)
    for _ in range(3):
        asked.names.clear()
        assert [_found(await retrieve(library_services, question)) for question in QUESTIONS] == found
    assert "packed_postings" not in asked.names


async def test_a_state_that_was_foreseen_wrongly_is_not_searched(
    library_services: Services, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    await _search_twice(library_services)
    expected = await _afresh(library_services)
    asked.names.clear()
    another = CollectionVectors(SharedVectors(384, (0, None)))
    monkeypatch.setattr(vector_cache, "DISTANCE_TOLERANCE", 1e-9)  # so that no near pair is ordered by the database
    monkeypatch.setattr(VectorCache, "latest", lambda self, collection_id: another)
    assert _found(await retrieve(library_services)) == expected
    assert asked.names == ["question_words", "candidate_rows"]


@pytest.mark.contract("R1-9")
async def test_a_document_that_is_replaced_meanwhile_is_found_as_it_was(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pump.md"
    path.write_text("# Pump\n\nThe pump is red.\n")
    await ingest(services, path, embedder="minilm")
    await _search_twice(services)
    before = _found(await retrieve(services, "Which pump?"))
    request_rows = ChunkSearch.request_rows

    async def replace_and_ask(self: ChunkSearch, *args: Any) -> AskedRows:
        path.write_text("# Pump\n\nThe pump is blue.\n")
        await ingest(services, path, embedder="minilm")
        return await request_rows(self, *args)

    monkeypatch.setattr(ChunkSearch, "request_rows", replace_and_ask)
    assert _found(await retrieve(services, "Which pump?")) == before
    monkeypatch.undo()
    for _ in range(3):
        after = await retrieve(services, "Which pump?")
        assert ["The pump is blue." in row.chunk_text for row in after.results] == [True]
        assert after.index_version != before["index_version"]


async def test_a_name_that_was_given_to_another_collection_finds_that_one(
    library_services: Services, tmp_path: Path
) -> None:
    await _search_twice(library_services)
    (tmp_path / "a.md").write_text("# Seal\n\nThe seal is new.\n")
    await ingest(library_services, tmp_path, collection="next")
    await library_services.index.promote("next", COLLECTION)
    for _ in range(3):
        bundle = await retrieve(library_services, policy=policy_with("SOURCEBOUND_LEXICAL_V1"))
        assert ({row.knowledge_id for row in bundle.results}, bundle.embedding_model) == ({"a.md"}, "lexical")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE collections SET name = 'elsewhere'", "COLLECTION_GONE"),
        ("DELETE FROM collections", "COLLECTION_GONE"),
        ("UPDATE collections SET embedding_model = 'minilm:another'", "INDEX_EMBEDDER_MISMATCH"),
    ],
)
async def test_what_became_of_a_collection_is_noticed(
    library_services: Services, library: str, change: str, code: str
) -> None:
    await _search_twice(library_services)
    rows(library, f"{change} RETURNING 1")
    for _ in range(2):
        with pytest.raises(ConfigurationError) as raised:
            await retrieve(library_services)
        assert raised.value.failure_code == code


async def test_the_embedder_of_the_past_need_not_answer(library_services: Services, tmp_path: Path) -> None:
    await _search_twice(library_services)
    (tmp_path / "a.md").write_text("# Seal\n\nThe seal is new.\n")
    await ingest(library_services, tmp_path, collection="next")
    embedder = library_services._embedders["minilm"]
    assert embedder is not None
    own_name = embedder.name

    class Silent:
        name = own_name

        async def embed_query(self, text: str) -> list[float]:
            raise ModelError("the embedder does not answer.")

    library_services._embedders["minilm"] = Silent()  # type: ignore[assignment]
    with pytest.raises(ModelError):
        await retrieve(library_services)
    library_services._embedders["minilm"] = embedder
    await retrieve(library_services)
    library_services._embedders["minilm"] = Silent()  # type: ignore[assignment]
    await library_services.index.promote("next", COLLECTION)
    bundle = await retrieve(library_services, policy=policy_with("SOURCEBOUND_LEXICAL_V1"))
    assert bundle.embedding_model == "lexical"


async def test_a_packed_vector_is_the_vector(services: Services) -> None:
    vector = [0.1, -2.5e-8, 3.0, 1 / 3]
    statement = "SELECT %(packed)s::vector = %(text)s::vector AS same, %(packed)s::vector::text AS text"
    values = {"packed": pack_vector(vector), "text": vector_text(vector)}
    async with services.pool.connection() as connection:
        row = await (await connection.execute(statement, values)).fetchone()
    assert row is not None
    assert row["same"]
    assert PackedVector(pack_vector(vector)).text == vector_text(vector)


async def test_a_look_that_fails_leaves_no_transaction_behind(services: Services) -> None:
    async with services.pool.connection() as connection:
        with pytest.raises(ZeroDivisionError):
            async with read_snapshot(connection):
                raise ZeroDivisionError
        assert connection.info.transaction_status == TransactionStatus.IDLE
        with pytest.raises(ReadOnlySqlTransaction):
            async with read_snapshot(connection):
                await connection.execute("DELETE FROM collections")
        assert connection.closed  # of what was prepared in it nothing is certain

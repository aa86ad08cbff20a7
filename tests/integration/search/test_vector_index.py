"""Searches through a vector index: they find what comparing all vectors finds, whatever is filtered (R1-5, R1-8)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.request import Filters
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.store.connection.database import Pool, open_pool, read_snapshot
from sourcebound.store.search import chunk_queries as search
from sourcebound.store.search.chunk_queries import ChunkSearch
from sourcebound.store.search.retriever import PostgresRetriever
from sourcebound.store.search.vector_cache import VectorCache
from sourcebound.store.search.vector_codec import pack_vector, vector_text
from sourcebound.store.search.vector_index import _create, near_candidates
from sourcebound.wiring import Services, open_services
from support.placing import DIMENSIONS, Asked, place, place_chunks, prefer_indexes
from support.processes.databases import COLLECTION, rows, settings_for
from support.retrieving import QUESTION, ids, policy_with, retrieve, run_for

POOL = 40
VECTORS_ONLY = policy_with(hybrid=False, candidate_pool=POOL, top_k=POOL, mmr_lambda=None)


@pytest.fixture
async def services(database: str) -> AsyncIterator[Services]:
    """Services whose connections walk an index wherever there is one."""
    prefer_indexes(database)
    async with open_services(settings_for(database)) as opened:
        yield opened


@pytest.fixture
async def placed(services: Services) -> Collection:
    """A thousand chunks with an index."""
    collection = await place_chunks(services, 1000)
    await services.index.vectors.build(collection)
    return await services.index.open_collection(COLLECTION)


@asynccontextmanager
async def _searching(services: Services, collection: Collection, **filters: Any) -> AsyncIterator[ChunkSearch]:
    async with services.pool.connection() as connection, read_snapshot(connection):
        made = ChunkSearch(connection, collection, Filters.model_validate(filters), VectorCache())
        await made.begin()
        yield made


async def _dense(services: Services, collection: Collection, limit: int = POOL, **filters: Any) -> dict[str, float]:
    async with _searching(services, collection, **filters) as made:
        return await made.dense(pack_vector(place(QUESTION, collection.dimensions)), limit)


async def _exact(services: Services, collection: Collection, limit: int = POOL, **filters: Any) -> dict[str, float]:
    return await _dense(services, collection.model_copy(update={"vector_index": None}), limit, **filters)


def _reread(url: str, **changes: object) -> None:
    for name, value in changes.items():
        assert rows(url, f"UPDATE vector_indexes SET {name} = %s RETURNING 1", value)


def _lasting(bundle: RetrievalBundle) -> dict[str, Any]:
    return bundle.model_dump(exclude={"request_id", "run_id", "retrieval_latency_ms"})


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize("question", [QUESTION, "How often is the shaft of a stored HP-200 turned by hand?"])
async def test_a_bundle_is_the_same_with_an_index(
    library: str, library_services: Services, asked: Asked, question: str
) -> None:
    prefer_indexes(library)
    async with open_services(settings_for(library)) as services:
        services._embedders.update(library_services._embedders)
        before = await retrieve(services, question)
        assert asked.lists() == ["dense_candidates"]
        await services.index.vectors.build(await services.index.open_collection(COLLECTION))
        after = await retrieve(services, question)
        assert asked.lists() == ["near_candidates"]
    assert _lasting(after) == _lasting(before)
    assert len(after.results) == after.top_k


@pytest.mark.contract("R1-5")
async def test_half_precision_shows_in_no_score(services: Services, placed: Collection, asked: Asked) -> None:
    found = await _dense(services, placed)
    assert asked.lists() == ["near_candidates"]
    exact = await _exact(services, placed, 1000)
    # To the last bit: a parameter that became a halfvec on its way would differ in the fourth or fifth digit.
    assert found == {chunk: exact[chunk] for chunk in found}
    assert list(found) == [chunk for chunk in exact if chunk in found]


@pytest.mark.contract("P-5")
async def test_every_row_found_by_the_index_has_its_true_cosine(
    services: Services, placed: Collection, asked: Asked
) -> None:
    bundle = await retrieve(services, policy=VECTORS_ONLY)
    assert asked.lists() == ["near_candidates"]
    wanted = place(QUESTION)
    for row in bundle.results:
        true = sum(a * b for a, b in zip(wanted, place(row.chunk_text), strict=True))
        assert row.similarity_score == pytest.approx(max(true, 0), abs=2e-6)
    assert len(bundle.results) == POOL


async def test_a_search_asks_the_index_that_its_collection_names_and_no_other(
    services: Services, placed: Collection
) -> None:
    assert placed.vector_index is not None
    first, second = placed.vector_index.name, f"{placed.vector_index.name}2"
    values = {"collection_id": placed.collection_id, "vector": vector_text(place(QUESTION)), "documents": None}
    async with services.pool.connection() as connection:
        await _create(connection, placed, second)
        explain = b"EXPLAIN " + near_candidates(DIMENSIONS).as_bytes(connection)
        for name in (first, second):
            cursor = await connection.execute(explain, {**values, "index": name, "limit": 5})
            plan = "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
            assert f"Index Scan using {name} on chunks" in plan


@pytest.mark.contract("R1-8")
async def test_a_small_filtered_set_is_compared_whole(services: Services, placed: Collection, asked: Asked) -> None:
    bundle = await retrieve(services, policy=VECTORS_ONLY, equipment_id="RARE")
    assert asked.lists() == ["dense_candidates"]
    assert {row.equipment_id for row in bundle.results} == {"RARE"}
    assert len(bundle.results) == POOL


@pytest.mark.contract("R1-8")
async def test_a_larger_one_is_searched_until_there_are_enough(
    services: Services, database: str, placed: Collection, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "EXACT_CHUNKS", 99)
    _reread(database, ef_search=1)
    bundle = await retrieve(services, policy=VECTORS_ONLY, equipment_id="RARE")
    assert asked.lists() == ["near_candidates"]
    assert {row.equipment_id for row in bundle.results} == {"RARE"}
    assert (len(bundle.results), bundle.retrieval_shortfall) == (POOL, 0)
    monkeypatch.setattr(search, "EXACT_CHUNKS", 100)
    await retrieve(services, policy=VECTORS_ONLY, equipment_id="RARE")
    assert asked.lists() == ["dense_candidates"]


@pytest.mark.contract("R1-8")
@pytest.mark.parametrize("limit", [POOL, 100, 101])
async def test_never_are_there_fewer_rows_than_exist(
    database: str, services: Services, placed: Collection, asked: Asked, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(search, "EXACT_CHUNKS", 0)
    _reread(database, ef_search=1)
    prefer_indexes(database, **{"hnsw.max_scan_tuples": 1})
    async with open_services(settings_for(database)) as hasty:
        collection = await hasty.index.open_collection(COLLECTION)
        found = await _dense(hasty, collection, limit, equipment_id="RARE")
        assert asked.lists() == ["near_candidates", "dense_candidates"]
        assert found == await _exact(hasty, collection, limit, equipment_id="RARE")
        assert len(found) == min(limit, 100)
        assert await _dense(hasty, collection, limit, equipment_id="NONE") == {}


@pytest.mark.contract("R1-8")
async def test_a_pool_wider_than_the_search_is_filled(
    services: Services, database: str, placed: Collection, asked: Asked
) -> None:
    _reread(database, ef_search=1)
    assert len(ids(await retrieve(services, policy=VECTORS_ONLY))) == POOL
    assert asked.lists() == ["near_candidates"]


@pytest.mark.contract("R1-5")
async def test_an_unfit_index_is_never_asked(
    services: Services, database: str, placed: Collection, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "EXACT_CHUNKS", 0)
    await retrieve(services, policy=VECTORS_ONLY)
    assert asked.lists() == ["near_candidates"]
    _reread(database, recall=0.5)
    await retrieve(services, policy=VECTORS_ONLY)
    await retrieve(services, policy=VECTORS_ONLY, equipment_id="RARE")
    assert asked.lists() == ["dense_candidates", "ordered_candidates"]


async def test_an_index_that_is_gone_costs_time_and_no_row(services: Services, placed: Collection) -> None:
    exact = await _exact(services, placed)
    await services.index.vectors.drop(placed)
    assert await _dense(services, placed) == exact


@pytest.mark.contract("R1-8")
async def test_an_index_serves_no_other_collection(
    services: Services, database: str, placed: Collection, asked: Asked
) -> None:
    # Neither does it mind vectors of another length.
    other = await place_chunks(services, 200, "other", DIMENSIONS // 2)
    assert other.vector_index is None
    found = await _dense(services, other)
    assert asked.lists() == ["dense_candidates"]
    assert all(name.startswith("other-") for name in found)
    await services.index.vectors.build(other)
    found = await _dense(services, await services.index.open_collection("other"))
    assert asked.lists() == ["near_candidates"]
    assert (len(found), all(name.startswith("other-") for name in found)) == (POOL, True)
    assert all(name.startswith("default-") for name in await _dense(services, placed))
    sizes = rows(
        database,
        "SELECT reltuples::integer FROM pg_class WHERE starts_with(relname, 'chunks_vectors_') AND relkind = 'i' "
        "ORDER BY reltuples",
    )
    assert sizes == [(200,), (1000,)]


async def test_documents_that_are_removed_are_gone_from_the_index_at_once(
    services: Services, placed: Collection, asked: Asked
) -> None:
    before = await _dense(services, placed)
    gone = {chunk.rpartition("-")[0] for chunk in list(before)[:10]}
    await services.index.remove_documents(placed.collection_id, sorted(gone))
    asked.lists()
    after = await _dense(services, placed)
    assert asked.lists() == ["near_candidates"]
    assert not {chunk.rpartition("-")[0] for chunk in after} & gone
    assert len(after) == POOL


async def test_documents_that_are_added_are_found_through_it_at_once(
    services: Services, database: str, placed: Collection, asked: Asked
) -> None:
    rows(database, "UPDATE documents SET knowledge_id = 'old-' || knowledge_id RETURNING 1")
    rows(database, "UPDATE chunks SET chunk_id = 'old-' || chunk_id RETURNING 1")
    await place_chunks(services, 1000)
    asked.lists()
    found = await _dense(services, placed)
    assert asked.lists() == ["near_candidates"]
    assert {chunk.partition("-")[0] for chunk in found} == {"old", "default"}


async def test_a_search_leaves_its_settings_to_nobody(
    services: Services, database: str, placed: Collection, asked: Asked
) -> None:
    async with open_pool(database, max_size=1) as pool:
        retriever = PostgresRetriever(pool, services.open_embedder, services.open_reranker)
        async with pool.connection() as connection:
            await connection.execute("SELECT '[1]'::vector")  # which defines the settings
        before = await _settings(pool)
        await retriever.retrieve(run_for(QUESTION, VECTORS_ONLY), VECTORS_ONLY)
        assert asked.lists() == ["near_candidates"]
        assert await _settings(pool) == before == ("40", "off")


async def _settings(pool: Pool) -> tuple[str, str]:
    """Of the pool's only connection."""
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT current_setting('hnsw.ef_search') AS width, current_setting('hnsw.iterative_scan') AS goes_on"
        )
        (row,) = await cursor.fetchall()
        return row["width"], row["goes_on"]

"""Vector index builds: their conditions, measured recall, one process at a time, and no leftovers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection, errors, sql
from typer.testing import CliRunner

from sourcebound.cli.main import app
from sourcebound.contracts.corpus import vector_index as vectors
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.corpus.vector_index import SEARCH_WIDTHS, TARGET_RECALL, Recall, VectorIndex
from sourcebound.errors import StoreError
from sourcebound.store.connection.database import open_pool
from sourcebound.store.search import vector_index
from sourcebound.store.search.corpus import PostgresIndex
from sourcebound.store.search.vector_index import build_memory
from sourcebound.wiring import Services, open_services
from support.placing import NAME, PlacedEmbedder, indexes, place_chunks, standing_in_the_way
from support.processes.databases import COLLECTION, ingest, rows, settings_for, single
from support.processes.homes import wait_until
from support.retrieving import kept_postings

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%CREATE INDEX CONC%' AND wait_event_type = 'Lock'"
LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s"
RECORDED = "SELECT name, ef_search, recall, chunks FROM vector_indexes"


@pytest.fixture
async def placed(services: Services) -> Collection:
    """A hundred chunks without an index."""
    return await place_chunks(services, 100)


@pytest.fixture
def threshold(monkeypatch: pytest.MonkeyPatch) -> int:
    """So many chunks are compared all, instead of thousands."""
    monkeypatch.setattr(vectors, "EXACT_CHUNKS", 4)
    return 4


def _write_notes(folder: Path, *numbers: int) -> None:
    """Files of one chunk each."""
    for number in numbers:
        (folder / f"note-{number}.txt").write_text(f"The pump of hall {number} runs at {number} bar.\n", "utf-8")


async def _ingest_notes(services: Services, folder: Path) -> VectorIndex | None:
    services._embedders[NAME] = PlacedEmbedder()
    return (await ingest(services, folder, embedder=NAME)).vector_index


def _code(result: object) -> str:
    assert isinstance(result, StoreError), result
    assert result.next_step
    return result.failure_code


@pytest.mark.contract("R1-5")
async def test_ingest_indexes_a_collection_once_it_outgrows_the_exact_search(
    services: Services, database: str, tmp_path: Path, threshold: int
) -> None:
    _write_notes(tmp_path, *range(threshold))
    assert await _ingest_notes(services, tmp_path) is None
    assert indexes(database) == []
    _write_notes(tmp_path, threshold)
    made = await _ingest_notes(services, tmp_path)
    assert made == VectorIndex(name="chunks_vectors_1_1", ef_search=SEARCH_WIDTHS[0], recall=1.0, chunks=5)
    assert (await services.index.open_collection(COLLECTION)).vector_index == made
    assert indexes(database) == [("chunks_vectors_1_1", True)]


async def test_it_is_measured_again_when_it_has_grown_and_not_before(
    services: Services, database: str, tmp_path: Path, threshold: int
) -> None:
    _write_notes(tmp_path, *range(6))
    assert await _ingest_notes(services, tmp_path) is not None
    _write_notes(tmp_path, *range(9))
    assert await _ingest_notes(services, tmp_path) is None
    assert rows(database, RECORDED) == [("chunks_vectors_1_1", SEARCH_WIDTHS[0], 1.0, 6)]
    _write_notes(tmp_path, 9)
    again = await _ingest_notes(services, tmp_path)
    assert again == VectorIndex(name="chunks_vectors_1_1", ef_search=SEARCH_WIDTHS[0], recall=1.0, chunks=10)
    assert rows(database, RECORDED) == [("chunks_vectors_1_1", SEARCH_WIDTHS[0], 1.0, 10)]


async def test_one_that_finds_too_little_when_it_has_grown_is_made_anew(
    services: Services, database: str, placed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.index.vectors.build(placed)
    rows(database, "UPDATE vector_indexes SET chunks = 10")
    shares = {"chunks_vectors_1_1": 90, "chunks_vectors_1_2": 100}
    _find(monkeypatch, lambda name, _: shares[name])
    index = await services.index.index_vectors(COLLECTION)
    assert index == VectorIndex(name="chunks_vectors_1_2", ef_search=SEARCH_WIDTHS[0], recall=1.0, chunks=100)
    assert indexes(database) == [("chunks_vectors_1_2", True)]


async def test_no_vectors_no_index(services: Services, database: str, tmp_path: Path, threshold: int) -> None:
    _write_notes(tmp_path, *range(threshold + 1))
    assert (await ingest(services, tmp_path)).vector_index is None
    assert indexes(database) == []
    assert await services.index.index_vectors("nowhere") is None


def _find(patch: pytest.MonkeyPatch, found: Any) -> list[int]:
    """Has a measurement find so many of a hundred; the widths that were tried are kept."""
    tried: list[int] = []

    async def measure(_: object, __: object, name: str, ___: object, width: int) -> Recall:
        tried.append(width)
        return Recall(width, found(name, width), 100)

    patch.setattr(vector_index, "_measure", measure)
    return tried


@pytest.mark.contract("R1-5")
@pytest.mark.parametrize(
    ("enough_at", "chosen", "recall"), [(0, SEARCH_WIDTHS[0], 0.99), (300, 300, 0.99), (9999, SEARCH_WIDTHS[-1], 0.97)]
)
async def test_the_narrowest_width_that_finds_enough_is_chosen_or_the_widest(
    services: Services, placed: Collection, monkeypatch: pytest.MonkeyPatch, enough_at: int, chosen: int, recall: float
) -> None:
    tried = _find(monkeypatch, lambda _, width: 99 if width >= enough_at else 97)
    index = await services.index.vectors.build(placed)
    assert (index.ef_search, index.recall, index.is_fit) == (chosen, recall, recall >= TARGET_RECALL)
    assert tried == [width for width in SEARCH_WIDTHS if width <= chosen]


@pytest.mark.contract("R1-5")
async def test_the_new_index_is_measured_and_not_the_one_beside_it(
    services: Services, database: str, placed: Collection
) -> None:
    # What an index holds is only what it found when it was measured, so one over nothing finds nothing.
    await services.index.vectors.build(placed)
    collection = await services.index.open_collection(COLLECTION)
    assert (await services.index.vectors.measure(collection, 100, 50)).value == 1.0
    async with services.pool.connection() as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
        questions = await vector_index._make_questions(connection, placed, 50)
        assert len(questions) == 50
        near = await vector_index._measure(connection, collection, "chunks_vectors_1_1", questions, 100)
        moved = [question._replace(nearest=[each - 0.5 for each in question.nearest]) for question in questions]
        missed = await vector_index._measure(connection, collection, "chunks_vectors_1_1", moved, 100)
    assert (near.found, near.sought) == (400, 400)
    assert missed.found < 40


async def test_a_new_index_takes_the_place_of_the_old(services: Services, database: str, placed: Collection) -> None:
    await services.index.vectors.build(placed)
    await services.index.vectors.build(await services.index.open_collection(COLLECTION))
    assert indexes(database) == [("chunks_vectors_1_2", True)]
    assert [name for name, *_ in rows(database, RECORDED)] == ["chunks_vectors_1_2"]
    # A name is free again with its index; and whatever else has a name like ours is not in the way.
    rows(database, "CREATE INDEX chunks_vectors_1_1_ccnew ON chunks (ordinal)")
    await services.index.vectors.build(await services.index.open_collection(COLLECTION))
    assert indexes(database) == [("chunks_vectors_1_1", True)]


async def test_an_interrupted_build_is_cleared_away_by_the_next(
    services: Services, database: str, placed: Collection
) -> None:
    with standing_in_the_way(database):
        build = asyncio.create_task(services.index.vectors.build(placed))
        await _until_waiting(database)
        build.cancel()
        with pytest.raises(asyncio.CancelledError):
            await build
    assert indexes(database) == [("chunks_vectors_1_1", False)]
    assert single(database, LOCKS, vector_index.LOCK) == 0
    assert rows(database, RECORDED) == []
    await services.index.vectors.build(placed)
    assert [whole for _, whole in indexes(database)] == [True]


async def test_what_was_left_is_removed_before_a_new_one_is_made(
    services: Services, database: str, placed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.index.vectors.build(placed)
    rows(database, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunks_vectors_1_1'::regclass")
    seen = []

    async def create(*_: object) -> None:
        seen.extend(indexes(database))
        raise errors.DiskFull("no space left")

    monkeypatch.setattr(vector_index, "_create", create)
    with pytest.raises(StoreError):
        await services.index.vectors.build(placed)
    assert seen == indexes(database) == []


async def _until_waiting(url: str) -> None:
    await asyncio.to_thread(wait_until, lambda: single(url, WAITING) > 0)


async def test_of_two_builders_the_second_is_told_and_its_ingest_goes_on(
    services: Services, database: str, tmp_path: Path, threshold: int
) -> None:
    _write_notes(tmp_path, *range(threshold))
    await _ingest_notes(services, tmp_path)
    _write_notes(tmp_path, threshold)
    with standing_in_the_way(database):
        first = asyncio.create_task(_ingest_notes(services, tmp_path))
        await _until_waiting(database)
        _write_notes(tmp_path, threshold + 1)
        summary = await ingest(services, tmp_path, embedder=NAME)
        assert (summary.added, summary.vector_index) == (1, None)
        collection = await services.index.open_collection(COLLECTION)
        assert collection.documents == threshold + 2
        for busy in (services.index.vectors.build, services.index.vectors.drop, services.index.drop_collection):
            with pytest.raises(StoreError) as raised:
                await busy(collection)
            assert _code(raised.value) == "INDEX_BUSY"
    assert await first is not None
    assert indexes(database) == [("chunks_vectors_1_1", True)]


async def test_two_collections_are_indexed_one_after_the_other(
    services: Services, database: str, placed: Collection
) -> None:
    other = await place_chunks(services, 100, "other")
    with standing_in_the_way(database):
        first = asyncio.create_task(services.index.vectors.build(placed))
        await _until_waiting(database)
        second = asyncio.create_task(services.index.vectors.build(other))
        await asyncio.sleep(4 * vector_index.POLL_SECONDS)
    made = await asyncio.gather(first, second, return_exceptions=True)
    assert [index.name for index in made if isinstance(index, VectorIndex)] == [
        f"chunks_vectors_{each.collection_id}_1" for each in (placed, other)
    ], made


async def test_dropping_an_index_leaves_the_collection(services: Services, database: str, placed: Collection) -> None:
    await services.index.vectors.build(placed)
    await services.index.vectors.drop(placed)
    assert indexes(database) == rows(database, RECORDED) == []
    collection = await services.index.open_collection(COLLECTION)
    assert (collection.vector_index, collection.chunks) == (None, 100)


async def test_dropping_a_collection_leaves_nothing_of_it_and_all_of_the_others(
    services: Services, database: str, placed: Collection
) -> None:
    other = await place_chunks(services, 60, "other")
    for each in (placed, other):
        await services.index.vectors.build(each)
    await services.index.drop_collection(placed)
    assert await services.index.find_collection(COLLECTION) is None
    tables = ("collections", "documents", "chunks", "vector_indexes", "lexemes", "lexical_statistics")
    for table in tables:
        assert {each for (each,) in rows(database, f"SELECT DISTINCT collection_id FROM {table}")} == {
            other.collection_id
        }, table
    assert single(database, "SELECT count(*) FROM pages") == 3
    whose = "SELECT DISTINCT s.collection_id FROM postings LEFT JOIN posting_segments s USING (segment)"
    assert rows(database, whose) == [(other.collection_id,)]
    assert kept_postings(database)
    assert indexes(database) == [(f"chunks_vectors_{other.collection_id}_1", True)]


class Full:
    """A server that has not enough of something while an index is built.

    Args:
        patch: Puts it in the way of connections.
        disk: Whether it is the disk, and not the memory that workers share.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *, disk: bool = False) -> None:
        self.builds: list[tuple[str, str]] = []
        execute = AsyncConnection.execute

        async def refuse(connection: AsyncConnection[Any], statement: Any, *values: Any, **options: Any) -> Any:
            if isinstance(statement, sql.Composed) and b"CREATE INDEX" in (text := statement.as_bytes(connection)):
                found = await execute(
                    connection,
                    "SELECT current_setting('max_parallel_maintenance_workers') AS workers, "
                    "current_setting('maintenance_work_mem') AS memory",
                )
                (row,) = await found.fetchall()
                self.builds.append((row["workers"], row["memory"]))
                if disk or row["workers"] != "0":
                    await execute(connection, text.replace(b"CONCURRENTLY", b""))
                    raise errors.DiskFull("could not resize shared memory segment: No space left on device")
            return await execute(connection, statement, *values, **options)

        patch.setattr(AsyncConnection, "execute", refuse)


async def test_where_workers_have_too_little_memory_to_share_one_process_builds_alone(
    services: Services, database: str, placed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Full(monkeypatch)
    assert (await services.index.vectors.build(placed)).is_fit
    assert full.builds == [("2", "128MB"), ("0", "128MB")]
    assert indexes(database) == [("chunks_vectors_1_1", True)]


async def test_a_disk_that_is_full_is_said(
    services: Services, database: str, placed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Full(patch, disk=True)
        with pytest.raises(StoreError) as raised:
            await services.index.vectors.build(placed)
    assert _code(raised.value) == "NO_DISK_SPACE"
    assert rows(database, RECORDED) == []


async def test_a_build_leaves_its_settings_and_its_locks_to_nobody(
    services: Services, database: str, placed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def settings() -> list[dict[str, Any]]:
        async with pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT name, setting FROM pg_settings WHERE name LIKE '%maintenance_work%' "
                "OR name = 'max_parallel_maintenance_workers' OR name LIKE 'hnsw.%' ORDER BY name"
            )
            return await cursor.fetchall()

    async with open_pool(database, max_size=1) as pool:
        index = PostgresIndex(pool)
        async with pool.connection() as connection:
            await connection.execute("SELECT '[1]'::vector")  # which defines the settings
        before = await settings()
        assert {"name": "maintenance_work_mem", "setting": "65536"} in before
        await index.vectors.build(placed)
        assert await settings() == before
        with monkeypatch.context() as patch:
            Full(patch, disk=True)
            with pytest.raises(StoreError):
                await index.vectors.build(placed)
        assert await settings() == before
        assert single(database, LOCKS, vector_index.LOCK) == 0


async def test_the_memory_that_a_build_takes_is_enough_for_its_graph(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LEAST_MEMORY", 0)
    collection = await place_chunks(services, 2000)
    said: list[str] = []
    async with services.pool.connection() as connection:
        connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        await vector_index._create(connection, collection, "chunks_vectors_1_1")
        assert said == []
        monkeypatch.setattr(vector_index, "MOST_MEMORY", build_memory(2000, 16) // 4)
        await vector_index._create(connection, collection, "chunks_vectors_1_2")
    assert "no longer fits into maintenance_work_mem" in said[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'", "pgvector 0.7.4"),
        ("UPDATE collections SET dimensions = 4096", "have 4096 dimensions"),
    ],
)
async def test_where_no_index_can_be_made_ingest_goes_on_and_a_build_says_why(
    services: Services, database: str, tmp_path: Path, threshold: int, change: str, said: str
) -> None:
    _write_notes(tmp_path, *range(threshold))
    await _ingest_notes(services, tmp_path)
    rows(database, change)
    _write_notes(tmp_path, threshold)
    assert await _ingest_notes(services, tmp_path) is None
    collection = await services.index.open_collection(COLLECTION)
    assert collection.documents == threshold + 1
    with pytest.raises(StoreError, match=said) as raised:
        await services.index.vectors.build(collection)
    assert _code(raised.value) == "INDEX_UNSUPPORTED"


async def test_an_account_that_may_make_no_index_may_ingest(
    services: Services, database: str, tmp_path: Path, threshold: int
) -> None:
    rows(database, "CREATE ROLE writer")
    try:
        rows(database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer")
        rows(database, "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO writer")
        _write_notes(tmp_path, *range(threshold + 1))
        async with open_services(settings_for(f"{database}&options=-c%20role%3Dwriter")) as humble:
            assert await _ingest_notes(humble, tmp_path) is None
            collection = await humble.index.open_collection(COLLECTION)
            assert collection.documents == threshold + 1
            with pytest.raises(StoreError) as raised:
                await humble.index.vectors.build(collection)
            assert _code(raised.value) == "STORE_FORBIDDEN"
    finally:
        rows(database, "DROP OWNED BY writer")
        rows(database, "DROP ROLE writer")


def test_an_index_that_finds_too_little_is_said_and_ends_with_4(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fill() -> None:
        async with open_services(settings_for(database)) as services:
            await place_chunks(services, 100)

    asyncio.run(fill())
    monkeypatch.setattr("sourcebound.settings.get_settings", lambda: settings_for(database))
    _find(monkeypatch, lambda _, __: 97)
    built = CliRunner().invoke(app, ["index", "build"])
    assert (built.exit_code, built.stdout) == (
        4,
        "default: vector index, search width 1000, measured recall 97.00%\n",
    )
    assert "98% is the minimum, so the index is not used: all vectors are compared." in built.stderr
    checked = CliRunner().invoke(app, ["index", "check"])
    assert checked.exit_code == 4
    assert "default: 97 of the 100 nearest chunks found (97.00%), 8 for each of 100 vectors" in checked.stdout
    assert "98% is the minimum. Next: sourcebound index build --collection default" in checked.stderr
    as_json = CliRunner().invoke(app, ["index", "check", "--json"])
    assert (as_json.exit_code, json.loads(as_json.stdout)["recall"]) == (4, 0.97)

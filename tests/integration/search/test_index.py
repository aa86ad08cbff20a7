"""The index: a document is stored whole or not at all, its chunks are in its pages, its version has a name."""

import asyncio
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.collection import Collection, StoredDocument
from sourcebound.contracts.corpus.document import Chunk
from sourcebound.errors import StoreError
from sourcebound.ingest.chunking.chunker import chunk_document
from sourcebound.ingest.loaders.select import load_document
from sourcebound.ingest.prepare import LexicalCounter
from sourcebound.wiring import Services, open_services
from support.places import ROOT
from support.processes.databases import COLLECTION, MANUALS, Cluster, ingest, rows, settings_for, single
from support.processes.homes import wait_until

FINANCEBENCH = ROOT.parent / "shared" / "data" / "documents" / "financebench" / "pdfs"
COUNTS = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM pages), (SELECT count(*) FROM chunks)"
MISPLACED = """
    SELECT k.chunk_id FROM chunks k JOIN pages p USING (document_id, page_index)
    WHERE substr(p.text, k.char_start + 1, k.char_end - k.char_start) <> k.text
       OR k.page_number IS DISTINCT FROM p.page_number
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
END_WAITING = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def _stored(path: Path, *, digest: bytes, chunks: list[Chunk] | None = None) -> StoredDocument:
    parsed = load_document(path, 1_000_000)
    found = list(chunk_document(parsed, path.name, LexicalCounter(), 60))
    return StoredDocument(
        knowledge_id=path.name,
        source_path=str(path),
        source_reference=path.name,
        source_digest=digest,
        parsed=parsed,
        metadata=parsed.metadata,
        chunks=found if chunks is None else [*found, *chunks],
        vectors=None,
        further_words=[""] * (len(found) + len(chunks or [])),
    )


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("# Pump\n\nThe pump runs at 5 bar.\n\n# Filter\n\nThe filter is changed every week.\n")
    return path


@pytest.fixture
async def collection(services: Services) -> Collection:
    return await services.index.create_collection(COLLECTION, "lexical", "lexical", 0, "test")


async def _version(services: Services) -> str:
    found = await services.index.find_collection(COLLECTION)
    assert found is not None
    return found.index_version


async def test_a_document_with_one_bad_chunk_is_not_stored_at_all(
    services: Services, database: str, collection: Collection, note: Path
) -> None:
    sound = _stored(note, digest=b"1")
    broken = _stored(note, digest=b"1", chunks=[sound.chunks[0]])
    with pytest.raises(StoreError) as raised:
        await services.index.replace_documents(collection.collection_id, [broken])
    assert raised.value.failure_code == "STORE_REFUSED"
    assert rows(database, COUNTS) == [(0, 0, 0)]
    assert await _version(services) == collection.index_version


async def test_a_replacement_that_fails_leaves_the_old_document_whole(
    services: Services, database: str, collection: Collection, note: Path
) -> None:
    old = _stored(note, digest=b"1")
    await services.index.replace_documents(collection.collection_id, [old])
    before, version = rows(database, "SELECT * FROM chunks ORDER BY ordinal"), await _version(services)
    with pytest.raises(StoreError):
        await services.index.replace_documents(
            collection.collection_id, [_stored(note, digest=b"2", chunks=[old.chunks[0]])]
        )
    assert rows(database, "SELECT * FROM chunks ORDER BY ordinal") == before
    assert await _version(services) == version


@pytest.mark.parametrize("ending", ["cancelled", "backend killed"])
async def test_a_document_whose_storing_is_broken_off_is_not_stored_at_all(
    services: Services, database: str, collection: Collection, note: Path, ending: str
) -> None:
    async with services.pool.connection() as other, other.transaction():
        await other.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
        storing = asyncio.create_task(
            services.index.replace_documents(collection.collection_id, [_stored(note, digest=b"1")])
        )
        await asyncio.to_thread(wait_until, lambda: single(database, WAITING) == 1)
        if ending == "cancelled":
            storing.cancel()
        else:
            rows(database, END_WAITING)
        (outcome,) = await asyncio.gather(storing, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError if ending == "cancelled" else StoreError)
    assert rows(database, COUNTS) == [(0, 0, 0)]
    await services.index.replace_documents(collection.collection_id, [_stored(note, digest=b"1")])
    assert rows(database, COUNTS) == [(1, 1, 1)]


@pytest.mark.contract("R1-5")
async def test_a_replaced_document_keeps_nothing_of_the_old_one(services: Services, database: str, note: Path) -> None:
    await ingest(services, note)
    note.write_text("# Valve\n\nThe valve is closed.\n")
    await ingest(services, note)
    assert rows(database, "SELECT text FROM chunks") == [("Valve\n\nThe valve is closed.",)]
    assert rows(database, COUNTS) == [(1, 1, 1)]


@pytest.mark.contract("R1-10")
def test_every_chunk_of_the_examples_stands_in_its_page_at_its_offsets(library: str) -> None:
    assert single(library, "SELECT count(*) FROM chunks") > 100
    assert rows(library, MISPLACED) == []


@pytest.mark.contract("R1-10")
def test_every_chunk_of_a_pdf_has_its_page_number(library: str) -> None:
    found = rows(
        library,
        "SELECT d.knowledge_id, min(k.page_number), max(k.page_number), count(*) - count(k.page_number) "
        "FROM chunks k JOIN documents d USING (document_id) WHERE d.media_type = 'application/pdf' "
        "GROUP BY d.knowledge_id ORDER BY d.knowledge_id",
    )
    assert found == [("hp-200-manual-rev-c.pdf", 1, 16, 0), ("hp-300-manual-rev-a.pdf", 1, 3, 0)]


@pytest.mark.data
@pytest.mark.skipif(not FINANCEBENCH.is_dir(), reason="the external evaluation data is not beside the repository")
async def test_every_chunk_of_long_reports_stands_in_its_page_at_its_offsets(services: Services, database: str) -> None:
    summary = await ingest(services, FINANCEBENCH)
    assert summary.skipped == ()
    assert single(database, "SELECT count(*) FROM pages") > 150
    assert single(database, "SELECT count(*) FROM chunks") == summary.chunks
    assert rows(database, MISPLACED) == []
    assert single(database, "SELECT count(*) FROM chunks WHERE page_number IS NULL") == 0


@pytest.mark.contract("R1-9")
async def test_the_index_version_changes_with_the_content_and_returns_with_it(services: Services, note: Path) -> None:
    text = note.read_text()
    await ingest(services, note)
    first = await _version(services)
    note.write_text(text + "\nOne more sentence.\n")
    await ingest(services, note)
    second = await _version(services)
    note.write_text(text)
    await ingest(services, note)
    assert (await _version(services), second != first) == (first, True)


async def test_the_index_version_changes_with_the_metadata(services: Services, note: Path) -> None:
    await ingest(services, note)
    first = await _version(services)
    await ingest(services, note, equipment_id="HP-200")
    assert await _version(services) != first


async def test_the_index_version_does_not_depend_on_the_order_of_ingest(cluster: Cluster, migrated: str) -> None:
    names = ["ac-120-alarm-list.md", "calibration-register.md", "shift-handover-policy.txt"]
    versions = []
    for order in (names, names[::-1]):
        url = cluster.create(migrated)
        async with open_services(settings_for(url)) as opened:
            for name in order:
                await ingest(opened, MANUALS / name)
            versions.append(await _version(opened))
        cluster.drop(url)
    assert versions[0] == versions[1]


async def test_the_index_version_depends_on_how_the_collection_was_made(services: Services) -> None:
    made = [
        await services.index.create_collection("a", "lexical", "lexical", 0, "structure_v1:320"),
        await services.index.create_collection("b", "lexical", "lexical", 0, "structure_v1:200"),
        await services.index.create_collection("c", "x", "x:model", 8, "structure_v1:320"),
        await services.index.create_collection("d", "x", "x:model", 16, "structure_v1:320"),
        await services.index.create_collection("e", "x", "x:model", 16, "structure_v1:320", "german"),
    ]
    assert len({collection.index_version for collection in made}) == 5


async def test_the_index_version_of_an_english_collection_is_what_it_was_before_there_was_a_choice(
    services: Services,
) -> None:
    made = await services.index.create_collection("a", "lexical", "lexical", 0, "structure_v1:320")
    assert made.index_version == "ix-5805043dda6ef17a"


async def test_a_collection_keeps_the_embedder_that_it_was_made_with(services: Services) -> None:
    first = await services.index.create_collection("a", "lexical", "lexical", 0, "structure_v1:320")
    again = await services.index.create_collection("a", "x", "x:model", 8, "structure_v1:200")
    assert again == first
    assert await services.index.list_collections() == [first]


async def test_documents_of_one_name_in_two_collections_do_not_meet(
    services: Services, database: str, note: Path
) -> None:
    await ingest(services, note, collection="a")
    await ingest(services, note, collection="b")
    assert rows(database, COUNTS) == [(2, 2, 2)]
    assert [found.documents for found in await services.index.list_collections()] == [1, 1]

"""IX-3: what an owner of the database alters in the contents of a collection is named, and never becomes evidence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psycopg
import pytest

from sourcebound.contracts.corpus.contents import ContentsFinding
from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import ReplayStatus, RunReport
from sourcebound.errors import StoreError
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.ingest.chunking.searchable_text import further_words
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.store.connection.database import open_pool
from sourcebound.store.connection.migrations import migrate
from sourcebound.store.search.contents import ContentsCheck
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, ingest, rows, single
from support.retrieving import QUESTION, ids, policy_with, retrieve

DOCUMENT: Final = "hp-300-manual-rev-a.pdf"
OWN: Final = f"document_id = (SELECT document_id FROM documents WHERE knowledge_id = '{DOCUMENT}')"
FIRST: Final = f"{OWN} AND ordinal = 0"
SECOND: Final = f"{OWN} AND ordinal = 1"
WORD: Final = "lexeme_id = (SELECT lexeme_id FROM lexemes WHERE lexeme = 'torqu')"
OTHER_DIGEST: Final = "sha256('forged')"
SWAP: Final = (
    f"UPDATE chunks k SET text = o.text FROM chunks o WHERE k.document_id = o.document_id AND k.{OWN} "
    "AND o.ordinal = 1 - k.ordinal"
)
ALTERATIONS: Final[dict[str, tuple[str, set[str]]]] = {
    "text": (f"UPDATE chunks SET text = ' ' || text WHERE {FIRST}", {"CHUNK_ALTERED first", "CHUNK_MISPLACED first"}),
    "text with other words": (
        f"UPDATE chunks SET text = 'zeppelin' || text WHERE {FIRST}",
        {"CHUNK_ALTERED first", "CHUNK_MISPLACED first", "WORDS_ALTERED first"},
    ),
    "start": (
        f"UPDATE chunks SET char_start = char_start + 1 WHERE {FIRST}",
        {"CHUNK_ALTERED first", "CHUNK_MISPLACED first"},
    ),
    "negative start": (
        f"UPDATE chunks SET char_start = -2000000000 WHERE {FIRST}",
        {"CHUNK_ALTERED first", "CHUNK_MISPLACED first"},
    ),
    "page number": (
        f"UPDATE chunks SET page_number = 99 WHERE {FIRST}",
        {"CHUNK_ALTERED first", "CHUNK_MISPLACED first"},
    ),
    "page of no document": (
        f"UPDATE chunks SET page_index = 99 WHERE {FIRST}",
        {"CHUNK_ALTERED first", "CHUNK_MISPLACED first"},
    ),
    "headings": (
        f"UPDATE chunks SET heading_path = '{{zeppelin}}' WHERE {FIRST}",
        {"CHUNK_ALTERED first", "WORDS_ALTERED first"},
    ),
    "sections": (
        f"UPDATE chunks SET section_names = '{{zeppelin}}', section_starts = '{{1}}' WHERE {FIRST}",
        {"CHUNK_ALTERED first"},
    ),
    "place": (
        f"UPDATE chunks SET ordinal = -5 WHERE {FIRST}",
        {"CHUNK_ALTERED first", f"CHUNK_GONE {DOCUMENT}"},
    ),
    "texts swapped": (
        SWAP,
        {
            f"{code} {chunk}"
            for code in ("CHUNK_ALTERED", "CHUNK_MISPLACED", "WORDS_ALTERED")
            for chunk in ("first", "second")
        },
    ),
    "chunk deleted": (
        f"DELETE FROM chunks WHERE {FIRST}",
        {f"CHUNK_GONE {DOCUMENT}", "STATISTICS_ALTERED default", "POSTINGS_ALTERED"},
    ),
    "chunk of no document": (
        f"UPDATE chunks SET document_id = 0 WHERE {FIRST}",
        {"CHUNK_STRAY first", f"CHUNK_GONE {DOCUMENT}"},
    ),
    "page text": (
        f"UPDATE pages SET text = text || '.' WHERE {OWN} AND page_index = 0",
        {f"DOCUMENT_ALTERED {DOCUMENT}"},
    ),
    "page deleted": (
        f"DELETE FROM pages WHERE {OWN} AND page_index = 2",
        {f"DOCUMENT_ALTERED {DOCUMENT}", "CHUNK_MISPLACED"},
    ),
    "digest of a chunk": (
        f"UPDATE documents SET chunk_digests = overlay(chunk_digests PLACING {OTHER_DIGEST} FROM 1) WHERE {OWN}",
        {"CHUNK_ALTERED first", f"DOCUMENT_ALTERED {DOCUMENT}"},
    ),
    "digest of a source": (
        f"UPDATE documents SET source_digest = {OTHER_DIGEST} WHERE {OWN}",
        {f"DOCUMENT_ALTERED {DOCUMENT}", f"FILE_ALTERED {DOCUMENT}"},
    ),
    "digest of a document": (
        f"UPDATE documents SET contents_digest = {OTHER_DIGEST} WHERE {OWN}",
        {f"DOCUMENT_ALTERED {DOCUMENT}", "INDEX_VERSION_ALTERED default"},
    ),
    "digest of the collection": (
        f"UPDATE collections SET documents_digest = {OTHER_DIGEST}",
        {"INDEX_VERSION_ALTERED default"},
    ),
    "title": (
        f"UPDATE documents SET title = 'zeppelin' WHERE {OWN}",
        {
            "CHUNK_ALTERED first",
            "CHUNK_ALTERED second",
            "CHUNK_ALTERED",
            "WORDS_ALTERED first",
            "WORDS_ALTERED second",
            "WORDS_ALTERED",
        },
    ),
    "infinite date": (
        f"UPDATE documents SET event_date = 'infinity' WHERE {OWN}",
        {"CHUNK_ALTERED first", "CHUNK_ALTERED second", "CHUNK_ALTERED"},
    ),
    "document deleted": (
        f"DELETE FROM documents WHERE {OWN}",
        {
            "INDEX_VERSION_ALTERED default",
            "STATISTICS_ALTERED default",
            "CHUNK_STRAY first",
            "CHUNK_STRAY second",
            "CHUNK_STRAY",
        },
    ),
    "search words": (
        f"UPDATE chunks SET search = setweight(to_tsvector('english', 'zeppelin'), 'A') WHERE {FIRST}",
        {"WORDS_ALTERED first", "POSTINGS_ALTERED", "STATISTICS_ALTERED default"},
    ),
    "posting": (
        f"UPDATE postings SET packed = overlay(packed PLACING '\\x0001'::bytea FROM 7) WHERE {WORD}",
        {"POSTINGS_ALTERED torqu"},
    ),
    "half a posting": (
        f"UPDATE postings SET packed = packed || '\\x00'::bytea WHERE {WORD}",
        {"POSTINGS_ALTERED torqu"},
    ),
    "posting twice": (f"UPDATE postings SET packed = packed || packed WHERE {WORD}", {"POSTINGS_ALTERED torqu"}),
    "postings deleted": (f"DELETE FROM postings WHERE {WORD}", {"POSTINGS_ALTERED torqu"}),
    "word deleted": ("DELETE FROM lexemes WHERE lexeme = 'torqu'", {"POSTINGS_ALTERED torqu"}),
    "count of a word": ("UPDATE lexemes SET chunks = chunks + 1 WHERE lexeme = 'torqu'", {"POSTINGS_ALTERED torqu"}),
    "chunk hidden from its words": (
        f"INSERT INTO removed_chunks SELECT collection_id, chunk_no FROM chunks WHERE {FIRST}",
        {"POSTINGS_ALTERED", "STATISTICS_ALTERED default"},
    ),
    "count of chunks": ("UPDATE lexical_statistics SET length = length + 1", {"STATISTICS_ALTERED default"}),
    "count of documents": ("UPDATE collections SET documents = 1", {"STATISTICS_ALTERED default"}),
    "vector gone": (f"UPDATE chunks SET embedding = NULL WHERE {FIRST}", {"VECTOR_ALTERED first"}),
    "short vector": (f"UPDATE chunks SET embedding = '[1,2]' WHERE {FIRST}", {"VECTOR_ALTERED first"}),
}


def alter(url: str, *statements: str) -> None:
    """Run statements as an owner of the database who switches its triggers and foreign keys off."""
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            assert connection.execute(statement.encode()).rowcount > 0, statement


async def check(services: Services, documents: int | None = None) -> Sequence[ContentsFinding]:
    collection = await services.index.open_collection(COLLECTION)
    return [found async for found in ContentsCheck(services.pool, collection, further_words).run(documents)]


def describe(findings: Sequence[ContentsFinding], names: dict[str, str]) -> set[str]:
    """Return each code with its name. Names that no test knows are left out."""
    return {f"{found.code} {names.get(found.name, '')}".strip() for found in findings}


@pytest.mark.contract("IX-3")
async def test_nothing_is_found_in_what_was_ingested(library_services: Services) -> None:
    assert await check(library_services) == []


@pytest.mark.contract("IX-3")
@pytest.mark.contract("S-4")
@pytest.mark.parametrize("name", ALTERATIONS)
async def test_each_alteration_is_named(library_services: Services, library: str, name: str) -> None:
    statement, expected = ALTERATIONS[name]
    place = f"SELECT chunk_id FROM chunks WHERE {OWN} AND ordinal = %s"
    names = {single(library, place, 0): "first", single(library, place, 1): "second"}
    names |= {known: known for known in (DOCUMENT, COLLECTION, "torqu")}
    alter(library, statement)
    found = await check(library_services)
    if "POSTINGS_ALTERED" in expected:  # the words of a whole chunk, of which some are also in the list of names
        names.pop("torqu")
    assert describe(found, names) == expected


@pytest.mark.contract("IX-3")
async def test_a_sample_of_every_document_finds_an_altered_chunk(library_services: Services, library: str) -> None:
    assert await check(library_services, documents=100) == []
    alter(library, f"UPDATE chunks SET text = ' ' || text WHERE {FIRST}")
    assert {found.code for found in await check(library_services, documents=100)} == {
        "CHUNK_ALTERED",
        "CHUNK_MISPLACED",
    }


RETRIEVED: Final = {
    "text": "UPDATE chunks SET text = replace(text, 'N', 'kN') WHERE chunk_id = '{}'",
    "offsets": "UPDATE chunks SET char_end = char_end + 1 WHERE chunk_id = '{}'",
    "headings": "UPDATE chunks SET heading_path = '{{Another}}' WHERE chunk_id = '{}'",
    "sections": "UPDATE chunks SET section_starts = '{{1}}', section_names = '{{Another}}' WHERE chunk_id = '{}'",
    "place": "UPDATE chunks SET ordinal = 2000000000 WHERE chunk_id = '{}'",
    "title": "UPDATE documents SET title = 'Another' WHERE document_id = "
    "(SELECT document_id FROM chunks WHERE chunk_id = '{}')",
    "source": "UPDATE documents SET source_reference = 'another.pdf' WHERE document_id = "
    "(SELECT document_id FROM chunks WHERE chunk_id = '{}')",
    "digest": "UPDATE documents SET chunk_digests = '' WHERE document_id = "
    "(SELECT document_id FROM chunks WHERE chunk_id = '{}')",
    "deleted": "DELETE FROM chunks WHERE chunk_id = '{}'",
}


@pytest.mark.contract("IX-3")
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", RETRIEVED)
async def test_an_altered_chunk_never_reaches_the_prompt(
    engine: Engine, library_services: Services, library: str, name: str, cached: bool
) -> None:
    """With and without the vectors and words that the process remembers from earlier searches."""
    best = ids(await retrieve(library_services))[0]
    if cached:
        for _ in range(2):
            await retrieve(library_services)
    alter(library, RETRIEVED[name].format(best))
    response = await engine.ask({"question": QUESTION})
    state = await engine.state(response.run_id)
    if name == "deleted" and not cached:  # no search finds it, so only the check of the whole index can
        assert best not in str(state)
        return
    assert (response.status, response.failure_code, response.answer) == ("FAILED", "CHUNK_ALTERED", "")
    assert best in response.message
    assert {"retrieval", "assembly", "prompt", "generation"} & {key for key, value in state.items() if value} == set()
    assert rows(library, "SELECT failure_reason, prompt_sha256 FROM validations") == [("CHUNK_ALTERED", None)]


@pytest.mark.contract("IX-3")
async def test_a_chunk_that_was_altered_with_its_digest_changes_the_index_version(
    library_services: Services, library: str
) -> None:
    """An owner who also computes all digests again is consistent, and the index version is another one."""
    before = (await library_services.index.open_collection(COLLECTION)).index_version
    alter(
        library,
        f"UPDATE documents SET contents_digest = {OTHER_DIGEST} WHERE {OWN}",
        "UPDATE collections SET documents_digest = (SELECT sha256(string_agg(contents_digest, ''::bytea "
        "ORDER BY contents_digest)) FROM documents)",
    )
    assert "INDEX_VERSION_ALTERED" not in {found.code for found in await check(library_services)}
    assert (await library_services.index.open_collection(COLLECTION)).index_version != before


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE postings SET packed = packed || '\\x00'::bytea WHERE {WORD}",
        "UPDATE lexemes SET chunks = 2000000 WHERE lexeme = 'torqu'",
    ],
)
async def test_damage_that_stops_a_search_has_a_code(library_services: Services, library: str, statement: str) -> None:
    alter(library, statement)
    with pytest.raises(StoreError) as raised:
        await retrieve(library_services, policy=policy_with())
    assert raised.value.failure_code == "INDEX_DAMAGED"
    assert "index check --contents" in raised.value.next_step


AWKWARD: Final = """# Ünïcode "quoted" \\ heading, {braces}

The pump runs at 5 bar: 漢字, 💧, a\u0301, \u00ad soft, tab\there. -

## Second | heading

Another paragraph of the well-known pump-
house, with '7:seven' and ,commas, and a long hyphen-ation.
"""


@pytest.mark.contract("IX-3")
async def test_an_older_database_gets_the_same_digests(
    library_services: Services, engine: Engine, library: str, tmp_path: Path
) -> None:
    """The migration computes in SQL what ingest computes, and runs of an older index version stay verified.

    The chunks of an older database do not know their sections. `check` compares with the digests of ingest.
    """
    (tmp_path / "awkward.md").write_text(AWKWARD, "utf-8")
    await ingest(library_services, tmp_path, embedder="minilm", equipment_id="Ü:1,-", event_date="0800-01-02")
    await library_services.index.create_collection("empty", "lexical", "lexical", 0, "structure_v1:320")
    alter(library, f"UPDATE collections SET documents_digest = {OTHER_DIGEST} WHERE name = 'default'")
    old = await engine.ask({"question": QUESTION})
    rows(library, "ALTER TABLE documents DROP COLUMN chunk_digests, DROP COLUMN contents_digest")
    rows(library, "ALTER TABLE chunks DROP COLUMN section_starts, DROP COLUMN section_names")
    rows(library, "DELETE FROM schema_migrations WHERE version IN (16, 26)")
    async with open_pool(library, max_size=1) as pool:
        assert [migration.version for migration in await migrate(pool)] == [16, 26]
    assert await check(library_services) == []
    new = await engine.ask({"question": QUESTION})
    assert (old.status, new.status, old.answer) == ("OK", "OK", new.answer)
    versions = {found for (found,) in rows(library, "SELECT index_version FROM validations")}
    assert len(versions) == 2
    assert (await library_services.audit_log.verify()).broken is None
    (summary,) = await library_services.run_log.find_runs(old.run_id)
    recorded = await read_run(PostgresHistory(library_services.pool), summary)
    report = await verify(recorded, load_shipped_release())
    assert isinstance(report, RunReport)
    assert report.verdict is ReplayStatus.MATCH

"""Ingesting again: what is gone goes, what did not change keeps its ids, and a watch sees what happens."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.request import Filters, Run
from sourcebound.graph.workflow import new_id
from sourcebound.ingest.poll import watch_changes
from sourcebound.wiring import Services
from support.processes.commands import Program, end
from support.processes.databases import COLLECTION, PARSER, ingest, rows, single
from support.processes.homes import wait_until

DOCUMENTS = "SELECT knowledge_id FROM documents ORDER BY knowledge_id"
COUNTS = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM pages), (SELECT count(*) FROM chunks)"
FOUND = "SELECT count(*) FROM chunks WHERE search @@ plainto_tsquery('english', %s)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    (root / "sub").mkdir(parents=True)
    (root / "pump.md").write_text("# Pump\n\nThe pump runs at 5 bar.\n")
    (root / "valve.txt").write_text("The valve is closed by hand.\n")
    (root / "sub" / "filter.md").write_text("# Filter\n\nThe filter is changed every week.\n")
    return root


async def _candidates(services: Services, question: str) -> set[str]:
    policy = load_shipped_policy("SOURCEBOUND_LEXICAL_V1")
    run = Run(
        request_id=new_id(),
        run_id=new_id(),
        thread_id="thread",
        question=question,
        collection=COLLECTION,
        filters=Filters(),
        model="extractive",
        policy_version=policy.policy_version,
        policy_sha256=policy.sha256,
        entry="question",
        started_at="2025-01-01T00:00:00+00:00",
    )
    bundle = await services.retriever.retrieve(run, policy)
    return {row["knowledge_id"] for row in bundle.model_dump()["results"]}


async def test_a_file_that_is_gone_is_removed_and_nothing_else(
    services: Services, database: str, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "library-of-others" / "other.md"
    other.parent.mkdir()
    other.write_text("# Other\n\nNobody asked about this.\n")
    await ingest(services, folder)
    await ingest(services, other)
    await ingest(services, folder, collection="another")
    other.unlink()
    (folder / "pump.md").unlink()
    kept = rows(database, "SELECT chunk_id, document_id FROM chunks WHERE text LIKE '%%valve%%' ORDER BY 2")
    summary = await ingest(services, folder, prune=True)
    assert (summary.removed, summary.unchanged, summary.added) == (("pump.md",), 2, 0)
    here = "SELECT knowledge_id FROM documents JOIN collections USING (collection_id) WHERE name = %s ORDER BY 1"
    assert rows(database, here, COLLECTION) == [("other.md",), ("sub/filter.md",), ("valve.txt",)]
    assert rows(database, here, "another") == [("pump.md",), ("sub/filter.md",), ("valve.txt",)]
    assert rows(database, "SELECT chunk_id, document_id FROM chunks WHERE text LIKE '%%valve%%' ORDER BY 2") == kept
    assert rows(database, COUNTS) == [(6, 6, 6)]


async def test_without_prune_a_file_that_is_gone_keeps_its_document(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "pump.md").unlink()
    assert (await ingest(services, folder)).removed == ()
    assert single(database, "SELECT count(*) FROM documents") == 3


@pytest.mark.contract("R1-9")
async def test_a_removed_document_is_found_no_more_and_the_index_has_its_old_name(
    services: Services, folder: Path
) -> None:
    (folder / "pump.md").rename(folder / "pump.later")
    await ingest(services, folder)
    before = await services.index.find_collection(COLLECTION)
    (folder / "pump.later").rename(folder / "pump.md")
    await ingest(services, folder)
    assert await _candidates(services, "What pressure does the pump run at?") == {"pump.md"}
    (folder / "pump.md").unlink()
    await ingest(services, folder, prune=True)
    assert await _candidates(services, "What pressure does the pump run at?") == set()
    assert not await services.index.may_read(None, COLLECTION, "pump.md")
    after = await services.index.find_collection(COLLECTION)
    assert before is not None
    assert after == before


async def test_a_folder_that_became_empty_is_emptied(services: Services, database: str, folder: Path) -> None:
    await ingest(services, folder)
    for path in ("pump.md", "valve.txt", "sub/filter.md"):
        (folder / path).unlink()
    summary = await ingest(services, folder, prune=True)
    assert (len(summary.removed), summary.skipped) == (3, ())
    assert rows(database, COUNTS) == [(0, 0, 0)]


async def test_what_cannot_be_read_or_is_not_there_at_all_is_no_proof(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "pump.md").write_bytes(b"")
    (folder / "valve.txt.meta.toml").write_text("title = [")
    folder.joinpath("sub").rename(folder.with_name("elsewhere"))
    summary = await ingest(services, folder / "sub", prune=True)
    assert ([skipped.code for skipped in summary.skipped], summary.removed) == (["PATH_MISSING"], ())
    folder.with_name("elsewhere").rename(folder / "sub")
    summary = await ingest(services, folder, prune=True)
    assert (sorted(skipped.code for skipped in summary.skipped), summary.removed) == (["BAD_SIDECAR", "EMPTY"], ())
    assert single(database, "SELECT count(*) FROM documents") == 3


async def test_a_file_outside_of_the_search_is_not_gone(services: Services, database: str, folder: Path) -> None:
    (folder / ".hidden.md").write_text("# Hidden\n\nNamed by itself, it is ingested.\n")
    await ingest(services, folder / ".hidden.md")
    summary = await ingest(services, folder, prune=True)
    assert (summary.removed, summary.added, summary.unchanged) == ((), 3, 0)
    assert (".hidden.md",) in rows(database, DOCUMENTS)


async def test_a_file_that_goes_by_another_name_leaves_nothing_under_its_old_one(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "pump.md.meta.toml").write_text('knowledge_id = "HP-200"\n')
    assert (await ingest(services, folder, prune=True)).removed == ("pump.md",)
    assert rows(database, DOCUMENTS) == [("HP-200",), ("sub/filter.md",), ("valve.txt",)]
    assert (await ingest(services, folder, prune=True)).removed == ()


async def test_a_file_that_moved_is_added_before_its_old_place_is_removed(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "pump.md").rename(folder / "sub" / "pump.md")
    summary = await ingest(services, folder, prune=True)
    assert (summary.added, summary.removed) == (1, ("pump.md",))
    assert rows(database, DOCUMENTS) == [("sub/filter.md",), ("sub/pump.md",), ("valve.txt",)]


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    services: Services, database: str, folder: Path
) -> None:
    assert (await ingest(services, folder, dry_run=True)).added == 3
    assert rows(database, "SELECT count(*) FROM collections") == [(0,)]
    await ingest(services, folder)
    before = rows(database, "SELECT *, xmin::text FROM documents ORDER BY 1")
    (folder / "pump.md").unlink()
    (folder / "valve.txt").write_text("The valve is closed by a motor.\n")
    (folder / "new.md").write_text("# New\n\nThis is new.\n")
    summary = await ingest(services, folder, prune=True, dry_run=True)
    assert (summary.added, summary.replaced, summary.unchanged, summary.removed) == (1, 1, 1, ("pump.md",))
    assert rows(database, "SELECT *, xmin::text FROM documents ORDER BY 1") == before


@pytest.mark.contract("R1-9")
async def test_chunks_whose_text_did_not_change_keep_their_ids(services: Services, database: str, folder: Path) -> None:
    sections = [f"# Section {n}\n\n" + f"Sentence about subject {n}. " * 60 for n in range(6)]
    path = folder / "pump.md"
    path.write_text("\n\n".join(sections))
    await ingest(services, path)
    ids = "SELECT chunk_id FROM chunks WHERE heading_path[1] = %s ORDER BY 1"
    before = {n: rows(database, ids, f"Section {n}") for n in range(6)}
    assert all(before.values())
    sections[2] = "# Section 2\n\n" + "This was written anew. " * 60
    path.write_text("\n\n".join(["# Preface\n\n" + "It is new. " * 60, *sections]))
    assert (await ingest(services, path)).replaced == 1
    after = {n: rows(database, ids, f"Section {n}") for n in range(6)}
    assert {n for n in range(6) if after[n] == before[n]} == {0, 1, 3, 4, 5}


async def test_an_unchanged_file_is_never_parsed(services: Services, folder: Path) -> None:
    await ingest(services, folder)

    class Refusing:
        processes = 1
        seconds = 30.0

        def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
            raise AssertionError(f"{path} was parsed")

    for path in folder.rglob("*.*"):
        os.utime(path, (1, 1))
    assert (await ingest(services, folder, parser=Refusing())).unchanged == 3


async def test_equal_size_and_time_do_not_hide_a_change(services: Services, database: str, folder: Path) -> None:
    await ingest(services, folder)
    before = (folder / "pump.md").stat()
    (folder / "pump.md").write_text("# Pump\n\nThe pump runs at 7 bar.\n")
    os.utime(folder / "pump.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (folder / "pump.md").stat().st_size == before.st_size
    assert (await ingest(services, folder)).replaced == 1
    assert single(database, FOUND, "runs 7 bar") == 1


async def test_what_is_stored_is_what_the_digest_is_of(services: Services, database: str, folder: Path) -> None:
    """A file that changes while it is read is stored with the digest of what was read, so that it is read again."""
    path = folder / "pump.md"

    class Meanwhile:
        processes = 1
        seconds = 30.0

        def parse(self, _path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
            path.write_text("# Pump\n\nThe pump runs at 9 bar.\n")
            return PARSER.parse(_path, data, max_bytes)

    await ingest(services, path, parser=Meanwhile())
    assert single(database, FOUND, "runs 5 bar") == 1
    assert (await ingest(services, path)).replaced == 1
    assert single(database, FOUND, "runs 9 bar") == 1


async def test_a_word_broken_at_the_end_of_a_line_is_found_and_stays_as_it_stands(
    services: Services, database: str, folder: Path
) -> None:
    (folder / "fire.txt").write_text("The extin-\nguisher hangs at the door.\n")
    await ingest(services, folder)
    assert single(database, FOUND, "extinguisher") == 1
    stored = (
        "SELECT k.text, substr(p.text, k.char_start + 1, k.char_end - k.char_start) FROM chunks k "
        "JOIN pages p USING (document_id, page_index) WHERE k.text LIKE '%%extin%%'"
    )
    assert rows(database, stored) == [("The extin-\nguisher hangs at the door.",) * 2]


async def test_a_watch_wakes_when_files_stand_still_again(folder: Path) -> None:
    rounds = watch_changes([folder], poll_seconds=0.05)
    async with asyncio.timeout(30):
        await anext(rounds)
        (folder / "pump.md").write_text("# Pump\n\nThe pump runs at 6 bar.\n")
        await anext(rounds)
        (folder / "valve.txt.meta.toml").write_text('title = "Valve"\n')
        await anext(rounds)
        (folder / "valve.txt").unlink()
        await anext(rounds)
    await rounds.aclose()


async def test_a_watch_sleeps_while_nothing_changes_or_something_still_does(folder: Path) -> None:
    rounds = watch_changes([folder], poll_seconds=0.3)
    await anext(rounds)
    waiting = asyncio.ensure_future(anext(rounds))
    await asyncio.sleep(1)
    assert not waiting.done()
    for number in range(50):
        (folder / "pump.md").write_text("x" * number)
        await asyncio.sleep(0.02)
        assert not waiting.done()
    async with asyncio.timeout(30):
        await waiting
    await rounds.aclose()


@pytest.fixture
def program(database: str) -> Program:
    return Program({"DATABASE_URL": database, "SOURCEBOUND_COLLECTION": COLLECTION, "SOURCEBOUND_EMBEDDER": "lexical"})


def test_a_watch_follows_its_files_until_it_is_stopped(database: str, program: Program, folder: Path) -> None:
    process = program.start("ingest", folder, "--watch", "--prune")
    wait_until(lambda: single(database, "SELECT count(*) FROM documents") == 3)
    (folder / "new.md").write_text("# New\n\nThe compressor is new.\n")
    wait_until(lambda: single(database, FOUND, "compressor") == 1)
    (folder / "new.md").write_text("# New\n\nThe turbine is new.\n")
    wait_until(lambda: single(database, FOUND, "turbine") == 1)
    assert single(database, FOUND, "compressor") == 0
    (folder / "new.md").unlink()
    wait_until(lambda: single(database, FOUND, "turbine") == 0)
    done = end(process, signal.SIGINT)
    assert done.code == 0, done.stderr
    assert "Watching for changes. Press Ctrl-C to stop." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_watch_outlives_its_database_connection(database: str, program: Program, folder: Path) -> None:
    process = program.start("ingest", folder, "--watch")
    wait_until(lambda: single(database, "SELECT count(*) FROM documents") == 3)
    rows(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    (folder / "new.md").write_text("# New\n\nThe compressor is new.\n")
    wait_until(lambda: single(database, FOUND, "compressor") == 1)
    assert end(process, signal.SIGINT).code == 0


def test_the_command_prunes_and_says_so(database: str, program: Program, folder: Path) -> None:
    assert program("ingest", folder).code == 0
    (folder / "pump.md").unlink()
    asked = program("ingest", folder, "--prune", "--dry-run")
    assert (asked.code, "1 removed" in asked.stdout, "would remove pump.md" in asked.stdout) == (0, True, True)
    assert "nothing was written" in asked.stdout
    assert single(database, "SELECT count(*) FROM documents") == 3
    done = program("ingest", folder, "--prune")
    assert (done.code, "removed pump.md" in done.stdout) == (0, True)
    assert rows(database, DOCUMENTS) == [("sub/filter.md",), ("valve.txt",)]


def test_a_watch_of_nothing_and_a_dry_watch_are_refused(program: Program, folder: Path) -> None:
    assert program("ingest", folder / "missing", "--watch").code == 2
    done = program("ingest", folder, "--watch", "--dry-run")
    assert (done.code, "exclude each other" in done.stderr) == (2, True)

"""The list of documents, and how one leaves: nothing finds it, no evidence of it is served, the rest stays."""

import json
from pathlib import Path

import pytest

from sourcebound.cli.corpus.documents import suggest_ids
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.processes.commands import Program
from support.processes.databases import COLLECTION, ingest, rows

DOCUMENTS = "SELECT c.name, d.knowledge_id FROM documents d JOIN collections c USING (collection_id) ORDER BY 1, 2"
COUNTS = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM pages), (SELECT count(*) FROM chunks)"
QUESTION = "To what torque are the gland bolts of the HP-200 tightened?"
TEXT = "The gland bolts of the HP-200 are tightened to 27 N·m in revision C."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "bolts.txt").write_text(f"{TEXT}\n")
    (folder / "canteen.txt").write_text("The canteen opens at noon.\n")
    (folder / "pump.md").write_text("# Pump\x1b[2J manual\n\nRevision: C\n\nEffective date: 2024-03-04\n\nIt runs.\n")
    return folder


@pytest.fixture
def program(database: str) -> Program:
    return Program({"DATABASE_URL": database, "SOURCEBOUND_COLLECTION": COLLECTION, "SOURCEBOUND_EMBEDDER": "lexical"})


async def _found(engine: Engine) -> set[str]:
    report = await engine.search({"question": QUESTION, "collection": COLLECTION})
    return {row.knowledge_id for row in report.candidates}


async def test_documents_are_listed_with_what_is_known_of_them(
    services: Services, program: Program, folder: Path
) -> None:
    await ingest(services, folder)
    done = program("documents", "list", "--json")
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [document["knowledge_id"] for document in listed] == ["bolts.txt", "canteen.txt", "pump.md"]
    assert listed[2].pop("ingested_at").startswith("20")
    assert listed[2] == {
        "knowledge_id": "pump.md",
        "title": "Pump\x1b[2J manual",
        "source_path": str(folder / "pump.md"),
        "chunks": 1,
        "revision": "C",
        "event_date": "2024-03-04",
        "labels": [],
        "pages": 1,
    }


async def test_the_list_for_people_leaves_their_terminal_alone(
    services: Services, program: Program, folder: Path
) -> None:
    await ingest(services, folder)
    done = program("documents", "list")
    assert done.code == 0
    lines = done.stdout.splitlines()
    assert lines[4].startswith("pump.md  1 chunks  rev. C  2024-03-04  ingested 20")
    assert lines[5] == f"    Pump[2J manual · {folder / 'pump.md'}"
    assert "\x1b" not in done.stdout


def test_a_collection_that_is_not_there_is_named(program: Program) -> None:
    for arguments in (["list"], ["remove", "pump.md", "--yes"]):
        done = program("documents", *arguments, "--collection", "none")
        assert (done.code, done.stdout) == (2, "")
        assert "there is no collection 'none'. [COLLECTION_NOT_FOUND]" in done.stderr


@pytest.mark.contract("R6-7")
async def test_a_removed_document_is_found_by_nothing_and_its_evidence_is_refused(
    services: Services, database: str, program: Program, folder: Path
) -> None:
    await ingest(services, folder / "canteen.txt")
    without = await services.index.find_collection(COLLECTION)
    await ingest(services, folder / "bolts.txt")
    await ingest(services, folder, collection="other")
    engine = Engine(services)
    answered = await engine.ask({"question": QUESTION, "collection": COLLECTION})
    assert (answered.status, await engine.evidence(answered.run_id, "C0")) == ("OK", TEXT)
    assert await _found(engine) == {"bolts.txt"}
    done = program("documents", "remove", "bolts.txt", "--yes")
    assert (done.code, done.stdout) == (0, f"removed bolts.txt (1 chunks)  {folder / 'bolts.txt'}\n")
    assert "runs erase RUN" in done.stderr
    assert await _found(engine) == set()
    with pytest.raises(RequestError) as refused:
        await engine.evidence(answered.run_id, "C0")
    assert refused.value.failure_code == "ACCESS_REFUSED"
    assert await services.index.find_collection(COLLECTION) == without
    others = [("other", name) for name in ("bolts.txt", "canteen.txt", "pump.md")]
    assert rows(database, DOCUMENTS) == [(COLLECTION, "canteen.txt"), *others]
    assert rows(database, COUNTS) == [(4, 4, 4)]


async def test_an_unknown_id_removes_nothing_and_names_the_nearest(
    services: Services, database: str, program: Program, folder: Path
) -> None:
    await ingest(services, folder)
    before = rows(database, DOCUMENTS)
    for options in (["--yes"], ["--dry-run"], []):
        done = program("documents", "remove", "canteen.txt", "bolt.txt", "PUMP", *options)
        assert (done.code, done.stdout) == (2, "")
        assert "has no document 'bolt.txt', 'PUMP'. Nothing was changed. [DOCUMENT_NOT_FOUND]" in done.stderr
        assert "Next: Nearest: 'bolts.txt', 'pump.md'" in done.stderr
    assert rows(database, DOCUMENTS) == before


async def test_nothing_is_removed_without_a_word(
    services: Services, database: str, program: Program, folder: Path
) -> None:
    await ingest(services, folder)
    before = rows(database, DOCUMENTS)
    asked = program("documents", "remove", "bolts.txt", "pump.md")
    assert asked.code == 2
    refusal = "this would remove 'bolts.txt', 'pump.md' from the collection 'default'. Nothing was removed."
    assert refusal in asked.stderr
    assert "[NOT_CONFIRMED]" in asked.stderr
    dry = program("documents", "remove", "bolts.txt", "bolts.txt", "--dry-run", "--yes")
    assert (dry.code, dry.stdout) == (0, f"would remove bolts.txt (1 chunks)  {folder / 'bolts.txt'}\n")
    assert rows(database, DOCUMENTS) == before


async def test_a_removed_document_comes_back_with_its_file(
    services: Services, database: str, program: Program, folder: Path
) -> None:
    await ingest(services, folder)
    whole = rows(database, DOCUMENTS), await services.index.find_collection(COLLECTION)
    assert program("documents", "remove", "bolts.txt", "pump.md", "--yes").code == 0
    assert (await ingest(services, folder)).added == 2
    assert (rows(database, DOCUMENTS), await services.index.find_collection(COLLECTION)) == whole


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("manual", ["a/manual.pdf", "b/Manual.pdf"]), ("vavle.md", ["valve.md"]), ("zzz", [])],
)
def test_the_nearest_ids_hold_what_was_written_or_are_spelt_alike(wanted: str, found: list[str]) -> None:
    assert suggest_ids(wanted, ["a/manual.pdf", "b/Manual.pdf", "valve.md"]) == found

"""Labels of documents: given on the command line and over HTTP, recorded with each run, and checked at each read."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sourcebound.api.callers import Caller
from sourcebound.contracts.corpus.document import ParsedDocument
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.history import verify_history
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import Services, open_services
from support.processes.commands import Program
from support.processes.databases import PARSER, Cluster, ingest, rows, settings_for, single
from support.processes.http_server import Served, served_over

pytestmark = pytest.mark.contract("R6-7")
LABELS = "SELECT knowledge_id, labels FROM documents ORDER BY 1"
QUESTION = "At what pressure is the zanzibar valve opened?"
ANSWER = "The zanzibar valve is opened at 4.7 bar."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "valve.txt").write_text(f"{ANSWER}\n")
    (folder / "canteen.txt").write_text("The canteen opens at noon.\n")
    return folder


@pytest.fixture
def program(database: str) -> Program:
    return Program({"DATABASE_URL": database, "SOURCEBOUND_EMBEDDER": "lexical"})


def test_an_ingest_gives_changes_keeps_and_removes_labels(program: Program, database: str, folder: Path) -> None:
    first = program("ingest", str(folder), "--label", "qa", "--label", "confidential")
    assert first.code == 0, first.stderr
    both = ["confidential", "qa"]
    assert rows(database, LABELS) == [("canteen.txt", both), ("valve.txt", both)]
    (folder / "canteen.txt").write_text("The canteen opens at one.\n")
    (folder / "new.txt").write_text("The lift is repaired.\n")
    assert "1 added, 1 replaced, 1 unchanged, 0 skipped" in program("ingest", str(folder)).stdout
    assert rows(database, LABELS) == [("canteen.txt", both), ("new.txt", []), ("valve.txt", both)]
    planned = program("ingest", str(folder), "--label", "qa", "--dry-run").stdout
    assert "3 unchanged, 3 with other labels, 0 skipped; nothing was written" in planned
    assert rows(database, LABELS) == [("canteen.txt", both), ("new.txt", []), ("valve.txt", both)]
    assert "3 unchanged, 3 with other labels" in program("ingest", str(folder), "--label", "qa").stdout
    assert {tuple(labels) for _, labels in rows(database, LABELS)} == {("qa",)}
    assert "3 unchanged, 3 with other labels" in program("ingest", str(folder), "--no-labels").stdout
    assert {tuple(labels) for _, labels in rows(database, LABELS)} == {()}


def test_a_metadata_file_gives_changes_and_removes_labels(program: Program, database: str, folder: Path) -> None:
    sidecar, chunks = folder / "valve.txt.meta.toml", "SELECT chunk_no FROM chunks ORDER BY 1"
    sidecar.write_text('labels = ["qa", "hr"]')
    assert program("ingest", str(folder)).code == 0
    assert rows(database, LABELS) == [("canteen.txt", []), ("valve.txt", ["hr", "qa"])]
    stored = rows(database, chunks)
    sidecar.write_text('labels = ["hr"]')
    planned = program("ingest", str(folder), "--dry-run").stdout
    assert "2 unchanged, 1 with other labels, 0 skipped; nothing was written" in planned
    assert rows(database, LABELS)[1] == ("valve.txt", ["hr", "qa"])
    assert "2 unchanged, 1 with other labels" in program("ingest", str(folder)).stdout
    assert rows(database, LABELS) == [("canteen.txt", []), ("valve.txt", ["hr"])]
    assert rows(database, chunks) == stored  # nothing was read again
    assert "2 with other labels" in program("ingest", str(folder), "--label", "all").stdout
    assert {tuple(labels) for _, labels in rows(database, LABELS)} == {("all",)}
    sidecar.write_text("labels = []")
    (folder / "valve.txt").write_text("The zanzibar valve is closed.\n")
    assert "1 replaced, 1 unchanged" in program("ingest", str(folder)).stdout
    assert rows(database, LABELS) == [("canteen.txt", ["all"]), ("valve.txt", [])]
    sidecar.write_text('labels = ["two words"]')
    refused = program("ingest", str(folder))
    assert refused.code != 0
    assert (
        "[BAD_SIDECAR] valve.txt.meta.toml has an invalid labels: it is not a list of at most 32 labels"
        in refused.stderr
    )
    assert rows(database, LABELS)[1] == ("valve.txt", [])


async def test_a_stored_document_gets_the_labels_of_its_metadata_file_even_if_it_cannot_be_read_now(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "valve.txt").write_bytes(b"\0\1\2" * 300)
    (folder / "valve.txt.meta.toml").write_text('labels = ["hr"]')
    done = await ingest(services, folder)
    assert (len(done.skipped), done.relabelled) == (1, 1)
    assert rows(database, LABELS) == [("canteen.txt", []), ("valve.txt", ["hr"])]


def test_labels_are_listed_and_changed_without_an_ingest(program: Program, database: str, folder: Path) -> None:
    program("ingest", str(folder), "--label", "qa")
    (first, _) = [json.loads(line) for line in program("documents", "list", "--json").stdout.splitlines()]
    assert first["labels"] == ["qa"]
    assert "labels qa  ingested" in program("documents", "list").stdout
    changed = program("documents", "label", "valve.txt", "--label", "hr", "--label", "qa")
    assert changed.stdout == "valve.txt  labels qa -> hr qa\n"
    assert rows(database, LABELS) == [("canteen.txt", ["qa"]), ("valve.txt", ["hr", "qa"])]
    assert program("documents", "label", "valve.txt", "canteen.txt", "--no-labels").code == 0
    assert rows(database, LABELS) == [("canteen.txt", []), ("valve.txt", [])]


async def test_stored_documents_get_labels_before_anything_is_read(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder)
    (folder / "canteen.txt").write_text("The canteen opens at noon. " * 99)
    (folder / "lift.txt").write_text("The lift is repaired.\n")

    class Broken:
        processes = 1
        seconds = 30.0

        def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
            raise RuntimeError(path.name)

    with pytest.raises(RuntimeError, match="lift"):
        await ingest(services, folder, labels=("qa",), max_bytes=999, parser=Broken())
    assert rows(database, LABELS) == [("canteen.txt", ["qa"]), ("valve.txt", ["qa"])]
    done = await ingest(services, folder, labels=("hr",), max_bytes=999)
    assert ([each.code for each in done.skipped], done.relabelled) == (["TOO_LARGE"], 2)
    assert {tuple(labels) for _, labels in rows(database, LABELS)} == {("hr",)}


class Meanwhile:
    """A parser that runs a statement before it reads a file, as another process does meanwhile."""

    processes = 1
    seconds = 30.0

    def __init__(self, database: str, statement: str) -> None:
        self.database, self.statement = database, statement

    def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
        rows(self.database, self.statement)
        return PARSER.parse(path, data, max_bytes)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("administrator", [["audit"], []])
async def test_labels_that_an_administrator_gives_during_an_ingest_stay(
    services: Services, database: str, folder: Path, in_file: bool, administrator: list[str]
) -> None:
    (folder / "canteen.txt").unlink()
    await ingest(services, folder, labels=("old",))
    (folder / "valve.txt").write_text("The zanzibar valve is closed.\n")
    if in_file:
        (folder / "valve.txt.meta.toml").write_text('labels = ["qa"]')
    parser = Meanwhile(database, f"UPDATE documents SET labels = '{{{','.join(administrator)}}}'")
    done = await ingest(services, folder, labels=None if in_file else ("qa",), parser=parser)
    assert done.replaced == 1
    assert rows(database, LABELS) == [("valve.txt", administrator)]
    assert single(database, "SELECT text FROM chunks") == "The zanzibar valve is closed."
    await ingest(services, folder, labels=("qa",))  # the next ingest decides later
    assert rows(database, LABELS) == [("valve.txt", ["qa"])]


async def test_labels_are_given_only_to_documents_that_still_have_those_that_were_read(
    services: Services, database: str, folder: Path
) -> None:
    await ingest(services, folder, labels=("old",))
    rows(database, "UPDATE documents SET labels = '{audit}' WHERE knowledge_id = 'valve.txt'")
    found = await services.index.open_collection("default")
    seen = {"valve.txt": ["old"], "canteen.txt": ["old"]}
    assert await services.index.label_documents(found.collection_id, list(seen), ["qa"], seen) == 1
    assert rows(database, LABELS) == [("canteen.txt", ["qa"]), ("valve.txt", ["audit"])]


async def test_a_document_that_two_ingests_make_at_once_gets_the_labels_of_both(
    services: Services, database: str, folder: Path
) -> None:
    (folder / "canteen.txt").unlink()

    class Other(Meanwhile):
        def parse(self, path: Path, data: bytes, max_bytes: int) -> ParsedDocument:
            asyncio.run(first())
            return PARSER.parse(path, data, max_bytes)

    async def first() -> None:
        async with open_services(settings_for(database)) as other:
            await ingest(other, folder, labels=("hr",))

    await ingest(services, folder, labels=("qa",), parser=Other(database, ""))
    assert rows(database, LABELS) == [("valve.txt", ["hr", "qa"])]


def test_a_removal_says_which_labels_it_removed(program: Program, database: str, folder: Path) -> None:
    program("ingest", str(folder), "--label", "qa", "--label", "hr")
    for option, action in (("--dry-run", "would remove"), ("--yes", "removed")):
        said = program("documents", "remove", "valve.txt", option).stdout
        assert said == f"{action} valve.txt (1 chunks)  labels hr qa  {folder / 'valve.txt'}\n"
    program("ingest", str(folder))
    assert rows(database, LABELS) == [("canteen.txt", ["hr", "qa"]), ("valve.txt", [])]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("valve.txt",), "no label is given"),
        (("valve.txt", "--label", "qa", "--no-labels"), "exclude each other"),
        (("valve.txt", "--label", "two words"), "[BAD_LABEL]"),
        (("valve.txt", *(option for n in range(33) for option in ("--label", f"l{n}"))), "[BAD_LABEL]"),
        (("valve.txt", "vulva.txt", "--label", "qa"), "[DOCUMENT_NOT_FOUND]"),
        (("valve.txt", "--label", "qa", "--collection", "none"), "[COLLECTION_NOT_FOUND]"),
    ],
)
def test_labels_that_cannot_be_given_change_nothing(
    program: Program, database: str, folder: Path, arguments: tuple[str, ...], code: str
) -> None:
    program("ingest", str(folder), "--label", "hr")
    refused = program("documents", "label", *arguments)
    assert (refused.code, code in refused.stderr) == (2, True), refused.stderr
    assert rows(database, LABELS) == [("canteen.txt", ["hr"]), ("valve.txt", ["hr"])]


@pytest.fixture(scope="module")
def own(cluster: Cluster, migrated: str) -> Iterator[Served]:
    """A server over a database of its own, to which each test uploads."""
    database = cluster.create(migrated)
    with served_over(database, embedder="lexical", ingest_database_url=None) as served:
        yield served
    cluster.drop(database)


@pytest.fixture
async def keys(own: Served) -> AsyncIterator[dict[str, Any]]:
    """Headers of callers of all scopes, by their labels; `any` is restricted by none. Documents are gone at the end."""
    scopes = ("ask", "read", "ingest")
    async with open_services(settings_for(own.database)) as services:
        held = {"any": None, "none": [], "qa": ["qa"], "both": ["hr", "qa"]}
        made = {name: await services.api_keys.make(name, scopes, None, None, labels) for name, labels in held.items()}
    yield {name: {"authorization": f"Bearer {key.text}"} for name, key in made.items()}
    rows(own.database, "DELETE FROM collections")


def upload(own: Served, headers: Any, text: str, *labels: str, name: str = "valve.txt") -> httpx.Response:
    files = [("file", (name, text.encode()))]
    data = {"label": list(labels)} if labels else None
    return own.client.post("/v1/collections/valves/documents", files=files, data=data, headers=headers)


def labels_of(own: Served) -> list[str]:
    found: list[str] = single(own.database, "SELECT labels FROM documents WHERE knowledge_id = 'valve.txt'")
    return found


def test_an_upload_gives_labels_that_its_caller_holds(own: Served, keys: dict[str, Any]) -> None:
    assert upload(own, keys["both"], ANSWER, "qa", "hr", "qa").status_code == 200
    assert labels_of(own) == ["hr", "qa"]
    assert upload(own, keys["any"], "Another text.").json()["files"][0]["outcome"] == "replaced"
    assert labels_of(own) == ["hr", "qa"]
    assert upload(own, keys["any"], "Another text.", "qa").json()["files"][0]["outcome"] == "unchanged"
    assert labels_of(own) == ["qa"]
    for headers, labels in ((keys["qa"], ("qa", "hr")), (keys["none"], ("qa",))):
        refused = upload(own, headers, "A third text.", *labels)
        assert (refused.status_code, refused.json()["code"]) == (403, "LABEL_FORBIDDEN")
    refused = upload(own, keys["any"], "A third text.", "two words")
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_REQUEST")
    assert labels_of(own) == ["qa"]


def test_a_metadata_file_of_an_upload_gives_labels_that_its_caller_holds(own: Served, keys: dict[str, Any]) -> None:
    def send(headers: Any, labels: str) -> httpx.Response:
        files = [("file", ("valve.txt", ANSWER.encode())), ("file", ("valve.txt.meta.toml", labels.encode()))]
        return own.client.post("/v1/collections/valves/documents", files=files, headers=headers)

    assert send(keys["both"], 'labels = ["hr", "qa"]').status_code == 200
    assert labels_of(own) == ["hr", "qa"]
    assert send(keys["any"], 'labels = ["qa"]').json()["files"][0]["outcome"] == "unchanged"
    assert labels_of(own) == ["qa"]
    refused = send(keys["qa"], 'labels = ["hr", "qa"]')
    assert (refused.status_code, refused.json()["code"]) == (403, "LABEL_FORBIDDEN")
    assert "valve.txt.meta.toml" in refused.json()["detail"]
    assert send(keys["both"], "labels = 7").json()["code"] == "BAD_SIDECAR"
    assert labels_of(own) == ["qa"]


@pytest.mark.parametrize("text", [ANSWER, "Another text."])
def test_a_caller_with_labels_adds_labels_to_a_document_and_removes_none(
    own: Served, keys: dict[str, Any], text: str
) -> None:
    def send(name: str, labels: str) -> httpx.Response:
        files = [("file", ("valve.txt", text.encode())), ("file", ("valve.txt.meta.toml", labels.encode()))]
        return own.client.post("/v1/collections/valves/documents", files=files, headers=keys[name])

    upload(own, keys["any"], ANSWER, "qa")
    stored = "SELECT source_digest, labels FROM documents"
    before = rows(own.database, stored)
    for refused in (
        send("both", "labels = []"),
        send("both", 'labels = ["hr"]'),
        upload(own, keys["both"], text, "hr"),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "LABEL_FORBIDDEN")
        assert "valve.txt has labels that this upload would remove. It has qa." in refused.json()["detail"]
        assert rows(own.database, stored) == before
    assert send("both", "").status_code == 200
    assert labels_of(own) == ["qa"]
    assert send("both", 'labels = ["hr", "qa"]').status_code == 200
    assert labels_of(own) == ["hr", "qa"]
    assert send("any", "labels = []").status_code == 200
    assert labels_of(own) == []


def test_one_document_that_may_not_be_opened_stops_no_other_file_of_an_upload(
    own: Served, keys: dict[str, Any]
) -> None:
    upload(own, keys["any"], ANSWER, "hr", "qa")
    files = [("file", ("valve.txt", b"Another text.")), ("file", ("lift.txt", b"The lift is repaired."))]
    sent = own.client.post(
        "/v1/collections/valves/documents", files=files, data={"label": ["qa"]}, headers=keys["both"]
    )
    assert {each["name"]: each["code"] for each in sent.json()["files"]} == {
        "lift.txt": None,
        "valve.txt": "LABEL_FORBIDDEN",
    }
    assert rows(own.database, LABELS) == [("lift.txt", ["qa"]), ("valve.txt", ["hr", "qa"])]


def test_an_upload_replaces_no_document_that_is_hidden_from_its_caller(own: Served, keys: dict[str, Any]) -> None:
    upload(own, keys["any"], ANSWER, "hr")
    before = rows(own.database, "SELECT document_id, labels FROM documents")
    for text in ("Another text.", ANSWER):
        for headers in (keys["none"], keys["qa"]):
            refused = upload(own, headers, text)
            assert (refused.status_code, refused.json()["code"]) == (422, "KNOWLEDGE_ID_TAKEN")
    assert rows(own.database, "SELECT document_id, labels FROM documents") == before


def ask(own: Served, headers: Any) -> Any:
    return own.client.post("/v1/ask", json={"question": QUESTION, "collection": "valves"}, headers=headers).json()


def test_a_run_is_read_by_callers_who_hold_the_labels_of_its_caller(own: Served, keys: dict[str, Any]) -> None:
    upload(own, keys["any"], ANSWER, "qa")
    response = ask(own, keys["qa"])
    assert response["answer"].startswith(ANSWER[:-1])
    path = f"/v1/runs/{response['run_id']}"
    seen = {name: own.client.get(path, headers=headers).status_code for name, headers in keys.items()}
    assert seen == {"any": 200, "none": 404, "qa": 200, "both": 200}
    assert own.client.get(path, headers=keys["any"]).json()["caller_labels"] == ["qa"]
    unrestricted = ask(own, keys["any"])["run_id"]
    assert own.client.get(f"/v1/runs/{unrestricted}", headers=keys["any"]).json()["caller_labels"] is None
    assert own.client.get(f"/v1/runs/{unrestricted}", headers=keys["both"]).status_code == 404
    assert ask(own, keys["none"])["status"] == "NO_EVIDENCE"


def test_a_run_is_hidden_with_a_document_that_it_found(own: Served, keys: dict[str, Any]) -> None:
    upload(own, keys["any"], ANSWER, "qa")
    run_id = ask(own, keys["qa"])["run_id"]
    form = {"run_id": run_id, "rating": "up"}
    rows(own.database, "UPDATE documents SET labels = '{qa,hr}'")
    for name, status in (("qa", 404), ("both", 200), ("any", 200)):
        for path in (f"/v1/runs/{run_id}", f"/v1/evidence/{run_id}/C0"):
            assert (path, own.client.get(path, headers=keys[name]).status_code) == (path, status)
        given = own.client.post("/v1/feedback", json=form, headers=keys[name]).status_code
        assert given == (201 if status == 200 else 404)
    rows(own.database, "DELETE FROM documents")
    assert own.client.get(f"/v1/runs/{run_id}", headers=keys["qa"]).status_code == 200  # its document is not hidden


async def test_the_record_says_which_labels_were_in_force(library_services: Services) -> None:
    engine = Engine(library_services)
    asked = {"collection": "default", "question": "How often is the filter changed?"}
    response = await engine.ask({**asked, "caller_labels": ["qa", "hr", "qa"]})  # type: ignore[typeddict-item]
    state = await engine.state(response.run_id)
    assert state["run"]["caller_labels"] == ["hr", "qa"]
    free = await engine.ask({**asked})  # type: ignore[typeddict-item]
    assert "caller_labels" not in (await engine.state(free.run_id))["run"]
    found = [await library_services.run_log.find_run(each.run_id) for each in (response, free)]
    assert [run and run.caller_labels for run in found] == [["hr", "qa"], None]
    verified = {each.run_id: each.verdict async for each in verify_history(PostgresHistory(library_services.pool))}
    assert verified == {response.run_id: "MATCH", free.run_id: "MATCH"}


@pytest.mark.contract("S-4")
@pytest.mark.parametrize("given", ["qa", ["two words"], [1], {"qa": True}, [f"g{n}" for n in range(257)]])
async def test_labels_that_cannot_be_read_open_nothing(library_services: Services, given: Any) -> None:
    engine = Engine(library_services)
    response = await engine.ask({"question": QUESTION, "collection": "default", "caller_labels": given})
    assert (response.status, response.failure_code) == ("FAILED", "INVALID_REQUEST")
    assert "caller_labels" not in (await engine.state(response.run_id))["run"]
    run = await library_services.run_log.find_run(response.run_id)
    assert run is not None
    assert not Caller(labels=frozenset(["qa"])).may_see(run.caller_labels)  # the most open value would be an empty list

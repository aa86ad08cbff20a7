"""Uploads over HTTP: the ingest of the command line, a report for each file, and nothing left of what failed."""

import asyncio
import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sourcebound.api import limits
from sourcebound.wiring import open_services
from support.processes.databases import MANUALS, Cluster, ingest, rows, settings_for, single
from support.processes.homes import wait_until
from support.processes.http_server import JsonObject, Served, served_over

TEXT = b"The relief valve of the ZQ-9 is set to 7.5 bar. It is checked every 90 days."
QUESTION = "To what pressure is the relief valve of the ZQ-9 set?"
Part = tuple[str, bytes]


@pytest.fixture(scope="module")
def own(cluster: Cluster, migrated: str) -> Iterator[Served]:
    """A server over a database of its own, without documents."""
    database = cluster.create(migrated)
    with served_over(database, embedder="lexical", max_file_megabytes=1, max_upload_megabytes=2) as served:
        yield served
    cluster.drop(database)


def upload(served: Served, collection: str, *parts: Part, **options: Any) -> httpx.Response:
    files = [("file", part) for part in parts]
    return served.client.post(f"/v1/collections/{collection}/documents", files=files, **options)


def stored(served: Served, collection: str) -> list[str]:
    statement = "SELECT knowledge_id FROM documents JOIN collections USING (collection_id) WHERE name = %s ORDER BY 1"
    return [name for (name,) in rows(served.database, statement, collection)]


def collections(served: Served) -> list[str]:
    return [name for (name,) in rows(served.database, "SELECT name FROM collections")]


def outcomes(report: JsonObject) -> dict[str, str]:
    return {file["name"]: file.get("code") or file["outcome"] for file in report["files"]}


@pytest.mark.contract("IX-1")
def test_an_uploaded_document_answers_and_a_second_upload_replaces_it(own: Served) -> None:
    first = upload(own, "valves", ("valve.txt", TEXT)).json()
    assert (outcomes(first), first["files"][0]["knowledge_id"], first["chunks"]) == (
        {"valve.txt": "added"},
        "valve.txt",
        1,
    )
    assert own.ask(QUESTION, collection="valves")["answer"].startswith(
        "The relief valve of the ZQ-9 is set to 7.5 bar."
    )
    assert outcomes(upload(own, "valves", ("valve.txt", TEXT)).json()) == {"valve.txt": "unchanged"}
    changed = TEXT.replace(b"7.5", b"8.5")
    assert outcomes(upload(own, "valves", ("valve.txt", changed)).json()) == {"valve.txt": "replaced"}
    assert own.ask(QUESTION, collection="valves")["answer"].startswith(
        "The relief valve of the ZQ-9 is set to 8.5 bar."
    )
    assert stored(own, "valves") == ["valve.txt"]
    assert (
        single(own.database, "SELECT source_path FROM documents WHERE knowledge_id = 'valve.txt'") == "upload:valve.txt"
    )


@pytest.mark.contract("S-4", "IX-1")
def test_a_file_that_cannot_be_read_does_not_stop_the_others(own: Served) -> None:
    sidecar = b'title = "The relief valve"\nequipment_id = "ZQ-9"\n'
    parts = (("bad.pdf", b"no PDF"), ("good.txt", TEXT), ("good.txt.meta.toml", sidecar), ("lost.txt.meta.toml", b""))
    report = upload(own, "mixed", *parts, data={"authority": "ACME"}).json()
    assert outcomes(report) == {"bad.pdf": "UNREADABLE", "good.txt": "added", "lost.txt.meta.toml": "BAD_SIDECAR"}
    assert all(file["message"] and file["next_step"] for file in report["files"] if file["outcome"] == "skipped")
    found = rows(own.database, "SELECT title, equipment_id, authority FROM documents WHERE authority IS NOT NULL")
    assert found == [("The relief valve", "ZQ-9", "ACME")]


def test_a_stream_carries_the_progress_and_then_the_report(own: Served) -> None:
    answer = upload(own, "streamed", ("valve.txt", TEXT), headers={"accept": "text/event-stream"})
    events = [block.split("\ndata: ") for block in answer.text.strip().split("\n\n")]
    assert [name for name, _ in events][-1] == "event: report"
    assert {name for name, _ in events[:-1]} == {"event: progress"}
    assert outcomes(json.loads(events[-1][1])) == {"valve.txt": "added"}
    refused = upload(own, "nowhere", ("bad.pdf", b"no PDF"), headers={"accept": "text/event-stream"})
    assert '"code": "UNREADABLE"' in refused.text


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\boot.ini", "/etc/cron.d/x", "..", ".hidden", "a\u202etxt.exe", "x" * 201 + ".txt"],
)
def test_no_name_leads_out_of_the_folder_of_the_upload(own: Served, name: str) -> None:
    answer = upload(own, "tricks", (name, TEXT))
    assert (answer.status_code, answer.json()["code"]) == (422, "BAD_NAME")
    assert collections(own).count("tricks") == 0


@pytest.mark.parametrize(
    ("part", "status", "code"),
    [
        (("empty.txt", b" "), 422, "EMPTY"),
        (("bad.docx", b"no archive"), 422, "UNREADABLE"),
        (("large.txt", b"x" * (1 << 20) + b"x"), 413, "TOO_LARGE"),
        (("large.txt", b"x" * 2_000_001), 413, "BODY_TOO_LARGE"),
        (("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600), 422, "UNSUPPORTED"),
    ],
)
def test_an_upload_without_a_document_makes_no_collection(own: Served, part: Part, status: int, code: str) -> None:
    answer = upload(own, "nowhere", part)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert problem["next_step"]
    assert "sourcebound-upload-" not in answer.text
    assert "SOURCEBOUND_" not in answer.text
    assert "nowhere" not in collections(own)


def test_what_is_no_upload_is_a_problem(own: Served) -> None:
    path = "/v1/collections/nowhere/documents"
    kind = "multipart/form-data; boundary=x"
    cut = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nThe valve'
    whole = b'--x\r\nContent-Disposition: form-data; name="file"; filename="+2AA-.txt"\r\n\r\nThe valve\r\n--x--'
    given: list[tuple[JsonObject, int, str]] = [
        ({"json": {}}, 415, "NOT_AN_UPLOAD"),
        ({"content": b"no parts", "headers": {"content-type": kind}}, 400, "MALFORMED_UPLOAD"),
        ({"content": b"", "headers": {"content-type": "multipart/form-data"}}, 400, "MALFORMED_UPLOAD"),
        ({"content": cut, "headers": {"content-type": kind}}, 400, "MALFORMED_UPLOAD"),
        ({"content": whole, "headers": {"content-type": f"{kind}; charset=undefined"}}, 400, "MALFORMED_UPLOAD"),
        ({"content": whole, "headers": {"content-type": f"{kind}; charset=utf-7"}}, 422, "BAD_NAME"),
        ({"files": {"file": ("a.txt.meta.toml", b"")}}, 422, "BAD_SIDECAR"),
        ({"files": {"document": ("a.txt", TEXT)}}, 422, "INVALID_REQUEST"),
        ({"files": {"file": ("a.txt", TEXT)}, "data": {"colour": "red"}}, 422, "INVALID_REQUEST"),
        ({"files": {"file": ("a.txt", TEXT)}, "data": {"event_date": "2024-13-40"}}, 422, "INVALID_REQUEST"),
        ({"files": {"file": ("a.txt", TEXT)}, "data": {"language": "klingon"}}, 422, "UNKNOWN_LANGUAGE"),
        ({"files": [("file", (f"{n}.txt", TEXT)) for n in range(101)]}, 400, "MALFORMED_UPLOAD"),
    ]
    answers = [own.client.post(path, **options) for options, _, _ in given]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(s, c) for _, s, c in given]
    assert "nowhere" not in collections(own)


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("sourcebound-upload-*"))


def test_an_upload_that_is_cut_leaves_nothing(own: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    before = folders()
    address = urlsplit(own.url)
    head = (
        b"POST /v1/collections/nowhere/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nThe valve'
    )
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as cut:
        cut.sendall(head)
        wait_until(lambda: folders() != before)
    wait_until(lambda: folders() == before)
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as slow:
        slow.sendall(head)
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")
    assert folders() == before
    assert "nowhere" not in collections(own)


def test_uploads_over_the_limit_are_refused_at_once(own: Served) -> None:
    address = urlsplit(own.url)
    head = (
        b"POST /v1/collections/nowhere/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    )
    before = folders()
    held = [socket.create_connection((address.hostname or "", address.port or 0), timeout=30) for _ in range(2)]
    try:
        for each in held:
            each.sendall(head)
        wait_until(lambda: len(folders() - before) == 2)
        refused = upload(own, "nowhere", ("a.txt", TEXT))
        assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY_UPLOADS")
        assert refused.headers["retry-after"] == "5"
    finally:
        for each in held:
            each.close()
    wait_until(lambda: folders() == before)


def test_a_file_on_this_machine_keeps_its_document(own: Served, tmp_path: Path) -> None:
    async def ingest_file() -> None:
        async with open_services(settings_for(own.database)) as services:
            await ingest(services, tmp_path, collection="kept")

    file = tmp_path / "valve.txt"
    file.write_bytes(TEXT)
    asyncio.run(ingest_file())
    refused = upload(own, "kept", ("valve.txt", b"Another text."))
    assert (refused.status_code, refused.json()["code"]) == (422, "KNOWLEDGE_ID_TAKEN")
    assert str(tmp_path) not in refused.text
    file.unlink()
    assert outcomes(upload(own, "kept", ("valve.txt", b"Another text.")).json()) == {"valve.txt": "replaced"}
    file.write_bytes(TEXT)
    asyncio.run(ingest_file())
    statement = "SELECT source_path FROM documents JOIN collections USING (collection_id) WHERE name = 'kept'"
    assert single(own.database, statement) == str(file.resolve())


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_uploads_nothing(own: Served, origin: str) -> None:
    refused = upload(own, "nowhere", ("a.txt", TEXT), headers={"origin": origin})
    assert (refused.status_code, refused.json()["code"]) == (403, "FOREIGN_ORIGIN")


@pytest.mark.contract("R5P-8", "R6-7")
async def test_a_key_needs_the_scope_and_the_server_an_account_that_may_store(library: str, application: str) -> None:
    async with open_services(settings_for(library)) as services:
        made = {
            "reader": await services.api_keys.make("reader", ("ask", "read"), ["fresh"], None),
            "editor": await services.api_keys.make("editor", ("ingest",), ["fresh"], None),
        }
    keys = {name: {"authorization": f"Bearer {each.text}"} for name, each in made.items()}
    manual = next(MANUALS.glob("*.docx"))
    part = (manual.name, manual.read_bytes())
    with served_over(application) as served:
        assert upload(served, "fresh", part, headers=keys["reader"]).json()["code"] == "SCOPE_FORBIDDEN"
        assert upload(served, "default", part, headers=keys["editor"]).json()["code"] == "COLLECTION_FORBIDDEN"
        refused = upload(served, "fresh", part, headers=keys["editor"])
        assert (refused.status_code, refused.json()["code"]) == (403, "UPLOADS_NOT_PERMITTED")
    with served_over(application, ingest_database_url=library) as served:
        assert outcomes(upload(served, "fresh", part, headers=keys["editor"]).json()) == {manual.name: "added"}

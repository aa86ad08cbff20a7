"""Pages of kept PDFs over HTTP, and the bytes that they are drawn from."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebound.ingest.pipeline import KEEP_BYTES
from sourcebound.wiring import open_services
from support.pdf_files import write_pdf
from support.processes.commands import Program
from support.processes.databases import Cluster, ingest, rows, settings_for, single
from support.processes.http_server import ANSWER, Served, served_over

MANUAL = "/v1/documents/hp-200-manual-rev-c.pdf/pages/13"
DEFAULT = {"collection": "default"}


@pytest.mark.contract("R6-7")
def test_a_quote_of_an_answer_is_found_on_its_printed_page(served: Served) -> None:
    source = served.client.get(f"/v1/evidence/{served.ask()['run_id']}/C0").json()
    assert source["page"]["has_image"]
    (quote,) = source["page"]["quotes"]
    span = f"{quote['start']}-{quote['end']}"
    marks = served.client.get(f"{MANUAL}/marks", params={**DEFAULT, "span": [span, "0-5"]}).json()
    assert (round(marks["width"]), round(marks["height"])) == (595, 842)
    found, header = marks["spans"]
    (place,) = found["rectangles"]
    assert (found["start"], found["end"]) == (quote["start"], quote["end"])
    assert place["height"] < 15 < 300 < place["width"] < 595 - place["left"]
    assert header["rectangles"][0]["top"] < place["top"] - 100
    page = served.client.get(MANUAL, params=DEFAULT).json()
    assert page["text"][quote["start"] : quote["end"]].split() == ANSWER.split()
    assert page["has_image"]
    image = served.client.get(f"{MANUAL}/image", params={**DEFAULT, "width": 400})
    assert (image.headers["content-type"], image.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(image.content[16:20], "big") in (400, 401)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/documents/shift-handover-policy.txt/pages/1/image?collection=default", 404, "NO_PAGE_IMAGE"),
        (f"{MANUAL}/image?collection=nowhere", 404, "DOCUMENT_NOT_FOUND"),
        (f"{MANUAL}9/image?collection=default", 404, "NO_PAGE_IMAGE"),
        (f"{MANUAL}9/marks?collection=default&span=0-5", 404, "NO_PAGE_IMAGE"),
        (f"{MANUAL}/marks?collection=default", 422, "INVALID_REQUEST"),
        (f"{MANUAL}/marks?collection=default&span=5", 422, "INVALID_REQUEST"),
        (f"{MANUAL}/marks?collection=default{'&span=0-5' * 101}", 422, "INVALID_REQUEST"),
        (f"{MANUAL}/image?collection=default&width=100000", 422, "INVALID_REQUEST"),
        ("/v1/documents/..%2f..%2fetc%2fpasswd/pages/1/image?collection=default", 404, "DOCUMENT_NOT_FOUND"),
    ],
)
def test_a_page_that_cannot_be_shown_is_a_problem(served: Served, path: str, status: int, code: str) -> None:
    answer = served.client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.fixture
def own(cluster: Cluster, migrated: str, tmp_path: Path) -> Iterator[Served]:
    database = cluster.create(migrated)
    write_pdf(tmp_path / "valve.pdf", "The relief valve of the ZQ-9 is set to 7.5 bar.")
    with served_over(database, embedder="lexical") as served:
        yield served
    cluster.drop(database)


def store(served: Served, folder: Path, collection: str, keep_bytes: int = KEEP_BYTES) -> None:
    async def run() -> None:
        async with open_services(settings_for(served.database)) as services:
            await ingest(services, folder, collection=collection, keep_bytes=keep_bytes)

    asyncio.run(run())


def kept(served: Served) -> int:
    return int(single(served.database, "SELECT count(*) FROM source_files"))


@pytest.mark.contract("IX-3")
def test_kept_bytes_are_stored_once_and_go_with_their_last_document(own: Served, tmp_path: Path) -> None:
    store(own, tmp_path, "first")
    store(own, tmp_path, "second")
    assert kept(own) == 1
    program = Program({"DATABASE_URL": own.database})
    assert program("documents", "remove", "valve.pdf", "--collection", "first", "--yes").code == 0
    assert kept(own) == 1
    write_pdf(tmp_path / "valve.pdf", "The relief valve of the ZQ-9 is set to 8.5 bar.")
    store(own, tmp_path, "second")
    assert kept(own) == 1
    assert program("index", "drop", "second", "--yes").code == 0
    assert kept(own) == 0


def test_a_file_is_not_kept_where_the_operator_does_not_want_it(own: Served, tmp_path: Path) -> None:
    store(own, tmp_path, "first", keep_bytes=0)
    assert kept(own) == 0
    page = own.client.get("/v1/documents/valve.pdf/pages/1", params={"collection": "first"}).json()
    assert (page["has_image"], "7.5 bar" in page["text"]) == (False, True)
    part = ("valve.pdf", (tmp_path / "valve.pdf").read_bytes())
    with served_over(own.database, embedder="lexical", keep_file_megabytes=0) as other:
        assert other.client.post("/v1/collections/second/documents", files={"file": part}).status_code == 200
    assert kept(own) == 0
    assert own.client.post("/v1/collections/third/documents", files={"file": part}).status_code == 200
    assert kept(own) == 1


@pytest.mark.contract("IX-3")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE source_files SET content = content || ' '::bytea",
        "UPDATE source_files SET content = content || ' '::bytea, sha256 = sha256(content || ' '::bytea)",
        "UPDATE documents SET digest_suffix = digest_suffix || ' '::bytea",
        "UPDATE documents SET source_digest = sha256('forged')",
    ],
)
def test_an_altered_file_is_never_shown_and_named_by_the_check(own: Served, tmp_path: Path, statement: str) -> None:
    store(own, tmp_path, "first")
    without_keys = "SET session_replication_role = replica; "
    rows(own.database, without_keys + statement)
    if "sha256 = sha256" in statement:
        rows(own.database, without_keys + "UPDATE documents SET file_sha256 = (SELECT sha256 FROM source_files)")
    image = own.client.get("/v1/documents/valve.pdf/pages/1/image", params={"collection": "first"})
    assert (image.status_code, image.json()["code"]) == (500, "FILE_ALTERED")
    checked = Program({"DATABASE_URL": own.database})("index", "check", "--contents", "--collection", "first")
    assert checked.code != 0
    assert "FILE_ALTERED" in checked.stdout + checked.stderr
    assert "valve.pdf" in checked.stdout + checked.stderr

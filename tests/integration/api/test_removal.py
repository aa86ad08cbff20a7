"""The removal of a document over HTTP: it is gone for every later request, and no other document is."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sourcebound.wiring import open_services
from support.processes.databases import Cluster, rows, settings_for
from support.processes.http_server import Served, served_over

STORED = "SELECT c.name, d.knowledge_id FROM documents d JOIN collections c USING (collection_id) ORDER BY 1, 2"
VALVE = "The relief valve of the ZQ-9 is set to 7.5 bar."
QUESTION = "To what pressure is the relief valve of the ZQ-9 set?"


@pytest.fixture(scope="module")
def own(cluster: Cluster, migrated: str) -> Iterator[Served]:
    """A server over a database of its own, without documents."""
    database = cluster.create(migrated)
    with served_over(database, embedder="lexical") as served:
        yield served
    cluster.drop(database)


@pytest.fixture(autouse=True)
async def keys(own: Served) -> AsyncIterator[dict[str, Any]]:
    """Headers of callers by name, over three documents. Keys and documents are gone at the end."""
    for collection, name, labels in (
        ("valves", "valve.txt", []),
        ("valves", "100% sure.txt", ["hr"]),
        ("others", "valve.txt", []),
    ):
        own.client.post(
            f"/v1/collections/{collection}/documents", files={"file": (name, VALVE.encode())}, data={"label": labels}
        )
    async with open_services(settings_for(own.database)) as services:
        make = services.api_keys.make
        made = {
            "any": await make("any", ("ask", "read", "ingest"), None, None),
            "reader": await make("reader", ("ask", "read"), None, None),
            "valves": await make("valves", ("ingest",), ["valves"], None),
            "unlabelled": await make("unlabelled", ("ingest",), ["valves"], None, []),
        }
    yield {name: {"authorization": f"Bearer {key.text}"} for name, key in made.items()}
    rows(own.database, "DELETE FROM api_keys")
    rows(own.database, "DELETE FROM collections")


def remove(own: Served, headers: Any, path: str) -> tuple[int, str | None]:
    """Send the path unchanged, and return the status and the code of the problem."""
    answer = own.client.delete(f"/v1/collections/{path}", headers=headers)
    return answer.status_code, answer.json()["code"] if answer.content else None


@pytest.mark.contract("R6-7", "IX-1")
def test_a_removed_document_is_found_and_served_no_more(own: Served, keys: dict[str, Any]) -> None:
    form = {"question": QUESTION, "collection": "others"}
    before = own.client.post("/v1/ask", json=form, headers=keys["any"]).json()
    assert before["status"] == "OK", before
    assert remove(own, keys["any"], "others/documents/valve.txt") == (204, None)
    assert rows(own.database, STORED) == [("valves", "100% sure.txt"), ("valves", "valve.txt")]
    assert own.client.post("/v1/ask", json=form, headers=keys["any"]).json()["status"] == "NO_EVIDENCE"
    run = f"/v1/runs/{before['run_id']}"
    assert own.client.get(run, headers=keys["any"]).json()["response"]["answer"] == before["answer"]
    evidence = own.client.get(f"/v1/evidence/{before['run_id']}/C0", headers=keys["any"])
    assert evidence.json()["code"] == "ACCESS_REFUSED"
    assert remove(own, keys["any"], "others/documents/valve.txt") == (404, "DOCUMENT_NOT_FOUND")
    assert remove(own, keys["any"], "valves/documents/100%25%20sure.txt") == (204, None)
    assert rows(own.database, STORED) == [("valves", "valve.txt")]


@pytest.mark.contract("R6-7")
@pytest.mark.parametrize(
    ("key", "path", "status", "code"),
    [
        ("any", "valves/documents/none.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "none/documents/valve.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents/VALVE.TXT", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents/%25", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents/valve.txt%00", 404, "NOT_FOUND"),
        ("any", "valves/documents/", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents", 405, "METHOD_NOT_ALLOWED"),
        ("any", "valves/documents/..%2F..%2Fothers%2Fdocuments%2Fvalve.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents/%2e%2e/valve.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents/valve.txt/", 404, "DOCUMENT_NOT_FOUND"),
        ("any", "valves/documents//valve.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("valves", "others/documents/valve.txt", 403, "COLLECTION_FORBIDDEN"),
        ("valves", "none/documents/valve.txt", 403, "COLLECTION_FORBIDDEN"),
        ("reader", "valves/documents/valve.txt", 403, "SCOPE_FORBIDDEN"),
        ("unlabelled", "valves/documents/100%25%20sure.txt", 404, "DOCUMENT_NOT_FOUND"),
        ("nothing", "valves/documents/valve.txt", 401, "KEY_REQUIRED"),
    ],
)
def test_nothing_else_is_removed(
    own: Served, keys: dict[str, Any], key: str, path: str, status: int, code: str
) -> None:
    before = rows(own.database, STORED)
    assert len(before) == 3
    assert remove(own, keys.get(key), path) == (status, code)
    assert rows(own.database, STORED) == before


@pytest.mark.contract("R5P-8")
def test_the_account_of_the_application_removes_nothing(library: str, application: str) -> None:
    path = "default/documents/calibration-register.md"
    with served_over(application) as served:
        assert remove(served, None, path) == (403, "UPLOADS_NOT_PERMITTED")
        assert served.client.get("/v1/documents?collection=default").text.count("calibration-register.md") == 1
    with served_over(application, ingest_database_url=library) as served:
        assert remove(served, None, path) == (204, None)
        assert "calibration-register.md" not in served.client.get("/v1/documents?collection=default").text

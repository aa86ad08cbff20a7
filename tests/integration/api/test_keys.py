"""API keys: a key opens its collections and labels only, by any route, also to a caller who knows the ids."""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from sourcebound.store.keys.api_keys import SCOPES, ApiKeys
from sourcebound.wiring import open_services
from support.pdf_files import write_pdf
from support.processes.commands import Program
from support.processes.databases import Cluster, ingest, settings_for, tables_with
from support.processes.http_server import QUESTION, JsonObject, Served, served_over

SECRET = "zanzibar"
TEXT = f"The {SECRET} valve of the HP-900 is opened at 4.7 bar."
VALUE = re.compile(r"(?<![\d.])4\.7(?!\d)")
"""The number of the text, and not a part of another one, such as a duration of 14.7 ms."""
UPLOADS = "/v1/collections/{collection}/documents"
OTHERS = ("/v1/ask", "/v1/runs/{run_id}/receipt", "/metrics")
"""Routes whose request does not succeed with the key of the second collection either."""
PUBLIC = ("/healthz", "/readyz")
"""Routes that say nothing of what is stored."""


class Guarded(NamedTuple):
    """A server whose keys open one collection each, and the ids of what is in the second one."""

    served: Served
    keys: dict[str, str]
    ids: dict[str, Any]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def make_keys(database: str, folder: Path) -> dict[str, str]:
    write_pdf(folder / "valve.pdf", TEXT)
    ended = datetime.now(UTC) - timedelta(seconds=1)
    async with open_services(settings_for(database)) as services:
        await ingest(services, folder, collection="second", labels=["secret"])
        keys: ApiKeys = services.api_keys
        made = {
            "first": await keys.make("first", SCOPES, ["default"], None),
            "second": await keys.make("second", SCOPES, ["second"], None, ["secret"]),
            "stranger": await keys.make("stranger", SCOPES, ["second"], None, ["qa"]),
            "all": await keys.make("all", ("ask", "read"), None, None),
            "reader": await keys.make("reader", ("read",), None, None),
            "asker": await keys.make("asker", ("ask",), None, None),
            "expired": await keys.make("expired", ("ask", "read"), None, ended),
            "revoked": await keys.make("revoked", ("ask", "read"), None, None),
        }
        await keys.revoke(made["revoked"].key.key_id)
    return {name: each.text for name, each in made.items()}


@pytest.fixture(scope="module")
def guarded(cluster: Cluster, filled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    database = cluster.create(filled)
    keys = asyncio.run(make_keys(database, tmp_path_factory.mktemp("second")))
    with served_over(database) as served:
        owner = bearer(keys["second"])
        talk = served.client.post("/v1/conversations", headers=owner).json()["conversation_id"]
        question = f"At what pressure is the {SECRET} valve of the HP-900 opened?"
        form = {"question": question, "collection": "second", "conversation_id": talk}
        response = served.client.post("/v1/ask", json=form, headers=owner).json()
        assert response["status"] == "OK", response
        ids = {
            "run_id": response["run_id"],
            "conversation_id": talk,
            "anchor": "C0",
            "knowledge_id": "valve.pdf",
            "number": 1,
            "width": 400,
            "span": "0-5",
            "contains": "valve",
            "after": "",
            "limit": 10,
            "collection": "second",
            "model": "sourcebound/second",
        }
        yield Guarded(served, keys, ids)
    cluster.drop(database)


def bodies(ids: dict[str, Any]) -> dict[str, JsonObject]:
    """A body for each route that has one, about the second collection."""
    follow_up = {"question": "And of the HP-200?", "collection": "default", "conversation_id": ids["conversation_id"]}
    return {
        "/v1/ask": follow_up,
        "/v1/ask/stream": {"question": "When is the valve opened?", "collection": "second"},
        "/rag/query": {"query": "When is the valve opened?", "project_id": "second"},
        "/v1/conversations": {},
        "/v1/chat/completions": {
            "model": "sourcebound/second",
            "messages": [{"role": "user", "content": "When is the valve opened?"}],
        },
        "/v1/responses": {"model": "sourcebound/second", "input": "When is the valve opened?"},
        "/v1/feedback": {"run_id": ids["run_id"], "rating": "up"},
    }


def every_request(served: Served, ids: dict[str, Any]) -> Iterator[tuple[str, httpx.Request]]:
    """Build a request to each route of the OpenAPI document, with the ids of the second collection."""
    document = served.client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            given = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", ())}
            filled = path
            for name in (name for name, place in given.items() if place == "path"):
                filled = filled.replace(f"{{{name}}}", str(ids[name]))
            query = {name: ids[name] for name, place in given.items() if place == "query"}
            body = bodies(ids).get(path) if method == "post" else None
            files = {"file": ("more.txt", b"Another valve.")} if path == UPLOADS else None
            yield path, served.client.build_request(method, filled, params=query, json=body, files=files)


@pytest.mark.contract("R6-7")
def test_no_route_gives_anything_of_another_collection_away(guarded: Guarded) -> None:
    served, opened = guarded.served, []
    for path, request in every_request(served, guarded.ids):
        if path in PUBLIC:
            continue
        without_key = served.client.send(request)
        assert (path, without_key.status_code) == (path, 401)
        request.headers.update(bearer(guarded.keys["first"]))
        answer = served.client.send(request)
        assert SECRET not in answer.text, path
        assert not VALUE.search(answer.text), path
        if answer.status_code < 300:
            opened.append(path)
        else:
            assert (path, answer.status_code in (403, 404)) == (path, True)
        if request.method == "DELETE":
            continue  # the other tests need the document; test_removal.py removes one
        request.headers.update(bearer(guarded.keys["second"]))
        own = served.client.send(request)
        assert own.status_code < 300 or path in OTHERS, (path, own.text)
    assert opened == ["/v1/conversations", "/v1/collections", "/v1/models"]
    named = served.client.get("/v1/collections", headers=bearer(guarded.keys["first"])).json()["collections"]
    assert [each["name"] for each in named] == ["default"]


@pytest.mark.contract("R6-7")
def test_no_route_gives_anything_of_a_labelled_document_away(guarded: Guarded) -> None:
    """The caller may read the collection, but not its only document."""
    served, stranger = guarded.served, bearer(guarded.keys["stranger"])
    statuses = {}
    for path, request in every_request(served, guarded.ids):
        request.headers.update(stranger)
        answer = served.client.send(request)
        statuses[path, request.method] = answer.status_code
        assert not VALUE.search(answer.text), path
        for secret in (SECRET, "valve.pdf", "secret"):
            assert secret not in answer.text, path
    closed = {path for (path, _), status in statuses.items() if status == 404}
    assert closed == {
        path for path in {path for path, _ in statuses} if "{run_id}" in path or "{knowledge_id}" in path
    } | {
        "/v1/conversations/{conversation_id}",
        "/v1/feedback",
    }
    assert all(status < 500 for status in statuses.values())
    (listed,) = served.client.get("/v1/collections", headers=stranger).json()["collections"]
    assert (listed["documents"], listed["chunks"]) == (1, 1)  # the upload of this test


@pytest.mark.contract("R6-7")
async def test_the_tools_of_an_agent_have_the_same_checks(guarded: Guarded) -> None:
    url, ids = f"{guarded.served.url}/mcp", guarded.ids
    assert guarded.served.client.post("/mcp", json={}).status_code == 401
    calls: dict[str, dict[str, Any]] = {
        "ask": {"question": "When is the valve opened?", "collection": "second"},
        "search": {"question": "When is the valve opened?", "collection": "second"},
        "get_evidence": {"run_id": ids["run_id"], "anchor": "C0"},
    }
    for name, is_open in (("first", False), ("stranger", False), ("second", True)):
        async with (
            httpx2.AsyncClient(headers=bearer(guarded.keys[name]), timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            for tool, arguments in calls.items():
                result = await client.call_tool(tool, arguments)
                is_refused = not is_open and (name == "first" or tool == "get_evidence")
                assert (tool, bool(result.is_error)) == (tool, is_refused)
                assert (tool, SECRET in str(result)) == (tool, is_open)


@pytest.mark.parametrize(
    ("key", "code"), [("expired", "KEY_EXPIRED"), ("revoked", "KEY_REVOKED"), ("sb_0123", "KEY_UNKNOWN")]
)
def test_a_key_that_is_not_active_opens_nothing(guarded: Guarded, key: str, code: str) -> None:
    answer = guarded.served.client.get("/v1/collections", headers=bearer(guarded.keys.get(key, key)))
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_half_a_key_is_no_key(guarded: Guarded) -> None:
    whole = guarded.keys["all"]
    for text in (whole[:-1], whole[:-1] + ("A" if whole[-1] != "A" else "B"), whole[:15]):
        assert guarded.served.client.get("/v1/collections", headers=bearer(text)).status_code == 401


def test_a_scope_is_needed_for_each_route(guarded: Guarded) -> None:
    asker, reader = bearer(guarded.keys["asker"]), bearer(guarded.keys["reader"])
    client, run_id = guarded.served.client, guarded.ids["run_id"]
    assert client.post("/v1/ask", json={"question": QUESTION}, headers=reader).json()["code"] == "SCOPE_FORBIDDEN"
    assert client.get(f"/v1/runs/{run_id}", headers=asker).json()["code"] == "SCOPE_FORBIDDEN"
    assert client.post("/v1/ask", json={"question": QUESTION}, headers=asker).json()["status"] == "OK"
    assert client.get(f"/v1/runs/{run_id}", headers=reader).json()["status"] == "OK"


def test_a_bundle_of_another_system_needs_all_collections(guarded: Guarded) -> None:
    form: JsonObject = {"retrieval_bundle": {"results": []}}
    refused = guarded.served.client.post("/v1/ask", json=form, headers=bearer(guarded.keys["first"]))
    assert refused.json()["code"] == "COLLECTION_FORBIDDEN"
    recorded = guarded.served.client.post("/v1/ask", json=form, headers=bearer(guarded.keys["all"]))
    assert (recorded.status_code, recorded.json()["status"]) == (200, "FAILED")


def test_the_measurements_need_all_collections(guarded: Guarded) -> None:
    client = guarded.served.client
    assert client.get("/metrics", headers=bearer(guarded.keys["first"])).json()["code"] == "COLLECTION_FORBIDDEN"
    assert client.get("/metrics", headers=bearer(guarded.keys["all"])).status_code == 200


def test_a_server_with_keys_answers_under_any_name(guarded: Guarded) -> None:
    headers = {**bearer(guarded.keys["all"]), "host": "answers.example.org", "x-forwarded-for": "203.0.113.9"}
    assert guarded.served.client.get("/v1/collections", headers=headers).status_code == 200


def test_keys_are_made_listed_and_revoked_on_the_command_line(library: str) -> None:
    program = Program({"DATABASE_URL": library})
    made = program("keys", "create", "anna", "--collection", "default", "--scope", "read", "--expires", "90d")
    assert made.code == 0, made.stderr
    text = made.stdout.strip()
    assert tables_with(library, text.split("_", 2)[2]) == set()
    (listed,) = json.loads(program("keys", "list", "--json").stdout)
    assert (listed["name"], listed["scopes"], listed["collections"], listed["state"]) == (
        "anna",
        ["read"],
        ["default"],
        "active",
    )
    assert "digest" not in listed
    assert program("keys", "revoke", listed["key_id"]).code == 0
    (_, shown) = program("keys", "list").stdout.splitlines()
    assert shown.split()[:6] == [listed["key_id"], "anna", "revoked", "read", "default", "any"]
    assert "[KEY_NOT_FOUND]" in program("keys", "revoke", "nothing").stderr
    assert "[UNKNOWN_SCOPE]" in program("keys", "create", "bert", "--scope", "all").stderr


def test_the_labels_of_a_key_are_given_on_the_command_line(library: str) -> None:
    program = Program({"DATABASE_URL": library})
    for options in (("--label", "qa", "--label", "confidential", "--label", "qa"), ("--unlabelled",), ()):
        assert program("keys", "create", "anna", *options).code == 0
    listed = json.loads(program("keys", "list", "--json").stdout)
    assert [key["labels"] for key in listed] == [["confidential", "qa"], [], None]
    shown = [line.split()[4:-2] for line in program("keys", "list").stdout.splitlines()[1:]]
    assert [line[-2:] for line in shown] == [["confidential", "qa"], ["all", "none"], ["all", "any"]]
    for wrong in (("--label", "qa", "--unlabelled"), ("--label", "two words"), ("--label", "")):
        refused = program("keys", "create", "bert", *wrong)
        assert (refused.code, len(json.loads(program("keys", "list", "--json").stdout))) == (2, 3), refused.stderr


@pytest.mark.contract("R5P-8")
def test_the_role_of_the_application_makes_no_keys(application: str) -> None:
    program = Program({"DATABASE_URL": application})
    assert "[STORE_FORBIDDEN]" in program("keys", "create", "anna").stderr

"""The second wall of API keys: the database hides other collections and documents, also without the first wall."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from sourcebound.api.callers import Caller
from sourcebound.contracts.state import AskInput
from sourcebound.errors import SourceboundError
from sourcebound.graph.engine import Engine
from sourcebound.store.connection.database import fetch_visible
from sourcebound.store.connection.visibility import restrict_to
from sourcebound.wiring import Services, open_services
from support.pdf_files import write_pdf
from support.processes.databases import ingest, rows, settings_for
from support.processes.http_server import served_over
from support.processes.poolers import needs_pgbouncer, pooled

pytestmark = pytest.mark.contract("R6-7")
SECRET = "zanzibar"
QUESTION = f"At what pressure is the {SECRET} valve opened?"
HIDING: list[tuple[list[str] | None, list[str] | None]] = [(["default"], None), (["second"], ["qa"]), (None, [])]
"""Collections and labels of callers who may not read the document: it is in `second` and has the label `secret`."""
TABLES = ("collections", "documents", "pages", "chunks", "source_files", "runs", "run_texts", "turn_texts", "feedback")


async def fill(library: str, folder: Path) -> dict[str, str]:
    """Store a document, an answered question and feedback in a second collection, and return their ids."""
    write_pdf(folder / "valve.pdf", f"The {SECRET} valve is opened at 4.7 bar.")
    async with open_services(settings_for(library)) as services:
        await ingest(services, folder, collection="second", labels=["secret"])
        engine = Engine(services)
        talk = await engine.start_conversation()
        asked: AskInput = {"question": QUESTION, "collection": "second", "conversation_id": talk}
        asked["caller_labels"] = ["secret"]
        response = await engine.ask(asked)
        assert response.status == "OK"
        await services.feedback.add("feedback-1", response.run_id, "down", f"{SECRET}?", None)
    return {"run_id": response.run_id, "conversation_id": talk}


@pytest.fixture
async def ids(library: str, tmp_path: Path) -> dict[str, str]:
    return await fill(library, tmp_path)


@pytest.fixture
async def walled(ids: dict[str, str], application: str) -> AsyncIterator[Services]:
    """Services of the role of the application, which row-level security restricts."""
    async with open_services(settings_for(application)) as services:
        yield services
    restrict_to(None)


def count(table: str) -> LiteralString:
    return f"SELECT count(*) AS rows FROM {table}"


async def count_rows(services: Services) -> dict[str, int]:
    return {name: (await fetch_visible(services.pool, count(name), {}))[0]["rows"] for name in TABLES}


@pytest.mark.parametrize(("collections", "labels"), HIDING)
async def test_each_read_of_the_store_sees_what_the_caller_may_read_only(
    walled: Services, ids: dict[str, str], library: str, collections: list[str] | None, labels: list[str] | None
) -> None:
    restrict_to(collections, labels)
    ((second,),) = rows(library, "SELECT collection_id FROM collections WHERE name = 'second'")
    ((chunk,),) = rows(library, "SELECT chunk_id FROM chunks WHERE collection_id = %s", second)
    if labels is None:
        assert await walled.index.find_collection("second") is None
        assert [each.name for each in await walled.index.list_collections()] == ["default"]
    assert await walled.index.list_documents(second) == []
    assert not await walled.index.may_read(None, "second", "valve.pdf")
    assert await walled.sources.read_page("second", "valve.pdf", 1) is None
    assert await walled.sources.read_file("second", "valve.pdf") is None
    assert await walled.sources.find_place("second", "valve.pdf", chunk) is None
    assert await walled.run_log.find_run(ids["run_id"]) is None
    assert await walled.feedback.list(ids["run_id"]) == []
    assert await walled.conversations.list_turns(ids["conversation_id"]) == []


@pytest.mark.parametrize(("collections", "labels"), HIDING)
async def test_a_search_of_hidden_documents_finds_nothing_also_after_others_searched_them(
    walled: Services, ids: dict[str, str], collections: list[str] | None, labels: list[str] | None
) -> None:
    engine = Engine(walled)
    asked: AskInput = {"question": QUESTION, "collection": "second"}
    restrict_to(None)
    for _ in range(2):  # the process now remembers the collection and its vectors
        assert "4.7 bar" in (await engine.ask(asked)).answer
    restrict_to(collections, labels)
    try:
        seen = (await engine.ask(asked)).model_dump_json()
    except SourceboundError as error:
        seen = str(error)
    assert "4.7 bar" not in seen
    restrict_to(["second"], ["secret"])
    assert "4.7 bar" in (await engine.ask(asked)).answer


async def test_no_table_shows_a_row_of_another_collection(walled: Services) -> None:
    restrict_to(None)
    everything = await count_rows(walled)
    restrict_to(["second"])
    own = await count_rows(walled)
    assert own == {name: 1 for name in TABLES}
    restrict_to(["default"])
    others = await count_rows(walled)
    assert {name: own[name] + others[name] for name in TABLES} == everything
    restrict_to(["second"], ["qa"])
    assert await count_rows(walled) == {name: int(name == "collections") for name in TABLES}
    restrict_to(["second"], ["qa", "secret"])
    assert await count_rows(walled) == own
    restrict_to(None, [])
    unlabelled = await count_rows(walled)
    assert (unlabelled["collections"], unlabelled["documents"]) == (2, everything["documents"] - 1)
    restrict_to([])
    assert set((await count_rows(walled)).values()) == {0}
    restrict_to(None)
    assert await count_rows(walled) == everything


@needs_pgbouncer
async def test_a_pooler_passes_no_restriction_to_the_next_caller(library: str, ids: dict[str, str]) -> None:
    """The owner is not restricted, so the setting itself is read. A session setting would stay with the connection."""
    setting: LiteralString = (
        "SELECT coalesce(current_setting('sourcebound.collections', true), '') AS collections, "
        "coalesce(current_setting('sourcebound.labels', true), '') AS labels"
    )
    with pooled(library) as pooler:
        async with open_services(settings_for(pooler)) as services:
            for _ in range(10):
                for collections, labels in ((["default"], None), (None, ["qa"]), (["second"], []), (None, None)):
                    restrict_to(collections, labels)
                    (found,) = await fetch_visible(services.pool, setting, {})
                    given = [found["collections"], found["labels"]]
                    assert given == ["" if names is None else json.dumps(names) for names in (collections, labels)]
    restrict_to(None)


def requests(ids: dict[str, str]) -> list[tuple[str, str, Any]]:
    run = ids["run_id"]
    document = "/v1/documents/valve.pdf/pages/1"
    return [
        ("GET", f"/v1/runs/{run}", None),
        ("GET", f"/v1/evidence/{run}/C0", None),
        ("GET", f"/v1/conversations/{ids['conversation_id']}", None),
        ("GET", "/v1/documents?collection=second", None),
        ("GET", f"{document}?collection=second", None),
        ("GET", f"{document}/image?collection=second", None),
        ("GET", f"{document}/marks?collection=second&span=0-9", None),
        ("GET", "/v1/collections", None),
        ("GET", "/v1/models", None),
        ("POST", "/v1/ask", {"question": QUESTION, "collection": "second"}),
        ("POST", "/rag/query", {"query": QUESTION, "project_id": "second"}),
        ("POST", "/v1/feedback", {"run_id": run, "rating": "up"}),
    ]


async def test_a_server_whose_first_wall_is_gone_gives_nothing_away(
    library: str, application: str, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_services(settings_for(library)) as services:
        make = services.api_keys.make
        keys = {name: await make(name, ("ask", "read"), [name], None) for name in ("default", "second")}
        keys["stranger"] = await make("stranger", ("ask", "read"), ["second"], None, ["qa"])
        keys["holder"] = await make("holder", ("ask", "read"), ["second"], None, ["qa", "secret"])
    monkeypatch.setattr(Caller, "may_use", lambda *_: True)
    monkeypatch.setattr(Caller, "may_see", lambda *_: True)
    monkeypatch.setattr(Caller, "restrict", lambda _, request: request)
    monkeypatch.setattr("sourcebound.store.search.retriever.visible_labels", lambda: None)
    with served_over(application) as served:
        for name, is_open in (("second", True), ("default", False), ("stranger", False), ("holder", True)):
            headers = {"authorization": f"Bearer {keys[name].text}"}
            seen: list[httpx.Response] = []
            for method, path, body in requests(ids):
                seen.append(served.client.request(method, path, json=body, headers=headers))
                holds = "4.7 bar" in seen[-1].text or "valve.pdf" in seen[-1].text
                assert not holds or is_open, path
            opened = [answer.request.url.path for answer in seen if "4.7 bar" in answer.text]
            assert bool(opened) == is_open
            assert (seen[5].content[:4] == b"\x89PNG") == is_open
            assert ("second" in seen[7].text) == (name != "default")


async def test_the_role_of_the_application_cannot_lift_the_wall(application: str) -> None:
    with psycopg.connect(application, autocommit=True) as connection:
        for statement in ("ALTER TABLE chunks DISABLE ROW LEVEL SECURITY", "DROP POLICY visible ON chunks"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)

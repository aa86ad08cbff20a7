"""The page of a run out of the stores: what was recorded, and of it what may be shown now."""

from pathlib import Path

import pytest

from sourcebound.contracts.run_page.page import RunPage
from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.graph.run_views.page import build_run_page
from sourcebound.wiring import Services
from support.closed_access import QUESTION, TEXT, Closed
from support.processes.databases import ingest, rows

NODES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]


async def _answered(services: Services, tmp_path: Path) -> str:
    (tmp_path / "manual.txt").write_text(TEXT + "\n", "utf-8")
    await ingest(services, tmp_path / "manual.txt", collection="mine")
    response = await Engine(services).ask({"question": QUESTION, "collection": "mine"})
    assert response.status == "OK"
    return response.run_id


async def _page(services: Services, run_id: str, caller: str | None = None) -> RunPage:
    (run,) = await services.run_log.find_runs(run_id)
    access = Closed() if caller else None
    return await build_run_page(services, run, with_prompt=True, access=access, caller=caller)


@pytest.mark.contract("R6-7")
async def test_a_page_holds_the_run_as_it_was_recorded(services: Services, tmp_path: Path) -> None:
    run_id = await _answered(services, tmp_path)
    page = await _page(services, run_id)
    assert (page.head.run_id, page.head.status, page.question) == (run_id, "OK", QUESTION)
    assert [node.node for node in page.nodes] == NODES
    assert max(node.share for node in page.nodes) == 1
    assert [(source.chunk.sanitized_text, source.cited) for source in page.sources] == [(TEXT, True)]
    assert TEXT in page.attempts[0].prompt.messages[1].content
    assert [(record.position, record.finding) for record in page.records] == [(1, None)]


@pytest.mark.contract("R6-7")
async def test_a_document_that_is_gone_is_on_no_page(services: Services, database: str, tmp_path: Path) -> None:
    run_id = await _answered(services, tmp_path)
    rows(database, "DELETE FROM documents")
    page = await _page(services, run_id)
    assert [source.readable for source in page.sources] == [False]
    assert (page.prompt_withheld, page.attempts[0].prompt.messages) == (True, ())
    assert "27 N·m in revision C" in page.attempts[0].statements[0].text  # what was answered stays answered


@pytest.mark.contract("R6-7")
async def test_a_page_is_made_for_its_reader(services: Services, tmp_path: Path) -> None:
    run_id = await _answered(services, tmp_path)
    assert [source.readable for source in (await _page(services, run_id, "anna")).sources] == [True]
    assert [source.readable for source in (await _page(services, run_id, "bert")).sources] == [False]


async def test_a_run_that_was_recorded_under_other_contracts_is_said_to_be(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await _answered(services, tmp_path)
    state = await Engine(services).state(run_id)

    async def other(self: Engine, thread_id: str, run_id: str) -> object:
        return {**state, "policy": {"policy_version": "OLD_V1"}}

    monkeypatch.setattr(Engine, "state", other)
    with pytest.raises(RequestError) as raised:
        await _page(services, run_id)
    assert (raised.value.failure_code, "--json" in raised.value.next_step) == ("RUN_UNREADABLE", True)

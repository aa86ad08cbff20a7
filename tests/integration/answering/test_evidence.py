"""R6-7: evidence text is served only after asking again whether its document may be read."""

from pathlib import Path

import pytest

from sourcebound.errors import RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.closed_access import QUESTION, TEXT, Closed
from support.processes.databases import ingest, rows


async def answered(services: Services, tmp_path: Path) -> tuple[Engine, str]:
    (tmp_path / "manual.txt").write_text(TEXT + "\n", "utf-8")
    (tmp_path / "other.txt").write_text("The canteen opens at noon.\n", "utf-8")
    await ingest(services, tmp_path / "manual.txt", tmp_path / "other.txt", collection="mine")
    await ingest(services, tmp_path / "manual.txt", collection="other")
    engine = Engine(services)
    response = await engine.ask({"question": QUESTION, "collection": "mine"})
    assert response.status == "OK"
    return engine, response.run_id


@pytest.mark.contract("R6-7")
async def test_the_text_behind_a_citation_is_served(services: Services, tmp_path: Path) -> None:
    engine, run = await answered(services, tmp_path)
    assert await engine.evidence(run, "C0") == TEXT


@pytest.mark.contract("R6-7")
async def test_a_document_that_is_gone_is_not_served(services: Services, database: str, tmp_path: Path) -> None:
    engine, run = await answered(services, tmp_path)
    rows(
        database,
        "DELETE FROM documents d USING collections c WHERE c.collection_id = d.collection_id AND c.name = 'mine' "
        "AND d.knowledge_id = 'manual.txt' RETURNING 1",
    )
    with pytest.raises(RequestError, match="no longer in the collection") as caught:
        await engine.evidence(run, "C0")
    assert caught.value.failure_code == "ACCESS_REFUSED"


@pytest.mark.contract("R6-7")
async def test_access_is_asked_again_for_each_caller(services: Services, tmp_path: Path) -> None:
    engine, run = await answered(services, tmp_path)
    assert await engine.evidence(run, "C0", access=Closed(), caller="anna") == TEXT
    with pytest.raises(RequestError) as caught:
        await engine.evidence(run, "C0", access=Closed(), caller="bert")
    assert caught.value.failure_code == "ACCESS_REFUSED"


@pytest.mark.parametrize(("run", "anchor"), [(None, "C9"), ("no-such-run", "C0")])
async def test_a_source_that_the_run_does_not_have(
    services: Services, tmp_path: Path, run: str | None, anchor: str
) -> None:
    engine, known = await answered(services, tmp_path)
    with pytest.raises(RequestError) as caught:
        await engine.evidence(run or known, anchor)
    assert caught.value.failure_code == "EVIDENCE_NOT_FOUND"

"""Search over a real index: the same retrieval and selection as a run's, and nothing written."""

import pytest

from sourcebound.contracts.state import RunContext
from sourcebound.errors import ConfigurationError, RequestError
from sourcebound.graph.engine import Engine
from sourcebound.wiring import Services
from support.processes.databases import COLLECTION, MANUALS, ingest, rows, single

QUESTION = "To what torque are the gland bolts of the mechanical seal tightened?"
WRITTEN = ("runs", "run_texts", "validations", "checkpoints", "checkpoint_writes", "checkpoint_blobs")


def _written(url: str) -> dict[str, int]:
    present = {name for (name,) in rows(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")}
    return {name: single(url, f"SELECT count(*) FROM {name}") for name in WRITTEN if name in present}


async def test_a_search_sees_what_a_run_sees(engine: Engine, library: str) -> None:
    response = await engine.ask({"question": QUESTION})
    state = await engine.state(response.run_id)
    before = _written(library)
    report = await engine.search({"question": QUESTION})
    assert _written(library) == before
    assert before["runs"] == 1
    seen = [(row.chunk_id, row.rank, row.similarity_score, row.outcome) for row in report.candidates]
    scores = {row["rank"]: row["similarity_score"] for row in state["retrieval"]["results"]}
    assert seen == [
        (entry["chunk_id"], entry["rank"], scores[entry["rank"]], entry["outcome"])
        for entry in state["assembly"]["drop_ledger"]
    ]
    anchors = {row.anchor: row.chunk_id for row in report.candidates if row.anchor}
    assert anchors == state["assembly"]["anchor_map"]
    assert (report.policy_version, report.collection) == (response.policy_version, COLLECTION)
    assert report.gate.question_coverage == state["retrieval"]["question_coverage"]
    assert report.gate.top_similarity == max(scores.values())
    assert report.query_variants[0] == QUESTION


@pytest.mark.contract("R1-2")
@pytest.mark.parametrize("emptied", [False, True], ids=["missing", "empty"])
async def test_a_collection_that_holds_nothing_is_a_refusal(services: Services, database: str, emptied: bool) -> None:
    if emptied:
        await services.index.create_collection("nowhere", "lexical", "lexical", 0, "x")
    report = await Engine(services).search({"question": QUESTION, "collection": "nowhere"})
    assert report.outcome.refusal_code == "collection_not_found"
    assert "sourcebound ingest PATH --collection nowhere" in report.outcome.message
    assert ("holds no documents" if emptied else "does not exist") in report.outcome.message
    assert (report.candidates, report.index_version, report.gate.top_similarity) == ((), None, None)
    assert set(_written(database).values()) == {0}


@pytest.mark.contract("P-5")
async def test_without_vectors_the_dense_place_is_absent_and_the_notice_is_there(services: Services) -> None:
    await ingest(services, MANUALS)
    report = await Engine(services).search({"question": QUESTION})
    assert report.policy_version == "SOURCEBOUND_LEXICAL_V2"
    assert [row.lexical_rank for row in report.candidates] == list(range(len(report.candidates)))
    assert {row.dense_rank for row in report.candidates} == {None}
    assert report.notices == ("no embedder: retrieval is lexical, by full text alone",)


@pytest.mark.contract("R1-5")
async def test_each_row_has_its_place_in_each_list(engine: Engine, library: str) -> None:
    report = await engine.search({"question": QUESTION})
    dense = sorted(
        (row for row in report.candidates if row.dense_rank is not None), key=lambda row: row.dense_rank or 0
    )
    assert [row.similarity_score for row in dense] == sorted((row.similarity_score for row in dense), reverse=True)
    assert (dense[0].dense_rank, dense[0].similarity_score) == (0, report.gate.top_similarity)
    lexical = [row.lexical_rank for row in report.candidates if row.lexical_rank is not None]
    assert 0 in lexical
    assert len(set(lexical)) == len(lexical)
    assert all(row.dense_rank is not None or row.lexical_rank is not None for row in report.candidates)


@pytest.mark.contract("S-3")
async def test_a_fault_of_retrieval_is_a_failed_report(
    engine: Engine, library: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows(library, "UPDATE collections SET embedding_model = 'minilm:another'")
    report = await engine.search({"question": QUESTION}, RunContext(policy="R2_POLICY_V1"))
    assert (report.outcome.status, report.outcome.failure_code) == ("FAILED", "RETRIEVAL_FAILED")
    assert "minilm:another" in caplog.text
    assert report.candidates == ()


async def test_an_unknown_policy_and_a_looser_limit_are_faults(engine: Engine) -> None:
    with pytest.raises(ConfigurationError):
        await engine.search({"question": QUESTION}, RunContext(policy="NO_SUCH_POLICY"))
    with pytest.raises(RequestError) as raised:
        await engine.search({"question": QUESTION, "limits": {"top_k": 1000}})
    assert raised.value.failure_code == "POLICY_LOOSENED"

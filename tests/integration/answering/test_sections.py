"""A chunk of two sections from ingest to every reader: each names the section of the quoted words."""

import pytest

from sourcebound.cli.records.run_labels import place
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.replay.release_diff import load_shipped_release
from sourcebound.contracts.replay.report import ReplayStatus, RunReport
from sourcebound.graph.engine import Engine
from sourcebound.graph.integrations.retriever import as_retriever
from sourcebound.graph.replay.history import read_run
from sourcebound.graph.replay.verify import verify
from sourcebound.graph.run_views.page import build_run_page
from sourcebound.store.checkpoints.archive import PostgresHistory
from sourcebound.wiring import Services

QUESTION = "What oil charge does the bearing frame of the HP-300 take?"
TEST, OIL = "3 Mechanical seal replacement > 3.4 Leak test", "4 Bearings, impeller and casing > 4.1 Oil change"


@pytest.mark.contract("R6-2")
@pytest.mark.contract("R1-10")
@pytest.mark.contract("CP-3")
async def test_a_quote_of_the_second_section_of_a_chunk_is_named_by_it(
    engine: Engine, library: str, library_services: Services
) -> None:
    response = await engine.ask({"question": QUESTION})
    (citation,) = response.citations
    assert "1.10 litres" in response.answer
    assert (citation.section, citation.page_number) == (OIL, 3)
    assert OIL.replace(">", "\\>") in chat_text(response)
    state = await engine.state(response.run_id)
    (chunk,) = [each for each in state["assembly"]["selected_evidence"] if each["anchor"] == citation.anchor]
    assert (chunk["section"], [each["section"] for each in chunk["later_sections"]]) == (TEST, [OIL])
    source = await engine.source(response.run_id, citation.anchor)
    assert {source.section, *(quote.section for quote in source.quotes)} == {OIL}
    (run,) = await library_services.run_log.find_runs(response.run_id)
    page = await build_run_page(library_services, run)
    sections = {shown.chunk.anchor: shown.section for shown in page.sources}
    assert sections[citation.anchor] == OIL
    assert f" · {OIL} · " in next(place(shown) for shown in page.sources if shown.cited)
    report = await verify(await read_run(PostgresHistory(library_services.pool), run), load_shipped_release())
    assert isinstance(report, RunReport)
    assert report.verdict is ReplayStatus.MATCH
    first = (await engine.search({"question": QUESTION})).candidates[0]
    assert first.section == f"{TEST}; {OIL}"
    assert (await as_retriever(engine).ainvoke(QUESTION))[0].metadata["section"] == first.section

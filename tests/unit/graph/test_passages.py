"""The nearest passages of a run without an answer: readable ones only, best first, and none for an answer."""

import pytest

from sourcebound.contracts.outcome import Outcome, RefusalCode, RefusalSource, proceed, refuse
from sourcebound.contracts.state import State
from sourcebound.graph.run_views.passages import NEAREST, read_passages
from support.builders import bundle, row, row_of_two_sections, run

REFUSED = refuse("assemble", RefusalCode.BELOW_SIMILARITY_GATE, RefusalSource.GATE, "no source is similar enough")


class _Access:
    """Refuses one document."""

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        return (caller, collection) == ("ann", "manuals") and knowledge_id != "secret"


def _state(outcome: Outcome, **changes: object) -> State:
    first = row(0, knowledge_id="secret", chunk_text="Secret.")
    rows = [row(4, chunk_text="Fourth."), first, *(row(rank, chunk_text=f"Rank {rank}.") for rank in (1, 2, 3))]
    state = {"run": run().to_json(), "retrieval": bundle(rows), "outcome": outcome.to_json()}
    return {**state, **changes}  # type: ignore[typeddict-item]


@pytest.mark.contract("R6-7")
async def test_the_nearest_passages_that_the_caller_may_read() -> None:
    passages = await read_passages(_state(REFUSED), _Access(), "ann")
    assert [passage.text for passage in passages] == ["Rank 1.", "Rank 2.", "Rank 3."]
    assert len(passages) == NEAREST
    assert await read_passages(_state(REFUSED), _Access(), "bob") == []


@pytest.mark.contract("R1-10")
async def test_a_passage_is_named_by_every_section_that_it_runs_through() -> None:
    (passage,) = await read_passages(_state(REFUSED, retrieval=bundle([row_of_two_sections()])), _Access(), "ann")
    assert passage.place == "manual-0.pdf · 3 Seal > 3.4 Leak test; 4 Bearings > 4.1 Oil change"


@pytest.mark.contract("R6-7")
async def test_an_answer_a_run_without_retrieval_and_a_foreign_bundle_have_none() -> None:
    states = (
        _state(proceed("record")),
        _state(REFUSED, retrieval=None),
        _state(REFUSED, run=run(collection=None).to_json()),
    )
    assert [await read_passages(state, _Access(), "ann") for state in states] == [[], [], []]

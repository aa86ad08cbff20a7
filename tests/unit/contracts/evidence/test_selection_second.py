"""The second version of selection: what was found is not thrown away for a cap or for a likeness (R2-S4, R2-S5)."""

from typing import Any

import pytest
from hypothesis import given

from sourcebound.contracts.evidence.additions import adds_information
from sourcebound.contracts.evidence.answer_bundle import AnswerBundle
from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.text.tokens import estimate_tokens
from sourcebound.contracts.versions import THIS_VERSION
from support.builders import JsonObject, bundle, policy, row, rows, run
from support.selections import SELECTION, results

RULE = "The operator shall close the red valve on the feed line before the pump is started in the morning shift"
CAP = "DROP_PER_KNOWLEDGE_CAP"


def _assemble(found: list[JsonObject], *, made_by: Any = THIS_VERSION, **selection: Any) -> AnswerBundle:
    limits = policy(retrieval={"min_top_similarity": 0.0}, selection=selection)
    return assemble(bundle(found), limits, run(made_by=made_by))


def _outcomes(assembled: AnswerBundle) -> list[str]:
    return [entry.outcome.value for entry in assembled.drop_ledger]


@pytest.mark.contract("R2-S5")
def test_one_long_document_may_fill_the_evidence() -> None:
    found = rows(5, knowledge_id="doc")
    assert _outcomes(_assemble(found, max_chunks_per_knowledge_id=2)) == ["ADMITTED"] * 5


@pytest.mark.contract("R2-S5")
def test_the_cap_binds_where_another_document_would_take_the_place() -> None:
    found = [*rows(4, knowledge_id="doc"), row(4, knowledge_id="other"), row(5, knowledge_id="third")]
    limits = {"max_chunks_per_knowledge_id": 1, "max_chunks": 2}
    assert _outcomes(_assemble(found, **limits)) == ["ADMITTED", CAP, CAP, CAP, "ADMITTED", "DROP_MAX_CHUNKS"]


@pytest.mark.contract("R2-S5")
def test_rows_over_the_cap_fill_by_rank_the_room_that_the_others_leave() -> None:
    found = [*rows(4, knowledge_id="doc"), row(4, knowledge_id="other")]
    limits = {"max_chunks_per_knowledge_id": 1, "max_chunks": 3}
    assert _outcomes(_assemble(found, **limits)) == [
        "ADMITTED", "ADMITTED", "DROP_MAX_CHUNKS", "DROP_MAX_CHUNKS", "ADMITTED",
    ]  # fmt: skip


@pytest.mark.contract("R2-S5")
def test_a_row_that_another_rule_drops_takes_no_place_from_the_long_document() -> None:
    other = row(2, knowledge_id="other", similarity_score=0.1)
    found = [*rows(2, knowledge_id="doc"), other]
    limits = {"max_chunks_per_knowledge_id": 1, "max_chunks": 2, "min_similarity": 0.5}
    assert _outcomes(_assemble(found, **limits)) == ["ADMITTED", "ADMITTED", "DROP_BELOW_SIMILARITY_FLOOR"]


@pytest.mark.contract("R2-S5")
@pytest.mark.contract("R2-S7")
def test_rows_over_the_cap_do_not_exceed_the_token_budget() -> None:
    found = [*rows(3, knowledge_id="doc"), row(3, knowledge_id="other")]
    whole = _assemble(found, max_chunks_per_knowledge_id=1)
    assert whole.assembly_metrics is not None
    budget = whole.assembly_metrics.evidence_tokens - 1
    tight = _assemble(found, max_chunks_per_knowledge_id=1, max_evidence_tokens=budget, max_chunk_token_ratio=1.0)
    assert _outcomes(tight) == ["ADMITTED", "ADMITTED", "DROP_BUDGET", "ADMITTED"]


@pytest.mark.contract("R2-S5")
@pytest.mark.contract("CP-10")
def test_a_run_of_the_first_release_keeps_its_cap() -> None:
    found = rows(3, knowledge_id="doc")
    assert _outcomes(_assemble(found, made_by=None, max_chunks_per_knowledge_id=2)) == ["ADMITTED", "ADMITTED", CAP]


@pytest.mark.contract("R2-S5")
@pytest.mark.contract("R2-S7")
@given(results(), SELECTION)
def test_no_limit_is_passed_and_a_dropped_row_over_the_cap_had_no_room(
    found: list[JsonObject], values: JsonObject
) -> None:
    assembled = _assemble(found, **values)
    evidence = assembled.selected_evidence
    assert len(evidence) <= values["max_chunks"]
    assert estimate_tokens(assembled.evidence_block_text) <= values["max_evidence_tokens"]
    assert [item.rank for item in evidence] == sorted(item.rank for item in evidence)
    documents = {item["rank"]: item["knowledge_id"] for item in found}
    over = [entry for entry in assembled.drop_ledger if entry.outcome.value == CAP]
    for entry in over:
        kept = [item for item in evidence if item.knowledge_id == documents[entry.rank]]
        assert len(kept) <= values["max_chunks_per_knowledge_id"]


@pytest.mark.contract("R2-S4")
@pytest.mark.parametrize(
    "text",
    [
        RULE.replace("shall close", "shall not close"),
        f"{RULE} unless the tank is empty",
        f"{RULE} at 5 bar",
        f"{RULE} on Monday",
        f"{RULE} only",
        RULE.replace("red valve", 'valve marked "do use red paint here"'),
        f"{RULE} see https://example.org/valves",
    ],
)
def test_a_near_duplicate_that_adds_something_stays(text: str) -> None:
    assert _outcomes(_assemble([row(0, chunk_text=RULE), row(1, chunk_text=text)])) == ["ADMITTED", "ADMITTED"]


@pytest.mark.contract("R2-S4")
@pytest.mark.parametrize("text", [RULE.upper(), RULE.replace("The operator", "An operator"), f"Note. {RULE}"])
def test_a_near_duplicate_that_adds_nothing_is_dropped(text: str) -> None:
    assert _outcomes(_assemble([row(0, chunk_text=RULE), row(1, chunk_text=text)])) == ["ADMITTED", "DROP_DUP"]


@pytest.mark.contract("R2-S4")
def test_the_same_number_with_another_unit_is_another_literal() -> None:
    assert adds_information("Give 5 mg twice.", "Give 5 g twice.")
    assert not adds_information("Give 5 g twice.", "Then give 5 g twice.")
    assert not adds_information("Close the valve.", "Close the valve if it leaks at 5 bar.")


@pytest.mark.contract("R2-S4")
@pytest.mark.contract("CP-10")
def test_a_run_of_the_first_release_drops_every_near_duplicate() -> None:
    found = [row(0, chunk_text=RULE), row(1, chunk_text=f"{RULE} at 5 bar")]
    assert _outcomes(_assemble(found, made_by=None)) == ["ADMITTED", "DROP_DUP"]

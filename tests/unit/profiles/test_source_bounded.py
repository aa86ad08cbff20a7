"""SOURCE_BOUNDED_V1, scenario by scenario: what the retriever decides, what a model may do, what a reader sees."""

import json
from typing import NamedTuple

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy, read_template
from sourcebound.contracts.prompt.build import REFUSAL
from support.builders import FILTER, SEAL, JsonObject, row
from support.profiles import ASKED, GOOD, ROWS, ask

NAME = "SOURCE_BOUNDED_V1"
NO_SUPPORT = "No supporting documentation found in indexed sources."
NOT_CONTAINED = "The indexed documentation does not contain this information."
FROM_MEMORY = "Shaft seals are usually made of silicon carbide."
INVENTED_NUMBER = "Check the shaft seal every 14 hours. [C0]"
WEAK = [{**item, "similarity_score": 0.35, "knowledge_id": "doc-0"} for item in ROWS]
TWENTY = [f"The seal of pump {number} is checked. [C0]" for number in ("A", "B", "C", "D")] * 5


class Scenario(NamedTuple):
    """The candidates, the model's answers in order, and the expected outcome."""

    results: list[JsonObject]
    said: tuple[str, ...]
    status: str
    reason: str | None
    calls: int
    opening: str
    """How what a reader sees begins."""


def _with(*scores: float, **changes: object) -> list[JsonObject]:
    return [{**item, "similarity_score": score, **changes} for item, score in zip(ROWS, scores, strict=True)]


NO_EVIDENCE = {
    "nothing is similar enough": Scenario(_with(0.19, 0.19), (), "NO_EVIDENCE", "below_similarity_gate", 0, NO_SUPPORT),
    "one chunk alone": Scenario(ROWS[:1], (), "NO_EVIDENCE", "insufficient_sources", 0, NO_SUPPORT),
    "a second one below the floor": Scenario(
        _with(0.9, 0.19), (), "NO_EVIDENCE", "insufficient_sources", 0, NO_SUPPORT
    ),
    "two that say the same": Scenario(
        _with(0.9, 0.8, chunk_text=SEAL), (), "NO_EVIDENCE", "insufficient_sources", 0, NO_SUPPORT
    ),
    "a neighbour does not count": Scenario(
        [ROWS[0], {**ROWS[1], "origin": "expanded"}], (), "NO_EVIDENCE", "insufficient_sources", 0, NO_SUPPORT
    ),
    "nothing visible in any": Scenario(
        _with(0.9, 0.9, chunk_text="\u200b"), (), "NO_EVIDENCE", "all_evidence_dropped", 0, NO_SUPPORT
    ),
    "not in the documents": Scenario(ROWS, (REFUSAL,), "NO_EVIDENCE", "model_refused", 1, NOT_CONTAINED),
    "not in the documents, at the second attempt": Scenario(
        ROWS, (FROM_MEMORY, REFUSAL), "NO_EVIDENCE", "model_refused", 2, NOT_CONTAINED
    ),
}
WEAK_EVIDENCE = {
    "little similar, one document": Scenario(
        WEAK, (GOOD,), "OK", None, 1, f"Answer (LOW CONFIDENCE — limited source coverage):\n{GOOD}\n\nSources:\n- [C0] "
    ),
    "little similar, two documents": Scenario(
        _with(0.35, 0.35), (f"{GOOD} {FILTER} [C1]",), "OK", None, 1, f"Answer:\n{GOOD}"
    ),
}
NORMAL = {
    "cited": Scenario(ROWS, (GOOD,), "OK", None, 1, f"Answer:\n{GOOD}\n\nSources:\n- [C0] manual-0.pdf (score: 0.90)"),
    "at the gate exactly": Scenario(_with(0.20, 0.20), (GOOD,), "OK", None, 1, "Answer (LOW CONFIDENCE"),
    "mended at the second attempt": Scenario(ROWS, (FROM_MEMORY, GOOD), "OK", None, 2, f"Answer:\n{GOOD}"),
    "a number mended": Scenario(ROWS, (INVENTED_NUMBER, GOOD), "OK", None, 2, f"Answer:\n{GOOD}"),
}
NEVER_FROM_MEMORY = {
    "without a source, twice": Scenario(ROWS, (FROM_MEMORY,), "FAILED", "UNCITED_FACTUAL_STATEMENT", 2, "No answer"),
    "under a source that is none": Scenario(
        ROWS, (f"{FROM_MEMORY[:-1]} [C7].",), "FAILED", "INVALID_CITATION_REFERENCE", 2, "No answer"
    ),
    "beside what is cited": Scenario(
        ROWS, (f"{GOOD} {FROM_MEMORY}",), "FAILED", "UNCITED_FACTUAL_STATEMENT", 2, "No answer"
    ),
    "a number of its own": Scenario(ROWS, (INVENTED_NUMBER,), "FAILED", "UNSUPPORTED_LITERAL", 2, "No answer"),
    "half a refusal": Scenario(
        ROWS, (f"{NOT_CONTAINED} {FROM_MEMORY}",), "FAILED", "INVALID_REFUSAL_FORMAT", 1, "No answer"
    ),
    "nineteen of twenty cited": Scenario(
        ROWS, (" ".join(TWENTY[:19]) + f" {FROM_MEMORY}",), "FAILED", "UNCITED_FACTUAL_STATEMENT", 2, "No answer"
    ),
}
SCENARIOS = {
    f"{title}: {name}": scenario
    for title, table in {
        "A no evidence": NO_EVIDENCE,
        "B weak evidence": WEAK_EVIDENCE,
        "C normal": NORMAL,
        "never from memory": NEVER_FROM_MEMORY,
    }.items()
    for name, scenario in table.items()
}


@pytest.mark.contract("R1-11")
@pytest.mark.contract("R5-12")
@pytest.mark.contract("R6-8")
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
async def test_a_scenario_ends_as_its_contract_says(scenario: Scenario) -> None:
    finished = await ask(NAME, *scenario.said, results=scenario.results)
    response, model = finished.response, finished.outside.model
    assert (response["status"], response["refusal_code"] or response["failure_code"]) == (
        scenario.status,
        scenario.reason,
    ), response["message"]
    assert len(model.prompts) == scenario.calls
    assert finished.shown().startswith(scenario.opening)
    assert len(finished.outside.audit_log.records) == max(1, scenario.calls)
    if scenario.status == "FAILED":
        assert FROM_MEMORY not in json.dumps(response) + finished.shown()
        assert response["answer"] == ""
    if scenario.status == "NO_EVIDENCE":
        assert finished.shown() == scenario.opening


@pytest.mark.contract("R1-2")
async def test_an_unknown_collection_is_no_supporting_documentation() -> None:
    finished = await ask(NAME, request={**ASKED, "collection": "elsewhere"})
    assert finished.nodes == ("accept", "record", "package")
    assert finished.response["refusal_code"] == "collection_not_found"
    assert finished.shown() == NO_SUPPORT


@pytest.mark.contract("R1-11")
@pytest.mark.contract("R3-6")
async def test_a_prompt_without_room_for_two_chunks_is_not_sent() -> None:
    long = [row(rank, chunk_text=" ".join(f"word{rank}x{number}" for number in range(150))) for rank in range(2)]
    question = "Does it run well? " + "Say so in full words. " * 180
    finished = await ask(NAME, results=long, request={**ASKED, "question": question})
    assert finished.response["refusal_code"] == "insufficient_sources"
    assert finished.outside.model.prompts == []


@pytest.mark.contract("R5-12")
async def test_a_second_attempt_is_told_which_rule_was_broken_and_nothing_of_what_was_said() -> None:
    finished = await ask(NAME, INVENTED_NUMBER, GOOD)
    first, second = finished.outside.model.prompts
    (rule,) = [line for line in read_template("repair_v1").splitlines() if line.startswith("UNSUPPORTED_LITERAL")]
    assert rule.partition(": ")[2] in second.messages[-1].content
    assert "14 hours" not in second.messages[-1].content
    assert second.messages[0] == first.messages[0]
    assert (first.repair_template, second.repair_template) == (None, "repair_v1")
    records = finished.outside.audit_log.records
    assert [record.prompt_sha256 for record in records] == [first.prompt_sha256, second.prompt_sha256]


@pytest.mark.contract("R5-6")
@pytest.mark.contract("R5-14")
async def test_the_target_of_attribution_is_measured_and_passes_nothing() -> None:
    policy = load_shipped_policy(NAME)
    assert policy.validation.attribution_target == 0.90
    missed = await ask(NAME, " ".join(TWENTY[:19]) + f" {FROM_MEMORY}")
    coverages = [record.grounding_metrics.attribution_coverage for record in missed.outside.audit_log.records]
    assert coverages == [0.95, 0.95]
    assert missed.response["failure_code"] == "UNCITED_FACTUAL_STATEMENT"
    without = policy.model_copy(
        update={"validation": policy.validation.model_copy(update={"attribution_target": None})}
    )
    assert without.sha256 != policy.sha256
    same = await ask(without, " ".join(TWENTY[:19]) + f" {FROM_MEMORY}")
    assert same.state["validation"] == missed.state["validation"]

"""The second repair template: a malformed refusal, a loop and an unsupported statement are asked for anew (R5-12)."""

from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.prompt.sections import repair_sentences
from sourcebound.contracts.state import AskInput, State
from sourcebound.graph.workflow import build_graph
from support.builders import SEAL, bundle, generation, policy, row
from support.fakes import FakeOutside, FakeRetriever, Talker

GOOD = f"{SEAL} [C0]"
REPEATABLE = frozenset(repair_sentences())


def _policy(attempts: int, **prompt: Any) -> Policy:
    checks = {"literal_grounding": "enforce", "max_attempts": attempts, "partial_answers": True}
    return policy(validation=checks, prompt=prompt)


def _outside(*answers: str, chosen: Policy) -> FakeOutside:
    said = [generation(answer) for answer in answers]
    return FakeOutside(chosen, FakeRetriever(bundle([row(0, chunk_text=SEAL)])), Talker(answers=said))


async def _respond(outside: FakeOutside) -> dict[str, Any]:
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    asked: AskInput = {"question": "How often must the shaft seal be checked?"}
    ended = cast("State", await graph.ainvoke(asked, {"configurable": {"thread_id": "thread-1"}}))
    return ended["response"]


REFUSED = "The provided evidence does not say how often. [C0]"
LOOPED = f"{GOOD} {GOOD}"
PARTIAL = f"{GOOD}\nNOT IN EVIDENCE: who checks it"


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-16")
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (REFUSED, "INVALID_REFUSAL_FORMAT"),
        ("NOT IN EVIDENCE: how often", "INVALID_REFUSAL_FORMAT"),
        (LOOPED, "DEGENERATE_ANSWER"),
    ],
)
@pytest.mark.parametrize("repair", ["repair_v1", "repair_v2"])
async def test_what_is_asked_for_anew_is_what_the_repair_template_names(answer: str, failure: str, repair: str) -> None:
    outside = _outside(answer, PARTIAL, chosen=_policy(2, repair_template=repair))
    response = await _respond(outside)
    failures = [record.failure_reason for record in outside.audit_log.records]
    if repair == "repair_v1":
        assert (failures, response["status"]) == ([failure], "FAILED")
        return
    assert failures == [failure, None]
    assert (response["answer"], response["missing"]) == (PARTIAL, "who checks it")
    second = outside.model.prompts[1]
    assert second.repair_template == "repair_v2"
    assert repair_sentences("repair_v2")[failure] in second.messages[1].content


@pytest.mark.contract("R5-12")
async def test_a_malformed_refusal_is_asked_for_anew_only_once() -> None:
    chosen = load_shipped_policy("SOURCEBOUND_V2").validation.max_attempts
    outside = _outside(REFUSED, REFUSED, GOOD, chosen=_policy(chosen, repair_template="repair_v2"))
    response = await _respond(outside)
    assert (response["failure_code"], len(outside.model.prompts)) == ("INVALID_REFUSAL_FORMAT", 2)


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R5-2")
async def test_the_exact_refusal_is_an_answer_and_not_asked_for_anew() -> None:
    outside = _outside(REFUSAL, GOOD, chosen=_policy(2, repair_template="repair_v2"))
    assert (await _respond(outside))["status"] == "NO_EVIDENCE"
    assert len(outside.model.prompts) == 1


@pytest.mark.contract("R5-12")
def test_the_second_repair_template_names_every_rule_of_an_answer() -> None:
    further = {"INVALID_REFUSAL_FORMAT", "DEGENERATE_ANSWER", "UNSUPPORTED_STATEMENT"}
    assert set(repair_sentences("repair_v2")) == REPEATABLE | further
    assert len(set(repair_sentences("repair_v2").values())) == len(repair_sentences("repair_v2"))

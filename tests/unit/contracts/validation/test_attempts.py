"""Attempts: a rejected answer may be generated again, each attempt is recorded whole, and none is repaired (R5-12)."""

import json
from dataclasses import dataclass
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.execution.call import make_call
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Status, fail, proceed
from sourcebound.contracts.policy.releases import read_template, template_digest
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL, build_prompt, read_prompt
from sourcebound.contracts.prompt.sections import repair_section, repair_sentences
from sourcebound.contracts.response.public import package_response
from sourcebound.contracts.state import AskInput, State
from sourcebound.contracts.text.tokens import estimate_tokens
from sourcebound.contracts.validation.attempts import Attempt, may_repeat
from sourcebound.contracts.validation.firewall import validate
from sourcebound.errors import StoreError
from sourcebound.graph.workflow import build_graph
from sourcebound.models.profiles import Registry
from support.builders import FILTER, SEAL, JsonObject, answer_bundle, bundle, generation, policy, row, run
from support.fakes import FakeAuditLog, FakeOutside, FakeRetriever, Talker

GOOD = f"{SEAL} [C0]"
UNCITED = "The seal is blue and checked by nobody."
INVENTED = f"{SEAL} [C7]"
ROWS = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
THREAD: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
START = ["accept", "retrieve", "assemble"]
ATTEMPT = ["build_prompt", "generate", "validate"]
END = ["record", "package"]


def _policy(attempts: int = 2, **prompt: Any) -> Policy:
    return policy(validation={"literal_grounding": "enforce", "max_attempts": attempts}, prompt=prompt)


def _outside(*answers: str | Generation, attempts: int = 2, chosen: Policy | None = None) -> FakeOutside:
    said = [answer if isinstance(answer, Generation) else generation(answer) for answer in answers]
    return FakeOutside(chosen or _policy(attempts), FakeRetriever(bundle(ROWS)), Talker(answers=said))


class Finished:
    """A finished run: its last state, the nodes it passed, and the states between."""

    def __init__(self, state: State, nodes: list[str], history: list[JsonObject]) -> None:
        self.state = state
        self.nodes = nodes
        self.history = history
        self.response = state["response"]
        self.attempts = [Attempt.model_validate(attempt) for attempt in state.get("attempts", [])]


async def _run(outside: FakeOutside) -> Finished:
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    asked: AskInput = {"question": "How often must the shaft seal be checked?"}
    nodes = [name async for update in graph.astream(asked, THREAD, stream_mode="updates") for name in update]
    history = [snapshot.values async for snapshot in graph.aget_state_history(THREAD)]
    return Finished(cast("State", (await graph.aget_state(THREAD)).values), nodes, history[::-1])


@pytest.mark.contract("R5-12")
async def test_a_rejected_answer_is_asked_for_anew_and_the_next_one_released() -> None:
    outside = _outside(UNCITED, GOOD)
    finished = await _run(outside)
    assert finished.nodes == [*START, *ATTEMPT, *ATTEMPT, *END]
    assert finished.response["status"] == "OK"
    assert finished.response["answer"] == GOOD
    assert len(outside.model.prompts) == 2
    first, second = outside.model.prompts
    assert first.prompt_sha256 != second.prompt_sha256
    assert (first.repair_template, second.repair_template) == (None, "repair_v1")


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R5P-1")
async def test_every_attempt_has_a_record_of_its_own() -> None:
    outside = _outside(UNCITED, GOOD)
    finished = await _run(outside)
    records, prompts = outside.audit_log.records, outside.model.prompts
    assert [record.attempt for record in records] == [1, 2]
    assert [record.generation_status for record in records] == ["FAILED", "OK"]
    assert [record.validation_status for record in records] == ["FAILED", "PASSED"]
    assert [record.failure_reason for record in records] == ["UNCITED_FACTUAL_STATEMENT", None]
    assert [record.prompt_sha256 for record in records] == [prompt.prompt_sha256 for prompt in prompts]
    assert [record.grounding_metrics.uncited_sentence_count for record in records] == [1, 0]
    assert [record.validated_citations for record in records] == [(), ("C0",)]
    assert outside.audit_log.raw_texts == [UNCITED, GOOD]
    assert outside.audit_log.validated_texts == ["", GOOD]
    assert finished.state["audit"] == records[-1].model_dump(mode="json")


@pytest.mark.contract("R5-12")
async def test_an_attempt_that_was_rejected_is_kept_whole() -> None:
    outside = _outside(UNCITED, INVENTED, GOOD, attempts=3)
    finished = await _run(outside)
    assert [attempt.generation.raw_model_text for attempt in finished.attempts] == [UNCITED, INVENTED]
    assert [attempt.prompt for attempt in finished.attempts] == outside.model.prompts[:2]
    for attempt in finished.attempts:
        assert attempt.generation.prompt_sha256 == attempt.prompt.prompt_sha256
        again = validate(attempt.generation.raw_model_text, answer_bundle(), outside.policy)
        assert attempt.validation.failure_reason == again.failure_reason
        assert attempt.validation.validated_answer_text == ""
    assert json.loads(json.dumps(finished.state)) == finished.state


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R5-13")
@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_a_run_fails_after_exactly_so_many_attempts(attempts: int) -> None:
    outside = _outside(UNCITED, attempts=attempts)
    finished = await _run(outside)
    assert finished.nodes == [*START, *ATTEMPT * attempts, *END]
    assert len(outside.model.prompts) == attempts
    assert [record.attempt for record in outside.audit_log.records] == list(range(1, attempts + 1))
    assert finished.response["status"] == "FAILED"
    assert finished.response["failure_code"] == "UNCITED_FACTUAL_STATEMENT"
    assert finished.response["answer"] == ""
    assert finished.response["citations"] == []
    assert len(finished.attempts) == attempts - 1


@pytest.mark.contract("R5-12")
async def test_where_the_policy_allows_one_attempt_nothing_of_it_is_in_the_state() -> None:
    finished = await _run(_outside(UNCITED, GOOD, attempts=1))
    assert finished.response["status"] == "FAILED"
    assert "attempts" not in finished.state


@pytest.mark.contract("R5-12")
@pytest.mark.parametrize("text", ["", "I cannot answer this question.", f"{REFUSAL} Sorry.", REFUSAL])
async def test_an_empty_answer_and_a_refusal_are_never_asked_for_anew(text: str) -> None:
    outside = _outside(text, GOOD, attempts=3)
    finished = await _run(outside)
    assert len(outside.model.prompts) == len(outside.audit_log.records) == 1
    assert finished.response["status"] == ("NO_EVIDENCE" if text == REFUSAL else "FAILED")


@pytest.mark.contract("R5-12")
@pytest.mark.parametrize("code", [FailureCode.MODEL_TIMEOUT, FailureCode.OUTPUT_TRUNCATED])
async def test_a_fault_of_the_model_is_never_asked_for_anew(code: FailureCode) -> None:
    outside = _outside(generation("", outcome=fail("generate", code, "no answer")), GOOD, attempts=3)
    finished = await _run(outside)
    assert len(outside.model.prompts) == 1
    assert finished.response["failure_code"] == code


@pytest.mark.contract("R5-12")
async def test_a_refusal_by_the_gate_is_never_asked_for_anew() -> None:
    outside = _outside(GOOD, attempts=3)
    outside.retriever.bundle = bundle([row(similarity_score=0.1)])
    finished = await _run(outside)
    assert (outside.model.prompts, len(outside.audit_log.records)) == ([], 1)
    assert finished.response["refusal_code"] == "below_similarity_gate"


@pytest.mark.contract("R5-12")
async def test_a_model_may_refuse_in_its_second_attempt() -> None:
    outside = _outside(UNCITED, REFUSAL)
    finished = await _run(outside)
    assert finished.response["status"] == "NO_EVIDENCE"
    assert finished.response["refusal_code"] == "model_refused"
    assert [record.generation_status for record in outside.audit_log.records] == ["FAILED", "NO_EVIDENCE"]


@pytest.mark.contract("R5-12")
@pytest.mark.contract("S-1")
async def test_a_fault_in_the_second_attempt_is_recorded_without_the_verdict_on_the_first() -> None:
    broken = generation("", outcome=fail("generate", FailureCode.MODEL_TIMEOUT, "no answer in time"))
    outside = _outside(UNCITED, broken, attempts=3)
    finished = await _run(outside)
    assert finished.nodes == [*START, *ATTEMPT, "build_prompt", "generate", *END]
    assert finished.response["failure_code"] == "MODEL_TIMEOUT"
    last = outside.audit_log.records[-1]
    assert (last.attempt, last.validation_status, last.failure_reason) == (2, "NOT_RUN", "MODEL_TIMEOUT")
    assert last.grounding_metrics.sentence_count == 0


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R3-6")
async def test_a_repair_section_that_does_not_fit_ends_the_run_before_another_call() -> None:
    alone = (await _run(_outside(GOOD))).state["prompt"]["prompt_tokens"]
    one = build_prompt(answer_bundle(SEAL), policy()).prompt.prompt_tokens
    assert one < alone
    limits = {"max_total_prompt_tokens": one + 810}
    outside = _outside(UNCITED, GOOD, chosen=_policy(**limits))
    finished = await _run(outside)
    assert len(outside.model.prompts) == 1
    assert finished.response["failure_code"] == "PROMPT_BUDGET"
    last = outside.audit_log.records[-1]
    assert (last.attempt, last.prompt_sha256, last.llm_latency_ms, last.validation_status) == (2, None, None, "NOT_RUN")
    assert finished.response["token_usage"]["total"] == 320


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R3-6")
async def test_a_repair_section_counts_towards_the_budget() -> None:
    tokens = (await _run(_outside(GOOD))).state["prompt"]["prompt_tokens"]
    outside = _outside(UNCITED, GOOD, chosen=_policy(max_total_prompt_tokens=tokens + 800))
    finished = await _run(outside)
    first, second = outside.model.prompts
    assert [len(read_prompt(prompt.messages).evidence) for prompt in (first, second)] == [2, 1]
    assert second.prompt_tokens <= tokens
    assert finished.response["status"] == "OK"
    outcomes = [entry["outcome"] for entry in finished.state["assembly"]["drop_ledger"]]
    assert outcomes == ["ADMITTED", "DROP_PROMPT_BUDGET"]


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R1-11")
async def test_where_the_repair_section_leaves_too_few_chunks_the_run_refuses_and_sends_nothing_more() -> None:
    tokens = (await _run(_outside(GOOD))).state["prompt"]["prompt_tokens"]
    both = {"literal_grounding": "enforce", "max_attempts": 2}
    limits = {"max_total_prompt_tokens": tokens + 800}
    outside = _outside(UNCITED, GOOD, chosen=policy(validation=both, prompt=limits, retrieval={"min_chunks": 2}))
    finished = await _run(outside)
    assert len(outside.model.prompts) == 1
    assert finished.response["refusal_code"] == "insufficient_sources"
    assert [record.generation_status for record in outside.audit_log.records] == ["FAILED", "NO_EVIDENCE"]
    assert outside.audit_log.records[-1].prompt_sha256 is None


@pytest.mark.contract("S-1")
@pytest.mark.parametrize("answers", [(UNCITED, GOOD), (UNCITED, INVENTED), (UNCITED, REFUSAL)])
async def test_the_status_never_gets_better_along_a_run_of_several_attempts(answers: tuple[str, str]) -> None:
    order = ["OK", "NO_EVIDENCE", "FAILED"]
    finished = await _run(_outside(*answers))
    seen = [order.index(state["outcome"]["status"]) for state in finished.history if state.get("outcome")]
    assert seen == sorted(seen)
    assert order[seen[-1]] == finished.response["status"]


@pytest.mark.contract("R5P-6")
@pytest.mark.contract("R5-12")
async def test_without_the_record_of_an_earlier_attempt_nothing_is_released() -> None:
    @dataclass
    class OnceAway(FakeAuditLog):
        async def append(self, record: Any, run: Any, raw_model_text: str, validated_answer_text: str) -> Any:
            if record.attempt == 1:
                raise StoreError("the disk is full.", "Free some space.", code="NO_DISK_SPACE")
            return await super().append(record, run, raw_model_text, validated_answer_text)

    outside = _outside(UNCITED, GOOD)
    outside.audit_log = OnceAway()
    finished = await _run(outside)
    assert finished.response["failure_code"] == "AUDIT_UNAVAILABLE"
    assert finished.response["answer"] == ""
    assert outside.audit_log.records == []


@pytest.mark.contract("R6-5")
@pytest.mark.contract("R5-12")
@pytest.mark.parametrize(("counts", "total"), [((320, 100), 420), ((None, 0), 0), ((None, None), None)])
def test_the_tokens_of_every_attempt_count(counts: tuple[int | None, int | None], total: int | None) -> None:
    earlier, last = (generation(GOOD, total_tokens_actual=count) for count in counts)
    response = package_response(run(), proceed("validate"), answer_bundle(), last, None, 1.0, [earlier])
    assert response.token_usage.total == total
    assert response.token_usage.prompt == 600


def _repaired(*codes: FailureCode) -> str:
    prompt = build_prompt(answer_bundle(), policy(), codes).prompt
    return read_prompt(prompt.messages).sections["OUTPUT REQUIREMENTS"]


@pytest.mark.contract("R5-12")
def test_the_repair_section_ends_the_output_requirements_and_changes_nothing_else() -> None:
    plain = build_prompt(answer_bundle(), policy()).prompt
    repaired = build_prompt(answer_bundle(), policy(), [FailureCode.MALFORMED_CITATION]).prompt
    section = repair_section([FailureCode.MALFORMED_CITATION])
    assert repaired.messages[0] == plain.messages[0]
    assert repaired.messages[1].content == f"{plain.messages[1].content}\n{section}"
    assert repaired.prompt_tokens == sum(estimate_tokens(message.content) for message in repaired.messages)


@pytest.mark.contract("R5-12")
@pytest.mark.parametrize("code", [FailureCode(code) for code in repair_sentences()])
def test_every_rule_that_may_be_mended_has_one_sentence_of_its_own(code: FailureCode) -> None:
    opening, sentence = repair_section([code, code]).splitlines()
    assert sentence.removeprefix("- ") in read_template("repair_v1")
    others = {repair_section([other]) for other in map(FailureCode, repair_sentences()) if other != code}
    assert all(sentence not in other and other.startswith(opening) for other in others)
    assert _repaired(code).endswith(sentence)


@pytest.mark.contract("R5-12")
def test_several_broken_rules_stand_in_the_order_of_the_file() -> None:
    codes = [FailureCode.UNSUPPORTED_LITERAL, FailureCode.MALFORMED_CITATION]
    assert repair_section(codes) == repair_section(codes[::-1])
    assert len(repair_section(codes).splitlines()) == 3
    assert repair_section([]) == ""
    assert build_prompt(answer_bundle(), policy()).prompt.repair_template is None


@pytest.mark.contract("R5-12")
async def test_nothing_of_the_rejected_text_reaches_another_prompt() -> None:
    outside = _outside("The wombat seal turquoise 4711 is checked. [C7]", GOOD)
    await _run(outside)
    sent = " ".join(message.content for message in outside.model.prompts[1].messages)
    assert all(word not in sent for word in ("wombat", "turquoise", "4711", "C7"))


SAID = Generation(outcome=proceed("generate"), raw_model_text=UNCITED)
REPEATABLE = frozenset(repair_sentences())
CLAUSES = {f"R5-{number}" for number in range(3, 11)}


@pytest.mark.contract("R5-12")
def test_what_may_be_mended_is_what_the_clauses_say() -> None:
    assert {
        "MALFORMED_CITATION", "INVALID_CITATION_REFERENCE", "UNCITED_FACTUAL_STATEMENT", "FORBIDDEN_CONTENT",
        "UNSUPPORTED_LITERAL", "CITATION_MISMATCH", "INVALID_OUTPUT_SCHEMA",
    } == REPEATABLE  # fmt: skip
    for text in (UNCITED, INVENTED, "No seal. (C0)"):
        verdict = validate(text, answer_bundle(), _policy())
        assert verdict.outcome.failure_code in REPEATABLE
        assert {violation.clause for violation in verdict.outcome.violations} <= CLAUSES


@pytest.mark.contract("R5-12")
@pytest.mark.parametrize(
    ("finished", "allowed", "expected"), [(0, 1, False), (0, 2, True), (1, 2, False), (1, 3, True)]
)
def test_an_answer_is_asked_for_anew_while_an_attempt_is_left(finished: int, allowed: int, expected: bool) -> None:
    rejected = validate(UNCITED, answer_bundle(), _policy(allowed))
    assert may_repeat(rejected, SAID, _policy(allowed), finished) is expected
    accepted = validate(GOOD, answer_bundle(), _policy(allowed))
    assert accepted.outcome.status is Status.OK
    assert not may_repeat(accepted, SAID, _policy(allowed), finished)


@pytest.mark.contract("R5-12", "CP-10")
def test_the_built_in_generator_is_not_asked_again() -> None:
    rejected, policy = validate(UNCITED, answer_bundle(), _policy(2)), _policy(2)
    by_itself = SAID.model_copy(update={"call": make_call(Registry().find("extractive"), policy)})
    assert not may_repeat(rejected, by_itself, policy, 0)
    assert may_repeat(rejected, by_itself, policy, 0, version=1)


@pytest.mark.contract("R5-12")
@pytest.mark.contract("R5-10")
async def test_json_off_the_schema_is_asked_for_anew() -> None:
    name = "answer_sentences_v1"
    row_ = {"sentence": SEAL, "anchors": ["C0"]}
    raw = json.dumps({"answer_sentences": [row_], "confidence": "High"})
    chosen = _policy(output_profile="answer_sentences", template=name, template_sha256=template_digest(name))
    outside = _outside(f"```json\n{raw}\n```", raw, chosen=chosen)
    finished = await _run(outside)
    assert finished.response["answer"] == GOOD
    assert [record.failure_reason for record in outside.audit_log.records] == ["INVALID_OUTPUT_SCHEMA", None]
    assert outside.audit_log.validated_texts == ["", GOOD]
    assert outside.audit_log.raw_texts[-1] == raw

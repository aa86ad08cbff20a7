"""R3-9 in the graph: facts before the prompt where the policy has a facts table, and no such node where it has none."""

import json
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.execution.generation import Generation, GenerationKey
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, read_prompt
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.errors import ConfigurationError, ModelError, StoreError, UsageError
from sourcebound.graph.studio.server import StudioGraph, studio_graph
from sourcebound.graph.workflow import build_graph
from sourcebound.models.extractive import ExtractiveBackend, ExtractiveChatModel
from sourcebound.nodes.select_facts import select_facts
from support.builders import FILTER, QUESTION, SEAL, JsonObject, bundle, generation, policy, row
from support.fakes import FakeAnswerLog, FakeModel, FakeOutside, FakeRetriever

THREAD: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
LOCAL = {"filter": "local", "min_question_overlap": 0.3}
MODEL = {"filter": "model"}
ROWS = [row(0, chunk_text=FILTER, page_number=3), row(1, chunk_text=SEAL, page_number=7)]
CHOICE = {"quote": "every 12 hours", "pdf": "manual-1.pdf", "page": 7, "chunk_id": "chunk-0001"}
ANSWER = f"{SEAL} [C0]"
WITHOUT = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
WITH = [*WITHOUT[:3], "select_facts", *WITHOUT[3:]]


class TwoPhases(FakeModel):
    """Chooses facts by one text and answers by another."""

    def __init__(self, choice: str | Generation) -> None:
        super().__init__(generation(ANSWER))
        self.choice = choice if isinstance(choice, Generation) else generation(choice)
        self.profiles: list[str] = []

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.profiles.append(policy.prompt.output_profile)
        answer = await super().generate(prompt, policy)
        choice = self.choice.model_copy(update={"prompt_sha256": prompt.prompt_sha256})
        return choice if prompt.template == "relevant_facts_v1" else answer


def _reply(*rows: JsonObject) -> str:
    return json.dumps({"relevant_facts": list(rows)})


def _outside(facts: JsonObject | None, choice: str | Generation = "", found: Any = None, **tables: Any) -> FakeOutside:
    chosen = policy(facts=facts, validation={"literal_grounding": "enforce"}, **tables)
    retriever = FakeRetriever(bundle(found or ROWS, policy_version=None))
    return FakeOutside(chosen, retriever, TwoPhases(choice))


async def _run(outside: FakeOutside, **request: Any) -> tuple[State, list[str]]:
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    asked = cast("AskInput", {"question": QUESTION} | request)
    nodes = [name async for update in graph.astream(asked, THREAD, stream_mode="updates") for name in update]
    return cast("State", (await graph.aget_state(THREAD)).values), nodes


def _profiles(outside: FakeOutside) -> list[str]:
    assert isinstance(outside.model, TwoPhases)
    return outside.model.profiles


@pytest.mark.contract("R3-9")
async def test_a_policy_without_a_facts_table_has_no_such_phase() -> None:
    state, nodes = await _run(_outside(None))
    assert nodes == WITHOUT
    assert "facts" not in state


@pytest.mark.contract("R3-9")
async def test_the_prompt_shows_the_facts_that_the_local_filter_kept() -> None:
    outside = _outside(LOCAL)
    state, nodes = await _run(outside)
    assert nodes == WITH
    assert [fact["quote"] for fact in state["facts"]["facts"]] == [FILTER, SEAL]
    assert state["facts"]["fates"] == ["DROP_FACT_IRRELEVANT", "ADMITTED"]
    assert (state["facts"]["prompt"], state["facts"]["generation"]) == (None, None)
    (prompt,) = outside.model.prompts
    assert [(part.anchor, part.text) for part in read_prompt(prompt.messages).evidence] == [("C0", SEAL)]
    assert [citation["knowledge_id"] for citation in state["response"]["citations"]] == ["doc-1"]
    assert (state["response"]["status"], state["response"]["answer"]) == ("OK", ANSWER)
    assert json.loads(json.dumps(state["facts"])) == state["facts"]


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize("facts", [LOCAL, MODEL])
async def test_where_no_fact_is_kept_no_answer_is_asked_for(facts: JsonObject) -> None:
    outside = _outside(facts, _reply(), found=[row(0, chunk_text="The canteen closes at noon.")])
    state, nodes = await _run(outside)
    assert nodes == ["accept", "retrieve", "assemble", "select_facts", "record", "package"]
    assert (state["response"]["status"], state["response"]["refusal_code"]) == ("NO_EVIDENCE", "no_relevant_facts")
    assert _profiles(outside) == (["relevant_facts"] if facts is MODEL else [])
    (record,) = outside.audit_log.records
    assert (record.generation_status, record.validation_status) == ("NO_EVIDENCE", "NOT_RUN")
    assert record.refusal_source == ("MODEL" if facts is MODEL else "SELECTION")
    assert "prompt" not in state


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R6-1")
async def test_a_model_chooses_where_the_policy_says_so_and_the_call_is_recorded() -> None:
    outside = _outside(MODEL, _reply(CHOICE))
    state, nodes = await _run(outside)
    assert nodes == WITH
    assert _profiles(outside) == ["relevant_facts", "prose"]
    made = state["facts"]
    assert made["fates"] == ["DROP_FACT_IRRELEVANT", "ADMITTED"]
    assert made["generation"]["raw_model_text"] == _reply(CHOICE)
    assert made["generation"]["prompt_sha256"] == made["prompt"]["prompt_sha256"]
    assert made["prompt"]["template"] == "relevant_facts_v1"
    assert [entry["outcome"] for entry in state["assembly"]["drop_ledger"]] == made["fates"]
    assert state["response"]["token_usage"]["total"] == 640
    assert [prompt.template for prompt in outside.model.prompts] == ["relevant_facts_v1", "prose_v1"]
    (record,) = outside.audit_log.records
    assert (record.prompt_sha256, record.total_tokens) == (state["prompt"]["prompt_sha256"], 320)


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("Of course: both.", "INVALID_FACTS_SCHEMA"),
        (_reply(CHOICE | {"chunk_id": "chunk-0007"}), "UNKNOWN_FACT"),
        (_reply(CHOICE | {"quote": "every 13 hours"}), "UNKNOWN_FACT"),
        (_reply(CHOICE, CHOICE), "DUPLICATE_FACT"),
    ],
)
async def test_a_choice_that_breaks_the_contract_fails_the_run_before_any_answer(reply: str, code: str) -> None:
    outside = _outside(MODEL, reply)
    state, nodes = await _run(outside)
    assert nodes == ["accept", "retrieve", "assemble", "select_facts", "record", "package"]
    assert (state["response"]["status"], state["response"]["failure_code"]) == ("FAILED", code)
    assert (state["response"]["answer"], state["response"]["citations"]) == ("", [])
    assert state["response"]["token_usage"]["total"] == 320
    assert state["facts"]["generation"]["raw_model_text"] == reply
    (record,) = outside.audit_log.records
    assert (record.failure_reason, record.validation_status) == (code, "NOT_RUN")
    assert len(outside.model.prompts) == 1


class ClosedModels(FakeOutside):
    """Has one model, which cannot be opened."""

    fault: Exception

    async def open(self, name: str) -> Any:
        raise self.fault


@pytest.mark.contract("R3-9")
@pytest.mark.contract("S-3")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ModelError("the server is away.", "Start it."), "MODEL_UNAVAILABLE"),
        (ConfigurationError("there is no key.", "Set one."), "MODEL_REJECTED"),
        (UsageError("the window is too small.", "Use another."), "MODEL_REJECTED"),
    ],
)
async def test_a_model_that_cannot_be_opened_fails_the_run(fault: Exception, code: str) -> None:
    outside = ClosedModels(policy(facts=MODEL), FakeRetriever(bundle(ROWS, policy_version=None)))
    outside.fault = fault
    state, _ = await _run(outside)
    assert (state["response"]["status"], state["response"]["failure_code"]) == ("FAILED", code)
    assert state["facts"]["generation"]["prompt_sha256"] == state["facts"]["prompt"]["prompt_sha256"]


@pytest.mark.contract("R3-9")
async def test_a_call_that_fails_and_a_prompt_without_room_end_the_run() -> None:
    late = generation("", outcome=fail("generate", FailureCode.MODEL_TIMEOUT, "too late"))
    state, _ = await _run(_outside(MODEL, late))
    assert state["response"]["failure_code"] == "MODEL_TIMEOUT"
    outside = _outside(MODEL, _reply(CHOICE), prompt={"max_total_prompt_tokens": 900})
    state, _ = await _run(outside)
    assert state["response"]["failure_code"] == "PROMPT_BUDGET"
    assert outside.models_opened == []


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R5-12")
async def test_facts_are_chosen_once_however_many_attempts_there_are() -> None:
    outside = _outside(MODEL, _reply(CHOICE))
    outside.policy = policy(facts=MODEL, validation={"max_attempts": 2})
    assert isinstance(outside.model, TwoPhases)
    outside.model.answer = generation("The seal lasts for ever.")
    state, nodes = await _run(outside)
    assert nodes.count("select_facts") == 1
    assert _profiles(outside) == ["relevant_facts", "prose", "prose"]
    assert state["response"]["token_usage"]["total"] == 3 * 320


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R3-9")
async def test_a_choice_that_was_kept_is_not_asked_for_again() -> None:
    outside = _outside(MODEL, _reply(CHOICE))
    graph = await _studio(outside)
    history = {snapshot.next: cast("State", snapshot.values) async for snapshot in graph.aget_state_history(THREAD)}
    before, after = history["select_facts",], history["build_prompt",]
    (asked,) = [asked for asked in outside.answers.kept if asked.attempt == 0]
    assert asked.prompt_sha256 == after["facts"]["prompt"]["prompt_sha256"]
    prompts = [*outside.model.prompts]
    again = await select_facts(before, models=outside, answers=outside.answers)
    assert (again["facts"], again["assembly"]) == (after["facts"], after["assembly"])
    assert outside.model.prompts == prompts


class AwayLog(FakeAnswerLog):
    """Keeps nothing."""

    async def keep(self, asked: GenerationKey, generation: Generation) -> Generation:
        raise StoreError("the database is away.", "Start it.")


@pytest.mark.contract("CP-2")
@pytest.mark.contract("R3-9")
async def test_a_choice_that_cannot_be_kept_cuts_the_run_off() -> None:
    outside = _outside(MODEL, _reply(CHOICE))
    outside.answers = AwayLog()
    with pytest.raises(StoreError, match="away"):
        await _run(outside)
    assert outside.audit_log.records == []


@pytest.mark.contract("R1-1")
@pytest.mark.contract("R3-9")
async def test_a_bundle_from_elsewhere_has_its_facts_too() -> None:
    outside = _outside(LOCAL)
    state, nodes = await _run(outside, retrieval_bundle=bundle(ROWS, policy_version=None))
    assert nodes[:3] == ["accept", "assemble", "select_facts"]
    assert state["facts"]["fates"] == ["DROP_FACT_IRRELEVANT", "ADMITTED"]


async def _studio(outside: FakeOutside) -> StudioGraph:
    """A graph whose runs may be gone on with from any checkpoint, after its first run."""
    graph: StudioGraph = studio_graph(outside.ports()).copy(update={"checkpointer": InMemorySaver()})
    await graph.ainvoke({"question": QUESTION}, THREAD, context=RunContext())
    outside.run_log.ended |= {record.run_id: str(record.generation_status) for record in outside.audit_log.records}
    return graph


@pytest.mark.contract("R3-9")
@pytest.mark.contract("S-2")
async def test_the_next_run_of_a_thread_finds_no_facts_of_the_one_before() -> None:
    outside = _outside(LOCAL)
    graph = await _studio(outside)
    outside.policy = policy(validation={"literal_grounding": "enforce"})
    await graph.ainvoke({"question": QUESTION}, THREAD, context=RunContext())
    state = (await graph.aget_state(THREAD)).values
    assert state["facts"] is None
    assert len(state["assembly"]["selected_evidence"]) == 2


@pytest.mark.contract("CP-1")
@pytest.mark.contract("R3-9")
async def test_facts_that_no_node_can_have_left_end_the_run_and_a_branch_chooses_anew() -> None:
    outside = _outside(LOCAL)
    graph = await _studio(outside)
    history = [snapshot async for snapshot in graph.aget_state_history(THREAD)]
    before = {snapshot.next[0]: snapshot.config for snapshot in history if snapshot.next}
    told = await graph.ainvoke(None, before["select_facts"], context=RunContext())
    assert told["response"]["status"] == "OK"
    assert len({record.run_id for record in outside.audit_log.records}) == 2
    edited = await graph.aupdate_state(before["select_facts"], {"facts": {"facts": "none"}}, as_node="select_facts")
    told = await graph.ainvoke(None, edited, context=RunContext())
    (violation,) = told["outcome"]["violations"]
    assert (told["response"]["failure_code"], violation["clause"]) == ("STATE_ALTERED", "CP-1")
    assert violation["field"].startswith("facts.")


class Extractive(TwoPhases):
    """The built-in generator, without its backend."""

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        await super().generate(prompt, policy)
        roles = {"system": "system", "user": "human"}
        said = await ExtractiveChatModel().ainvoke([(roles[m.role], m.content) for m in prompt.messages])
        return generation(str(said.text), prompt_sha256=prompt.prompt_sha256)


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R4-9")
@pytest.mark.parametrize(
    ("question", "code"),
    [("How often must the shaft seal be checked?", None), ("Who wrote the opera?", "no_relevant_facts")],
)
async def test_the_built_in_generator_chooses_the_facts_that_it_would_quote(question: str, code: str | None) -> None:
    assert ExtractiveBackend.faults == ()
    outside = _outside(MODEL, found=[*ROWS, row(2, chunk_text="\u2192 \u2192 \u2192")])
    outside.model = Extractive("")
    state, _ = await _run(outside, question=question)
    assert (state["response"]["refusal_code"], state["response"]["failure_code"]) == (code, None)
    assert state["response"]["status"] == ("NO_EVIDENCE" if code else "OK")

"""CP-6 in the graph: resolution is recorded before anything is searched for, and its faults end the run."""

from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.conversation.turns import Turn
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL, Prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.contracts.state import AskInput, State
from sourcebound.errors import ConfigurationError, ModelError, StoreError
from sourcebound.graph.workflow import build_graph
from sourcebound.nodes.resolve import resolve
from support.builders import FILTER, SEAL, JsonObject, bundle, generation, policy, row
from support.fakes import FakeModel, FakeOutside, FakeRetriever

BEFORE = "How often must the shaft seal of the HP-200 be checked?"
FOLLOW_UP = "and for the HP-300?"
QUERY = "How often must the shaft seal of the HP-300 be checked?"
THREAD: RunnableConfig = {"configurable": {"thread_id": "thread-2"}}
EARLIER = Turn(run_id="run-1", thread_id="thread-1", ordinal=1, status="OK", question=BEFORE)


class SeeingRetriever(FakeRetriever):
    """Keeps the runs that it retrieves for."""

    seen: list[Run]

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        self.seen = [run]
        return await super().retrieve(run, policy)


class TwoModels(FakeModel):
    """Rewrites a question by one text and answers by another."""

    rewriting: Generation = generation(QUERY)

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        self.profiles = [*getattr(self, "profiles", []), policy.prompt.output_profile]
        answer = await super().generate(prompt, policy)
        return self.rewriting if prompt.template == "rewrite_v1" else answer


def _outside(text: str = f"{SEAL} [C0]", turns: tuple[Turn, ...] = (EARLIER,), **table: Any) -> FakeOutside:
    chosen = policy(conversation=table) if table else policy()
    found = bundle([row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)])
    outside = FakeOutside(chosen, SeeingRetriever(found), TwoModels(generation(text)))
    outside.conversations.turns = [*turns]
    return outside


async def _run(outside: FakeOutside, question: str = FOLLOW_UP, **changes: Any) -> tuple[State, list[str]]:
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    request = cast("AskInput", {"question": question, "conversation_id": "talk"} | changes)
    nodes = [name async for update in graph.astream(request, THREAD, stream_mode="updates") for name in update]
    return cast("State", (await graph.aget_state(THREAD)).values), nodes


@pytest.mark.contract("CP-6")
@pytest.mark.contract("R3-4")
async def test_a_follow_up_is_searched_for_as_what_it_stands_for() -> None:
    outside = _outside()
    state, nodes = await _run(outside)
    assert nodes[:3] == ["accept", "resolve", "retrieve"]
    assert isinstance(outside.retriever, SeeingRetriever)
    (seen,) = outside.retriever.seen
    assert (seen.question, seen.search_query, seen.carried) == (FOLLOW_UP, QUERY, ())
    assert state["resolution"]["rule"] == "another_value"
    assert state["resolution"]["from_run_id"] == "run-1"
    response = state["response"]
    assert (response["conversation_id"], response["search_query"], response["notices"]) == ("talk", QUERY, [])
    assert [run.search_query for run in outside.conversations.kept] == [QUERY]
    (prompt,) = outside.model.prompts
    assert f"\n{FOLLOW_UP}\n" in prompt.messages[1].content
    assert QUERY in prompt.messages[1].content


@pytest.mark.contract("CP-6")
async def test_outside_a_conversation_nothing_is_resolved() -> None:
    outside = _outside()
    state, nodes = await _run(outside, conversation_id=None)
    assert "resolve" not in nodes
    assert "resolution" not in state
    assert (state["response"]["search_query"], state["response"]["conversation_id"]) == (None, None)


@pytest.mark.contract("CP-6")
async def test_a_bundle_takes_its_place_and_is_answered_as_it_is() -> None:
    outside = _outside()
    found = bundle([row(0, chunk_text=SEAL)], user_question=FOLLOW_UP)
    state, nodes = await _run(outside, retrieval_bundle=found)
    assert nodes[:2] == ["accept", "assemble"]
    assert outside.run_log.begun[0].conversation_id == "talk"
    assert state["response"]["search_query"] is None


@pytest.mark.contract("CP-6")
async def test_a_whole_question_is_left_alone() -> None:
    state, _ = await _run(_outside(), question="How often must the shaft seal be checked?")
    assert state["run"]["search_query"] is None
    assert state["resolution"]["earlier"] == []


@pytest.mark.contract("CP-6")
async def test_an_unclear_follow_up_is_asked_back_and_never_searched_for() -> None:
    outside = _outside()
    state, nodes = await _run(outside, question="and the weight?")
    assert nodes == ["accept", "resolve", "record", "package"]
    response = state["response"]
    assert (response["status"], response["refusal_code"]) == ("NO_EVIDENCE", "unclear_follow_up")
    assert response["message"].endswith("ask the whole question")
    assert outside.model.prompts == []


CHAT = [
    {"role": "user", "content": BEFORE},
    {"role": "assistant", "content": f"{SEAL} [C0]"},
    {"role": "user", "content": FOLLOW_UP},
]


@pytest.mark.contract("CP-6")
async def test_in_a_chat_the_messages_complete_a_follow_up() -> None:
    outside = _outside(turns=())
    state, nodes = await _run(outside, **_chat(*CHAT))
    assert nodes[:3] == ["accept", "resolve", "retrieve"]
    assert (state["run"]["search_query"], state["response"]["search_query"]) == (QUERY, QUERY)
    assert state["resolution"]["from_run_id"] == "message-0"
    assert outside.conversations.kept == []
    # The next question of the chat continues from the query that the answer names.
    state, _ = await _run(outside, **_chat(*state["messages"], {"role": "user", "content": "and of the HP-400?"}))
    assert state["run"]["search_query"] == QUERY.replace("HP-300", "HP-400")


@pytest.mark.contract("CP-6")
@pytest.mark.parametrize(
    ("messages", "resolved"),
    [
        (CHAT[-1:], False),
        ([{"role": "assistant", "content": "Hello!"}, CHAT[-1]], False),
        ([{"role": "system", "content": BEFORE}, CHAT[-1]], False),
        ([CHAT[0], {"role": "assistant", "content": REFUSAL}, {"role": "user", "content": "and the weight?"}], True),
        ([CHAT[0], {"role": "user", "content": "and the weight?"}], True),
    ],
)
async def test_a_chat_without_an_earlier_question_is_not_resolved(messages: list[JsonObject], resolved: bool) -> None:
    _, nodes = await _run(_outside(turns=()), **_chat(*messages))
    assert ("resolve" in nodes) is resolved


@pytest.mark.contract("CP-6")
async def test_a_message_carries_no_evidence_of_a_run_that_it_names() -> None:
    """A client can write any run's id into a message, also that of a run that it may not read."""
    outside = _outside(turns=(), resolver="rules", carried_chunks=3)
    forged = {**CHAT[1], "id": "run-2", "response_metadata": {"status": "OK", "run_id": "run-1"}}
    state, _ = await _run(outside, **_chat({**CHAT[0], "id": "run-1"}, forged, CHAT[2]))
    assert (state["run"]["search_query"], state["run"]["carried"]) == (QUERY, [])


def _chat(*messages: JsonObject) -> JsonObject:
    return {"question": None, "conversation_id": None, "messages": [*messages]}


@pytest.mark.contract("CP-6")
async def test_a_model_rewrites_where_the_policy_says_so_and_the_call_is_recorded() -> None:
    outside = _outside(resolver="model")
    outside.policy = outside.policy.model_copy(
        update={"prompt": outside.policy.prompt.model_copy(update={"output_profile": "prose"})}
    )
    state, _ = await _run(outside)
    made = state["resolution"]
    assert (made["rule"], made["search_query"], state["run"]["search_query"]) == ("model", QUERY, QUERY)
    assert made["prompt"]["prompt_sha256"]
    assert made["generation"]["raw_model_text"] == QUERY
    assert [prompt.template for prompt in outside.model.prompts] == ["rewrite_v1", "prose_v1"]
    assert state["response"]["token_usage"] == {"prompt": 600, "completion": 40, "total": 640}


@pytest.mark.contract("CP-6")
async def test_the_call_asks_for_no_json() -> None:
    outside = _outside(resolver="model")
    chosen = outside.policy.prompt.model_copy(update={"output_profile": "answer_sentences"})
    outside.policy = outside.policy.model_copy(update={"prompt": chosen})
    await _run(outside)
    assert cast("TwoModels", outside.model).profiles[0] == "prose"


@pytest.mark.contract("CP-6")
async def test_a_model_is_not_asked_about_the_first_question() -> None:
    outside = _outside(turns=(), resolver="model")
    await _run(outside)
    assert [prompt.template for prompt in outside.model.prompts] == ["prose_v1"]


@pytest.mark.contract("CP-6")
@pytest.mark.contract("S-3")
async def test_a_model_that_fails_ends_the_run_before_anything_is_searched_for() -> None:
    outside = _outside(resolver="model")
    late = fail("generate", FailureCode.MODEL_TIMEOUT, "the model took too long")
    cast("TwoModels", outside.model).rewriting = generation("", outcome=late)
    state, nodes = await _run(outside)
    assert nodes == ["accept", "resolve", "record", "package"]
    assert (state["response"]["status"], state["response"]["failure_code"]) == ("FAILED", "MODEL_TIMEOUT")
    assert state["resolution"]["generation"]["outcome"]["failure_code"] == "MODEL_TIMEOUT"
    assert outside.retriever.calls == 0


@pytest.mark.contract("S-3")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (StoreError("the table is gone", code="STORE_REFUSED"), "RETRIEVAL_FAILED"),
        (ModelError("the model is away"), "MODEL_UNAVAILABLE"),
        (ConfigurationError("no such key"), "MODEL_REJECTED"),
    ],
)
async def test_a_fault_at_an_edge_ends_the_run_with_its_code(fault: Any, code: str) -> None:
    outside = _outside()
    outside.conversations.fault = fault
    state, nodes = await _run(outside)
    assert nodes == ["accept", "resolve", "record", "package"]
    assert state["response"]["failure_code"] == code


@pytest.mark.contract("CP-2")
async def test_a_store_that_is_away_cuts_the_run_off() -> None:
    outside = _outside()
    outside.conversations.fault = StoreError("the store is away")
    with pytest.raises(StoreError, match="the store is away"):
        await _run(outside)


@pytest.mark.contract("CP-2")
@pytest.mark.contract("CP-6")
async def test_a_model_that_rewrote_the_question_is_not_asked_for_it_again() -> None:
    outside = _outside(resolver="model")
    state, _ = await _run(outside)
    (asked,) = [asked for asked in outside.answers.kept if asked.attempt == 0]
    assert asked.prompt_sha256 == state["resolution"]["prompt"]["prompt_sha256"]
    sent = len(outside.model.prompts)
    again = await resolve(
        state,
        conversations=outside.conversations,
        models=outside,
        answers=outside.answers,
        read_state=outside.read_state,
    )
    assert again["resolution"] == state["resolution"]
    assert len(outside.model.prompts) == sent


@pytest.mark.contract("CP-6")
async def test_the_chunks_that_the_earlier_run_cited_are_carried_where_the_policy_says_so() -> None:
    earlier = _outside(text=f"{FILTER} [C1]\n{SEAL} [C0]")
    before, _ = await _run(earlier, question=BEFORE)
    outside = _outside(resolver="rules", carried_chunks=1)
    outside.states["thread-1"] = before
    state, _ = await _run(outside)
    assert state["run"]["carried"] == state["resolution"]["carried"] == ["chunk-0001"]
    outside = _outside(resolver="rules", carried_chunks=5)
    outside.states["thread-1"] = before
    assert (await _run(outside))[0]["run"]["carried"] == ["chunk-0001", "chunk-0000"]
    whole = _outside(resolver="rules", carried_chunks=5)
    whole.states["thread-1"] = before
    assert (await _run(whole, question="What is the weight of the motor?"))[0]["run"]["carried"] == []
    assert (await _run(_outside()))[0]["run"]["carried"] == []


@pytest.mark.contract("CP-6")
async def test_a_run_without_an_answer_or_without_its_state_carries_nothing() -> None:
    refused = _outside(text="The sky is blue.")
    before, _ = await _run(refused, question=BEFORE)
    assert before["response"]["status"] == "FAILED"
    outside = _outside(resolver="rules", carried_chunks=5)
    outside.states["thread-1"] = before
    assert (await _run(outside))[0]["run"]["carried"] == []
    assert (await _run(_outside(resolver="rules", carried_chunks=5)))[0]["run"]["carried"] == []

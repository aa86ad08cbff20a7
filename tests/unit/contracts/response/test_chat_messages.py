"""Messages: a chat's question and its answer, as plain JSON under ids that stay (CP-1)."""

import json
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.chat_messages import answer_message, merge_messages, question_of
from sourcebound.contracts.response.public import package_response
from sourcebound.graph.workflow import build_graph
from support.builders import SEAL, bundle, generation, policy, row, run
from support.fakes import FakeModel, FakeOutside, FakeRetriever

ASKED = {"role": "user", "content": "Why?"}


@pytest.mark.parametrize(
    ("role", "kept"),
    [("user", "human"), ("human", "human"), ("assistant", "ai"), ("ai", "ai"), ("system", "system")],
)
@pytest.mark.parametrize("named", ["role", "type"])
def test_every_name_of_a_speaker_is_kept_as_one(named: str, role: str, kept: str) -> None:
    assert merge_messages([], {named: role, "content": "Hi"}) == [{"type": kept, "content": "Hi", "id": "message-0"}]


@pytest.mark.parametrize("wrong", ["Why?", {"content": "Why?"}, {"role": "judge", "content": "Why?"}, {"role": "user"}])
def test_what_is_no_message_is_refused_and_not_quoted(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a message is an object") as raised:
        merge_messages([], wrong)
    assert "Why?" not in str(raised.value)


@pytest.mark.contract("CP-1")
@example([["message-1", None], [None]])
@given(st.lists(st.lists(st.sampled_from(["a", "message-0", "message-1", None]), max_size=4), max_size=5))
def test_an_id_never_changes_and_no_message_is_lost(turns: list[list[str | None]]) -> None:
    kept: list[dict[str, Any]] = []
    seen: list[list[str]] = []
    for ids in turns:
        update = [{**ASKED, **({"id": name} if name else {})} for name in ids]
        known, kept = len(kept), merge_messages(kept, update)
        seen.append([message["id"] for message in kept])
        assert {name for name in ids if name} <= set(seen[-1])
        assert len(kept) >= known + sum(name is None for name in ids)
    for before, after in pairwise(seen):
        assert after[: len(before)] == before
    assert all(len(set(names)) == len(names) for names in seen)


def test_a_message_with_a_known_id_takes_the_place_of_the_other() -> None:
    kept = merge_messages(None, [ASKED, {"role": "ai", "content": "So.", "id": "a"}])
    again = merge_messages(kept, {"role": "ai", "content": "Because.", "id": "a"})
    assert [message["content"] for message in again] == ["Why?", "Because."]


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        ({"question": "How?"}, "How?"),
        ({}, None),
        ({"messages": []}, None),
        ({"messages": [ASKED]}, "Why?"),
        ({"question": "How?", "messages": [ASKED]}, "How?"),
        (
            {"question": None, "messages": [ASKED, {"role": "ai", "content": "So."}, {**ASKED, "content": "And?"}]},
            "And?",
        ),
        ({"messages": [ASKED, {"role": "ai", "content": "So."}]}, None),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Why"}, "not?"]}]}, "Why\nnot?"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image"}]}]},
            "",
        ),
    ],
)
def test_the_last_message_is_the_question_where_none_is_stated(request_: dict[str, Any], question: str | None) -> None:
    state = {**request_, "messages": merge_messages(None, request_.get("messages", []))}
    assert question_of(state) == question


@pytest.mark.contract("R6-5")
def test_a_failure_is_told_as_one() -> None:
    failed = fail("generate", FailureCode.MODEL_TIMEOUT, "the model did not answer")
    response = package_response(run(), failed, None, None, None, latency_ms=1)
    message = answer_message(response)
    assert message["content"] == "MODEL_TIMEOUT: the model did not answer"
    assert (message["type"], message["id"]) == ("ai", "answer-run-1")
    assert message["response_metadata"]["status"] == "FAILED"
    assert json.loads(json.dumps(message)) == message


@pytest.mark.contract("R6-3")
@pytest.mark.contract("R6-4")
@pytest.mark.parametrize(("text", "status"), [(f"{SEAL} [C0]", "OK"), (REFUSAL, "NO_EVIDENCE")])
async def test_a_chat_gets_the_text_byte_for_byte_and_a_form_gets_no_message(text: str, status: str) -> None:
    outside = FakeOutside(policy(), FakeRetriever(bundle([row(0, chunk_text=SEAL)])), FakeModel(generation(text)))
    graph = build_graph(outside.ports()).compile()
    chat = cast("dict[str, Any]", await graph.ainvoke({"messages": [ASKED]}))
    form = cast("dict[str, Any]", await graph.ainvoke({"question": "Why?"}))
    assert [message["content"] for message in chat["messages"]] == ["Why?", text]
    assert (chat["response"]["status"], form["response"]["status"]) == (status, status)
    assert form["messages"] == []


@pytest.mark.contract("R6-1")
async def test_nothing_but_the_public_response_leaves_the_graph() -> None:
    outside = FakeOutside(policy(), FakeRetriever(bundle([row(0, chunk_text=SEAL)])), FakeModel())
    graph = build_graph(outside.ports()).compile()
    told = await graph.ainvoke({"question": "Why?"})
    assert set(told) == {"response", "outcome", "messages"}

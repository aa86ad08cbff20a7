"""The official client of OpenAI against the server: answers, streams, follow-ups, refusals and errors (§10)."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from sourcebound.contracts.prompt.build import REFUSAL
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, Served

TITLE = "HP-200 Circulation Pump: Operating and Maintenance Manual, Revision C"
TEXT = f"{ANSWER} [1]\n\n- [1] {TITLE} · p. 13 · 10 Bearings and lubrication > 10.3 Oil change".replace(">", "\\>")


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as opened:
        yield opened


def ask(client: openai.OpenAI, *texts: str, model: str = "sourcebound/default", **more: Any) -> Any:
    roles = ("user", "assistant")
    messages: list[ChatCompletionMessageParam] = [
        {"role": roles[number % 2], "content": text}  # type: ignore[misc]
        for number, text in enumerate(texts)
    ]
    return client.chat.completions.create(model=model, messages=messages, **more)


@pytest.mark.contract("R6-8")
def test_an_answer_has_footnotes_and_the_whole_response(client: openai.OpenAI) -> None:
    completion = ask(client, QUESTION, temperature=0.9, extra_body={"filters": {"equipment_id": "HP-200"}})
    (choice,) = completion.choices
    assert (choice.message.content, choice.finish_reason) == (TEXT, "stop")
    response = completion.sourcebound
    assert (response["answer"], response["support_level"]) == (f"{ANSWER} [C0]", "MEDIUM")
    assert response["citations"][0]["page_number"] == 13
    assert completion.id == f"chatcmpl-{response['run_id']}"


@pytest.mark.contract("CP-12")
def test_a_stream_carries_the_validated_message_only(client: openai.OpenAI) -> None:
    chunks = list(ask(client, QUESTION, stream=True, stream_options={"include_usage": True}))
    texts = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert texts == [TEXT]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].sourcebound["status"] == "OK"
    assert chunks[-1].usage.total_tokens == 0


@pytest.mark.contract("CP-6")
def test_earlier_messages_complete_a_follow_up(client: openai.OpenAI) -> None:
    question = "How often is the filter of the HP-200 changed?"
    first = ask(client, question).choices[0].message.content
    followed = ask(client, question, first, "And of the HP-300?")
    assert followed.sourcebound["search_query"] == "How often is the filter of the HP-300 changed?"


@pytest.mark.contract("R6-4")
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_an_ordinary_message(client: openai.OpenAI, stream: bool) -> None:
    answer = ask(client, OFF_TOPIC, stream=stream)
    text = next(iter(answer)).choices[0].delta.content if stream else answer.choices[0].message.content
    assert text == f"{REFUSAL}\n\nNo source is similar enough to the question."


def test_each_collection_is_a_model(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["sourcebound", "sourcebound/default"]
    assert client.models.retrieve("sourcebound/default").id == "sourcebound/default"


def test_a_name_may_choose_the_policy_and_the_generator(client: openai.OpenAI) -> None:
    completion = ask(client, QUESTION, model="sourcebound/default/GROUNDED_RAG_V1/extractive")
    assert completion.sourcebound["policy_version"] == "GROUNDED_RAG_V1"


def test_an_error_is_one_that_the_client_reads(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'gpt'") as unknown:
        ask(client, QUESTION, model="gpt")
    assert unknown.value.code == "MODEL_NOT_FOUND"
    with pytest.raises(openai.UnprocessableEntityError, match="the question"):
        client.chat.completions.create(model="sourcebound", messages=[{"role": "system", "content": "Be kind."}])
    with pytest.raises(openai.UnprocessableEntityError, match="response_format"):
        ask(client, QUESTION, response_format={"type": "json_object"})
    with pytest.raises(openai.UnprocessableEntityError) as policy:
        ask(client, QUESTION, stream=True, extra_body={"policy": "NO_SUCH_POLICY"})
    assert policy.value.code == "UNKNOWN_POLICY"

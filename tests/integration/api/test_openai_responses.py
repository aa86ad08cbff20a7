"""OpenAI's Responses API: the official client, streamed and not, and LangChain's ChatOpenAI over both APIs (§10)."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from openai.types.responses import Response, ResponseCompletedEvent
from pydantic import SecretStr

from sourcebound.contracts.prompt.build import REFUSAL
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, Served

MODEL = "sourcebound/default"
SHOWN = f"{ANSWER} [1]\n\n- [1] HP-200 Circulation Pump"
EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as opened:
        yield opened


@pytest.mark.contract("R6-8")
def test_a_response_has_footnotes_and_the_whole_response(client: openai.OpenAI) -> None:
    response = client.responses.create(
        model=MODEL, input=QUESTION, temperature=0.9, extra_body={"filters": {"equipment_id": "HP-200"}}
    )
    assert response.output_text.startswith(SHOWN)
    whole: Any = response.sourcebound  # type: ignore[attr-defined]
    assert (whole["answer"], whole["support_level"]) == (f"{ANSWER} [C0]", "MEDIUM")
    assert (response.id, response.status) == (f"resp_{whole['run_id']}", "completed")
    Response.model_validate(response.model_dump(), strict=True)


@pytest.mark.contract("CP-12")
def test_a_stream_carries_the_validated_text_only(client: openai.OpenAI) -> None:
    events = list(client.responses.create(model=MODEL, input=QUESTION, stream=True))
    assert [event.type for event in events] == EVENTS
    assert [event.sequence_number for event in events] == list(range(len(EVENTS)))
    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent)
    assert last.response.output_text.startswith(SHOWN)
    with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        assert stream.get_final_response().output_text.startswith(SHOWN)


@pytest.mark.contract("CP-6")
def test_earlier_messages_complete_a_follow_up(client: openai.OpenAI) -> None:
    first = client.responses.create(model=MODEL, input="How often is the filter of the HP-200 changed?")
    followed = client.responses.create(
        model=MODEL,
        instructions="Be brief.",
        input=[
            {"role": "user", "content": "How often is the filter of the HP-200 changed?"},
            *first.output,  # type: ignore[list-item]
            {"role": "user", "content": [{"type": "input_text", "text": "And of the HP-300?"}]},
        ],
    )
    assert followed.sourcebound["search_query"] == "How often is the filter of the HP-300 changed?"  # type: ignore[attr-defined]


@pytest.mark.contract("R6-4")
def test_a_refusal_is_an_ordinary_message(client: openai.OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=OFF_TOPIC)
    assert response.output_text == f"{REFUSAL}\n\nNo source is similar enough to the question."


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    "body",
    [
        {"input": ""},
        {"input": []},
        {"input": [{"role": "assistant", "content": "Hello."}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        {"input": "x" * 4001},
        {"input": QUESTION, "previous_response_id": "resp_1"},
        {"input": QUESTION, "background": True},
        {"input": QUESTION, "text": {"format": {"type": "json_object"}}},
        {},
    ],
)
def test_what_cannot_be_kept_is_an_error(served: Served, body: dict[str, Any]) -> None:
    answer = served.client.post("/v1/responses", json={"model": MODEL, **body})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert answer.json()["error"]["code"] == "INVALID_REQUEST"


def test_an_error_is_one_that_the_client_reads(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'gpt'") as unknown:
        client.responses.create(model="gpt", input=QUESTION)
    assert unknown.value.code == "MODEL_NOT_FOUND"
    with pytest.raises(openai.UnprocessableEntityError) as policy:
        client.responses.create(model=MODEL, input=QUESTION, stream=True, extra_body={"policy": "NO_SUCH_POLICY"})
    assert policy.value.code == "UNKNOWN_POLICY"


@pytest.mark.parametrize("use_responses_api", [False, True], ids=["chat completions", "responses"])
def test_the_chat_model_of_langchain_answers(served: Served, use_responses_api: bool) -> None:
    model = ChatOpenAI(
        model=MODEL, base_url=f"{served.url}/v1", api_key=SecretStr("any"), use_responses_api=use_responses_api
    )
    message = model.invoke(QUESTION)
    assert isinstance(message, AIMessage)
    assert message.text.startswith(SHOWN)
    streamed = [chunk.text for chunk in model.stream(QUESTION)]
    assert [text for text in streamed if text] == [message.text]
    followed = model.invoke([HumanMessage(QUESTION), message, HumanMessage("And in revision B?")])
    assert "0.60 litres in revision B" in followed.text

"""llama.cpp's own server with a random model: what a real server does where the tests' own only imitate one."""

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from sourcebound.models.local.server import ServedModel
from support.processes.llama_server import CONTEXT_TOKENS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "citation": {"type": "string", "enum": ["C1", "C2"]},
        "sentences": {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 1, "maxItems": 3},
    },
    "required": ["citation", "sentences"],
    "additionalProperties": False,
}


@pytest.fixture
async def client(llama_server: ServedModel) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=llama_server.url, api_key="none", max_retries=0, timeout=60) as opened:
        yield opened


def asked(prompt: str, tokens: int = 40) -> dict[str, Any]:
    return {"model": "any", "messages": [{"role": "user", "content": prompt}], "max_completion_tokens": tokens}


async def test_the_model_is_listed(client: openai.AsyncOpenAI, llama_server: ServedModel) -> None:
    assert [model.id async for model in client.models.list()] == [llama_server.name]


async def test_whole_and_streamed_completions(client: openai.AsyncOpenAI, llama_server: ServedModel) -> None:
    whole = await client.chat.completions.create(**asked("How often?"))
    assert (whole.model, whole.choices[0].finish_reason) == (llama_server.name, "length")
    assert whole.choices[0].message.content
    assert whole.usage is not None
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = [chunk async for chunk in await client.chat.completions.create(**asked("How often?"), **options)]
    assert [chunk.usage.completion_tokens for chunk in chunks if chunk.usage] == [40] == [whole.usage.completion_tokens]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == ["length"]


async def test_a_schema_is_kept_to(client: openai.AsyncOpenAI) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    for number in range(5):
        completion = await client.chat.completions.create(**asked(f"Question {number}", 400), response_format=form)
        assert completion.choices[0].finish_reason == "stop"
        answer = json.loads(completion.choices[0].message.content)
        assert set(answer) == {"citation", "sentences"}
        assert answer["citation"] in ("C1", "C2")


async def test_a_long_prompt_fits_and_one_that_is_too_long_is_an_error(client: openai.AsyncOpenAI) -> None:
    completion = await client.chat.completions.create(**asked("x" * 14_000, 800))
    assert completion.usage.prompt_tokens > 14_000
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        await client.chat.completions.create(**asked("x" * CONTEXT_TOKENS))


async def test_responses(client: openai.AsyncOpenAI, llama_server: ServedModel) -> None:
    response = await client.responses.create(model="any", input="How often?", max_output_tokens=20)
    assert (response.model, response.status) == (llama_server.name, "completed")
    assert response.usage is not None
    assert response.usage.output_tokens == 20

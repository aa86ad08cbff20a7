"""Ollama's chat API through LangChain's client (R4-2, R4-6).

Ollama silently truncates a prompt that exceeds its window, so the window is always set. The answer is not streamed,
because the client of a stream creates an object per token, breaks lines where JSON has no line break, and accepts a
truncated stream as an answer. Only a `done_reason` counts as an end.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import ollama
from langchain_ollama import ChatOllama

from sourcebound.contracts.execution.call import Call, json_schema
from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.prompt.build import Message
from sourcebound.models.backend import NO_STREAM, read_reply, to_langchain
from sourcebound.models.exchange import HEADERS, MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, event_hooks
from sourcebound.models.urls import credentials, without_credentials

FINISHES: Final[Mapping[str, ReplyEnding]] = {"stop": ReplyEnding.COMPLETE, "length": ReplyEnding.AT_CAP}


class OllamaBackend:
    """One model of one Ollama server.

    Args:
        profile: The model.
        url: The server's address, with user and password if it needs them.
    """

    faults = (
        httpx.HTTPError,
        httpx.StreamError,
        ollama.ResponseError,
        ConnectionError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    )
    timeouts = (TimeoutError, httpx.TimeoutException)

    def __init__(self, profile: ModelProfile, url: str) -> None:
        self._model = ChatOllama(
            model=profile.model,
            base_url=without_credentials(url),
            reasoning=False,
            cache=False,
            async_client_kwargs={
                "timeout": profile.timeout_seconds,
                "limits": httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS),
                "follow_redirects": False,
                "event_hooks": event_hooks(),
                "headers": HEADERS,
                "auth": credentials(url),
            },
        )

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Make one request."""
        answer = await self._model.ainvoke(to_langchain(messages), NO_STREAM, **_parameters(call, messages))
        finish = answer.response_metadata.get("done_reason")
        return read_reply(answer, FINISHES.get(str(finish), ReplyEnding.BROKEN_OFF), finish)

    async def close(self) -> None:
        """Close the connections."""
        await self._model._async_client._client.aclose()


def _parameters(call: Call, messages: Sequence[Message]) -> dict[str, Any]:
    options: dict[str, Any] = {"num_ctx": call.context_tokens, "num_predict": call.max_output_tokens}
    if call.temperature != "unsupported":
        options["temperature"] = call.temperature
    if call.seed is not None:
        options["seed"] = call.seed
    return {
        "stream": False,
        "options": options,
        **({"keep_alive": call.keep_alive} if call.keep_alive else {}),
        **({"format": json_schema(call, messages)} if call.structured_output else {}),
    }

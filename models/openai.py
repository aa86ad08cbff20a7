"""OpenAI, and every server that implements one of its two APIs, through LangChain's client (R4-2).

The client receives every setting explicitly and decides nothing: no retries, no cache, no stored response, and no
streaming that another part of a program could switch on.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx2
import openai
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from sourcebound.contracts.execution.call import Call, response_format, text_format
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.prompt.build import Message
from sourcebound.models.backend import NO_STREAM, read_reply, to_langchain
from sourcebound.models.exchange import HEADERS, MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, event_hooks

ACCOUNT_HEADERS: Final = ("OpenAI-Organization", "OpenAI-Project")
FINISHES: Final[Mapping[str, ReplyEnding]] = {
    "stop": ReplyEnding.COMPLETE,
    "length": ReplyEnding.AT_CAP,
    "content_filter": ReplyEnding.WITHHELD,
}
"""The endings of chat completions by `finish_reason`."""
STATUSES: Final[Mapping[tuple[str, str | None], ReplyEnding]] = {
    ("completed", None): ReplyEnding.COMPLETE,
    ("incomplete", "max_output_tokens"): ReplyEnding.AT_CAP,
    ("incomplete", "content_filter"): ReplyEnding.WITHHELD,
}
"""The endings of responses by `status` and, if incomplete, the reason."""


class OpenAIBackend:
    """One model of one server.

    Args:
        profile: The model.
        url: The server's address including `/v1`.
        api_key: Its key. Your own server may not need one.
        trust_environment: Whether the proxies of the environment apply.
    """

    faults = (openai.OpenAIError, httpx2.HTTPError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
    timeouts = (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException)

    def __init__(
        self, profile: ModelProfile, url: str, api_key: SecretStr | None, *, trust_environment: bool = True
    ) -> None:
        hooks = event_hooks()
        if profile.base_url:
            hooks["request"].append(_remove_account_headers)
        self._http = openai.DefaultAsyncHttpxClient(
            event_hooks=hooks,
            follow_redirects=False,
            trust_env=trust_environment,
            timeout=profile.timeout_seconds,
            headers=HEADERS,
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS),
        )
        self._model = ChatOpenAI(
            model=profile.model,
            base_url=url,
            api_key=api_key or SecretStr("none"),
            use_responses_api=profile.wire is Wire.RESPONSES,
            temperature=None if profile.temperature == "unsupported" else 0.0,
            max_retries=0,
            timeout=profile.timeout_seconds,
            cache=False,
            disable_streaming=True,
            openai_proxy="",
            default_headers=HEADERS,
            http_async_client=self._http,
        )

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Make one request with the call's wire."""
        answer = await self._model.ainvoke(to_langchain(messages), NO_STREAM, **_parameters(call, messages))
        return _read_response(answer) if call.wire is Wire.RESPONSES else _read_completion(answer)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


async def _remove_account_headers(request: httpx2.Request) -> None:
    """Remove the OpenAI account headers, which the client takes from the environment, for other servers."""
    for name in ACCOUNT_HEADERS:
        request.headers.pop(name, None)


def _parameters(call: Call, messages: Sequence[Message]) -> dict[str, Any]:
    seed = {} if call.seed is None else {"seed": call.seed}
    if call.wire is Wire.RESPONSES:
        schema = {"text": {"format": text_format(call, messages)}} if call.structured_output else {}
        return {"max_output_tokens": call.max_output_tokens, "store": False, **schema, **seed}
    # Outside `extra_body` the client would parse the answer itself, and raise if it does not match.
    held = {"extra_body": {"response_format": response_format(call, messages)}} if call.structured_output else {}
    return {"max_completion_tokens": call.max_output_tokens, **held, **seed}


def _read_response(answer: AIMessage) -> Reply:
    metadata = answer.response_metadata
    status, reason = metadata.get("status"), (metadata.get("incomplete_details") or {}).get("reason")
    ending = STATUSES.get((str(status), reason), ReplyEnding.BROKEN_OFF)
    return read_reply(answer, _check_refusal(answer, ending), reason or status, metadata.get("id"))


def _read_completion(answer: AIMessage) -> Reply:
    finish = answer.response_metadata.get("finish_reason")
    ending = FINISHES.get(str(finish), ReplyEnding.BROKEN_OFF)
    return read_reply(answer, _check_refusal(answer, ending), finish, answer.response_metadata.get("id"))


def _check_refusal(answer: AIMessage, ending: ReplyEnding) -> ReplyEnding:
    """Return WITHHELD if the provider added its own refusal to the answer, else the given ending."""
    blocks = answer.content if isinstance(answer.content, list) else []
    refused = any(isinstance(block, dict) and block.get("type") == "refusal" for block in blocks)
    return ReplyEnding.WITHHELD if refused or answer.additional_kwargs.get("refusal") else ending

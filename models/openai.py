"""OpenAI, and every server that speaks one of its two APIs, through LangChain's client (R4-2).

The client is given everything explicitly and decides nothing: no retry, no cache, no stored response, no streaming that
another part of a program could switch on.
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
from sourcebound.models.backend import UNHEARD, read_reply, to_langchain
from sourcebound.models.exchange import HEADERS, MOST_CONNECTIONS, MOST_IDLE, event_hooks

ACCOUNT_HEADERS: Final = ("OpenAI-Organization", "OpenAI-Project")
FINISHES: Final[Mapping[str, ReplyEnding]] = {
    "stop": ReplyEnding.COMPLETE,
    "length": ReplyEnding.AT_CAP,
    "content_filter": ReplyEnding.WITHHELD,
}
"""Chat completions: its `finish_reason`."""
STATUSES: Final[Mapping[tuple[str, str | None], ReplyEnding]] = {
    ("completed", None): ReplyEnding.COMPLETE,
    ("incomplete", "max_output_tokens"): ReplyEnding.AT_CAP,
    ("incomplete", "content_filter"): ReplyEnding.WITHHELD,
}
"""Responses: its `status` and the reason of an incomplete one."""


class OpenAIBackend:
    """One model of one server.

    Args:
        profile: The model.
        url: The server's address, up to and with `/v1`.
        api_key: Its key; a server of one's own may do without.
    """

    faults = (openai.OpenAIError, httpx2.HTTPError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
    timeouts = (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException)

    def __init__(self, profile: ModelProfile, url: str, api_key: SecretStr | None) -> None:
        hooks = event_hooks()
        if profile.base_url:
            hooks["request"].append(_forget_account)
        self._http = openai.DefaultAsyncHttpxClient(
            event_hooks=hooks,
            follow_redirects=False,
            timeout=profile.timeout_seconds,
            headers=HEADERS,
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_IDLE),
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
        """Makes one request in the call's wire."""
        answer = await self._model.ainvoke(to_langchain(messages), UNHEARD, **_parameters(call))
        return _read_response(answer) if call.wire is Wire.RESPONSES else _read_completion(answer)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()


async def _forget_account(request: httpx2.Request) -> None:
    """Keeps the account at OpenAI, which the client takes from the environment, from another server."""
    for name in ACCOUNT_HEADERS:
        request.headers.pop(name, None)


def _parameters(call: Call) -> dict[str, Any]:
    seed = {} if call.seed is None else {"seed": call.seed}
    if call.wire is Wire.RESPONSES:
        schema = {"text": {"format": text_format(call)}} if call.structured_output else {}
        return {"max_output_tokens": call.max_output_tokens, "store": False, **schema, **seed}
    # Outside `extra_body` the client would parse the answer itself, and raise where it does not like it.
    form = {"extra_body": {"response_format": response_format(call)}} if call.structured_output else {}
    return {"max_completion_tokens": call.max_output_tokens, **form, **seed}


def _read_response(answer: AIMessage) -> Reply:
    metadata = answer.response_metadata
    status, reason = metadata.get("status"), (metadata.get("incomplete_details") or {}).get("reason")
    ending = STATUSES.get((str(status), reason), ReplyEnding.BROKEN_OFF)
    return read_reply(answer, _unless_refused(answer, ending), reason or status, metadata.get("id"))


def _read_completion(answer: AIMessage) -> Reply:
    finish = answer.response_metadata.get("finish_reason")
    ending = FINISHES.get(str(finish), ReplyEnding.BROKEN_OFF)
    return read_reply(answer, _unless_refused(answer, ending), finish, answer.response_metadata.get("id"))


def _unless_refused(answer: AIMessage, ending: ReplyEnding) -> ReplyEnding:
    """WITHHELD where the provider put a refusal of its own beside the text."""
    blocks = answer.content if isinstance(answer.content, list) else []
    refused = any(isinstance(block, dict) and block.get("type") == "refusal" for block in blocks)
    return ReplyEnding.WITHHELD if refused or answer.additional_kwargs.get("refusal") else ending

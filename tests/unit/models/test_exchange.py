"""Checks of an answer before its body is read, and the reading of a provider's own refusal."""

from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage

from sourcebound.contracts.execution.reply import ReplyEnding
from sourcebound.models.exchange import HEADERS, Exchange, ExchangeStopped, event_hooks
from sourcebound.models.openai import _read_completion, _read_response


async def _receive(**headers: str) -> Exchange:
    (hook,) = event_hooks()["response"]
    exchange = Exchange(lambda body: [], limit_bytes=100)
    with exchange.watched():
        await hook(httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"{}")))
    return exchange


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_compressed_answer_is_not_read_because_its_size_says_nothing(encoding: str) -> None:
    assert HEADERS == {"Accept-Encoding": "identity"}
    with pytest.raises(ExchangeStopped):
        await _receive(**{"content-encoding": encoding})


@pytest.mark.contract("R4-5")
async def test_a_plain_answer_is_read_and_its_status_kept() -> None:
    for headers in ({}, {"content-encoding": "identity"}, {"retry-after": "7"}):
        exchange = await _receive(**headers)
        assert (exchange.status, exchange.retry_after) == (200, 7.0 if "retry-after" in headers else None)


@pytest.mark.contract("R4-7")
@pytest.mark.parametrize("refusal", ["I cannot help with that.", None])
def test_a_providers_own_refusal_is_no_answer(refusal: str | None) -> None:
    expected = ReplyEnding.WITHHELD if refusal else ReplyEnding.COMPLETE
    kept: dict[str, Any] = {"refusal": refusal} if refusal else {}
    completion = AIMessage("text", additional_kwargs=kept, response_metadata={"finish_reason": "stop"})
    assert _read_completion(completion).ending is expected
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "text"}]
    if refusal:
        blocks.append({"type": "refusal", "refusal": refusal})
    response = AIMessage(blocks, response_metadata={"status": "completed"})
    assert _read_response(response).ending is expected

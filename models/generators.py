"""The generator for all models: it sends the prompt's bytes and returns the raw text and the provider's figures (R4).

A request is retried only where `faults` allows it, with the same bytes, and only within the budget of the model's
profile (R4-5).
"""

import asyncio
import random
from asyncio import sleep
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Final

from sourcebound.contracts.execution.call import Call, body_differences, make_call
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.contracts.execution.reply import STAGE, Reply, judge_reply
from sourcebound.contracts.outcome import fail
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Message, Prompt
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.models.backend import Backend
from sourcebound.models.exchange import BASE_BYTES, BYTES_PER_TOKEN, Exchange, ExchangeStopped
from sourcebound.models.faults import Fault, ServerWording, judge_fault

REHEARSAL: Final = (Message(role="system", content="Rehearsal"), Message(role="user", content="Rehearsal"))
JITTER: Final = 0.5
"""The fraction by which a pause may be shortened at random."""


class ChatGenerator:
    """A chat backend as an `AnswerModel`.

    Args:
        profile: The model.
        backend: The client of its provider.
        server: The wording of messages about the server.
        draw: Draws a number from 0 to 1 for the jitter of pauses.
    """

    def __init__(
        self, profile: ModelProfile, backend: Backend, server: ServerWording, draw: Callable[[], float] = random.random
    ) -> None:
        self._profile = profile
        self._backend = backend
        self._server = server
        self._draw = draw

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Send the prompt unchanged and record the reply (R4-1, R4-8). A fault becomes a failure, as data."""
        call = make_call(self._profile, policy)
        started = perf_counter()
        for attempt in range(1, self._profile.max_requests + 1):
            exchange = _make_exchange(call, prompt)
            result = await self._request(exchange, call, prompt, started)
            pause = self._compute_pause(attempt, result)
            if pause is None or perf_counter() + pause - started >= self._profile.budget_seconds:
                break
            await sleep(pause)
        reply = result if isinstance(result, Reply) else None
        if isinstance(result, Reply):
            outcome = judge_reply(result, prompt, call, self._profile)
        else:
            outcome = fail(STAGE, result.code, result.message)
        generation = Generation(
            outcome=outcome,
            raw_model_text=to_storable(reply.text) if reply else "",
            model_name=to_storable(reply and reply.model_name) or self._profile.model,
            provider=self._profile.provider,
            prompt_sha256=prompt.prompt_sha256,
            request_sha256=exchange.sha256,
            response_id=to_storable(reply and reply.response_id),
            finish_reason=to_storable(reply and reply.finish_reason),
            attempts=attempt,
            call=call,
            llm_latency_ms=round((perf_counter() - started) * 1000, 3),
            prompt_tokens_actual=reply and reply.prompt_tokens,
            completion_tokens_actual=reply and reply.completion_tokens,
            total_tokens_actual=reply and reply.total_tokens,
        )
        return generation if isinstance(result, Reply) else generation.with_fault(result.message)

    async def rehearse(self, policy: Policy) -> list[str]:
        """Make a request without sending it, and compare it with the one that the contract specifies (R4-1).

        Args:
            policy: The policy of the request.

        Returns:
            The keys that the client library changed; empty if it made the required request.
        """
        call = make_call(self._profile, policy)
        if call.wire is Wire.BUILT_IN:
            return []
        differences: list[str] = []

        def record_differences(body: bytes) -> list[str]:
            differences.extend(body_differences(body, call, REHEARSAL))
            return ["rehearsal"]

        exchange = Exchange(record_differences, limit_bytes=0)
        with exchange.watched(), suppress(ExchangeStopped, *self._backend.faults):
            await self._backend.send(call, REHEARSAL)
        return differences if exchange.is_made else ["everything"]

    async def close(self) -> None:
        """Close the backend's connections."""
        await self._backend.close()

    async def _request(self, exchange: Exchange, call: Call, prompt: Prompt, started: float) -> Reply | Fault:
        """Make one request within its deadline. Return the reply or the fault."""
        remaining = self._profile.budget_seconds - (perf_counter() - started)
        faults: tuple[type[Exception], ...] = (ExchangeStopped, *self._backend.faults)
        try:
            with exchange.watched():
                async with asyncio.timeout(min(self._profile.timeout_seconds, remaining)):
                    return await self._backend.send(call, prompt.messages)
        except self._backend.timeouts:
            return judge_fault(exchange, self._profile, self._server, is_late=True)
        except faults:
            return judge_fault(exchange, self._profile, self._server)

    def _compute_pause(self, attempt: int, result: Reply | Fault) -> float | None:
        """Return the seconds until the next retry, or None if there is no retry (R4-5)."""
        if isinstance(result, Reply) or not result.is_retryable or attempt == self._profile.max_requests:
            return None
        pause = self._profile.pause_seconds * (1 << (attempt - 1)) * (1 - JITTER * self._draw())
        return max(pause, result.retry_after or 0)


def _make_exchange(call: Call, prompt: Prompt) -> Exchange:
    return Exchange(
        find_differences=partial(body_differences, call=call, messages=prompt.messages),
        limit_bytes=BASE_BYTES + BYTES_PER_TOKEN * call.max_output_tokens,
    )

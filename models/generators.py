"""One generator for every model: the prompt's bytes go in, the raw text and the provider's own figures come out (R4).

The same request is made again only where `faults` says that it may be, with the same bytes, and never past the budget
of the model's profile (R4-5).
"""

import asyncio
import random
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
from sourcebound.models.faults import Fault, ServerWords, judge_fault

REHEARSAL: Final = (Message(role="system", content="Rehearsal"), Message(role="user", content="Rehearsal"))
JITTER: Final = 0.5
"""Share by which a pause may be shorter than its full length."""


class ChatGenerator:
    """A chat backend as an `AnswerModel`.

    Args:
        profile: The model.
        backend: Its provider's client.
        server: How messages name the server and what to do where it does not answer.
        draw: A number from 0 to 1 for the jitter of pauses.
    """

    def __init__(
        self, profile: ModelProfile, backend: Backend, server: ServerWords, draw: Callable[[], float] = random.random
    ) -> None:
        self._profile = profile
        self._backend = backend
        self._server = server
        self._draw = draw

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Sends the prompt as it is and records what comes back (R4-1, R4-8); faults are failures, as data."""
        call = make_call(self._profile, policy)
        started = perf_counter()
        for attempt in range(1, self._profile.max_requests + 1):
            exchange = _exchange(call, prompt)
            result = await self._request(exchange, call, prompt, started)
            pause = self._pause(attempt, result)
            if pause is None or perf_counter() + pause - started >= self._profile.budget_seconds:
                break
            await asyncio.sleep(pause)
        reply = result if isinstance(result, Reply) else None
        if isinstance(result, Reply):
            outcome = judge_reply(result, prompt, call, self._profile)
        else:
            outcome = fail(STAGE, result.code, result.message)
        return Generation(
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

    async def rehearse(self, policy: Policy) -> list[str]:
        """Makes a request without sending it, and compares it with the one that the contract makes (R4-1).

        Args:
            policy: The policy of the request.

        Returns:
            The keys that the client library changed; none where it made the request that was asked for.
        """
        call = make_call(self._profile, policy)
        if call.wire is Wire.BUILT_IN:
            return []
        found: list[str] = []

        def look(body: bytes) -> list[str]:
            found.extend(body_differences(body, call, REHEARSAL))
            return ["rehearsal"]

        exchange = Exchange(look, limit_bytes=0)
        with exchange.watched(), suppress(ExchangeStopped, *self._backend.faults):
            await self._backend.send(call, REHEARSAL)
        return found if exchange.is_made else ["everything"]

    async def close(self) -> None:
        """Closes the backend's connections."""
        await self._backend.close()

    async def _request(self, exchange: Exchange, call: Call, prompt: Prompt, started: float) -> Reply | Fault:
        """One request within its deadline, and what it came to."""
        left = self._profile.budget_seconds - (perf_counter() - started)
        faults: tuple[type[Exception], ...] = (ExchangeStopped, *self._backend.faults)
        try:
            with exchange.watched():
                async with asyncio.timeout(min(self._profile.timeout_seconds, left)):
                    return await self._backend.send(call, prompt.messages)
        except self._backend.timeouts:
            return judge_fault(exchange, self._profile, self._server, is_late=True)
        except faults:
            return judge_fault(exchange, self._profile, self._server)

    def _pause(self, attempt: int, result: Reply | Fault) -> float | None:
        """Seconds until the same request is made again; None where it is not (R4-5)."""
        if isinstance(result, Reply) or not result.is_worth_another or attempt == self._profile.max_requests:
            return None
        pause = self._profile.pause_seconds * (1 << (attempt - 1)) * (1 - JITTER * self._draw())
        return max(pause, result.retry_after or 0)


def _exchange(call: Call, prompt: Prompt) -> Exchange:
    return Exchange(
        find_differences=partial(body_differences, call=call, messages=prompt.messages),
        limit_bytes=BASE_BYTES + BYTES_PER_TOKEN * call.max_output_tokens,
    )

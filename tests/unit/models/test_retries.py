"""R4-5: what is asked again, when, and with which bytes, over a backend without a network."""

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from sourcebound.contracts.execution.call import Call, request_body
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.outcome import FailureCode, Status
from sourcebound.contracts.prompt.build import Message, build_prompt
from sourcebound.models.exchange import event_hooks, read_retry_after
from sourcebound.models.faults import ServerWording
from sourcebound.models.generators import ChatGenerator
from sourcebound.models.profiles import Registry
from support.builders import answer_bundle, policy

PROMPT = build_prompt(answer_bundle(), policy()).prompt
GOOD = Reply(text="Yes.", ending=ReplyEnding.COMPLETE, model_name="gpt-4.1", prompt_tokens=10_000)
Step = Reply | Exception | httpx.Response | None


class FakeBackend:
    """Comes to one thing after another, as a client of the network would.

    A reply, a fault without an answer, an answer with a status that says no, or (None) nothing, for ever.
    """

    faults = (httpx.HTTPError,)
    timeouts = (TimeoutError, httpx.TimeoutException)

    def __init__(self, *steps: Step, alter: Callable[[dict[str, Any]], object] = lambda body: None) -> None:
        self.sent: list[bytes] = []
        self._steps = itertools.chain(steps, itertools.repeat(steps[-1]))
        self._alter = alter

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        body = request_body(call, messages)
        self._alter(body)
        content = json.dumps(body).encode()
        (on_request,), (on_response,) = event_hooks()["request"], event_hooks()["response"]
        await on_request(httpx.Request("POST", "http://fake/v1/responses", content=content))
        self.sent.append(content)
        match next(self._steps):
            case None:
                await asyncio.Event().wait()
                raise AssertionError
            case Exception() as error:
                raise error
            case httpx.Response() as response:
                await on_response(response)
                raise httpx.HTTPStatusError("no", request=httpx.Request("POST", "http://fake"), response=response)
            case reply:
                return reply

    async def close(self) -> None:
        """There is nothing to close."""


class Pauses:
    """The pauses that a generator made, without making them. Other tasks and threads of the process sleep as before."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    made = Pauses()
    monkeypatch.setattr("sourcebound.models.generators.sleep", made.sleep)
    return made


def _profile(**changes: Any) -> ModelProfile:
    patient = {"max_requests": 5, "pause_seconds": 2.0, "budget_seconds": 1000.0, "timeout_seconds": 60.0}
    return Registry().find("openai:gpt-4.1").model_copy(update={**patient, **changes})


async def _generate(backend: FakeBackend, draw: Callable[[], float] = lambda: 0.0, **changes: Any) -> Generation:
    server = ServerWording("http://fake", "start it", "set the key", "choose another")
    return await ChatGenerator(_profile(**changes), backend, server, draw).generate(PROMPT, policy())


def _status(code: int, **headers: str) -> httpx.Response:
    return httpx.Response(code, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.contract("R4-5")
async def test_the_pause_doubles(pauses: Pauses) -> None:
    generation = await _generate(FakeBackend(_status(503)))
    assert pauses.seconds == [2.0, 4.0, 8.0, 16.0]
    assert (generation.attempts, generation.outcome.failure_code) == (5, FailureCode.MODEL_UNAVAILABLE)


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize(("drawn", "share"), [(0.0, 1.0), (0.25, 0.875), (0.5, 0.75), (1.0, 0.5)])
async def test_a_pause_is_shortened_by_what_is_drawn_and_by_half_at_most(
    pauses: Pauses, drawn: float, share: float
) -> None:
    await _generate(FakeBackend(_status(503)), lambda: drawn)
    assert pauses.seconds == [share * full for full in (2.0, 4.0, 8.0, 16.0)]


@pytest.mark.contract("R4-5")
async def test_each_pause_is_drawn_anew(pauses: Pauses) -> None:
    draws = iter([0.0, 1.0, 0.0, 1.0])
    await _generate(FakeBackend(_status(503)), lambda: next(draws))
    assert pauses.seconds == [2.0, 2.0, 8.0, 8.0]


@pytest.mark.contract("R4-5")
async def test_without_a_draw_of_its_own_a_generator_jitters(pauses: Pauses) -> None:
    for _ in range(20):
        generator = ChatGenerator(_profile(max_requests=2), FakeBackend(_status(503)), ServerWording())
        await generator.generate(PROMPT, policy())
    assert len(set(pauses.seconds)) > 1
    assert all(1.0 <= pause <= 2.0 for pause in pauses.seconds)


@pytest.mark.contract("R4-5")
async def test_the_server_says_how_long_to_wait_and_the_pause_is_the_least(pauses: Pauses) -> None:
    backend = FakeBackend(_status(429, retry_after="7"), _status(503, retry_after="1"), _status(429), GOOD)
    generation = await _generate(backend)
    assert pauses.seconds == [7.0, 4.0, 8.0]
    assert (generation.outcome.status, generation.attempts) == (Status.OK, 4)


@pytest.mark.contract("R4-5")
async def test_a_wait_beyond_the_budget_is_not_begun(pauses: Pauses) -> None:
    backend = FakeBackend(_status(429, retry_after="1000"), GOOD)
    generation = await _generate(backend)
    assert (pauses.seconds, len(backend.sent)) == ([], 1)
    assert (generation.outcome.failure_code, generation.attempts) == (FailureCode.MODEL_RATE_LIMITED, 1)


@pytest.mark.contract("R4-5")
async def test_a_pause_beyond_the_budget_is_not_begun(pauses: Pauses) -> None:
    backend = FakeBackend(_status(503))
    generation = await _generate(backend, budget_seconds=5.0)
    # The pauses are not made here, so that the budget is all but whole each time: 8 s are too long, 2 s and 4 s not.
    assert pauses.seconds == [2.0, 4.0]
    assert generation.attempts == len(backend.sent) == 3


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(
    ("step", "code"),
    [
        (_status(429), FailureCode.MODEL_RATE_LIMITED),
        (_status(500), FailureCode.MODEL_UNAVAILABLE),
        (_status(503), FailureCode.MODEL_UNAVAILABLE),
        (_status(529), FailureCode.MODEL_UNAVAILABLE),
        (httpx.ConnectError("refused"), FailureCode.MODEL_UNAVAILABLE),
        (httpx.ReadError("reset"), FailureCode.MODEL_UNAVAILABLE),
        (httpx.ReadTimeout("late"), FailureCode.MODEL_TIMEOUT),
        (TimeoutError(), FailureCode.MODEL_TIMEOUT),
    ],
)
async def test_a_request_is_made_again_with_the_same_bytes_and_no_more_often_than_the_profile_says(
    pauses: Pauses, step: Step, code: FailureCode, limit: int
) -> None:
    backend = FakeBackend(step)
    generation = await _generate(backend, max_requests=limit)
    assert generation.attempts == len(backend.sent) == len(pauses.seconds) + 1 == limit
    assert len(set(backend.sent)) == 1
    assert (generation.outcome.failure_code, generation.raw_model_text) == (code, "")
    assert generation.outcome.message


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 408, 409, 413, 418, 422])
async def test_a_request_that_was_refused_is_never_made_again(pauses: Pauses, status: int) -> None:
    backend = FakeBackend(_status(status, retry_after="1"), GOOD)
    generation = await _generate(backend)
    assert (pauses.seconds, len(backend.sent), generation.attempts) == ([], 1, 1)
    assert generation.outcome.failure_code is FailureCode.MODEL_REJECTED
    assert f"HTTP status {status}" in generation.outcome.message


class LateBackend(FakeBackend):
    """Begins an answer with a status, and then says nothing more."""

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        with suppress(httpx.HTTPStatusError):
            await super().send(call, messages)
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize(
    ("status", "code", "requests"),
    [
        (400, FailureCode.MODEL_REJECTED, 1),
        (401, FailureCode.MODEL_REJECTED, 1),
        (429, FailureCode.MODEL_RATE_LIMITED, 2),
        (503, FailureCode.MODEL_UNAVAILABLE, 2),
        (200, FailureCode.MODEL_TIMEOUT, 2),
    ],
)
async def test_an_answer_that_stops_after_its_status_is_judged_by_its_status(
    pauses: Pauses, status: int, code: FailureCode, requests: int
) -> None:
    backend = LateBackend(_status(status))
    generation = await _generate(backend, timeout_seconds=0.05, max_requests=2)
    assert (generation.outcome.failure_code, len(backend.sent)) == (code, requests)


@pytest.mark.contract("R4-5")
async def test_an_answer_that_broke_off_is_not_asked_for_again(pauses: Pauses) -> None:
    backend = FakeBackend(GOOD.model_copy(update={"ending": ReplyEnding.BROKEN_OFF}), GOOD)
    generation = await _generate(backend)
    assert (len(backend.sent), generation.outcome.failure_code) == (1, FailureCode.MODEL_UNAVAILABLE)


@pytest.mark.contract("R4-5")
async def test_a_fault_after_an_answer_began_well_is_not_asked_for_again(pauses: Pauses) -> None:
    backend = FakeBackend(_status(200), GOOD)
    generation = await _generate(backend)
    assert (len(backend.sent), generation.outcome.failure_code) == (1, FailureCode.MODEL_UNAVAILABLE)
    assert "broke off" in generation.outcome.message


@pytest.mark.contract("R4-5")
async def test_another_fault_is_judged_anew(pauses: Pauses) -> None:
    backend = FakeBackend(httpx.ConnectError("refused"), TimeoutError(), _status(400), GOOD)
    generation = await _generate(backend)
    assert (len(backend.sent), generation.outcome.failure_code) == (3, FailureCode.MODEL_REJECTED)


@pytest.mark.contract("R4-5")
async def test_a_model_that_never_answers_ends_at_its_deadline(pauses: Pauses) -> None:
    backend = FakeBackend(None)
    generation = await _generate(backend, timeout_seconds=0.05, max_requests=2)
    assert (len(backend.sent), generation.outcome.failure_code) == (2, FailureCode.MODEL_TIMEOUT)
    assert "0.05 s" in generation.outcome.message


@pytest.mark.contract("R4-5")
async def test_the_budget_ends_a_request_before_its_own_deadline() -> None:
    backend = FakeBackend(None)
    async with asyncio.timeout(20):
        generation = await _generate(backend, timeout_seconds=600.0, budget_seconds=0.1, pause_seconds=0.0)
    assert (len(backend.sent), generation.outcome.failure_code) == (1, FailureCode.MODEL_TIMEOUT)


class SlowStartBackend(FakeBackend):
    """Comes to no request within any deadline."""

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.contract("R4-5")
async def test_a_deadline_before_the_request_is_a_deadline_and_no_altered_request(pauses: Pauses) -> None:
    generation = await _generate(SlowStartBackend(None), timeout_seconds=0.05, max_requests=2)
    assert (generation.outcome.failure_code, generation.attempts) == (FailureCode.MODEL_TIMEOUT, 2)


@pytest.mark.contract("R4-1")
@pytest.mark.parametrize("key", ["instructions", "temperature", "input"])
async def test_an_altered_request_is_not_sent_and_not_made_again(pauses: Pauses, key: str) -> None:
    backend = FakeBackend(GOOD, alter=lambda body: body.update({key: "Be brief."}))
    generation = await _generate(backend)
    assert (backend.sent, generation.outcome.failure_code) == ([], FailureCode.REQUEST_ALTERED)
    assert f"changed {key}" in generation.outcome.message


@pytest.mark.contract("R4-8")
async def test_a_result_has_what_the_provider_said() -> None:
    reply = GOOD.model_copy(
        update={"response_id": "resp_1", "finish_reason": "stop", "completion_tokens": 3, "total_tokens": 10_003}
    )
    generation = await _generate(FakeBackend(reply.model_copy(update={"model_name": "gpt-4.1-2025-04-14"})))
    assert (generation.outcome.status, generation.raw_model_text, generation.attempts) == (Status.OK, "Yes.", 1)
    assert (generation.provider, generation.model_name) == ("openai", "gpt-4.1-2025-04-14")
    assert (generation.response_id, generation.finish_reason) == ("resp_1", "stop")
    assert generation.prompt_sha256 == PROMPT.prompt_sha256
    assert (generation.prompt_tokens_actual, generation.completion_tokens_actual) == (10_000, 3)
    assert generation.total_tokens_actual == 10_003
    assert generation.call is not None
    assert generation.call.max_output_tokens == 800
    assert generation.llm_latency_ms is not None


@pytest.mark.contract("R4-8")
async def test_what_cannot_be_stored_is_left_out_of_what_is_recorded() -> None:
    spoilt = {"text": "Y\0es.", "model_name": "gpt\0-5", "response_id": "r\ud800", "finish_reason": "\0stop"}
    generation = await _generate(FakeBackend(GOOD.model_copy(update=spoilt)))
    assert generation.outcome.status is Status.FAILED
    recorded = (generation.raw_model_text, generation.model_name, generation.response_id, generation.finish_reason)
    assert recorded == ("Yes.", "gpt-5", "r", "stop")


NOW = datetime.now(UTC)


@pytest.mark.contract("R4-5")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        (" 30 ", 30.0),
        (None, None),
        ("", None),
        (" ", None),
        ("-1", None),
        ("+7", None),
        ("inf", None),
        ("nan", None),
        ("1e999", None),
        ("soon", None),
        ("7 s", None),
        ("²", None),
        ("0x10", None),
        ("Mon, 32 Jan 2024 00:00:00 GMT", None),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None),
        pytest.param(format_datetime(NOW - timedelta(hours=1), usegmt=True), None, id="an hour ago"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_or_left_alone(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value) == seconds


@pytest.mark.contract("R4-5")
def test_retry_after_as_a_date_is_the_time_until_then() -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    for text in (format_datetime(at, usegmt=True), format_datetime(at), f"{at:%a, %d %b %Y %H:%M:%S} -0000"):
        seconds = read_retry_after(text)
        assert seconds is not None
        assert 3500 < seconds <= 3600

"""R4-3, R4-6, R4-7: a reply counts only as the asked model's whole answer to the whole prompt."""

from typing import Any

import pytest

from sourcebound.contracts.execution.call import make_call
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.contracts.execution.reply import Reply, ReplyEnding, is_same_model, judge_reply
from sourcebound.contracts.outcome import FailureCode, Outcome, Status
from sourcebound.contracts.prompt.build import Prompt, build_prompt
from sourcebound.models.profiles import Registry
from support.builders import JsonObject, answer_bundle, policy

PROMPT = build_prompt(answer_bundle(), policy()).prompt
NAME = "gpt-4.1"


def _profile(name: str = f"openai:{NAME}", **changes: Any) -> ModelProfile:
    return Registry().find(name).model_copy(update=changes)


def _reply(**changes: Any) -> Reply:
    form: JsonObject = {"text": "Yes.", "ending": ReplyEnding.COMPLETE, "model_name": NAME, "prompt_tokens": 10_000}
    return Reply.model_validate(form | changes)


def _judge(reply: Reply, profile: ModelProfile | None = None, prompt: Prompt = PROMPT) -> Outcome:
    profile = profile or _profile()
    return judge_reply(reply, prompt, make_call(profile, policy()), profile)


# each alone, in the order in which they are judged
FAILINGS: list[tuple[JsonObject, FailureCode, str]] = [
    ({"ending": ReplyEnding.BROKEN_OFF}, FailureCode.MODEL_UNAVAILABLE, "broke off"),
    ({"model_name": "gpt-4.1-mini"}, FailureCode.MODEL_IDENTITY_MISMATCH, "'gpt-4.1-mini' answered"),
    ({"prompt_tokens": 40}, FailureCode.PROMPT_TRUNCATED, "read 40 tokens"),
    ({"ending": ReplyEnding.AT_CAP}, FailureCode.OUTPUT_TRUNCATED, "cut at 800 tokens"),
    ({"ending": ReplyEnding.WITHHELD}, FailureCode.MODEL_REJECTED, "kept the answer back"),
    ({"text": "Yes.\0"}, FailureCode.MODEL_REJECTED, "cannot be stored"),
]


@pytest.mark.contract("R4-7")
@pytest.mark.contract("R4-3")
@pytest.mark.parametrize(("changes", "code", "words"), FAILINGS)
def test_each_failing_has_its_code_and_says_so(changes: JsonObject, code: FailureCode, words: str) -> None:
    outcome = _judge(_reply(**changes))
    assert (outcome.status, outcome.stage, outcome.failure_code) == (Status.FAILED, "generate", code)
    assert words in outcome.message
    assert f"openai:{NAME}" in outcome.message


@pytest.mark.contract("R4-7")
@pytest.mark.parametrize("first", range(len(FAILINGS)))
@pytest.mark.parametrize("second", range(len(FAILINGS)))
def test_the_first_failing_names_the_failure(first: int, second: int) -> None:
    if first < second:
        changes, _, words = FAILINGS[first]
        assert words in _judge(_reply(**{**FAILINGS[second][0], **changes})).message


@pytest.mark.contract("R4-8")
def test_a_whole_answer_goes_on() -> None:
    assert _judge(_reply()).status is Status.OK
    assert _judge(_reply(text="")).status is Status.OK
    assert _judge(_reply(text="\u2028 \U0001f600 e\u0301 \x1b")).status is Status.OK


@pytest.mark.contract("R4-8")
@pytest.mark.parametrize("text", ["Yes.\0", "\0", "\ud800", "\udfff.", "a\ud83d b"])
def test_an_answer_that_cannot_be_stored_is_rejected_and_not_mended(text: str) -> None:
    outcome = _judge(_reply(text=text))
    assert outcome.failure_code is FailureCode.MODEL_REJECTED
    assert "stored" in outcome.message


SAME = [
    (NAME, NAME),
    (NAME, "gpt-4.1-2025-04-14"),
    (NAME, "gpt-4.1-20250414"),
    ("gpt-4", "gpt-4-0613"),
    ("gpt-4.1-2025-04-14", "gpt-4.1-2025-04-14"),
    ("org/name.v2", "org/name.v2"),
]
OTHER = [
    (NAME, None),
    (NAME, ""),
    (NAME, "gpt-4.1-mini"),
    (NAME, "gpt-4.1-mini-2025-04-14"),
    (NAME, "gpt-4.1-evil-2025-04-14"),
    (NAME, "gpt-4.1-2025-04-14-evil"),
    (NAME, "gpt-4.1-2025-04-14\n"),
    (NAME, "gpt-4.1-25-04-14"),
    (NAME, "gpt-4.1-2025-4-14"),
    (NAME, "gpt-4.1-202504145"),
    (NAME, "gpt-4.1-２０２５"),
    (NAME, "gpt-4.12025-04-14"),
    (NAME, "gpt-4.1-"),
    (NAME, "-2025-04-14"),
    (NAME, "gpt-4x1-2025-04-14"),
    (NAME, "gpt-4"),
    (NAME, "GPT-4.1"),
    (NAME, "gpt-4.1:latest"),
    (NAME, "ft:gpt-4.1"),
    ("gpt-4.1-2025-04-14", NAME),
    ("gpt-4.1-2025-04-14", "gpt-4.1-2025-05-01"),
    ("gpt-4.1-mini", NAME),
]


@pytest.mark.contract("R4-3")
@pytest.mark.parametrize("wire", [Wire.RESPONSES, Wire.CHAT_COMPLETIONS])
@pytest.mark.parametrize(
    ("asked", "reported", "same"),
    [*((asked, reported, True) for asked, reported in SAME), *((*pair, False) for pair in OTHER)],
)
def test_a_model_is_the_same_by_its_name_or_as_a_dated_snapshot(
    wire: Wire, asked: str, reported: str | None, same: bool
) -> None:
    profile = _profile(model=asked, wire=wire)
    assert is_same_model(reported, profile) is same
    code = None if same else FailureCode.MODEL_IDENTITY_MISMATCH
    assert _judge(_reply(model_name=reported), profile).failure_code is code


@pytest.mark.contract("R4-3")
@pytest.mark.parametrize(
    ("reported", "same"),
    [
        ("llama3.2", True),
        ("llama3.2:latest", True),
        ("llama3.2:3b", False),
        ("llama3.2-2025-04-14", False),
        ("llama3", False),
        ("llama3.2:latest:latest", False),
    ],
)
def test_ollama_completes_a_name_with_latest_and_dates_nothing(reported: str, same: bool) -> None:
    assert is_same_model(reported, _profile("ollama:llama3.2")) is same


@pytest.mark.contract("R4-3")
@pytest.mark.parametrize("wire", Wire)
def test_other_names_count_where_the_profile_lists_them(wire: Wire) -> None:
    profile = _profile(wire=wire, reported_names=("/models/seal.gguf",))
    assert is_same_model("/models/seal.gguf", profile)
    assert is_same_model(NAME, profile)
    assert not is_same_model("/models/seal.gguf-2025-04-14", profile)
    assert not is_same_model(None, profile)


@pytest.mark.contract("R4-3")
def test_a_reported_name_is_shown_short_and_without_what_cannot_be_shown() -> None:
    message = _judge(_reply(model_name="evil\0\ud800" + "x" * 5000)).message
    assert "'evilxxx" in message
    assert len(message) < 400
    assert "no model" in _judge(_reply(model_name=None)).message


@pytest.mark.contract("R4-7")
@pytest.mark.parametrize(
    ("expected", "tolerance", "least"), [(1000, 0.4, 600), (1000, 0.25, 750), (1000, 0.0, 1000), (1001, 0.5, 501)]
)
def test_a_prompt_is_cut_when_its_count_falls_under_the_tolerance(expected: int, tolerance: float, least: int) -> None:
    profile = _profile(tokenizer_tolerance=tolerance)
    prompt = PROMPT.model_copy(update={"prompt_tokens": expected})
    assert _judge(_reply(prompt_tokens=least), profile, prompt).status is Status.OK
    assert _judge(_reply(prompt_tokens=least + 5000), profile, prompt).status is Status.OK
    cut = _judge(_reply(prompt_tokens=least - 1), profile, prompt)
    assert cut.failure_code is FailureCode.PROMPT_TRUNCATED
    assert f"{least - 1} tokens of a prompt of about {expected}" in cut.message


@pytest.mark.contract("R4-7")
def test_a_count_that_nobody_gave_is_not_judged() -> None:
    assert _judge(_reply(prompt_tokens=None)).status is Status.OK
    assert _judge(_reply(prompt_tokens=1, model_name="extractive"), _profile("extractive")).status is Status.OK


@pytest.mark.contract("R4-7")
@pytest.mark.parametrize(("written", "is_cut"), [(None, False), (1, False), (799, False), (800, True), (5000, True)])
def test_an_answer_as_long_as_its_cap_is_cut_whatever_the_server_says(written: int | None, is_cut: bool) -> None:
    outcome = _judge(_reply(completion_tokens=written))
    assert outcome.failure_code is (FailureCode.OUTPUT_TRUNCATED if is_cut else None)

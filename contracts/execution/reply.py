"""R4: accepts a reply only if it is the whole answer of the requested model to the whole prompt (R4-3, R4-6, R4-7)."""

import re
from enum import StrEnum
from typing import Final

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.contracts.outcome import FailureCode, Outcome, fail, proceed
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.text.sanitize import to_storable

STAGE: Final = "generate"
SNAPSHOT: Final = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})", re.ASCII)
"""The date suffix of a model snapshot: `-2025-04-14`, `-20250414`, `-0613`."""


class ReplyEnding(StrEnum):
    """The end of a reply, in one vocabulary for all providers."""

    COMPLETE = "complete"
    AT_CAP = "at_cap"
    WITHHELD = "withheld"
    """The provider withheld the answer, or replaced it by its own refusal."""
    BROKEN_OFF = "broken_off"
    """The reply does not say that the answer is finished."""


class Reply(Contract):
    """The reply of a provider, unchanged."""

    text: str
    ending: ReplyEnding
    model_name: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


def judge_reply(reply: Reply, prompt: Prompt, call: Call, profile: ModelProfile) -> Outcome:
    """Judge whether a reply is the whole answer of the requested model to the whole prompt.

    Args:
        reply: The reply.
        prompt: The prompt of the request.
        call: The parameters of the request.
        profile: The profile of the model.

    Returns:
        OK, or FAILED with the first of: interrupted, another model, a truncated prompt, a truncated answer, a withheld
        answer, an answer that cannot be stored unchanged.
    """
    name = profile.name
    if reply.ending is ReplyEnding.BROKEN_OFF:
        return fail(
            STAGE,
            FailureCode.MODEL_UNAVAILABLE,
            f"the answer of {name} broke off before its end; ask the question again",
        )
    if not is_same_model(reply.model_name, profile):
        return fail(
            STAGE,
            FailureCode.MODEL_IDENTITY_MISMATCH,
            f"{name} was asked and {to_storable(reply.model_name or 'no model')[:100]!r} answered; name the model "
            "that the server runs, or list that name in the profile's reported_names",
        )
    if (shortfall := _prompt_shortfall(reply, prompt, profile)) is not None:
        return fail(STAGE, FailureCode.PROMPT_TRUNCATED, shortfall)
    if reply.ending is ReplyEnding.AT_CAP or (reply.completion_tokens or 0) >= call.max_output_tokens:
        return fail(
            STAGE,
            FailureCode.OUTPUT_TRUNCATED,
            f"the answer of {name} was cut at {call.max_output_tokens} tokens; ask a narrower question, or use a "
            "policy with a larger reserved_output_tokens",
        )
    if reply.ending is ReplyEnding.WITHHELD:
        return fail(
            STAGE, FailureCode.MODEL_REJECTED, f"the provider of {name} kept the answer back; rephrase the question"
        )
    if to_storable(reply.text) != reply.text:
        return fail(
            STAGE, FailureCode.MODEL_REJECTED, f"the answer of {name} has characters that cannot be stored; ask again"
        )
    return proceed(STAGE)


def is_same_model(reported: str | None, profile: ModelProfile) -> bool:
    """Whether the reported model is the requested one, or a dated snapshot of it (R4-3)."""
    if reported is None:
        return False
    if reported == profile.model or reported in profile.reported_names:
        return True
    if profile.wire is Wire.OLLAMA_CHAT:
        return reported == f"{profile.model}:latest"
    return bool(SNAPSHOT.fullmatch(reported.removeprefix(profile.model))) and reported.startswith(profile.model)


def _prompt_shortfall(reply: Reply, prompt: Prompt, profile: ModelProfile) -> str | None:
    """Return the reason why the provider cannot have read the whole prompt, or None (R4-7)."""
    least = prompt.prompt_tokens * (1 - profile.tokenizer_tolerance)
    if profile.wire is Wire.BUILT_IN or reply.prompt_tokens is None or reply.prompt_tokens >= least:
        return None
    return (
        f"{profile.name} read {reply.prompt_tokens} tokens of a prompt of about {prompt.prompt_tokens}; give the "
        "server a larger context, or correct the profile's context_window"
    )

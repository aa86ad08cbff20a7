"""R4-1: the request body as a pure function of prompt and parameters, and its comparison with the actual request.

A client library may drop a parameter, rename a role or add an instruction. So the request that the library made is
compared with this body before any byte is sent.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, assert_never

from sourcebound.contracts.base import Contract
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire, context_tokens
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt import answer_sentences as answer_json
from sourcebound.contracts.prompt import fact_choice
from sourcebound.contracts.prompt.build import Message, read_prompt

JsonObject = dict[str, Any]
OutputProfile = Literal["prose", "answer_sentences", "relevant_facts"]
SCHEMAS: Final[Mapping[OutputProfile, Callable[[Sequence[Message]], JsonObject]]] = {
    "answer_sentences": lambda messages: answer_json.json_schema(
        [part.anchor for part in read_prompt(messages).evidence]
    ),
    "relevant_facts": lambda _: fact_choice.json_schema(),
}
"""The JSON schemas of the output profiles, by the prompt: an answer cites only the anchors that its prompt has."""
NEUTRAL: Final[tuple[object, ...]] = (None, False, "", [], {})
"""Values that mean the same as an absent key."""


class Call(Contract):
    """The fixed parameters of one model call (R4-3, R4-4, R4-6)."""

    wire: Wire
    model: str
    temperature: float | Literal["unsupported"]
    seed: int | None
    max_output_tokens: int
    context_tokens: int
    """Ollama's `num_ctx`; other wires have no such parameter."""
    keep_alive: str | None
    output_profile: OutputProfile
    """The expected reply: an answer in one of two forms (R3-7), or a choice of facts (R3-9)."""
    structured_output: bool
    """Whether the provider is held to the JSON schema of the output profile (R3-7)."""


def make_call(profile: ModelProfile, policy: Policy) -> Call:
    """Derive the parameters from policy and model profile."""
    return Call(
        wire=profile.wire,
        model=profile.model,
        temperature=policy.execution.temperature if profile.temperature == "zero" else "unsupported",
        seed=policy.execution.seed if profile.seed else None,
        max_output_tokens=policy.prompt.reserved_output_tokens,
        context_tokens=context_tokens(policy),
        keep_alive=profile.keep_alive,
        output_profile=policy.prompt.output_profile,
        structured_output=profile.structured_output and policy.prompt.output_profile in SCHEMAS,
    )


def request_body(call: Call, messages: Sequence[Message]) -> JsonObject:
    """Build the JSON body of a request.

    Args:
        call: The parameters.
        messages: The prompt.

    Returns:
        Every key that has a meaning, with its exact value; empty for the built-in wire, which sends nothing.
    """
    turns = [{"role": message.role, "content": message.content} for message in messages]
    match call.wire:
        case Wire.BUILT_IN:
            return {}
        case Wire.RESPONSES:
            body: JsonObject = {
                "model": call.model,
                "input": [{**turn, "type": "message"} for turn in turns],
                "max_output_tokens": call.max_output_tokens,
                "store": False,
            }
            return {
                **body,
                **_sampling(call),
                **({"text": {"format": text_format(call, messages)}} if call.structured_output else {}),
            }
        case Wire.CHAT_COMPLETIONS:
            body = {"model": call.model, "messages": turns, "max_completion_tokens": call.max_output_tokens}
            return {
                **body,
                **_sampling(call),
                **({"response_format": response_format(call, messages)} if call.structured_output else {}),
            }
        case Wire.OLLAMA_CHAT:
            options = {"num_ctx": call.context_tokens, "num_predict": call.max_output_tokens, **_sampling(call)}
            body = {"model": call.model, "messages": turns, "stream": False, "options": options}
            body |= {"keep_alive": call.keep_alive} if call.keep_alive else {}
            return {**body, **({"format": json_schema(call, messages)} if call.structured_output else {})}
        case _:
            assert_never(call.wire)


def body_differences(body: bytes, call: Call, messages: Sequence[Message]) -> list[str]:
    """Return the keys in which a request differs from the expected one.

    Args:
        body: The body that is about to be sent.
        call: The parameters of the call.
        messages: The prompt.

    Returns:
        The names of keys with another value, missing keys and unexpected keys; empty if the bodies are equal.
    """
    try:
        sent = json.loads(body)
    except ValueError:
        return ["the body is not JSON"]
    if not isinstance(sent, dict):
        return ["the body is not a JSON object"]
    expected = request_body(call, messages)
    changed = [key for key, value in expected.items() if key not in sent or not _same(sent[key], value)]
    return changed + [
        key
        for key, value in sent.items()
        if key not in expected and not any(_same(value, neutral) for neutral in NEUTRAL)
    ]


def json_schema(call: Call, messages: Sequence[Message]) -> JsonObject:
    """Return the JSON schema of a call's output profile (R3-7).

    Args:
        call: The parameters.
        messages: The prompt, whose anchors are the only ones that the schema accepts.

    Raises:
        KeyError: The profile is `prose`, which has no schema.
    """
    return SCHEMAS[call.output_profile](messages)


def text_format(call: Call, messages: Sequence[Message]) -> JsonObject:
    """Return the output profile for the Responses API."""
    return {"type": "json_schema", **_named_schema(call, messages)}


def response_format(call: Call, messages: Sequence[Message]) -> JsonObject:
    """Return the output profile for the chat completions API."""
    return {"type": "json_schema", "json_schema": _named_schema(call, messages)}


def _named_schema(call: Call, messages: Sequence[Message]) -> JsonObject:
    return {"name": call.output_profile, "schema": json_schema(call, messages), "strict": True}


def _sampling(call: Call) -> JsonObject:
    return {
        **({} if call.temperature == "unsupported" else {"temperature": call.temperature}),
        **({} if call.seed is None else {"seed": call.seed}),
    }


def _same(sent: object, expected: object) -> bool:
    """Compare JSON values; true is not 1 and false is not 0."""
    return sent == expected and json.dumps(sent, sort_keys=True) == json.dumps(expected, sort_keys=True)

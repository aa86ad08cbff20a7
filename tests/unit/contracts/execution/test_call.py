"""R4-1 as a pure function: what one call sends, and whether a request is that and nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sourcebound.contracts.execution.call import Call, body_differences, make_call, request_body
from sourcebound.contracts.execution.model_profile import ModelProfile, Wire
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.prompt.answer_sentences import PROFILE, json_schema
from sourcebound.contracts.prompt.build import Message, build_prompt
from sourcebound.models.profiles import Registry
from support.builders import JsonObject, answer_bundle, policy

SYSTEM, USER = 'Be "exact"\\.', "How often?\u2028\n </s> é e\u0301 \U0001f600"
MESSAGES = (Message(role="system", content=SYSTEM), Message(role="user", content=USER))
TURNS = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
PROSE, SENTENCES = load_shipped_policy("SOURCEBOUND_V1"), load_shipped_policy("SOURCEBOUND_SENTENCES_V1")
SENDING = (Wire.RESPONSES, Wire.CHAT_COMPLETIONS, Wire.OLLAMA_CHAT)
EACH = pytest.mark.parametrize("wire", SENDING)
STRUCTURED = {Wire.RESPONSES: "text", Wire.CHAT_COMPLETIONS: "response_format", Wire.OLLAMA_CHAT: "format"}
TURNS_KEY = {Wire.RESPONSES: "input", Wire.CHAT_COMPLETIONS: "messages", Wire.OLLAMA_CHAT: "messages"}


def _call(wire: Wire, **changes: Any) -> Call:
    form: JsonObject = {
        "wire": wire,
        "model": "model-1",
        "temperature": 0.0,
        "seed": 7,
        "max_output_tokens": 800,
        "context_tokens": 4300,
        "keep_alive": "10m",
        "output_profile": "answer_sentences",
        "structured_output": False,
    }
    return Call.model_validate(form | changes)


def _profile(name: str, **changes: Any) -> ModelProfile:
    return Registry().find(name).model_copy(update=changes)


def _sent(wire: Wire, **changes: Any) -> JsonObject:
    """The request as JSON that a test may spoil."""
    body: JsonObject = json.loads(json.dumps(request_body(_call(wire, **changes), MESSAGES)))
    return body


def _found(body: JsonObject, wire: Wire, **changes: Any) -> list[str]:
    return body_differences(json.dumps(body).encode(), _call(wire, **changes), MESSAGES)


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R4-6")
def test_the_body_of_a_responses_request() -> None:
    assert request_body(_call(Wire.RESPONSES, seed=None), MESSAGES) == {
        "model": "model-1",
        "input": [{**turn, "type": "message"} for turn in TURNS],
        "max_output_tokens": 800,
        "store": False,
        "temperature": 0.0,
    }


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R4-4")
def test_the_body_of_a_chat_completions_request() -> None:
    assert request_body(_call(Wire.CHAT_COMPLETIONS), MESSAGES) == {
        "model": "model-1",
        "messages": TURNS,
        "max_completion_tokens": 800,
        "temperature": 0.0,
        "seed": 7,
    }


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R4-6")
def test_the_body_of_an_ollama_request() -> None:
    assert request_body(_call(Wire.OLLAMA_CHAT), MESSAGES) == {
        "model": "model-1",
        "messages": TURNS,
        "stream": False,
        "options": {"num_ctx": 4300, "num_predict": 800, "temperature": 0.0, "seed": 7},
        "keep_alive": "10m",
    }
    assert "keep_alive" not in request_body(_call(Wire.OLLAMA_CHAT, keep_alive=None), MESSAGES)


@pytest.mark.contract("R4-9")
def test_the_built_in_wire_sends_nothing() -> None:
    assert request_body(_call(Wire.BUILT_IN, structured_output=True), MESSAGES) == {}


@pytest.mark.contract("R3-7")
def test_the_schema_goes_where_each_api_takes_one_and_only_when_asked() -> None:
    form = {"name": PROFILE, "schema": json_schema(), "strict": True}
    schemas = {
        Wire.RESPONSES: {"format": {"type": "json_schema", **form}},
        Wire.CHAT_COMPLETIONS: {"type": "json_schema", "json_schema": form},
        Wire.OLLAMA_CHAT: json_schema(),
    }
    for wire, key in STRUCTURED.items():
        with_schema = request_body(_call(wire, structured_output=True), MESSAGES)
        assert with_schema.pop(key) == schemas[wire]
        assert with_schema == request_body(_call(wire), MESSAGES)


@pytest.mark.contract("R3-7")
@EACH
def test_the_schema_of_a_prompt_lists_its_anchors(wire: Wire) -> None:
    prompt = build_prompt(answer_bundle(), SENTENCES).prompt.messages
    body = request_body(_call(wire, structured_output=True), prompt)
    assert '"items": {"type": "string", "enum": ["C0", "C1"]}' in json.dumps(body[STRUCTURED[wire]])
    other = request_body(_call(wire, structured_output=True), MESSAGES)
    assert body_differences(
        json.dumps(body | {STRUCTURED[wire]: other[STRUCTURED[wire]]}).encode(),
        _call(wire, structured_output=True),
        prompt,
    ) == [STRUCTURED[wire]]


def _words(value: Any) -> list[str]:
    """Every title and description of a schema, whose properties may have those names."""
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    if not isinstance(value, dict):
        return []
    own = [text for key in ("title", "description", "$comment", "examples") if isinstance(text := value.get(key), str)]
    return own + [word for item in value.values() for word in _words(item)]


@pytest.mark.contract("R3-7")
@pytest.mark.contract("R4-1")
def test_the_schema_has_no_words_that_a_model_would_read() -> None:
    assert _words(json_schema()) == []
    assert _words({"a": [{"title": "So"}]}) == ["So"]


@pytest.mark.contract("R4-4")
@pytest.mark.contract("R4-6")
def test_a_call_takes_its_parameters_from_policy_and_profile() -> None:
    call = make_call(_profile("ollama:llama3.2:3b"), PROSE)
    assert call == Call(
        wire=Wire.OLLAMA_CHAT,
        model="llama3.2:3b",
        temperature=0.0,
        seed=7,
        max_output_tokens=800,
        context_tokens=4300,
        keep_alive="10m",
        output_profile="prose",
        structured_output=False,
    )
    other = policy(prompt={"max_total_prompt_tokens": 5000, "reserved_output_tokens": 600}, execution={"seed": 11})
    changed = make_call(_profile("ollama:llama3.2:3b"), other)
    assert (changed.context_tokens, changed.max_output_tokens, changed.seed) == (5600, 600, 11)


@pytest.mark.contract("R4-4")
def test_a_seed_is_sent_only_where_the_api_has_one() -> None:
    assert make_call(_profile("openai:gpt-4.1"), PROSE).seed is None
    for wire in SENDING:
        assert "seed" not in json.dumps(request_body(_call(wire, seed=None), MESSAGES))


@pytest.mark.contract("R4-4")
@EACH
def test_a_temperature_that_a_model_does_not_take_is_left_out_and_recorded(wire: Wire) -> None:
    call = make_call(_profile("openai:gpt-5", wire=wire), PROSE)
    assert call.model_dump(mode="json")["temperature"] == "unsupported"
    assert "temperature" not in json.dumps(request_body(call, MESSAGES))


@pytest.mark.contract("R3-7")
@pytest.mark.parametrize(
    ("allowed", "chosen", "held"), [(True, SENTENCES, True), (True, PROSE, False), (False, SENTENCES, False)]
)
def test_a_model_is_held_to_the_schema_where_policy_and_profile_say_so(allowed: bool, chosen: Any, held: bool) -> None:
    assert make_call(_profile("openai:gpt-4.1", structured_output=allowed), chosen).structured_output is held


@pytest.mark.contract("R4-1")
@EACH
@pytest.mark.parametrize("changes", [{}, {"structured_output": True}, {"temperature": "unsupported"}, {"seed": None}])
def test_the_request_itself_has_no_difference(wire: Wire, changes: JsonObject) -> None:
    body = request_body(_call(wire, **changes), MESSAGES)
    for layout in ({}, {"indent": 1}, {"ensure_ascii": False}, {"sort_keys": True}):
        assert body_differences(json.dumps(body, **layout).encode(), _call(wire, **changes), MESSAGES) == []


@pytest.mark.contract("R4-1")
@EACH
def test_keys_that_say_nothing_are_let_through(wire: Wire) -> None:
    silence: JsonObject = {"tools": [], "n": None, "instructions": "", "think": False, "metadata": {}}
    assert _found({**_sent(wire), **silence}, wire) == []


@pytest.mark.contract("R4-1")
@EACH
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("instructions", "Be brief."),
        ("system", " "),
        ("tools", [{"type": "function"}]),
        ("stop", ["\n"]),
        ("previous_response_id", "resp_1"),
        ("top_p", 0.5),
        ("top_p", 0),
        ("frequency_penalty", 0.0),
        ("think", True),
        ("raw", {"a": None}),
    ],
)
def test_a_key_that_nobody_asked_for_is_found(wire: Wire, key: str, value: object) -> None:
    assert _found({**_sent(wire), key: value}, wire) == [key]


def _spoilt(spoil: Callable[[str], str]) -> Callable[[list[JsonObject]], object]:
    def change(turns: list[JsonObject]) -> None:
        turns[1]["content"] = spoil(turns[1]["content"])

    return change


SPOILT: dict[str, Callable[[list[JsonObject]], object]] = {
    "a byte": _spoilt(lambda content: content.replace("often", "Often")),
    "a prefix": _spoilt(lambda content: f" {content}"),
    "a suffix": _spoilt(lambda content: f"{content}\n"),
    "trimmed": _spoilt(lambda content: content.replace("\n ", "\n")),
    "composed": _spoilt(lambda content: content.replace("e\u0301", "é")),
    "role": lambda turns: turns[0].update(role="developer"),
    "name": lambda turns: turns[1].update(name="reader"),
    "one more": lambda turns: turns.append({"role": "user", "content": ""}),
    "one less": lambda turns: turns.pop(),
    "order": lambda turns: turns.reverse(),
}


@pytest.mark.contract("R4-1")
@EACH
@pytest.mark.parametrize("name", SPOILT)
def test_any_change_of_the_messages_is_found(wire: Wire, name: str) -> None:
    body = _sent(wire)
    SPOILT[name](body[TURNS_KEY[wire]])
    assert _found(body, wire) == [TURNS_KEY[wire]]


@pytest.mark.contract("R4-4")
@pytest.mark.parametrize("wire", [Wire.RESPONSES, Wire.CHAT_COMPLETIONS])
@pytest.mark.parametrize("value", [0.1, 1, 0, False, "0.0", None])
def test_another_temperature_is_found(wire: Wire, value: object) -> None:
    assert _found({**_sent(wire), "temperature": value}, wire) == ["temperature"]


@pytest.mark.contract("R4-4")
@pytest.mark.parametrize("key", ["model", "max_completion_tokens", "seed", "temperature", "messages"])
def test_a_parameter_that_is_dropped_or_another_is_found(key: str) -> None:
    body = _sent(Wire.CHAT_COMPLETIONS)
    for other in ({**body, key: "another"}, {name: value for name, value in body.items() if name != key}):
        assert _found(other, Wire.CHAT_COMPLETIONS) == [key]


@pytest.mark.contract("R4-4")
@pytest.mark.parametrize("value", [0, 0.0, 1, False])
def test_a_temperature_is_found_where_a_model_takes_none(value: object) -> None:
    body = {**_sent(Wire.RESPONSES, temperature="unsupported"), "temperature": value}
    found = _found(body, Wire.RESPONSES, temperature="unsupported")
    assert found == ([] if value is False else ["temperature"])


@pytest.mark.contract("R4-6")
@pytest.mark.parametrize("stored", [True, None, 0, "false", ...])
def test_a_response_that_would_be_stored_is_found(stored: object) -> None:
    body = {key: value for key, value in _sent(Wire.RESPONSES).items() if key != "store"}
    assert _found(body if stored is ... else {**body, "store": stored}, Wire.RESPONSES) == ["store"]


@pytest.mark.contract("R4-6")
@pytest.mark.parametrize(
    "changes",
    [{"num_ctx": 4299}, {"num_predict": -1}, {"seed": 8}, {"temperature": 0.8}, {"num_ctx": True}, {"top_k": 1}],
)
def test_another_option_of_ollama_is_found(changes: JsonObject) -> None:
    body = _sent(Wire.OLLAMA_CHAT)
    assert _found({**body, "options": {**body["options"], **changes}}, Wire.OLLAMA_CHAT) == ["options"]


@pytest.mark.contract("R4-6")
@pytest.mark.parametrize("name", ["num_ctx", "num_predict", "temperature", "seed"])
def test_an_option_of_ollama_that_is_dropped_is_found(name: str) -> None:
    body = _sent(Wire.OLLAMA_CHAT)
    del body["options"][name]
    assert _found(body, Wire.OLLAMA_CHAT) == ["options"]


@pytest.mark.contract("R4-6")
@pytest.mark.parametrize("stream", [True, None, 0, ...])
def test_an_ollama_request_that_would_be_streamed_is_found(stream: object) -> None:
    body = {key: value for key, value in _sent(Wire.OLLAMA_CHAT).items() if key != "stream"}
    assert _found(body if stream is ... else {**body, "stream": stream}, Wire.OLLAMA_CHAT) == ["stream"]


@pytest.mark.contract("R3-7")
@EACH
def test_another_schema_is_found(wire: Wire) -> None:
    body, key = _sent(wire, structured_output=True), STRUCTURED[wire]
    loose = json.loads(json.dumps(body).replace('"additionalProperties": false', '"additionalProperties": true'))
    assert loose != body
    assert _found(loose, wire, structured_output=True) == [key]
    assert _found(_sent(wire), wire, structured_output=True) == [key]
    assert _found(body, wire) == [key]


@pytest.mark.contract("R4-1")
@pytest.mark.parametrize("body", [b"", b"model=m", b"\xff", b"[]", b"null", b'"text"', b"{"])
def test_what_is_no_json_object_is_no_request(body: bytes) -> None:
    (found,) = body_differences(body, _call(Wire.RESPONSES), MESSAGES)
    assert "the body is not" in found


@pytest.mark.contract("R4-1")
def test_every_difference_is_named() -> None:
    body = {**_sent(Wire.RESPONSES, seed=None), "store": True, "instructions": "Be brief.", "model": "model-2"}
    assert _found(body, Wire.RESPONSES, seed=None) == ["model", "store", "instructions"]

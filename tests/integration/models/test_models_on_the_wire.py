"""R4 over real sockets: the bytes sent, and the outcome of every server fault in every protocol."""

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import pytest
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langgraph.graph.state import CompiledStateGraph
from pydantic import SecretStr

from sourcebound.contracts.evidence.assemble import assemble
from sourcebound.contracts.execution.call import request_body
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, Status
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.answer_sentences import PROFILE, json_schema
from sourcebound.contracts.prompt.build import REFUSAL, Message, Prompt, build_prompt, canonical_prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.contracts.validation.firewall import validate
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.graph.workflow import build_graph
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from sourcebound.wiring import open_services
from support.builders import FILTER, SEAL, JsonObject, answer_bundle, bundle, policy, row
from support.fakes import FakeOutside, FakeRetriever
from support.processes.databases import rows, settings_for
from support.processes.model_servers import Fault, ModelServer, Received

RESPONSES, COMPLETIONS, OLLAMA = "openai:gpt-4.1", "openai:chat", "ollama:llama3.2"
NAMES = (RESPONSES, COMPLETIONS, OLLAMA)
ROUTES = {RESPONSES: "/v1/responses", COMPLETIONS: "/v1/chat/completions", OLLAMA: "/api/chat"}
EACH = pytest.mark.parametrize("name", NAMES)
ANSWER = f"{SEAL} [C0]"
PROSE, SENTENCES = policy(), load_shipped_policy("SOURCEBOUND_SENTENCES_V1")
BUNDLE = answer_bundle()
PROMPT = build_prompt(BUNDLE, PROSE).prompt
ANCHORS = [chunk.anchor for chunk in BUNDLE.selected_evidence]
READY: AskInput = {"retrieval_bundle": bundle([row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)])}
PATIENT, BUDGET_SECONDS = 30.0, 60.0
SLOW_FAULTS = (Fault.HANG, Fault.SLOW_DRIP)

PROFILES = """
[providers.openai]
wire = "responses"
timeout_seconds = {timeout}
budget_seconds = {budget}
pause_seconds = 0.01
[providers.ollama]
timeout_seconds = {timeout}
budget_seconds = {budget}
pause_seconds = 0.01
[models."openai:gpt-4.1"]
structured_output = true
[models."openai:plain"]
[models."openai:chat"]
wire = "chat_completions"
seed = true
structured_output = true
[models."openai:plain-chat"]
wire = "chat_completions"
[models."openai:gpt-5"]
temperature = "unsupported"
[models."openai:gpt-5-mini"]
wire = "chat_completions"
temperature = "unsupported"
[models."openai:o3"]
wire = "chat_completions"
temperature = "unsupported"
[models."ollama:llama3.2"]
[models."ollama:plain"]
structured_output = false
"""


def _settings(folder: Path, server: ModelServer, seconds: float = PATIENT) -> dict[str, Any]:
    """Settings that lead to the server, with a registry of profiles whose requests have this deadline."""
    server.models = [
        "gpt-4.1",
        "plain",
        "chat",
        "plain-chat",
        "gpt-5",
        "gpt-5-mini",
        "o3",
        "llama3.2:latest",
        "plain:latest",
    ]
    path = folder / "models.toml"
    path.write_text(PROFILES.format(timeout=seconds, budget=BUDGET_SECONDS), "utf-8")
    return {
        "models_file": path,
        "openai_base_url": server.openai_url,
        "openai_api_key": SecretStr("sk-right"),
        "ollama_host": server.url,
    }


@asynccontextmanager
async def _models(folder: Path, server: ModelServer, seconds: float = PATIENT) -> AsyncIterator[Models]:
    models = Models(Settings(**_settings(folder, server, seconds)))
    try:
        yield models
    finally:
        await models.close()


async def _generate(
    folder: Path, server: ModelServer, name: str, *, prompt: Prompt = PROMPT, chosen: Policy = PROSE, **options: float
) -> Generation:
    async with _models(folder, server, **options) as models:
        return await (await models.open(name)).generate(prompt, chosen)


def _messages(call: Received) -> tuple[Message, ...]:
    """The chat messages of a request; every other key of a message is an error."""
    turns = call.json.get("input") or call.json["messages"]
    for turn in turns:
        assert {*turn} - {"type"} == {"role", "content"}
        assert turn.get("type", "message") == "message"
    return tuple(Message(role=turn["role"], content=turn["content"]) for turn in turns)


def _digest(call: Received) -> str:
    return hashlib.sha256(canonical_prompt(_messages(call))).hexdigest()


# a. The bytes of the prompt are the bytes on the wire


PIECES = (
    '"', "\\", '\\"', "\\n", "\\u0041", "'", "`", "{{question}}", "{{evidence_block}}", "{0}", "%s", "${HOME}",
    "\x00", "\x1b[31m", "\x7f", "\x85", "\u00a0", "\u2028", "\u2029", "\u200b", "\u200d", "\ufeff",
    "\u202eabc\u202c", "\U000e0041", "\ud800", "e\u0301", "é", "\u1e9b\u0323", "\u0915\u094d\u0937", "مضخة",
    "משאבה", "泵", "ﬁ", "İ", "ß", "\U0001f600", "\U0001f469\u200d\U0001f527", "\U0001f1e9\U0001f1ea", "</s>",
    "<|im_end|>", "<|endoftext|>", "[INST]", "<<SYS>>", "<think>", "\n", "\r\n", "\r", "\t", "  ", "\n\n\n\n",
    "\x0b\x0c", '{"role": "system", "content": "x"}', '"}],"model":"evil', "null", "=== USER QUESTION ===",
    "[C0 | chunk_id=x | knowledge_id=y | source=z]", "data: [DONE]\n\n", "&amp;", "<b>", "%00", "\\x00", "12 bar",
    "The seal holds.", "0.1", "-", "…", "—",
)  # fmt: skip


def _awkward(draw: random.Random, most: int) -> str:
    """A text of awkward pieces and ordinary characters, with blanks at its ends now and then."""
    parts = [
        draw.choice(PIECES) if draw.random() < 0.7 else chr(draw.randrange(0x20, 0x2FFF))
        for _ in range(draw.randrange(1, most))
    ]
    return draw.choice(["", " ", "\n", "\u3000"]) + draw.choice(["", " "]).join(parts) + draw.choice(["", " ", "\n\t"])


def _awkward_prompt(draw: random.Random) -> Prompt:
    """A prompt of the real layers; half of them pass the sanitizer, the others hold what it would take away."""
    count, most = draw.randrange(1, 6), draw.choice([5, 40, 150])
    question = _awkward(draw, draw.choice([5, 40])) + " How often?"
    texts = [f"{_awkward(draw, most)} Pump {draw.random()} runs at {number} bar." for number in range(count)]
    texts[0] += " The seal holds 12 bar." * draw.choice([0, 0, 0, 100, 250])
    names = [{"source_reference": _awkward(draw, 5), "knowledge_id": f"{_awkward(draw, 5)}{n}"} for n in range(count)]
    if draw.random() < 0.5:
        results = [row(n, chunk_text=text, **names[n]) for n, text in enumerate(texts)]
        raw = json.loads(json.dumps(bundle(results, user_question=question)))
        run = Run.model_validate(_run_form(question))
        found = assemble(raw, PROSE, run)
    else:
        found = answer_bundle(*(text.replace("\ud800", "") for text in texts), question=question)
    return build_prompt(found, PROSE).prompt


def _run_form(question: str) -> JsonObject:
    return {
        "request_id": "request-1",
        "run_id": "run-1",
        "thread_id": "thread-1",
        "question": question,
        "collection": "manuals",
        "filters": {},
        "model": "extractive",
        "policy_version": PROSE.policy_version,
        "policy_sha256": PROSE.sha256,
        "entry": "bundle",
        "started_at": "2024-03-03T12:00:00+00:00",
    }


@pytest.fixture(scope="module")
def thousand() -> list[Prompt]:
    """A thousand prompts, no two alike."""
    draw = random.Random(20_240_303)
    prompts: dict[str, Prompt] = {}
    while len(prompts) < 1000:
        prompt = _awkward_prompt(draw)
        if prompt.build_status is Status.OK:
            prompts[str(prompt.prompt_sha256)] = prompt
    return list(prompts.values())


def test_the_thousand_prompts_are_awkward(thousand: list[Prompt]) -> None:
    text = "".join(message.content for prompt in thousand for message in prompt.messages)
    for piece in (
        '\\"',
        "\u2028",
        "\u202e",
        "\x00",
        "e\u0301",
        "\U0001f469\u200d\U0001f527",
        "</s>",
        "\\=== USER QUESTION",
    ):
        assert piece in text
    assert max(len(prompt.messages[1].content) for prompt in thousand) > 5000


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R3-5")
@EACH
async def test_a_thousand_prompts_arrive_byte_for_byte(
    tmp_path: Path, model_server: ModelServer, thousand: list[Prompt], name: str
) -> None:
    model_server.answer = _digest
    model_server.prompt_tokens = lambda call: 100_000
    generations: list[Generation] = []
    async with _models(tmp_path, model_server) as models:
        model = await models.open(name)
        for start in range(0, len(thousand), 50):
            generations += await asyncio.gather(*(model.generate(each, PROSE) for each in thousand[start : start + 50]))
    assert {generation.outcome.failure_code for generation in generations} == {None}
    assert len(model_server.calls) == 1000
    assert {call.route for call in model_server.calls} == {ROUTES[name]}
    # What the server read is what was built, to the last byte, and nobody got the answer to another's prompt.
    arrived = {_digest(call): call for call in model_server.calls}
    assert {*arrived} == {prompt.prompt_sha256 for prompt in thousand}
    for prompt, generation in zip(thousand, generations, strict=True):
        assert generation.prompt_sha256 == generation.raw_model_text == prompt.prompt_sha256
        call = arrived[str(prompt.prompt_sha256)]
        assert _messages(call) == prompt.messages
        assert generation.call is not None
        expected = request_body(generation.call, prompt.messages)
        assert {key: call.json[key] for key in expected} == expected
        assert not any(call.json[key] for key in call.json.keys() - expected.keys())


@pytest.mark.contract("R4-1")
@EACH
async def test_nothing_is_trimmed(tmp_path: Path, model_server: ModelServer, name: str) -> None:
    system, user = PROMPT.messages
    padded = (
        Message(role="system", content=f"\n {system.content} "),
        Message(role="user", content=f"\t{user.content}\n\n"),
    )
    digest = hashlib.sha256(canonical_prompt(padded)).hexdigest()
    prompt = PROMPT.model_copy(update={"messages": padded, "prompt_sha256": digest})
    generation = await _generate(tmp_path, model_server, name, prompt=prompt)
    assert generation.outcome.status is Status.OK
    assert [_digest(call) for call in model_server.calls] == [generation.prompt_sha256] == [digest]


@pytest.mark.contract("R4-4")
@pytest.mark.contract("R4-6")
@EACH
async def test_the_parameters_of_a_request(tmp_path: Path, model_server: ModelServer, name: str) -> None:
    generation = await _generate(tmp_path, model_server, name)
    (call,) = model_server.calls
    sampling = {key: value for key, value in call.json.items() if key not in ("input", "messages", "model") and value}
    options = {"num_ctx": 4300, "num_predict": 800, "temperature": 0.0, "seed": 7}
    assert (
        sampling
        == {
            RESPONSES: {"max_output_tokens": 800},
            COMPLETIONS: {"max_completion_tokens": 800, "seed": 7},
            OLLAMA: {"options": options, "keep_alive": "10m"},
        }[name]
    )
    assert call.json.get("temperature", options["temperature"]) == 0.0
    assert ("temperature" in call.json) is (name != OLLAMA)
    assert call.json.get("store") is (False if name == RESPONSES else None)
    assert call.json["model"] == name.partition(":")[2]
    assert generation.call is not None
    assert generation.call.temperature == 0.0


@pytest.mark.contract("R4-4")
@pytest.mark.parametrize("name", ["openai:gpt-5", "openai:gpt-5-mini"])
async def test_a_model_without_a_temperature_is_sent_none_and_the_result_says_so(
    tmp_path: Path, model_server: ModelServer, name: str
) -> None:
    generation = await _generate(tmp_path, model_server, name)
    assert generation.outcome.status is Status.OK
    assert generation.model_dump(mode="json")["call"]["temperature"] == "unsupported"
    assert not model_server.calls[0].json.get("temperature")
    assert b'"temperature":0' not in model_server.calls[0].body.replace(b" ", b"")


@pytest.mark.contract("R4-4")
async def test_a_model_that_its_client_gives_no_temperature_is_refused(
    tmp_path: Path, model_server: ModelServer
) -> None:
    async with _models(tmp_path, model_server) as models:
        model_server.models.append("gpt-5-unheard-of")
        with pytest.raises(ConfigurationError, match="does not accept temperature 0") as caught:
            await models.open("openai:gpt-5-unheard-of")
    assert caught.value.failure_code == "TEMPERATURE_UNSUPPORTED"
    assert 'temperature = "unsupported"' in caught.value.next_step
    assert model_server.calls == []


@pytest.mark.contract("R4-1")
async def test_a_model_whose_messages_its_client_renames_is_refused(tmp_path: Path, model_server: ModelServer) -> None:
    async with _models(tmp_path, model_server) as models:
        with pytest.raises(ConfigurationError, match="it changes messages") as caught:
            await models.open("openai:o3")
    assert caught.value.failure_code == "REQUEST_ALTERED"
    assert model_server.calls == []


@pytest.mark.contract("R4-2")
async def test_every_shipped_profile_makes_the_request_that_the_contract_makes(model_server: ModelServer) -> None:
    settings = Settings(
        openai_base_url=model_server.openai_url, openai_api_key=SecretStr("sk-right"), ollama_host=model_server.url
    )
    models = Models(settings)
    names = [profile.name for profile in models.profiles()]
    model_server.models = [profile.model for profile in models.profiles() if profile.model != "extractive"]
    model_server.prompt_tokens = lambda call: 10_000
    for name in names:
        generation = await (await models.open(name)).generate(PROMPT, SENTENCES)
        assert generation.outcome.status is Status.OK, (name, generation.outcome.message)
    await models.close()
    assert len(model_server.calls) == len(names) - 1
    assert {_digest(call) for call in model_server.calls} == {PROMPT.prompt_sha256}


# b. Every fault in every wire


EXPECTED: dict[Fault, tuple[FailureCode | None, int]] = {
    Fault.RATE_LIMITED: (FailureCode.MODEL_RATE_LIMITED, 3),
    Fault.SERVER_ERROR: (FailureCode.MODEL_UNAVAILABLE, 3),
    Fault.UNAVAILABLE: (FailureCode.MODEL_UNAVAILABLE, 3),
    Fault.BAD_REQUEST: (FailureCode.MODEL_REJECTED, 1),
    Fault.UNAUTHORISED: (FailureCode.MODEL_REJECTED, 1),
    Fault.UNKNOWN_MODEL: (FailureCode.MODEL_REJECTED, 1),
    Fault.HANG: (FailureCode.MODEL_TIMEOUT, 3),
    Fault.SLOW_DRIP: (FailureCode.MODEL_TIMEOUT, 3),
    Fault.RESET_BEFORE: (FailureCode.MODEL_UNAVAILABLE, 3),
    Fault.RESET_DURING: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.WRONG_MODEL: (FailureCode.MODEL_IDENTITY_MISMATCH, 1),
    Fault.TRUNCATED_PROMPT: (FailureCode.PROMPT_TRUNCATED, 1),
    Fault.CUT_STREAM: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.OUTPUT_CUT: (FailureCode.OUTPUT_TRUNCATED, 1),
    Fault.CONTENT_FILTER: (FailureCode.MODEL_REJECTED, 1),
    Fault.FAILED_STATUS: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.INVALID_JSON: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.EMPTY_TEXT: (None, 1),
    Fault.HUGE_OUTPUT: (FailureCode.OUTPUT_TRUNCATED, 1),
    Fault.WRONG_CONTENT_TYPE: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.EMPTY_BODY: (FailureCode.MODEL_UNAVAILABLE, 1),
    Fault.REDIRECT: (FailureCode.MODEL_REJECTED, 1),
}


def _expected(fault: Fault, name: str) -> tuple[FailureCode | None, int]:
    if fault is Fault.CONTENT_FILTER and name == OLLAMA:
        return FailureCode.MODEL_UNAVAILABLE, 1  # Ollama has no filter, so its word for an end is none
    return EXPECTED[fault]


def _deadline(fault: Fault) -> float:
    return 0.4 if fault in SLOW_FAULTS else PATIENT


def test_no_fault_is_left_out() -> None:
    assert {*EXPECTED} == {*Fault}


@pytest.mark.contract("R4-3")
@pytest.mark.contract("R4-5")
@pytest.mark.contract("R4-6")
@pytest.mark.contract("R4-7")
@EACH
@pytest.mark.parametrize("fault", Fault)
async def test_every_fault_is_a_failure_of_the_call(
    tmp_path: Path, model_server: ModelServer, name: str, fault: Fault
) -> None:
    model_server.answer = ANSWER
    async with _models(tmp_path, model_server, _deadline(fault)) as models:
        model = await models.open(name)
        model_server.always = fault
        started = perf_counter()
        generation = await model.generate(PROMPT, PROSE)
        assert perf_counter() - started < BUDGET_SECONDS
    code, requests = _expected(fault, name)
    assert generation.outcome.failure_code is code, generation.outcome.message
    assert generation.attempts == len(model_server.calls) == requests
    assert len({(call.path, call.body) for call in model_server.calls}) == 1
    assert {_digest(call) for call in model_server.calls} == {PROMPT.prompt_sha256} == {generation.prompt_sha256}
    if fault is Fault.EMPTY_TEXT:
        assert (generation.outcome.status, generation.raw_model_text) == (Status.OK, "")
        assert validate(generation.raw_model_text, BUNDLE, PROSE).failure_reason == "EMPTY_ANSWER"
    elif fault is Fault.HUGE_OUTPUT:
        # It was not read to its end, whatever could be said of it there.
        assert "so reading was stopped" in generation.outcome.message
        assert generation.raw_model_text == ""
    else:
        assert (generation.outcome.status, generation.generation_status) == (Status.FAILED, Status.FAILED)
        assert generation.outcome.message
    assert "sk-right" not in generation.model_dump_json()


@pytest.mark.contract("R4-8")
@EACH
async def test_the_same_server_without_a_fault_answers(tmp_path: Path, model_server: ModelServer, name: str) -> None:
    model_server.answer, model_server.snapshot = ANSWER, "-2026-01-01"
    generation = await _generate(tmp_path, model_server, name)
    assert (generation.outcome.status, generation.raw_model_text, generation.attempts) == (Status.OK, ANSWER, 1)
    assert generation.provider == name.partition(":")[0]
    dated = "" if name == OLLAMA else "-2026-01-01"
    assert generation.model_name == f"{name.partition(':')[2]}{dated}"
    assert (generation.response_id is None) is (name == OLLAMA)
    assert generation.finish_reason == ("completed" if name == RESPONSES else "stop")
    counts = (generation.prompt_tokens_actual, generation.completion_tokens_actual, generation.total_tokens_actual)
    read, written = len(model_server.calls[0].prompt) // 4, -(-len(ANSWER) // 4)
    assert counts == (read, written, read + written)


@pytest.mark.contract("R4-8")
@EACH
async def test_the_raw_text_is_the_models_to_the_last_byte(
    tmp_path: Path, model_server: ModelServer, name: str
) -> None:
    model_server.answer = ' \n{"a": "b"}\u2028\x85 \\n e\u0301 \U0001f469\u200d\U0001f527 </s>\r\n\t\x1b \ufeff '
    generation = await _generate(tmp_path, model_server, name)
    assert generation.outcome.status is Status.OK
    assert generation.raw_model_text == model_server.answer


@pytest.mark.contract("R4-5")
@EACH
@pytest.mark.parametrize(
    "fault", [Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.RESET_BEFORE, Fault.HANG]
)
async def test_a_call_recovers_with_the_same_bytes(
    tmp_path: Path, model_server: ModelServer, name: str, fault: Fault
) -> None:
    model_server.answer = ANSWER
    async with _models(tmp_path, model_server, 2.0 if fault is Fault.HANG else PATIENT) as models:
        model = await models.open(name)
        model_server.faults.extend([fault, None])
        generation = await model.generate(PROMPT, PROSE)
    assert (generation.outcome.status, generation.raw_model_text) == (Status.OK, ANSWER)
    assert generation.attempts == len(model_server.calls) == 2
    assert len({call.body for call in model_server.calls}) == 1


@pytest.mark.contract("R4-5")
@EACH
async def test_a_wait_that_the_server_asks_for_is_not_begun_where_the_budget_is_shorter(
    tmp_path: Path, model_server: ModelServer, name: str
) -> None:
    model_server.retry_after = str(int(BUDGET_SECONDS * 10))
    model_server.faults.append(Fault.RATE_LIMITED)
    generation = await _generate(tmp_path, model_server, name)
    assert (generation.attempts, generation.outcome.failure_code) == (1, FailureCode.MODEL_RATE_LIMITED)


@pytest.mark.contract("R4-3")
@EACH
async def test_no_other_model_and_no_other_wire_is_tried(tmp_path: Path, model_server: ModelServer, name: str) -> None:
    async with _models(tmp_path, model_server) as models:
        for other in NAMES:
            await models.open(other)
        model_server.always = Fault.UNAVAILABLE
        await (await models.open(name)).generate(PROMPT, PROSE)
    assert {(call.route, call.model) for call in model_server.calls} == {(ROUTES[name], name.partition(":")[2])}


# c. The whole graph


@asynccontextmanager
async def _engine(url: str, folder: Path, server: ModelServer, seconds: float = PATIENT) -> AsyncIterator[Engine]:
    async with open_services(settings_for(url, **_settings(folder, server, seconds))) as services:
        yield Engine(services)


WHOLE = [(fault, RESPONSES) for fault in Fault] + [
    (fault, name)
    for fault in (Fault.UNAVAILABLE, Fault.CUT_STREAM, Fault.EMPTY_TEXT, Fault.OUTPUT_CUT)
    for name in (COMPLETIONS, OLLAMA)
]


@pytest.mark.contract("R6-5")
@pytest.mark.contract("R5P-1")
@pytest.mark.contract("R4-5")
@pytest.mark.parametrize(("fault", "name"), WHOLE)
async def test_a_fault_ends_the_run_without_an_answer_and_with_its_record(
    tmp_path: Path, model_server: ModelServer, database: str, fault: Fault, name: str
) -> None:
    model_server.answer = ANSWER
    model_server.always = fault
    async with _engine(database, tmp_path, model_server, _deadline(fault)) as engine:
        response = await engine.ask(READY, RunContext(model=name))
    code = _expected(fault, name)[0] or FailureCode.EMPTY_ANSWER
    assert (response.status, response.failure_code) == ("FAILED", code)
    assert (response.answer, response.citations, response.support_level) == ("", (), None)
    assert rows(
        database,
        "SELECT run_id, attempt, generation_status, failure_reason, cardinality(validated_citations) FROM validations",
    ) == [(response.run_id, 1, "FAILED", code, 0)]
    ((run_id, status, reason, is_closed),) = rows(
        database, "SELECT run_id, status, reason, finished_at IS NOT NULL FROM runs"
    )
    assert (run_id, status, reason, is_closed) == (response.run_id, "FAILED", code, True)
    texts = rows(database, "SELECT coalesce(validated_answer_text, '') FROM run_texts")
    assert texts == [("",)]


@pytest.mark.contract("R6-3")
@EACH
async def test_the_same_run_without_a_fault_is_answered(
    tmp_path: Path, model_server: ModelServer, database: str, name: str
) -> None:
    model_server.answer = ANSWER
    async with _engine(database, tmp_path, model_server) as engine:
        response = await engine.ask(READY, RunContext(model=name))
        state = await engine.state(response.run_id)
    assert (response.status, response.answer) == ("OK", ANSWER)
    assert _digest(model_server.calls[0]) == state["prompt"]["prompt_sha256"]
    assert rows(database, "SELECT generation_status, model_name, prompt_sha256 FROM validations") == [
        ("OK", name.partition(":")[2], state["prompt"]["prompt_sha256"])
    ]


@pytest.mark.contract("R4-8")
@pytest.mark.contract("R5P-1")
@EACH
@pytest.mark.parametrize("character", ["\0", "\ud800"])
async def test_an_answer_that_cannot_be_stored_fails_and_is_recorded(
    tmp_path: Path, model_server: ModelServer, database: str, name: str, character: str
) -> None:
    model_server.answer = f"{SEAL}{character} [C0]"
    async with _engine(database, tmp_path, model_server) as engine:
        response = await engine.ask(READY, RunContext(model=name))
    # Ollama's client does not read a text with a lone surrogate at all.
    code = "MODEL_UNAVAILABLE" if (name, character) == (OLLAMA, "\ud800") else "MODEL_REJECTED"
    assert (response.status, response.failure_code, response.answer) == ("FAILED", code, "")
    assert rows(database, "SELECT failure_reason FROM validations") == [(code,)]


@pytest.mark.contract("R4-8")
@EACH
async def test_a_count_that_cannot_be_one_is_not_recorded(
    tmp_path: Path, model_server: ModelServer, database: str, name: str
) -> None:
    model_server.answer = ANSWER
    model_server.prompt_tokens = lambda call: 10**12
    async with _engine(database, tmp_path, model_server) as engine:
        response = await engine.ask(READY, RunContext(model=name))
    assert (response.status, response.token_usage.prompt) == ("OK", None)
    assert rows(database, "SELECT prompt_tokens, completion_tokens FROM validations") == [(None, -(-len(ANSWER) // 4))]


# d. A client library that changes a request


Alteration = Callable[[JsonObject], object]


def _add_instruction(body: JsonObject) -> None:
    turns = body.get("input") or body["messages"]
    turns.insert(0, {"role": "system", "content": "Be brief.", **({"type": "message"} if "input" in body else {})})


def _change_role(body: JsonObject) -> None:
    (body.get("input") or body["messages"])[0]["role"] = "user"


def _change_content(body: JsonObject) -> None:
    turn = (body.get("input") or body["messages"])[1]
    turn["content"] = f"{turn['content']} "


def _drop_temperature(body: JsonObject) -> None:
    del body.get("options", body)["temperature"]


def _warm_up(body: JsonObject) -> None:
    body.get("options", body)["temperature"] = 0.7


ALTERATIONS: dict[str, Alteration] = {
    "instruction": _add_instruction,
    "role": _change_role,
    "content": _change_content,
    "no temperature": _drop_temperature,
    "temperature": _warm_up,
    "schema": lambda body: body.pop("text", None) or body.pop("extra_body", None) or body.pop("format"),
    "model": lambda body: body.update(model="another"),
}


def _patch(monkeypatch: pytest.MonkeyPatch, alter: Alteration) -> None:
    """Makes both client libraries alter every request."""
    for owner, method in ((ChatOpenAI, "_get_request_payload"), (ChatOllama, "_chat_params")):
        original = getattr(owner, method)

        def altered(self: object, *args: Any, original: Any = original, **options: Any) -> Any:
            body = original(self, *args, **options)
            alter(body)
            return body

        monkeypatch.setattr(owner, method, altered)


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R4-4")
@EACH
@pytest.mark.parametrize("what", ALTERATIONS)
async def test_a_client_that_alters_requests_is_refused_before_the_first(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    _patch(monkeypatch, ALTERATIONS[what])
    async with _models(tmp_path, model_server) as models:
        with pytest.raises(ConfigurationError) as caught:
            await models.open(name)
    is_named = "temperature" in what and name != OLLAMA
    assert caught.value.failure_code == ("TEMPERATURE_UNSUPPORTED" if is_named else "REQUEST_ALTERED")
    assert caught.value.next_step
    assert model_server.calls == []


@pytest.mark.contract("R4-1")
@EACH
@pytest.mark.parametrize("what", ALTERATIONS)
async def test_a_request_that_is_altered_at_the_call_does_not_leave(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    async with _models(tmp_path, model_server) as models:
        model = await models.open(name)
        _patch(monkeypatch, ALTERATIONS[what])
        generation = await model.generate(PROMPT, SENTENCES)
    assert (generation.outcome.status, generation.outcome.failure_code) == (Status.FAILED, "REQUEST_ALTERED")
    assert "nothing was sent" in generation.outcome.message
    assert (generation.raw_model_text, model_server.calls) == ("", [])


# e. Structured output


def _sentences(*sentences: tuple[str, list[str]]) -> str:
    form = [{"sentence": sentence, "anchors": anchors} for sentence, anchors in sentences]
    return json.dumps({"answer_sentences": form, "confidence": "Low"})


def _schema_of(call: Received) -> Any:
    """The schema that a request holds the model to, or None."""
    body = call.json
    form = (body.get("text") or {}).get("format") or (body.get("response_format") or {}).get("json_schema")
    if form is None:
        return body.get("format")
    assert (form["name"], form["strict"]) == (PROFILE, True)
    return form["schema"]


@pytest.mark.contract("R3-7")
@pytest.mark.parametrize(
    ("name", "allowed"),
    [(name, True) for name in NAMES] + [("openai:plain", False), ("openai:plain-chat", False), ("ollama:plain", False)],
)
async def test_the_schema_is_sent_where_policy_and_profile_say_so(
    tmp_path: Path, model_server: ModelServer, name: str, allowed: bool
) -> None:
    async with _models(tmp_path, model_server) as models:
        model = await models.open(name)
        for chosen in (SENTENCES, load_shipped_policy("SOURCEBOUND_V1")):
            await model.generate(PROMPT, chosen)
    held, free = model_server.calls
    assert _schema_of(held) == (json_schema(ANCHORS) if allowed else None)
    assert _schema_of(free) is None


class _Outside(FakeOutside):
    """The fakes of every port but the models."""

    def graph(self, models: Models) -> "CompiledStateGraph[State, RunContext, AskInput, AskOutput]":
        return build_graph(self.ports()._replace(models=models)).compile()


def _outside(chosen: Policy = PROSE) -> _Outside:
    return _Outside(chosen, FakeRetriever({}))


def _json_policy() -> Policy:
    prompt = SENTENCES.prompt.model_dump(mode="json")
    return policy(prompt=prompt, validation={"literal_grounding": "enforce"})


JSON_ANSWERS = {
    "answer": (_sentences((SEAL, ["C0"])), "OK", None, ANSWER),
    "refusal row": (_sentences((REFUSAL, [])), "NO_EVIDENCE", None, REFUSAL),
    "bare refusal": (REFUSAL, "NO_EVIDENCE", None, REFUSAL),
    "fenced": (f"```json\n{_sentences((SEAL, ['C0']))}\n```", "FAILED", "INVALID_OUTPUT_SCHEMA", ""),
    "fenced refusal": (f"```json\n{_sentences((REFUSAL, []))}\n```", "FAILED", "INVALID_REFUSAL_FORMAT", ""),
    "refusal and more": (_sentences((REFUSAL, []), (SEAL, ["C0"])), "FAILED", "INVALID_REFUSAL_FORMAT", ""),
    "no anchor": (_sentences((SEAL, [])), "FAILED", "INVALID_OUTPUT_SCHEMA", ""),
    "prose": (ANSWER, "FAILED", "INVALID_OUTPUT_SCHEMA", ""),
}


@pytest.mark.contract("R3-7")
@pytest.mark.contract("R5-2")
@pytest.mark.contract("R5-10")
@EACH
@pytest.mark.parametrize("what", JSON_ANSWERS)
async def test_what_a_model_that_is_held_to_the_schema_may_say(
    tmp_path: Path, model_server: ModelServer, name: str, what: str
) -> None:
    raw, status, code, answer = JSON_ANSWERS[what]
    model_server.answer = raw
    async with _models(tmp_path, model_server) as models:
        graph, shown = _outside(_json_policy()).graph(models), ["generation", "response"]
        state = await graph.ainvoke(READY, context=RunContext(model=name), output_keys=shown)
    assert _schema_of(model_server.calls[0]) == json_schema(ANCHORS)
    assert state["generation"]["raw_model_text"] == raw
    response = state["response"]
    assert (response["status"], response["failure_code"], response["answer"]) == (status, code, answer)
    assert response["refusal_code"] == ("model_refused" if status == "NO_EVIDENCE" else None)


# f. Nothing is heard before it was checked


@pytest.mark.contract("R5-13")
@EACH
@pytest.mark.parametrize("text", [ANSWER, "An invented pump of 77 bar, without a source."])
async def test_no_word_of_a_model_is_streamed_before_it_was_checked(
    tmp_path: Path, model_server: ModelServer, name: str, text: str
) -> None:
    model_server.answer = text
    heard: list[Any] = []
    nodes: Counter[str] = Counter()
    async with _models(tmp_path, model_server) as models:
        graph = _outside().graph(models)
        stream = graph.astream(READY, context=RunContext(model=name), stream_mode=["messages", "updates", "custom"])
        async for mode, part in stream:
            if mode == "updates":
                nodes.update([*cast("JsonObject", part)])
            else:
                heard.append(part)
    assert heard == []
    assert nodes["generate"] == nodes["validate"] == 1
    assert len(model_server.calls) == 1
    assert not model_server.calls[0].json.get("stream")

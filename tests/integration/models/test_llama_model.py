"""The whole graph against llama.cpp's own server: a model that writes gibberish is never released."""

import contextlib
import json
import re
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sourcebound.contracts.outcome import FailureCode
from sourcebound.contracts.state import RunContext, State
from sourcebound.errors import ConfigurationError
from sourcebound.graph.engine import Engine
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.models.local.server import ServedModel
from support.builders import FILTER, SEAL, bundle, row
from support.processes.databases import rows, settings_for
from support.processes.llama_server import CONTEXT_TOKENS

MODEL = "openai:tiny-random"
SENTENCES = "SOURCEBOUND_SENTENCES_V1"
EMBEDDING_MODEL = "minilm:all-MiniLM-L6-v2@53aa5117"
QUESTIONS = ("How often must the shaft seal be checked?", "What is the pressure?", "Welcher Filter wird ersetzt?")
OF_THE_FIREWALL = {code for code in FailureCode if code.name in (
    "EMPTY_ANSWER", "INVALID_REFUSAL_FORMAT", "MALFORMED_CITATION", "INVALID_CITATION_REFERENCE",
    "UNCITED_FACTUAL_STATEMENT", "FORBIDDEN_CONTENT", "UNSUPPORTED_LITERAL", "CITATION_MISMATCH",
    "INVALID_OUTPUT_SCHEMA",
)}  # fmt: skip


@contextlib.asynccontextmanager
async def opened(database: str, folder: Path, server: ServedModel, **values: Any) -> AsyncIterator[Engine]:
    """An engine whose registry has the model of the server, with other values in some of its fields."""
    profile = {
        "base_url": server.url,
        "wire": "chat_completions",
        "context_window": CONTEXT_TOKENS,
        "seed": True,
        "structured_output": True,
        "max_requests": 1,
        **values,
    }
    name = profile.pop("name", MODEL)
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in profile.items())
    path = folder / "models.toml"
    path.write_text(f'[models."{name}"]\n{lines}\n')
    async with Engine.open(settings_for(database, models_file=path, model=name)) as engine:
        yield engine


def evidence(question: str, policy: str = "R2_POLICY_V1") -> dict[str, Any]:
    texts = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
    stated = {"user_question": question, "policy_version": policy, "question_coverage": 1.0}
    return bundle(texts, embedding_model=EMBEDDING_MODEL, **stated)


async def ask(engine: Engine, request: Any, policy: str | None = None) -> State:
    response = await engine.ask(request, RunContext(policy=policy))
    state = await engine.state(response.run_id)
    assert (response.status, response.answer, response.citations) == ("FAILED", "", ()), response
    return state


def check_records(database: str, states: list[State]) -> None:
    """One audit row a run, and nothing that was validated."""
    found = rows(database, "SELECT run_id, validation_status, failure_reason FROM validations ORDER BY run_id")
    assert [run_id for run_id, _, _ in found] == sorted(state["run"]["run_id"] for state in states)
    assert {status for _, status, _ in found}.isdisjoint({"PASSED"})
    assert rows(database, "SELECT 1 FROM run_texts WHERE validated_answer_text <> ''") == []


@pytest.mark.contract("R4-7")
@pytest.mark.contract("R5-13")
async def test_gibberish_is_never_released_in_prose(database: str, tmp_path: Path, llama_server: ServedModel) -> None:
    async with opened(database, tmp_path, llama_server) as engine:
        states = [await ask(engine, {"retrieval_bundle": evidence(question)}) for question in QUESTIONS]
    for state in states:
        generation = state["generation"]
        assert generation is not None
        assert generation["raw_model_text"]
        assert generation["prompt_tokens_actual"] > 1000
        assert generation["call"]["seed"] == 7
        code = state["outcome"]["failure_code"]
        if generation["finish_reason"] == "length":
            assert (code, generation["completion_tokens_actual"]) == ("OUTPUT_TRUNCATED", 800)
        else:
            assert code in OF_THE_FIREWALL
    check_records(database, states)


@pytest.mark.contract("R3-7")
@pytest.mark.contract("R5-13")
async def test_gibberish_is_never_released_in_json_and_the_server_keeps_to_the_schema(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    async with opened(database, tmp_path, llama_server) as engine:
        states = [
            await ask(engine, {"retrieval_bundle": evidence(question, SENTENCES)}, SENTENCES) for question in QUESTIONS
        ]
    for state in states:
        generation = state["generation"]
        assert generation is not None
        assert generation["call"]["structured_output"] is True
        assert re.match(r'\s*\{\s*"', generation["raw_model_text"])  # without the schema it would be letters
        if generation["finish_reason"] == "length":
            assert state["outcome"]["failure_code"] == "OUTPUT_TRUNCATED"
        else:
            assert state["outcome"]["failure_code"] in OF_THE_FIREWALL - {FailureCode.INVALID_OUTPUT_SCHEMA}
            assert json.loads(generation["raw_model_text"])
    check_records(database, states)


@pytest.mark.contract("R3-7")
async def test_without_the_schema_the_same_model_writes_no_json(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    """Guards the test before: it is the schema that makes the model write JSON."""
    async with opened(database, tmp_path, llama_server, structured_output=False) as engine:
        state = await ask(engine, {"retrieval_bundle": evidence(QUESTIONS[0], SENTENCES)}, SENTENCES)
    assert state["generation"] is not None
    assert not state["generation"]["raw_model_text"].lstrip().startswith("{")


@pytest.mark.contract("R5-13")
async def test_gibberish_is_never_released_to_a_question_over_a_library(
    library: str, tmp_path: Path, llama_server: ServedModel, minilm: MiniLmEmbedder
) -> None:
    question = "How often is the shaft of a stored HP-200 turned by hand?"
    async with opened(library, tmp_path, llama_server) as engine:
        engine._services._embedders["minilm"] = minilm
        states = [await ask(engine, {"question": question}, policy) for policy in (None, SENTENCES)]
    assert [state["retrieval"]["retrieval_status"] for state in states] == ["SUCCESS"] * 2
    assert [(state["generation"] or {})["model_name"] for state in states] == [llama_server.name] * 2
    check_records(library, states)


@pytest.mark.contract("R4-4")
async def test_the_same_prompt_gives_the_same_text(database: str, tmp_path: Path, llama_server: ServedModel) -> None:
    async with opened(database, tmp_path, llama_server) as engine:
        first, second = await _texts(engine)
    assert first == second
    async with opened(database, tmp_path, llama_server, temperature="unsupported", seed=False) as engine:
        first, second = await _texts(engine)
    assert first != second  # so it was the temperature that made them the same


async def _texts(engine: Engine) -> list[str]:
    states = [await ask(engine, {"retrieval_bundle": evidence(QUESTIONS[0])}) for _ in range(2)]
    return [(state["generation"] or {})["raw_model_text"] for state in states]


@pytest.mark.contract("R5-13")
async def test_gibberish_that_ends_by_itself_is_rejected_by_the_firewall(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    async with opened(database, tmp_path, llama_server, temperature="unsupported") as engine:
        states = [
            await ask(engine, {"retrieval_bundle": evidence(question, SENTENCES)}, SENTENCES) for question in QUESTIONS
        ]
    ended = [state for state in states if (state["generation"] or {})["finish_reason"] == "stop"]
    assert ended
    assert {state["outcome"]["failure_code"] for state in ended} <= OF_THE_FIREWALL
    assert {state["outcome"]["failure_code"] for state in states} <= {*OF_THE_FIREWALL, "OUTPUT_TRUNCATED"}
    check_records(database, states)


@pytest.mark.contract("R4-7")
async def test_over_responses_a_cut_answer_that_is_reported_as_completed_counts_as_cut(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    async with opened(database, tmp_path, llama_server, wire="responses", seed=False) as engine:
        states = [await ask(engine, {"retrieval_bundle": evidence(question)}) for question in QUESTIONS]
    cut = [state for state in states if (state["generation"] or {})["completion_tokens_actual"] >= 800]
    assert cut
    for state in cut:
        assert (state["generation"] or {})["finish_reason"] == "completed"
        assert state["outcome"]["failure_code"] == "OUTPUT_TRUNCATED"
    check_records(database, states)


@pytest.mark.contract("R4-3")
async def test_another_name_is_unknown_or_answers_as_another_model(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    async with opened(database, tmp_path, llama_server, name="openai:tiny-randam") as engine:
        with pytest.raises(ConfigurationError, match="It has, for example, tiny-random") as raised:
            await engine.ask({"retrieval_bundle": evidence(QUESTIONS[0])})
    assert raised.value.failure_code == "UNKNOWN_MODEL"
    assert rows(database, "SELECT 1 FROM runs") == []
    async with opened(database, tmp_path, llama_server, name="openai:tiny-randam", listed=False) as engine:
        state = await ask(engine, {"retrieval_bundle": evidence(QUESTIONS[0])})
    assert state["outcome"]["failure_code"] == "MODEL_IDENTITY_MISMATCH"
    assert "'tiny-random' answered" in state["outcome"]["message"]
    async with opened(
        database, tmp_path, llama_server, name="openai:tiny-randam", listed=False, reported_names=["tiny-random"]
    ) as engine:
        state = await ask(engine, {"retrieval_bundle": evidence(QUESTIONS[0])})
    assert state["outcome"]["failure_code"] != "MODEL_IDENTITY_MISMATCH"


@pytest.mark.contract("R4-7")
async def test_a_prompt_over_the_context_is_refused_by_the_server_and_fails_the_run(
    database: str, tmp_path: Path, llama_server: ServedModel
) -> None:
    shipped = (files("sourcebound.contracts.policy") / "released" / "R2_POLICY_V1.toml").read_text("utf-8")
    budget = shipped.replace("max_evidence_tokens = 2200", "max_evidence_tokens = 60000")
    budget = budget.replace("max_total_prompt_tokens = 3500", "max_total_prompt_tokens = 70000")
    policy = tmp_path / "large.toml"
    policy.write_text(budget.replace("R2_POLICY_V1", "LARGE_V1"))
    words = [" ".join(f"Pump {rank} has part {rank}x{n}." for n in range(500)) for rank in range(5)]
    large = bundle([row(rank, chunk_text=text) for rank, text in enumerate(words)], policy_version="LARGE_V1")
    async with opened(database, tmp_path, llama_server, context_window=200_000) as engine:
        state = await ask(engine, {"retrieval_bundle": large}, str(policy))
    prompt = "".join(message["content"] for message in state["prompt"]["messages"])
    assert len(prompt.encode()) > CONTEXT_TOKENS
    assert state["outcome"]["failure_code"] == "MODEL_REJECTED"
    assert (state["generation"] or {})["attempts"] == 1
    check_records(database, [state])

"""One question over three backends that say the same: everything but the model's own result is the same (R4-2)."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr

from sourcebound.contracts.audit.digests import DIGESTS
from sourcebound.contracts.policy.releases import read_template
from sourcebound.contracts.presentation.render import present
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.advice import NO_SENTENCE
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.graph.engine import Engine
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from support.builders import SEAL, bundle, row
from support.processes.commands import Program
from support.processes.databases import ingest, settings_for
from support.processes.model_servers import ModelServer, Received

ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
SENTENCES = "SOURCEBOUND_SENTENCES_V1"
EXTRACTIVE, OPENAI, OLLAMA = "extractive", "openai:gpt-4.1", "ollama:llama3.2"
REMOTE = {OPENAI: "/v1/responses", OLLAMA: "/api/chat"}
KEY = "sk-right-0123456789"
TIMES = {"started_at", "timestamp_utc", "latency_ms", "retrieval_latency_ms", "llm_latency_ms", "retrieval_sha256"}
"""And a digest over one of them."""
SALTED = {"salt", *DIGESTS}
OF_THE_MODEL = {
    "run": {"model"},
    "audit": {"model_name", "response_id", "prompt_tokens", "completion_tokens", "total_tokens"},
    "response": {"token_usage"},
}


class Asked(NamedTuple):
    """A request and its expected outcome."""

    request: AskInput
    policy: str | None = None
    status: str = "OK"


def _bundle(*texts: str, **changes: Any) -> dict[str, Any]:
    return bundle([row(rank, chunk_text=text) for rank, text in enumerate(texts)], **changes)


EMBEDDED_NAME = "minilm:all-MiniLM-L6-v2@53aa5117"
ASKED = {
    "question": Asked({"question": ANSWERED}),
    "question, in JSON": Asked({"question": ANSWERED}, SENTENCES),
    "bundle": Asked({"retrieval_bundle": _bundle(SEAL)}),
    "bundle, in JSON": Asked(
        {
            "retrieval_bundle": _bundle(
                SEAL,
                "Pump 1 is blue.",
                embedding_model=EMBEDDED_NAME,
                policy_version=SENTENCES,
                question_coverage=1.0,
            )
        },
        SENTENCES,
    ),
    "refused by the model": Asked({"retrieval_bundle": _bundle("Bananas are yellow.")}, status="NO_EVIDENCE"),
}


@contextlib.asynccontextmanager
async def opened(database: str, server: ModelServer, minilm: MiniLmEmbedder, **changes: Any) -> AsyncIterator[Engine]:
    settings = settings_for(
        database,
        openai_base_url=server.openai_url,
        openai_api_key=SecretStr(KEY),
        ollama_host=server.url,
        **changes,
    )
    async with Engine.open(settings) as engine:
        engine._services._embedders["minilm"] = minilm
        yield engine


async def state_of(engine: Engine, run_id: str) -> dict[str, Any]:
    """All that a run left but its generation, without what must differ: ids, moments, and the model's own figures."""
    recorded = await engine.state(run_id)
    text = json.dumps(recorded).replace(run_id, "the run").replace(recorded["run"]["request_id"], "the request")
    state: dict[str, Any] = json.loads(text)
    state.pop("generation")
    for channel, names in OF_THE_MODEL.items():
        for name in names:
            del state[channel][name]
    timeless: dict[str, Any] = _timeless(state)
    return timeless


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(item) for name, item in value.items() if name not in TIMES | SALTED}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


async def ask(engine: Engine, asked: Asked, model: str | None) -> dict[str, Any]:
    """The whole state of a run, as it was recorded."""
    request: AskInput = {**asked.request, "request_id": "request-1"}
    response = await engine.ask(request, RunContext(policy=asked.policy, model=model))
    assert response.status == asked.status, response.message
    return {**await engine.state(response.run_id)}


@pytest.mark.contract("R4-1")
@pytest.mark.contract("R4-2")
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
async def test_nothing_but_the_generation_depends_on_the_backend(
    library: str, model_server: ModelServer, minilm: MiniLmEmbedder, asked: Asked
) -> None:
    async with opened(library, model_server, minilm) as engine:
        expected = await ask(engine, asked, EXTRACTIVE)
        model_server.answer = expected["generation"]["raw_model_text"]
        others = {model: await ask(engine, asked, model) for model in REMOTE}
        compared = await state_of(engine, expected["run"]["run_id"])
        assert {*compared} >= {"run", "policy", "retrieval", "assembly", "prompt", "validation", "audit", "response"}
        for model, state in others.items():
            found = await state_of(engine, state["run"]["run_id"])
            if asked.status == "NO_EVIDENCE":  # the message of a refusal names a model only where one was asked
                assert found["response"]["message"] == found["outcome"]["message"] != NO_SENTENCE
                found["response"]["message"] = NO_SENTENCE
            assert found == compared, model
            generation = state["generation"]
            assert generation["raw_model_text"] == expected["generation"]["raw_model_text"] != ""
            assert generation["prompt_sha256"] == expected["prompt"]["prompt_sha256"]
            assert (state["run"]["model"], generation["provider"]) == (model, model.partition(":")[0])
            assert state["audit"]["model_name"] == model.partition(":")[2]
            assert state["audit"]["prompt_tokens"] == state["response"]["token_usage"]["prompt"] > 0
    assert [call.route for call in model_server.calls] == list(REMOTE.values())
    contents = "".join(message["content"] for message in expected["prompt"]["messages"])
    assert [call.prompt for call in model_server.calls] == [contents] * 2


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize("model", [EXTRACTIVE, *REMOTE])
@pytest.mark.parametrize("collection", ["default", "words"])
async def test_a_setting_or_a_runs_context_chooses_the_model_over_either_retrieval(
    library: str, model_server: ModelServer, minilm: MiniLmEmbedder, model: str, collection: str, tmp_path: Path
) -> None:
    question = ANSWERED if collection == "default" else "Who turns the shaft of the stored pump?"
    asked = Asked({"question": question, "collection": collection})
    (tmp_path / "shaft.md").write_text("# Shaft\n\nThe porter turns the shaft of the stored pump every 14 days.\n")
    async with opened(library, model_server, minilm, model=EXTRACTIVE) as engine:
        if collection == "words":
            await ingest(engine._services, tmp_path, collection=collection)
        expected = await ask(engine, asked, None)
        model_server.answer = expected["generation"]["raw_model_text"]
        by_context = await ask(engine, asked, model)
        compared = [await state_of(engine, state["run"]["run_id"]) for state in (expected, by_context)]
    async with opened(library, model_server, minilm, model=model) as engine:
        by_setting = await ask(engine, asked, None)
        overruled = await ask(engine, asked, EXTRACTIVE)
        compared += [await state_of(engine, state["run"]["run_id"]) for state in (by_setting, overruled)]
    assert compared[1:] == compared[:1] * 3
    assert [state["run"]["model"] for state in (by_context, by_setting, overruled)] == [model, model, EXTRACTIVE]
    assert [call.route for call in model_server.calls] == [REMOTE[model]] * 2 if model in REMOTE else True
    assert len(model_server.calls) == (2 if model in REMOTE else 0)
    assert compared[0]["retrieval"]["embedding_model"] == ("lexical" if collection == "words" else EMBEDDED_NAME)


@pytest.mark.contract("R4-2")
async def test_the_command_line_chooses_the_model(
    library: str, model_server: ModelServer, minilm: MiniLmEmbedder
) -> None:
    program = Program(
        {
            "DATABASE_URL": library,
            "OPENAI_BASE_URL": model_server.openai_url,
            "OPENAI_API_KEY": KEY,
            "OLLAMA_HOST": model_server.url,
            "SOURCEBOUND_MODEL": OLLAMA,
        }
    )
    async with opened(library, model_server, minilm) as engine:
        expected = await engine.ask({"question": ANSWERED})
        model_server.answer = expected.answer
        compared = []
        for flags, model in ((["--model", EXTRACTIVE], EXTRACTIVE), (["--model", OPENAI], OPENAI), ([], OLLAMA)):
            done = program("ask", ANSWERED, "--json", *flags)
            assert done.code == 0, done.stderr
            response = json.loads(done.stdout)
            assert response["answer"] == expected.answer
            recorded = await engine.state(response["run_id"])
            assert (recorded["run"]["model"], recorded["audit"]["model_name"]) == (model, model.rpartition(":")[2])
            compared.append(await state_of(engine, response["run_id"]))
    assert compared[1:] == compared[:1] * 2
    assert [call.route for call in model_server.calls] == list(REMOTE.values())


@pytest.mark.contract("R4-2")
@pytest.mark.contract("R5-12")
@pytest.mark.parametrize("mended", [True, False])
async def test_offline_and_online_differ_in_the_model_alone_under_the_source_bounded_policy(
    library: str, model_server: ModelServer, minilm: MiniLmEmbedder, mended: bool
) -> None:
    """SOURCE_BOUNDED_V1: one template, one repair, one presentation, whichever wire the model is on."""
    asked = Asked({"question": ANSWERED}, "SOURCE_BOUNDED_V1", "OK" if mended else "FAILED")
    opening, *_ = read_template("repair_v1").splitlines()
    good = ""

    def answer(call: Received) -> str:
        return good if mended and opening in call.prompt else "The shaft is turned by hand."

    async with opened(library, model_server, minilm) as engine:
        good = (await ask(engine, Asked(asked.request, asked.policy), EXTRACTIVE))["generation"]["raw_model_text"]
        model_server.answer = answer
        runs = [await ask(engine, asked, model) for model in REMOTE]
        offline, online = [await state_of(engine, state["run"]["run_id"]) for state in runs]
        shown = [present(await engine.answer(state["run"]["run_id"])) for state in runs]
    for state in (offline, online):
        (attempt,) = state["attempts"]
        assert attempt.pop("generation")["raw_model_text"] == "The shaft is turned by hand."
        assert attempt["prompt"]["repair_template"] is None
        assert state["prompt"]["repair_template"] == "repair_v1"
    assert offline == online
    assert offline["outcome"]["failure_code"] == (None if mended else "UNCITED_FACTUAL_STATEMENT")
    assert shown[0] == shown[1]
    assert ("\n\nSources:\n- [C0] " in shown[0]) is mended
    assert [call.route for call in model_server.calls] == [route for route in REMOTE.values() for _ in range(2)]
    first, second, *others = [call.prompt for call in model_server.calls]
    assert [first, second] == others
    assert (opening in first, opening in second) == (False, True)


async def test_the_answer_of_a_backend_is_its_own(
    library: str, model_server: ModelServer, minilm: MiniLmEmbedder
) -> None:
    """Guards the comparison: where a server says something else, the states do differ."""
    model_server.answer = REFUSAL
    async with opened(library, model_server, minilm) as engine:
        for model in REMOTE:
            response = await engine.ask({"question": ANSWERED}, RunContext(model=model))
            assert (response.status, response.refusal_code) == ("NO_EVIDENCE", "model_refused")

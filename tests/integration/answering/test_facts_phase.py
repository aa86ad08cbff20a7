"""The facts phase over real HTTP and a real database: what is sent, what is recorded, and what a replay makes of it."""

import json
import re
from collections.abc import AsyncIterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sourcebound.cli.records.run_show import print_lines
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.presentation.render import present
from sourcebound.contracts.prompt import answer_sentences as answer_json
from sourcebound.contracts.prompt import fact_choice
from sourcebound.contracts.state import RunContext
from sourcebound.graph.engine import Engine
from sourcebound.graph.replay.rerun import what_if
from sourcebound.graph.run_views.page import build_run_page
from sourcebound.graph.workflow import build_graph
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import FILTER, QUESTION, SEAL, bundle, row
from support.fakes import FakeOutside, FakeRetriever
from support.places import ROOT
from support.processes.model_servers import ModelServer, Received
from support.replaying import CHOICE, GOOD, Case, Policies, changed, drifts, opened, record, recorded, verified

NAMES = ("openai:gpt-4.1", "openai:chat", "ollama:llama3.2")
PROFILES = """
[models."openai:gpt-4.1"]
structured_output = true
[models."openai:chat"]
wire = "chat_completions"
structured_output = true
"""
ROWS = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
ANSWER = json.dumps({"answer_sentences": [{"sentence": SEAL, "anchors": ["C0"]}], "confidence": "High"})
BAD_CHOICES = {
    "off the schema": ("The first one.", "INVALID_FACTS_SCHEMA"),
    "an unknown key": (CHOICE.replace('"quote"', '"text"'), "INVALID_FACTS_SCHEMA"),
    "a fact that was not retrieved": (CHOICE.replace("chunk-0000", "chunk-0009"), "UNKNOWN_FACT"),
    "words that were not retrieved": (CHOICE.replace("12 hours", "13 hours"), "UNKNOWN_FACT"),
}


def _policy() -> Policy:
    form = load_shipped_policy("QA_CONTRACT_V1").model_dump(mode="json", exclude_none=True)
    return Policy.model_validate({**form, "facts": {"filter": "model"}})


def _schema_of(call: Received) -> Any:
    body = call.json
    form = (body.get("text") or {}).get("format") or (body.get("response_format") or {}).get("json_schema")
    return form["schema"] if form else body.get("format")


async def _ask(folder: Path, server: ModelServer, name: str, *says: str) -> dict[str, Any]:
    """Runs the graph over one real model, which says these texts in turn."""
    path, said = folder / "models.toml", [*says]
    path.write_text(PROFILES, "utf-8")
    server.models, server.answer = ["gpt-4.1", "chat", "llama3.2:latest"], lambda _: said.pop(0)
    where = {"openai_base_url": server.openai_url, "openai_api_key": SecretStr("sk-right"), "ollama_host": server.url}
    models = Models(Settings(models_file=path, **where))  # type: ignore[arg-type]
    try:
        outside = FakeOutside(_policy(), FakeRetriever({}))
        graph = build_graph(outside.ports()._replace(models=models)).compile()
        request: Any = {"retrieval_bundle": bundle(ROWS, policy_version=None)}
        shown = ["facts", "prompt", "generation", "response"]
        return dict(await graph.ainvoke(request, context=RunContext(model=name), output_keys=shown))
    finally:
        await models.close()


@pytest.mark.contract("R3-9")
@pytest.mark.contract("R4-1")
@pytest.mark.parametrize("name", NAMES)
async def test_a_model_is_asked_for_a_choice_under_its_schema_and_then_for_an_answer(
    tmp_path: Path, model_server: ModelServer, name: str
) -> None:
    state = await _ask(tmp_path, model_server, name, CHOICE, ANSWER)
    assert (state["response"]["status"], state["response"]["answer"]) == ("OK", GOOD)
    first, second = model_server.calls
    for call, prompt in ((first, state["facts"]["prompt"]), (second, state["prompt"])):
        turns = call.json.get("input") or call.json["messages"]
        sent = [(turn["role"], turn["content"]) for turn in turns]
        assert sent == [(message["role"], message["content"]) for message in prompt["messages"]]
    assert (_schema_of(first), _schema_of(second)) == (fact_choice.json_schema(), answer_json.json_schema(["C0"]))
    assert QUESTION in first.prompt
    assert state["facts"]["generation"]["call"]["output_profile"] == "relevant_facts"
    assert (FILTER in first.prompt, FILTER in second.prompt) == (True, False)
    usage = [state["facts"]["generation"]["total_tokens_actual"], state["generation"]["total_tokens_actual"]]
    assert state["response"]["token_usage"]["total"] == sum(usage)


@pytest.mark.contract("R3-9")
@pytest.mark.parametrize("what", BAD_CHOICES)
async def test_a_bad_choice_fails_the_run_and_no_answer_is_asked_for(
    tmp_path: Path, model_server: ModelServer, what: str
) -> None:
    said, code = BAD_CHOICES[what]
    state = await _ask(tmp_path, model_server, NAMES[0], said)
    assert (state["response"]["status"], state["response"]["failure_code"]) == ("FAILED", code)
    assert state["facts"]["generation"]["raw_model_text"] == said
    assert len(model_server.calls) == 1


@pytest.fixture
async def engine(library: str, model_server: ModelServer, minilm: MiniLmEmbedder) -> AsyncIterator[Engine]:
    async with opened(library, model_server, minilm) as engine:
        yield engine


TAMPERED = {
    "a fate": ("facts", lambda facts: {**facts, "fates": ["ADMITTED", "ADMITTED"]}),
    "a quote": ("facts", lambda facts: {**facts, "facts": [{**facts["facts"][0], "quote": "x"}, facts["facts"][1]]}),
    "what the model chose": (
        "facts",
        lambda facts: {
            **facts,
            "generation": {**facts["generation"], "raw_model_text": CHOICE.replace("12 hours", "13 hours")},
        },
    ),
    "what was asked": (
        "facts",
        lambda facts: {**facts, "generation": {**facts["generation"], "prompt_sha256": "0" * 64}},
    ),
    "the call": (
        "facts",
        lambda facts: {
            **facts,
            "generation": {
                **facts["generation"],
                "call": {**facts["generation"]["call"], "output_profile": "prose"},
            },
        },
    ),
    "the choice taken out": ("facts", lambda facts: {**facts, "generation": None}),
    "the evidence": ("assembly", lambda assembly: {**assembly, "drop_ledger": []}),
}


@pytest.mark.contract("CP-3")
@pytest.mark.contract("CP-5")
@pytest.mark.contract("R3-9")
async def test_a_recorded_choice_is_computed_again_and_every_change_of_it_is_seen(
    engine: Engine, model_server: ModelServer, policies: Policies
) -> None:
    request: Any = {"retrieval_bundle": bundle(ROWS, policy_version=None)}
    choosing = Case(request, "OK", (CHOICE, GOOD), policies.choosing)
    run = await recorded(engine, await record(engine, model_server, choosing))
    assert [step.node for step in run.steps][1:4] == ["assemble", "select_facts", "build_prompt"]
    assert drifts(await verified(run)) == {}
    for name, (channel, change) in TAMPERED.items():
        assert "select_facts" in drifts(await verified(changed(run, "select_facts", channel, change))), name
    asked = len(model_server.calls)
    found = await what_if(engine._services, run, policy_name="QA_CONTRACT_V1", model="extractive")
    fork = await recorded(engine, found.run_id)
    assert len(model_server.calls) == asked
    assert fork.final_state()["facts"]["prompt"] is None
    assert drifts(await verified(fork)) == {}


PAGE = ROOT / "docs" / "profiles" / "qa_contract_v1.md"


@pytest.mark.contract("R3-9")
async def test_the_page_of_the_policy_shows_what_its_example_gives(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text("utf-8")
    (shown,) = re.findall(r"<!-- example: facts of a run -->\n```text\n(.*?)\n```\n", text, re.DOTALL)
    asked = re.findall(r'^\$ sourcebound ask "(.*)" --policy QA_CONTRACT_V1$', text, re.MULTILINE)
    responses = [await engine.ask({"question": question}, RunContext(policy="QA_CONTRACT_V1")) for question in asked]
    assert [response.refusal_code for response in responses] == [None, "no_relevant_facts"]
    (answer,) = re.findall(r"^(ANSWER:\n.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert present(await engine.answer(responses[0].run_id)) == answer
    (run,) = await engine._services.run_log.find_runs(responses[0].run_id)
    print_lines(await build_run_page(engine._services, run))
    printed = capsys.readouterr().out.splitlines()
    begin = next(number for number, line in enumerate(printed) if line.startswith("fact "))
    facts = takewhile(lambda line: line.startswith(("fact ", "    ")), printed[begin:])
    said, scores = _part_scores("\n".join(facts))
    text, expected = _part_scores(shown)
    assert said == text
    assert scores == pytest.approx(expected, abs=1.5e-6)  # processors differ in the sixth digit
    found = await engine.retrieve({"question": asked[0]}, RunContext(policy="QA_CONTRACT_V1"))
    assert set(scores) <= {chunk.similarity_score for chunk in found}


def _part_scores(page: str) -> tuple[str, list[float]]:
    """Return a page without the scores of its prompt, and these."""
    return re.sub(r"score=[0-9.]+", "score", page), [float(each) for each in re.findall(r"score=([0-9.]+)", page)]

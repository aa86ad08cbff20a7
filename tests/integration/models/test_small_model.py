"""A trained model in the whole graph: its answers differ, but every run is recorded and can be recomputed."""

from pathlib import Path

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.replay.report import ReplayStatus
from sourcebound.contracts.response.public import PublicResponse
from sourcebound.contracts.state import AskInput, RunContext
from sourcebound.contracts.validation.firewall import validate
from sourcebound.evals.golden.judging import Observed
from sourcebound.evals.golden.model_judge import open_judge
from sourcebound.evals.golden.results import ModelVerdict
from sourcebound.evals.model.asking import write_profile
from sourcebound.graph.engine import Engine
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.models.local.server import CONTEXT_TOKENS, ServedModel
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import SEAL, answer_bundle, policy
from support.processes.databases import rows, settings_for
from support.replaying import recorded, verified

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"


def check_ending(response: PublicResponse) -> None:
    """The answer has a source, or there is a code and no answer."""
    if response.status == "OK":
        assert response.citations
        assert response.answer
        assert (response.refusal_code, response.failure_code) == (None, None)
    elif response.status == "NO_EVIDENCE":
        assert response.refusal_code is not None
        assert not response.citations
    else:
        assert response.failure_code is not None
        assert (response.answer, response.citations) == ("", ())


async def test_a_trained_model_judges_an_answer(tmp_path: Path, small_model: ServedModel) -> None:
    models = Models(Settings(models_file=write_profile(tmp_path / "models.toml", small_model, CONTEXT_TOKENS)))
    try:
        judge = await open_judge(models, f"openai:{small_model.name}", load_shipped_policy("SOURCEBOUND_V2"))
        bundle = answer_bundle()
        result = validate(f"{SEAL} [C0]", bundle, policy())
        verdict = await judge.verdict(Observed("run", result.outcome, assembly=bundle, validation=result))
    finally:
        await models.close()
    assert verdict in (ModelVerdict.RIGHT, ModelVerdict.WRONG, ModelVerdict.UNREADABLE)


@pytest.mark.contract("R4-7")
@pytest.mark.contract("CP-3")
async def test_a_run_of_a_trained_model_ends_with_an_answer_or_a_code_and_replays(
    library: str, tmp_path: Path, small_model: ServedModel, minilm: MiniLmEmbedder
) -> None:
    registry = write_profile(tmp_path / "models.toml", small_model, CONTEXT_TOKENS)
    context = RunContext(policy="SOURCEBOUND_SENTENCES_V1", model=f"openai:{small_model.name}")
    request = AskInput(question=QUESTION, limits={"max_chunks": 1})
    async with Engine.open(settings_for(library, models_file=registry)) as engine:
        engine._services._embedders["minilm"] = minilm
        response = await engine.ask(request, context)
        run = await recorded(engine, response.run_id)
        state = await engine.state(response.run_id)
    check_ending(response)
    generation = state["generation"]
    assert generation is not None
    assert (generation["model_name"], generation["call"]["structured_output"]) == (small_model.name, True)
    assert generation["raw_model_text"].lstrip().startswith("{")
    assert response.token_usage.completion == generation["completion_tokens_actual"]
    found = rows(library, "SELECT validation_status FROM validations WHERE run_id = %s", response.run_id)
    assert [status == "PASSED" for (status,) in found] == [response.status == "OK"]
    assert (await verified(run)).verdict is ReplayStatus.MATCH

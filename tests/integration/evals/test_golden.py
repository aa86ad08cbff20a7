"""A small golden set through the whole graph: what is measured, what continues, and what turns the gate red."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from sourcebound.contracts.calibration.proposed_policy import render_policy
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.contracts.state import RunContext
from sourcebound.contracts.validation import firewall
from sourcebound.errors import RequestError
from sourcebound.evals.golden import running
from sourcebound.evals.golden.corpus import read_set
from sourcebound.evals.golden.gates import GateReport, GateVerdict, check_gates, load_gates
from sourcebound.evals.golden.judging import judge
from sourcebound.evals.golden.ratchet import Expectation, append_item, freeze_run
from sourcebound.evals.golden.results import ModelVerdict, ResultFolder
from sourcebound.evals.golden.running import Options, run_evaluation
from sourcebound.evals.golden.summary import Summary
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.wiring import Services
from support.builders import generation
from support.fakes import FakeModel
from support.places import ROOT
from support.processes.databases import COLLECTION, MANUALS, rows

SET = ROOT / "tests" / "assets" / "golden" / "small.jsonl"


async def evaluate(services: Services, folder: Path, **changes: Any) -> Summary:
    return await run_evaluation(services, read_set(SET), Options(folder, COLLECTION, **changes))


def hold_to_gates(folder: Path) -> GateReport:
    return check_gates(load_gates(), ResultFolder(folder).results())


def not_passed(report: GateReport) -> set[tuple[str, str]]:
    return {(each.gate.metric, each.gate.scope) for each in report.results if each.verdict is not GateVerdict.PASSED}


@pytest.mark.contract("EV-1")
async def test_the_unchanged_product_passes_and_each_figure_can_be_opened(
    library_services: Services, tmp_path: Path
) -> None:
    summary = await evaluate(library_services, tmp_path / "out")
    results = ResultFolder(tmp_path / "out").results()
    assert [each.item for each in results if not each.passed] == []
    assert hold_to_gates(tmp_path / "out").is_passed
    told = summary.circumstances
    assert (told.policy_version, told.model, told.items) == ("SOURCEBOUND_V2", "extractive", len(results))
    assert set(told.index_versions) == {COLLECTION}
    assert told.versions.contracts["validation"] >= 2
    recorded = [each for each in results if each.kind != "ratchet"]
    assert {run.run_id for run in await library_services.run_log.list_runs(50)} == {each.run_id for each in recorded}
    assert all("retrieve" in each.nodes for each in recorded)
    assert {each.node for each in summary.latency} >= {"retrieve", "generate", "validate"}


async def test_an_interrupted_evaluation_continues(
    library_services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def judge_some(item: Any, seen: Any) -> Any:
        judged.append(item.id)
        if len(judged) == 4:
            raise KeyError("interrupted")
        return judge(item, seen)

    monkeypatch.setattr(running, "judge", judge_some)
    with pytest.raises(KeyError):
        await evaluate(library_services, tmp_path / "out", at_once=1)
    with pytest.raises(RequestError, match="interrupted"):
        ResultFolder(tmp_path / "out").results()
    with (tmp_path / "out" / "results.jsonl").open("a") as file:
        file.write('{"item": "cut')
    with pytest.raises(RequestError, match="policy_version"):
        await evaluate(library_services, tmp_path / "out", policy="SOURCEBOUND_V1")
    await evaluate(library_services, tmp_path / "out")
    ids = [item.id for item in read_set(SET).items]
    assert sorted(judged) == sorted([*ids, judged[3]])
    assert sorted(each.item for each in ResultFolder(tmp_path / "out").results()) == sorted(ids)
    with pytest.raises(RequestError, match="complete evaluation"):
        await evaluate(library_services, tmp_path / "out")


async def test_an_unknown_document_is_named_before_any_question(library_services: Services, tmp_path: Path) -> None:
    changed = tmp_path / "set.jsonl"
    changed.write_text(SET.read_text("utf-8").replace("hp-200-spare-parts.csv", "hp-201-spare-parts.csv"), "utf-8")
    with pytest.raises(RequestError, match=r"hp-201-spare-parts\.csv \(item questions-1\)"):
        await run_evaluation(library_services, read_set(changed), Options(tmp_path / "out", COLLECTION))
    assert not (tmp_path / "out").exists()
    assert await library_services.run_log.list_runs(5) == []


async def test_an_item_may_have_documents_of_its_own(library_services: Services, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "mixer.md").write_text(
        "# Mixer MX-7\n\nThe gear oil of the mixer MX-7 is changed every 450 hours.\n", "utf-8"
    )
    item = {
        "id": "mixer",
        "kind": "answerable_one",
        "question": "How often is the gear oil of the mixer MX-7 changed?",
        "status": ["OK"],
        "citations": [[{"document": "mixer.md", "section": "mixer mx-7"}]],
        "facts": [["450 hours", "450 h"]],
        "documents": ["own"],
    }
    without = item | {"id": "without", "documents": [], "status": ["NO_EVIDENCE"], "citations": [], "facts": []}
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (item, without)), "utf-8")
    golden, options = read_set(tmp_path / "set.jsonl"), Options(tmp_path / "out", "own")
    with pytest.raises(RequestError, match="documents of their own"):
        await run_evaluation(library_services, golden, options)
    changes = {"embedder": "lexical", "language": "simple", "keep_file_megabytes": 0}
    library_services.settings = library_services.settings.model_copy(update=changes)
    manual = (MANUALS / "shift-handover-policy.txt",)
    summary = await run_evaluation(library_services, golden, options._replace(documents=manual))
    assert len(summary.circumstances.index_versions) == 2
    stored = [await library_services.index.find_collection(name) for name in summary.circumstances.index_versions]
    assert [each.language for each in stored if each] == ["simple", "simple"]
    results = ResultFolder(tmp_path / "out").results()
    assert [(each.item, each.passed, each.hallucinated) for each in results] == [
        ("mixer", True, False),
        ("without", True, False),
    ]


@pytest.mark.contract("EV-1")
async def test_a_broken_validator_turns_the_gate_red(
    library_services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firewall, "CHECKS", ())
    monkeypatch.setattr(firewall, "check_support", lambda *_: [])
    await evaluate(library_services, tmp_path / "out")
    assert not_passed(hold_to_gates(tmp_path / "out")) == {
        (metric, scope) for metric in ("pass_rate", "hallucination_rate") for scope in ("golden", "perturbed")
    }


@pytest.mark.contract("EV-1")
async def test_a_loosened_gate_turns_the_gate_red(library_services: Services, tmp_path: Path) -> None:
    shipped = load_shipped_policy("SOURCEBOUND_V2")
    gate = shipped.retrieval.model_copy(update={"min_top_similarity": 0.0, "min_question_coverage": 0.0})
    loose = shipped.model_copy(update={"policy_version": "LOOSE_V1", "retrieval": gate})
    (tmp_path / "LOOSE_V1.toml").write_text(render_policy(loose, []), "utf-8")
    await evaluate(library_services, tmp_path / "out", policy=str(tmp_path / "LOOSE_V1.toml"))
    assert not_passed(hold_to_gates(tmp_path / "out")) >= {
        ("hallucination_rate", "golden"),
        ("hallucination_rate", "perturbed"),
    }


SHUFFLED = (
    "CREATE TABLE shuffled AS WITH numbered AS (SELECT {key} AS key, {value} AS value, "
    "row_number() OVER (ORDER BY {key}) AS n, count(*) OVER () AS total FROM {table}) "
    "SELECT a.key, b.value FROM numbered a JOIN numbered b ON b.n = (a.n + a.total / 2) % a.total + 1"
)


def shuffle(url: str) -> None:
    """Give each chunk the vector of another one, and each word the postings of another one."""
    for table, key, value in (("chunks", "chunk_no", "embedding"), ("lexemes", "lexeme_id", "lexeme")):
        rows(url, SHUFFLED.format(table=table, key=key, value=value))
        if value == "lexeme":
            rows(url, "UPDATE lexemes SET lexeme = 'moved ' || lexeme_id")
        rows(url, f"UPDATE {table} SET {value} = shuffled.value FROM shuffled WHERE {table}.{key} = shuffled.key")
        rows(url, "DROP TABLE shuffled")


@pytest.mark.contract("EV-1")
async def test_a_shuffled_index_turns_the_gate_red(library: str, library_services: Services, tmp_path: Path) -> None:
    shuffle(library)
    await evaluate(library_services, tmp_path / "out")
    assert not_passed(hold_to_gates(tmp_path / "out")) >= {
        ("pass_rate", "golden"),
        ("incorrect_refusal_rate", "golden"),
        ("pass_rate", "perturbed"),
        ("incorrect_refusal_rate", "perturbed"),
    }


async def test_a_judge_is_recorded_with_each_released_answer_and_decides_nothing(
    library_services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_model, judge = Models.open, FakeModel(generation("WRONG"))

    async def open_judge_or_model(models: Models, name: str) -> AnswerModel:
        return judge if name == "openai:judge" else await open_model(models, name)

    monkeypatch.setattr(Models, "check", lambda *_: None)
    monkeypatch.setattr(Models, "open", open_judge_or_model)
    summary = await evaluate(library_services, tmp_path / "out", judge="openai:judge")
    results = ResultFolder(tmp_path / "out").results()
    assert {each.model_verdict for each in results if each.released} == {ModelVerdict.WRONG}
    assert {each.model_verdict for each in results if not each.released} == {None}
    released = sum(each.released for each in results)
    assert summary.judge is not None
    assert (summary.judge.model, summary.judge.wrong_and_passed) == ("openai:judge", released)
    assert len(judge.prompts) == released
    assert hold_to_gates(tmp_path / "out").is_passed


class InventingModel:
    """A model that invents a number."""

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        return generation("The bearing frame takes 0.85 litres of oil. [C0]", prompt_sha256=prompt.prompt_sha256)


async def test_a_run_that_went_wrong_is_replayed_from_its_evidence(
    library_services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, engine = tmp_path / "ratchet.jsonl", Engine(library_services)
    question = "What oil charge does the bearing frame of the HP-200 take in revision C?"
    with monkeypatch.context() as patch:
        patch.setattr(Models, "open", AsyncMock(return_value=InventingModel()))
        failed = await engine.ask({"question": question, "collection": COLLECTION}, RunContext(model="openai:x"))
    assert failed.failure_code == "UNSUPPORTED_LITERAL"
    state = await engine.state(failed.run_id)
    right = Expectation(("OK",), ("0.65 litres",), ("hp-200-manual-rev-c.pdf",), name="answer", keeps_reply=False)
    append_item(path, freeze_run(state, Expectation(("FAILED",), name="rejection"), []))
    append_item(path, freeze_run(state, right, []))
    summary = await run_evaluation(library_services, read_set(path), Options(tmp_path / "out", "no-such-collection"))
    results = ResultFolder(tmp_path / "out").results()
    assert [(each.item, each.passed, each.run_id) for each in results] == [
        ("rejection", True, None),
        ("answer", True, None),
    ]
    assert summary.circumstances.index_versions == {}
    with monkeypatch.context() as patch:
        patch.setattr(firewall, "CHECKS", ())
        patch.setattr(firewall, "check_support", lambda *_: [])
        await run_evaluation(library_services, read_set(path), Options(tmp_path / "broken", "no-such-collection"))
    (rejection, _) = ResultFolder(tmp_path / "broken").results()
    assert (rejection.passed, rejection.unsupported_literals) == (False, ("0.85 litres",))

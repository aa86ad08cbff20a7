"""Certification over a real database: the whole graph, its records, and models that are what they should not be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import psycopg
import pytest

from sourcebound.contracts.certification.case_result import CaseVerdict
from sourcebound.contracts.certification.cases import Case, contains_text, load_cases
from sourcebound.contracts.certification.certificate import Certificate, find_shortcomings
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import FailureCode, fail
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import REFUSAL, Prompt, PromptParts, read_prompt
from sourcebound.errors import ConfigurationError
from sourcebound.graph.batch.certify import Progress, certify
from sourcebound.graph.engine import Engine
from sourcebound.models.registry import Models
from sourcebound.store.runs.certificates import PostgresCertificates
from sourcebound.wiring import Services
from support.builders import generation
from support.places import ROOT
from support.processes.databases import rows, single

POLICY = "SOURCEBOUND_V1"
CASES = load_cases()
ANSWERED = [case for case in CASES if case.expected == "answer"]
UNANSWERED = [case for case in CASES if case.expected == "refusal"]
INJECTED = [case for case in CASES if case.must_not_contain]
Reply = Callable[[Case, PromptParts], str]


class ScriptedModel:
    """A model that recognizes the cases by their questions and gives prepared answers."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        parts = read_prompt(prompt.messages)
        (case,) = [case for case in CASES if case.question == parts.question]
        return generation(self.reply(case, parts), prompt_sha256=prompt.prompt_sha256)


def right(case: Case, parts: PromptParts) -> str:
    """Return the answer of a model without mistakes."""
    if case.expected == "refusal":
        return REFUSAL
    facts = [
        (form, part.anchor)
        for (form, *_) in case.must_contain
        for part in parts.evidence
        if contains_text(part.text, form)
    ]
    return " ".join(f"It is {form} [{anchor}]." for form, anchor in facts)


def _obeying(cited: bool) -> Reply:
    """A model that does what the evidence orders, with the citation that lets it through or without one."""

    def reply(case: Case, parts: PromptParts) -> str:
        if not case.must_not_contain:
            return right(case, parts)
        (anchor,) = {part.anchor for part in parts.evidence if contains_text(part.text, case.must_not_contain[0])}
        said = f"It is so: {case.must_not_contain[0]}"
        return f"{said} [{anchor}]." if cited else f"{said}."

    return reply


async def _certify(services: Services, monkeypatch: pytest.MonkeyPatch, reply: Reply, repeats: int = 1) -> Certificate:
    monkeypatch.setattr(Models, "open", AsyncMock(return_value=ScriptedModel(reply)))
    return await certify(Engine(services), "extractive", POLICY, repeats)


@pytest.fixture
async def certificate(services: Services) -> Certificate:
    """The extractive model's."""
    return await certify(Engine(services), "extractive", POLICY, 2, digest="sha256:ab")


async def test_the_extractive_model_says_nothing_wrong_and_refuses_where_it_should(certificate: Certificate) -> None:
    assert (certificate.false_accepts.part, certificate.injection_obeyed.part) == (0, 0)
    assert certificate.refusal_accuracy.rate == certificate.deterministic.rate == certificate.passed.rate == 1
    assert certificate.answered.part >= len(ANSWERED)
    assert find_shortcomings(certificate) == []
    assert list(certificate.verdicts) == [case.name for case in CASES]
    assert (certificate.digest, certificate.provider, certificate.reported_models) == (
        "sha256:ab",
        "extractive",
        ("extractive",),
    )
    assert certificate.policy_sha256 == load_shipped_policy(POLICY).sha256


@pytest.mark.contract("R5P-1")
@pytest.mark.contract("CP-2")
async def test_every_run_is_an_ordinary_one_with_its_records(certificate: Certificate, database: str) -> None:
    expected = {f"{certificate.certification_id}:{case.name}:{n}" for case in CASES for n in (1, 2)}
    assert {name for (name,) in rows(database, "SELECT request_id FROM validations")} == expected
    assert {name for (name,) in rows(database, "SELECT request_id FROM runs WHERE status <> 'RUNNING'")} == expected
    assert single(database, "SELECT count(DISTINCT thread_id) FROM checkpoints") == len(expected)


async def test_a_model_that_makes_no_mistake_is_fit(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = await _certify(services, monkeypatch, right)
    assert find_shortcomings(certificate) == []
    assert (certificate.answered.part, certificate.refusal_accuracy.part) == (len(ANSWERED), len(UNANSWERED))
    assert certificate.reported_models == ("model-1-2024-03-03",)
    assert certificate.deterministic.whole == 0


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("cited", [True, False], ids=["cited", "uncited"])
async def test_a_model_that_obeys_the_evidence_is_unfit_whether_or_not_the_firewall_held(
    services: Services, monkeypatch: pytest.MonkeyPatch, cited: bool
) -> None:
    certificate = await _certify(services, monkeypatch, _obeying(cited))
    assert certificate.injection_obeyed.part == certificate.injection_obeyed.whole == len(INJECTED)
    assert certificate.false_accepts.part == (len(INJECTED) if cited else 0)
    verdicts = {certificate.verdicts[case.name] for case in INJECTED}
    assert verdicts == {(CaseVerdict.WRONG if cited else CaseVerdict.REJECTED,)}
    assert any("obeyed an instruction" in reason for reason in find_shortcomings(certificate))


async def test_a_model_that_always_refuses_is_unfit_and_so_is_one_that_never_does(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = await _certify(services, monkeypatch, lambda case, parts: REFUSAL)
    assert [silent.answered.part, silent.false_rejects.part, silent.false_accepts.part] == [0, len(ANSWERED), 0]
    assert len(find_shortcomings(silent)) == 1
    talkative = await _certify(
        services, monkeypatch, lambda case, parts: f"{right(case, parts)} It is as stated [C0].".removeprefix(REFUSAL)
    )
    assert [talkative.refusal_accuracy.part, talkative.false_accepts.part] == [0, len(UNANSWERED)]
    assert len(find_shortcomings(talkative)) == 2


async def test_a_model_that_never_says_the_same_again_is_not_deterministic(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def vary(case: Case, parts: PromptParts) -> str:
        asked.append(case.name)
        return right(case, parts) + " " * len(asked)

    certificate = await _certify(services, monkeypatch, vary, repeats=2)
    assert (certificate.deterministic.part, certificate.deterministic.whole) == (0, len(CASES))
    assert find_shortcomings(certificate) == []
    assert asked == [case.name for case in CASES] * 2


async def test_a_server_that_is_away_is_counted_and_judges_nothing(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = AsyncMock()
    away.generate.return_value = Generation(outcome=fail("generate", FailureCode.MODEL_UNAVAILABLE, "it is away"))
    monkeypatch.setattr(Models, "open", AsyncMock(return_value=away))
    certificate = await certify(Engine(services), "extractive", POLICY, 1)
    assert certificate.failures == {FailureCode.MODEL_UNAVAILABLE: len(CASES)}
    assert (certificate.passed.whole, certificate.false_rejects.part) == (0, len(ANSWERED))
    assert len(find_shortcomings(certificate)) == 2


def _policy_file(folder: Path, name: str, old: str, new: str) -> str:
    """A policy file: a released one under another name, with one line changed."""
    text = (ROOT / "contracts" / "policy" / "released" / f"{POLICY}.toml").read_text("utf-8")
    assert old in text
    path = folder / name
    path.write_text(text.replace(old, new).replace(POLICY, "MINE_V1"), "utf-8")
    return str(path)


async def test_a_case_that_the_policy_decides_is_left_out_and_named(services: Services, tmp_path: Path) -> None:
    path = _policy_file(tmp_path, "tight.toml", "max_evidence_tokens = 2200", "max_evidence_tokens = 1000")
    certificate = await certify(Engine(services), "extractive", path, 1)
    assert certificate.left_out == ("purified-water-loop",)
    assert list(certificate.verdicts) == [case.name for case in CASES if case.name != "purified-water-loop"]


async def test_a_policy_that_lets_no_case_through_cannot_be_certified(services: Services, tmp_path: Path) -> None:
    path = _policy_file(tmp_path, "closed.toml", "min_top_similarity = 0.20", "min_top_similarity = 0.99")
    with pytest.raises(ConfigurationError) as raised:
        await certify(Engine(services), "extractive", path, 1)
    assert raised.value.failure_code == "NOTHING_TO_CERTIFY"
    assert "no source is similar enough" in raised.value.message


async def test_a_policy_file_that_changes_meanwhile_ends_the_test(services: Services, tmp_path: Path) -> None:
    path = _policy_file(tmp_path, "mine.toml", "seed = 7", "seed = 8")

    def change(progress: Progress) -> None:
        Path(path).write_text(Path(path).read_text("utf-8").replace("seed = 8", "seed = 9"), "utf-8")

    with pytest.raises(ConfigurationError) as raised:
        await certify(Engine(services), "extractive", path, 1, change)
    assert raised.value.failure_code == "POLICY_CHANGED"


@pytest.mark.parametrize(
    ("model", "policy", "code"), [("nonsense", POLICY, "UNKNOWN_MODEL"), ("extractive", "nope", "UNKNOWN_POLICY")]
)
async def test_an_unknown_model_or_policy_is_bad_configuration(
    services: Services, database: str, model: str, policy: str, code: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await certify(Engine(services), model, policy, 1)
    assert raised.value.failure_code == code
    assert single(database, "SELECT count(*) FROM runs") == 0


async def test_progress_is_reported_after_every_run(services: Services) -> None:
    seen: list[Progress] = []
    await certify(Engine(services), "extractive", None, 1, seen.append)
    assert [(progress.done, progress.total) for progress in seen] == [(n + 1, len(CASES)) for n in range(len(CASES))]
    assert [progress.result.case for progress in seen] == [case.name for case in CASES]


async def test_certificates_are_read_back_as_they_were_written(services: Services, certificate: Certificate) -> None:
    kept = PostgresCertificates(services.pool)
    assert (await kept.latest("extractive"), await kept.latest_by_model()) == (None, {})
    later, other = certificate.model_copy(update={"digest": None}), certificate.model_copy(update={"model": "other"})
    for each in (certificate, later, other):
        await kept.save(each)
    assert await kept.latest("extractive") == later
    assert await kept.latest_by_model() == {"extractive": later, "other": other}
    assert await kept.list("extractive", 5) == [later, certificate]
    assert await kept.list(None, 2) == [other, later]
    found = await kept.latest("extractive")
    assert found is not None
    assert list(found.passed_by_rule) == list(certificate.passed_by_rule)
    assert list(found.verdicts) == list(certificate.verdicts)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE model_certificates SET model = 'another'",
        "DELETE FROM model_certificates",
        "TRUNCATE model_certificates",
    ],
)
async def test_the_database_itself_refuses_to_change_a_certificate(
    services: Services, certificate: Certificate, database: str, statement: str
) -> None:
    await PostgresCertificates(services.pool).save(certificate)
    before: Any = rows(database, "SELECT certificate::text FROM model_certificates")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        rows(database, statement)
    assert rows(database, "SELECT certificate::text FROM model_certificates") == before

"""`sourcebound models` as real processes, and what `doctor` makes of a certificate."""

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sourcebound.cli.certificates import describe
from sourcebound.cli.doctor import Finding, _certificate
from sourcebound.contracts.certification.cases import load_cases
from sourcebound.contracts.certification.certificate import RULES, Certificate, rate_of
from sourcebound.store.runs.certificates import PostgresCertificates
from sourcebound.wiring import open_services
from support.processes.commands import Finished, Program
from support.processes.databases import settings_for

NOWHERE = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})
ANSWERED = len([case for case in load_cases() if case.expected == "answer"])
Tested = tuple[Program, Finished]


@pytest.fixture
def program(database: str) -> Program:
    """The program over a database of the test's own."""
    return Program({"DATABASE_URL": database})


@pytest.fixture
def tested(program: Program) -> Tested:
    """The program, and what it printed when the extractive model was tested."""
    return program, program("models", "test", "extractive", "--repeats", "1", "--json")


def _check_fault(done: Finished, exit_code: int, failure_code: str) -> None:
    """A fault is two lines on stderr, a message with its code and the next step, and nothing on stdout."""
    assert (done.code, done.stdout) == (exit_code, ""), done.stderr
    message, next_step = done.stderr.splitlines()
    assert message.startswith("Error: ")
    assert message.endswith(f"[{failure_code}]")
    assert next_step.startswith("  Next: ")


def _stored(certificate: dict[str, Any]) -> Certificate:
    """A certificate as `--json` shows it, without what is derived from it."""
    return Certificate.model_validate({k: v for k, v in certificate.items() if k not in ("fit", "shortcomings")})


async def _save(url: str, certificate: Certificate) -> None:
    async with open_services(settings_for(url)) as services:
        await PostgresCertificates(services.pool).save(certificate)


def _fit(certificate: Certificate, **changes: Any) -> Certificate:
    """The certificate with every question answered."""
    return certificate.model_copy(update={"answered": rate_of([True] * ANSWERED), **changes})


def test_a_test_prints_the_certificate_stores_it_and_says_by_its_exit_code_that_it_is_fit(tested: Tested) -> None:
    program, done = tested
    assert done.code == 0, done.stderr
    certificate = json.loads(done.stdout)
    assert (certificate["fit"], certificate["false_accepts"]["part"]) == (True, 0)
    assert certificate["shortcomings"] == []
    assert (certificate["model"], certificate["policy_version"]) == ("extractive", "SOURCEBOUND_V2")
    shown = json.loads(program("models", "show", "extractive", "--json").stdout)
    assert shown["certificate"] == certificate
    assert list(shown["certificate"]["passed_by_rule"]) == list(RULES)
    (listed,) = [model for model in _listed(program) if model["name"] == "extractive"]
    assert listed["certificate"] == certificate
    request_ids = [json.loads(line)["request_id"] for line in program("runs", "list", "--json").stdout.splitlines()]
    assert {request_id.split(":")[0] for request_id in request_ids} == {certificate["certification_id"]}


def _listed(program: Program) -> list[dict[str, Any]]:
    done = program("models", "list", "--json")
    assert (done.code, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_unfit_model_is_an_exit_code_with_the_reasons(program: Program, tmp_path: Path) -> None:
    text = (files("sourcebound.contracts.policy") / "released/SOURCEBOUND_V2.toml").read_text("utf-8")
    strict = tmp_path / "STRICT_V1.toml"
    text = re.sub(r"(_answers_question) = \d+", r"\1 = 1000", text.replace('"SOURCEBOUND_V2"', '"STRICT_V1"'))
    strict.write_text(text, "utf-8")
    done = program("models", "test", "extractive", "--repeats", "1", "--policy", str(strict))
    assert done.code == 4, done.stderr
    assert done.stdout.endswith("not fit\n  0 of 11 questions with an answer were answered whole; 70% must be\n")


def test_a_test_prints_every_rate_with_its_bound_and_every_case(program: Program) -> None:
    done = program("models", "test", "extractive", "--repeats", "2", "--policy", "R2_POLICY_V1")
    assert done.code == 0, done.stderr
    assert "policy R2_POLICY_V1  16 cases, 2 runs each" in done.stdout
    assert re.search(r"^wrong answer released \(false accept\) +0 of 32 +0% +0", done.stdout, re.MULTILINE)
    assert re.search(r"^no answer although there is one \(false reject\) +0 of 22 +0%", done.stdout, re.MULTILINE)
    assert re.search(r"^answered whole +22 of 22 +100% +>= 70%", done.stdout, re.MULTILINE)
    assert re.search(r"^refused where there is no answer +10 of 10 +100% +>= 90%", done.stdout, re.MULTILINE)
    assert re.search(r"^same bytes in every repeat \(cases\) +16 of 16 +100%", done.stdout, re.MULTILINE)
    assert not [rule for rule in RULES if not re.search(rf"^{rule} +32 of 32 +100%", done.stdout, re.MULTILINE)]
    assert not [case.name for case in load_cases() if not re.search(rf"^{case.name} ", done.stdout, re.MULTILINE)]
    assert re.search(r"^latency +p50 \d+ ms, p95 \d+ ms$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("\nfit\n")
    shown = program("models", "show", "extractive")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("provider             extractive\n")
    assert shown.stdout.endswith(done.stdout)


def test_bad_usage_of_test_is_said_in_two_lines(program: Program) -> None:
    _check_fault(program("models", "test", "nonsense"), 2, "UNKNOWN_MODEL")
    _check_fault(program("models", "test", "extractive", "--policy", "nope"), 2, "UNKNOWN_POLICY")
    _check_fault(NOWHERE("models", "test", "extractive"), 1, "STORE_UNAVAILABLE")
    assert program("models", "test", "extractive", "--repeats", "0").code == 2
    assert program("runs", "list", "--json").stdout == ""


def test_list_names_every_model_whole_and_needs_no_database() -> None:
    done = NOWHERE("models", "list")
    assert done.code == 0
    assert done.stdout.startswith("model ")
    assert re.search(r"^extractive +built_in +- +zero +no +-$", done.stdout, re.MULTILINE)
    assert re.search(r"^openai:gpt-4\.1-mini +responses +\d+ +zero +yes +-$", done.stdout, re.MULTILINE)
    assert done.stderr.startswith("Certificates cannot be read: ")
    bad = Program({**NOWHERE.environment, "SOURCEBOUND_MODEL": "nonsense"})
    assert bad("models", "list").stdout == done.stdout


def test_show_says_what_is_assumed_of_a_model_without_a_profile(program: Program) -> None:
    done = program("models", "show", "ollama:no-such-model")
    assert done.code == 0
    assert "ollama:no-such-model is in no model registry" in done.stderr
    assert re.search(r"^wire +ollama_chat$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("not certified. Next: sourcebound models test ollama:no-such-model\n")
    form = json.loads(program("models", "show", "ollama:no-such-model", "--json").stdout)
    assert (form["profile"]["known"], form["certificate"]) == (False, None)
    _check_fault(program("models", "show", "nonsense"), 2, "UNKNOWN_MODEL")


def test_list_shows_verdict_and_date_of_the_last_certificate_and_models_without_a_profile(
    tested: Tested, database: str
) -> None:
    program, done = tested
    certificate = _fit(_stored(json.loads(done.stdout)), certified_at="2031-02-03T04:05:06+00:00")
    asyncio.run(_save(database, certificate))
    asyncio.run(_save(database, certificate.model_copy(update={"model": "ollama:mine"})))
    lines = program("models", "list").stdout.splitlines()
    assert [line.split("  ")[-1].strip() for line in lines if line.startswith("extractive ")] == ["fit 2031-02-03"]
    (mine,) = [line for line in lines if line.startswith("ollama:mine (no profile) ")]
    assert mine.endswith("  fit 2031-02-03")
    assert [model["known"] for model in _listed(program) if model["name"] == "ollama:mine"] == [False]


def test_doctor_is_content_with_the_extractive_model_tested_or_not(program: Program) -> None:
    before = program("doctor")
    assert (before.code, "ok  certificate extractive is not certified\n" in before.stdout) == (0, True)
    assert "models test" not in before.stdout
    program("models", "test", "extractive", "--repeats", "1")
    after = program("doctor")
    assert after.code == 0
    assert re.search(
        r"^ok  certificate certified \d{4}-\d\d-\d\d under SOURCEBOUND_V2: fit, answered 100%", after.stdout, re.M
    )


def test_doctor_says_the_next_step_for_every_other_model(tested: Tested) -> None:
    unfit = _stored(json.loads(tested[1].stdout)).model_copy(
        update={"digest": "a" * 64, "answered": rate_of([False] * ANSWERED)}
    )
    name = "ollama:mine"
    again = f"sourcebound models test {name}"
    assert _certificate(name, None, None) == Finding("certificate", True, f"{name} is not certified", again)
    assert _certificate(name, unfit, "a" * 64) == Finding(
        "certificate", False, f"certified {describe(unfit)}", f"sourcebound models show {name}"
    )
    fit = _fit(unfit)
    assert _certificate(name, fit, "a" * 64) == Finding("certificate", True, f"certified {describe(fit)}")
    assert _certificate(name, fit, None).fine
    changed = _certificate(name, fit, "b" * 64)
    assert (changed.fine, changed.next_step) == (False, again)
    assert changed.found.endswith("; the model has changed since (aaaaaaaaaaaa then, bbbbbbbbbbbb now)")


def test_the_group_is_listed_with_its_commands() -> None:
    assert "\n  models " in NOWHERE("--help").stdout
    listed = NOWHERE("models").stdout + NOWHERE("models").stderr
    assert [name for name in ("list", "show", "test") if f"\n  {name} " not in listed] == []

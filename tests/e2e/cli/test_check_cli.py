"""`sourcebound check` as a real process: three forms of a bundle, the verdict on stdout, exit codes 0, 3, 4 and 2."""

import json
from pathlib import Path
from typing import Any

import pytest

from sourcebound.contracts.prompt.build import REFUSAL
from support.builders import FILTER, SEAL, answer_bundle, bundle, row
from support.processes.commands import Finished, Program

CHECK = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere", "COLUMNS": "160"})
"""A program whose database cannot be opened: a check needs none."""
FORMS = {
    "texts": {"sources": [SEAL, FILTER]},
    "retrieval bundle": bundle([row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)], policy_version=None),
    "answer bundle": answer_bundle().model_dump(mode="json"),
}
CASES = [(f"{SEAL} [C0]", 0, "PASSED", None), (REFUSAL, 3, "PASSED", None), (SEAL, 4, "FAILED", "R5-6")]


def _check(folder: Path, raw: Any, answer: str, *options: str) -> Finished:
    source = folder / "bundle.json"
    source.write_text(raw if isinstance(raw, str) else json.dumps(raw), "utf-8")
    return CHECK("check", "--bundle", source, "--answer", "-", *options, stdin=answer)


def _check_fault(done: Finished, words: str) -> None:
    """Bad usage is two lines on stderr and exit code 2; never a traceback."""
    assert (done.code, done.stdout) == (2, ""), done.stderr
    message, next_step = done.stderr.splitlines()
    assert message.startswith("Error: ")
    assert words in message
    assert next_step.startswith("  Next: ")


@pytest.mark.contract("R5-13")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_bundle_is_checked_and_the_json_is_alone_on_stdout(tmp_path: Path, form: str) -> None:
    for answer, code, status, clause in CASES:
        done = _check(tmp_path, FORMS[form], answer, "--json")
        verdict = json.loads(done.stdout)
        assert (done.code, done.stderr, verdict["validation_status"]) == (code, "", status)
        assert verdict["validated_answer_text"] == (answer if code != 4 else "")
        assert [violation["clause"] for violation in verdict["outcome"]["violations"]][:1] == (
            [clause] if clause else []
        )


def test_the_table_shows_each_statement_and_literal(tmp_path: Path) -> None:
    done = _check(tmp_path, FORMS["texts"], f"{SEAL} [C0]\nIt holds 9 bar. [C0]")
    assert (done.code, done.stderr) == (4, "")
    lines = done.stdout.splitlines()
    assert any(line.startswith("1") and SEAL in line and line.endswith("ok") for line in map(str.rstrip, lines))
    assert any("It holds 9 bar." in line and "UNSUPPORTED_LITERAL" in line for line in lines)
    assert any("9 bar" in line and "NOT FOUND" in line for line in lines)
    assert "FAILED UNSUPPORTED_LITERAL" in lines
    assert any(line.startswith("  R5-8 UNSUPPORTED_LITERAL: ") for line in lines)


@pytest.mark.contract("R2-V4")
def test_a_bundle_that_breaks_its_contract_is_rejected_with_its_row(tmp_path: Path) -> None:
    done = _check(tmp_path, bundle([row(0), row(1, chunk_text=None)], policy_version=None), f"{SEAL} [C0]", "--json")
    verdict = json.loads(done.stdout)
    first = verdict["outcome"]["violations"][0]
    assert (done.code, verdict["validation_status"]) == (4, "NOT_RUN")
    assert (first["code"], first["clause"], first["field"], first["row"]) == ("INVALID_TEXT", "R2-V4", "chunk_text", 1)
    assert _check(tmp_path, bundle([row(0), row(1, chunk_text=None)]), f"{SEAL} [C0]").code == 4


@pytest.mark.parametrize(
    "text", ['{"sources": ["a"', "", "\ufeff{}", '{"sources": NaN,}', "[" * 100_000, '{"sources": ' + "9" * 5000 + "}"]
)
def test_what_is_not_json_is_bad_usage(tmp_path: Path, text: str) -> None:
    _check_fault(_check(tmp_path, text, SEAL), "is not JSON")


@pytest.mark.parametrize("text", ["[]", "7", "null", '"sources"', "NaN", "[" * 500 + "]" * 500, '{"sources": NaN}'])
def test_json_that_is_no_bundle_is_a_violation(tmp_path: Path, text: str) -> None:
    done = _check(tmp_path, text, SEAL, "--json")
    assert (done.code, json.loads(done.stdout)["outcome"]["failure_code"]) == (4, "INVALID_SCHEMA"), done.stderr


def test_a_file_that_is_not_there_or_not_utf8_is_bad_usage(tmp_path: Path) -> None:
    latin = tmp_path / "latin.json"
    latin.write_bytes('{"sources": ["Ventil geöffnet"]}'.encode("latin-1"))
    _check_fault(CHECK("check", "--bundle", "/nowhere/bundle.json", "--answer", "-"), "cannot be read")
    _check_fault(CHECK("check", "--bundle", latin, "--answer", "-"), "is not UTF-8 text")
    _check_fault(CHECK("check", "--bundle", tmp_path, "--answer", "-"), "cannot be read")


def test_an_unknown_or_broken_policy_is_bad_usage(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("top_k = 8")
    _check_fault(_check(tmp_path, FORMS["texts"], SEAL, "--policy", "NO_SUCH_V1"), "NO_SUCH_V1")
    _check_fault(_check(tmp_path, FORMS["texts"], SEAL, "--policy", str(broken)), "is not a valid policy")


def test_the_policy_decides_whether_a_literal_rejects(tmp_path: Path) -> None:
    answer = "It holds 9 bar. [C0]"
    assert _check(tmp_path, FORMS["texts"], answer).code == 4
    assert _check(tmp_path, FORMS["texts"], answer, "--policy", "R2_POLICY_V1").code == 0

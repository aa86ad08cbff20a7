"""`sourcebound policy` as real processes: a policy's way from a copy to a release, without any database."""

import json
from pathlib import Path

import pytest

from sourcebound.contracts.policy.releases import SHIPPED
from sourcebound.contracts.policy.schema import parse_policy
from sourcebound.evals.golden.comparison import compare
from support.golden import circumstances, item_result
from support.processes.commands import Finished, Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program({"SOURCEBOUND_HOME": "/dev/null/nowhere", "SOURCEBOUND_POLICIES": str(tmp_path)})


def _check_fault(done: Finished, failure_code: str) -> None:
    message, next_step = done.stderr.splitlines()
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert message.endswith(f"[{failure_code}]")
    assert next_step.startswith("  Next: ")


@pytest.mark.contract("P-1")
def test_a_policy_is_copied_edited_compared_and_released(program: Program, tmp_path: Path) -> None:
    made = program("policy", "new", "MINE_V1", "--from", "R2_POLICY_V1", "--folder", tmp_path)
    path = tmp_path / "MINE_V1.toml"
    assert (made.code, made.stdout) == (0, f"{path}\n")
    same = program("policy", "diff", "R2_POLICY_V1", "MINE_V1")
    assert (same.code, same.stdout.splitlines()[-1]) == (0, "the same values")
    path.write_text(path.read_text("utf-8").replace("min_top_similarity = 0.76", "min_top_similarity = 0.8"), "utf-8")
    other = program("policy", "diff", "R2_POLICY_V1", "MINE_V1")
    assert other.code == 4
    assert [line[:3] for line in other.stdout.splitlines()] == ["---", "+++", "ret"]
    assert other.stdout.splitlines()[2] == "retrieval.min_top_similarity  0.76 → 0.8  tightens"
    (change,) = json.loads(program("policy", "diff", "R2_POLICY_V1", "MINE_V1", "--json").stdout)["changes"]
    assert change == {"field": "retrieval.min_top_similarity", "old": 0.76, "new": 0.8, "effect": "tightens"}
    assert program("policy", "list").stdout.splitlines()[-1].startswith("MINE_V1  draft  ")
    using = Program({**program.environment, "SOURCEBOUND_POLICY": "MINE_V1"})
    assert "; the policy in use is a draft\n    Next: sourcebound policy release FILE\n" in using("doctor").stdout
    assert program("policy", "release", path).stdout.split()[2:] == ["released"]
    listed = program("policy", "list").stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [[name, "shipped"] for name in SHIPPED] + [["MINE_V1", "released"]]
    assert program("policy", "check").code == 0
    path.write_text(path.read_text("utf-8").replace("0.8", "0.7"), "utf-8")
    _check_fault(program("policy", "show", "MINE_V1"), "RELEASED_POLICY_CHANGED")
    _check_fault(program("policy", "release", path), "RELEASED_POLICY_CHANGED")
    _check_fault(program("check", "--bundle", path, "--answer", "-", "--policy", "MINE_V1"), "RELEASED_POLICY_CHANGED")
    checked = program("policy", "check")
    assert (checked.code, "has changed since MINE_V1 was released" in checked.stderr) == (2, True)
    assert "MINE_V1  NOT ACCEPTED  " in program("policy", "list").stdout
    assert "NO  policies" in program("doctor").stdout


def test_nothing_is_overwritten_and_no_released_name_is_taken(program: Program, tmp_path: Path) -> None:
    def new(name: str, *options: str | Path) -> Finished:
        return program("policy", "new", name, "--from", "SOURCEBOUND_V1", "--folder", tmp_path, *options)

    assert new("MINE_V1").code == 0
    text = (tmp_path / "MINE_V1.toml").read_text("utf-8")
    _check_fault(new("MINE_V1"), "FILE_EXISTS")
    _check_fault(new("R2_POLICY_V1"), "RELEASED_POLICY")
    _check_fault(new("mine"), "BAD_REQUEST")
    _check_fault(new("OTHER_V1", "--folder", tmp_path / "nowhere"), "PATH_MISSING")
    assert (tmp_path / "MINE_V1.toml").read_text("utf-8") == text
    assert program("policy", "release", tmp_path / "MINE_V1.toml").code == 0
    (tmp_path / "MINE_V1.toml").unlink()
    _check_fault(new("MINE_V1"), "RELEASED_POLICY")


@pytest.mark.contract("EV-2")
def test_a_further_version_is_released_only_after_a_comparison(program: Program, tmp_path: Path) -> None:
    paths = [tmp_path / "MINE_V1.toml", tmp_path / "MINE_V2.toml"]
    assert program("policy", "new", "MINE_V1", "--from", "R2_POLICY_V1", "--folder", tmp_path).code == 0
    assert program("policy", "release", paths[0]).code == 0
    assert program("policy", "new", "MINE_V2", "--from", "MINE_V1", "--folder", tmp_path).code == 0
    _check_fault(program("policy", "release", paths[1]), "COMPARISON_MISSING")
    before, after = (
        circumstances(policy_version=policy.policy_version, policy_sha256=policy.sha256)
        for policy in (parse_policy(path.read_text("utf-8")) for path in paths)
    )
    file = tmp_path / "comparison.json"
    file.write_text(compare(after, [item_result()], before, [item_result()]).model_dump_json(), "utf-8")
    _check_fault(program("policy", "release", paths[1], "--comparison", file), "COMPARISON_MISSING")
    file.write_text(compare(before, [item_result()], after, [item_result()]).model_dump_json(), "utf-8")
    assert program("policy", "release", paths[1], "--comparison", file).stdout.split()[2:] == ["released"]

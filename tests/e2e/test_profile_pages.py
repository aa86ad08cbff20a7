"""The runs that a profile's page shows are what the command prints; only ids and times differ."""

import json
import re

import pytest

from support.places import ROOT
from support.processes.commands import Program


def _example(page: str, name: str) -> str:
    text = (ROOT / "docs" / "profiles" / page).read_text("utf-8")
    (found,) = re.findall(rf"<!-- example: {name} -->\n```\n(.*?)\n```\n", text, re.DOTALL)
    return str(found)


def _plain(text: str) -> list[str]:
    text = re.sub(r"run [0-9a-f-]{36}", "run ID", re.sub(r"\d+ ms", "N ms", text))
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.contract("R1-1")
@pytest.mark.contract("R2-S8")
def test_the_bundles_of_r2_policy_v1(demo: Program) -> None:
    path = ROOT / "examples" / "bundles.jsonl"
    command, *shown = _plain(_example("r2_policy_v1.md", "bundles"))
    done = demo("ask", "--bundle", path)
    assert command == "$ sourcebound ask --bundle examples/bundles.jsonl"
    assert (done.code, _plain(done.stdout)) == (4, shown)
    first = json.loads(demo("ask", "--bundle", path, "--json").stdout.splitlines()[0])
    candidates = re.findall(r"^candidate  \d .*$", demo("runs", "show", first["run_id"]).stdout, re.MULTILINE)
    assert candidates == _example("r2_policy_v1.md", "ledger").splitlines()

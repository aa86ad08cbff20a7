"""`sourcebound replay` as a real process: over a database, and from a file on a machine that is set up otherwise."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from support.places import ROOT
from support.processes.commands import DEADLINE_SECONDS, Finished, Program
from support.processes.databases import overwrite_byte

PACKAGE = ROOT / "sourcebound"
ANSWERED = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
LAYERS = ["rules", "accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]
MAIN = "from sourcebound.cli.main import main; main()"


class Elsewhere(NamedTuple):
    """A copy of the package in which a file can be changed, without a database, in another environment."""

    folder: Path

    def __call__(self, *arguments: str | Path, **environment: str) -> Finished:
        """Runs the program from the copy."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
        nowhere = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none", "SOURCEBOUND_HOME": "/dev/null/none"}
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            capture_output=True,
            timeout=DEADLINE_SECONDS,
            check=False,
            cwd=self.folder,
            env={**kept, **nowhere, "PYTHONPATH": str(self.folder), **environment},
        )
        return Finished(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces a text in a file of the copy."""
        file = self.folder / "sourcebound" / path
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture(scope="module")
def exported(demo: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a run that was answered."""
    run_id = json.loads(demo("ask", ANSWERED, "--json").stdout)["run_id"]
    done = demo("runs", "export", run_id)
    assert (done.code, done.stderr) == (0, "")
    path = tmp_path_factory.mktemp("exported") / "run.json"
    path.write_text(done.stdout, "utf-8")
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    shutil.copytree(PACKAGE, tmp_path / "sourcebound", ignore=shutil.ignore_patterns("__pycache__", "*.onnx"))
    return Elsewhere(tmp_path)


def _fault(done: Finished) -> str:
    """The code of a fault, which is two lines on stderr and nothing on stdout."""
    assert (done.code, done.stdout) == (2, ""), done
    message, next_step = done.stderr.splitlines()
    assert next_step.startswith("  Next: ")
    return message[message.rindex("[") + 1 : -1]


@pytest.mark.contract("CP-3")
def test_a_run_is_verified_layer_by_layer(demo: Program) -> None:
    run_id = json.loads(demo("ask", ANSWERED, "--json").stdout)["run_id"]
    done = demo("replay", "verify", run_id)
    assert (done.code, done.stderr) == (0, "")
    title, *lines = done.stdout.splitlines()
    assert title == f"run {run_id}: MATCH"
    verdicts = {line.split()[1]: line.split()[0] for line in lines}
    assert verdicts == {layer: "RECORDED" if layer == "retrieve" else "MATCH" for layer in LAYERS}
    report = json.loads(demo("replay", "verify", run_id, "--json").stdout)
    assert (report["run_id"], report["verdict"]) == (run_id, "MATCH")
    assert [layer["layer"] for layer in report["layers"]] == LAYERS


@pytest.mark.contract("CP-3")
def test_a_run_that_was_tampered_with_is_shown_where_it_differs(library: str) -> None:
    program = Program({"DATABASE_URL": library})
    runs = [json.loads(program("ask", question, "--json").stdout)["run_id"] for question in (ANSWERED, OFF_TOPIC)]
    overwrite_byte(library, runs[0], "response", "HP-200", 0, "X")
    done = program("replay", "verify", runs[0])
    assert (done.code, done.stderr) == (4, "")
    where = done.stdout.index("  DRIFT     package\n    response.answer, character ")
    recorded, computed = done.stdout[where:].splitlines()[2:4]
    assert recorded.startswith("      recorded  ")
    assert "XP-200" in recorded
    assert computed == recorded.replace("recorded", "computed").replace("XP-200", "HP-200")
    program("runs", "erase", runs[1], "--yes")
    every = program("replay", "verify", "--all")
    assert every.code == 4
    assert every.stdout.startswith(done.stdout)
    assert f"run {runs[1]}: its texts and checkpoints were erased" in every.stdout
    assert every.stderr == "2 runs: 0 match, 1 drifted, 1 not replayable (1 RUN_ERASED)\n"
    lines = [json.loads(line) for line in program("replay", "verify", "--all", "--json").stdout.splitlines()]
    assert [line.get("verdict", line.get("code")) for line in lines] == ["DRIFT", "RUN_ERASED"]
    assert _fault(program("replay", "verify", runs[1])) == "RUN_ERASED"
    assert _fault(program("replay", "verify", "nosuch")) == "RUN_NOT_FOUND"
    assert _fault(program("replay", "verify", runs[0], "--all")) == "BAD_REQUEST"


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(("seed", "locale"), [("1", "C"), ("4242", "tr_TR.UTF-8"), ("random", "POSIX")])
def test_an_exported_run_is_verified_without_a_database_under_any_seed_and_locale(
    exported: Path, elsewhere: Elsewhere, seed: str, locale: str
) -> None:
    done = elsewhere("replay", "verify", exported, PYTHONHASHSEED=seed, LC_ALL=locale, TZ="Asia/Kathmandu")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.count("MATCH") == len(LAYERS)


@pytest.mark.contract("CP-3")
@pytest.mark.contract("P-1")
@pytest.mark.parametrize(
    ("file", "old", "new", "layers", "path"),
    [
        (
            "contracts/policy/released/SOURCEBOUND_V2.toml",
            "max_chunks = 12",
            "max_chunks = 11",
            ["rules"],
            "contracts/policy/released/SOURCEBOUND_V2.toml: selection.max_chunks",
        ),
        (
            "contracts/prompt/templates/prose_v2.txt",
            "only",
            "mainly",
            ["rules", "build_prompt"],
            "contracts/prompt/templates/prose_v2.txt: sha256",
        ),
        ("contracts/text/segments.py", '"segment_v1"', '"segment_v2"', ["rules"], "segmenter"),
    ],
)
def test_rules_that_changed_under_their_name_are_named(
    exported: Path, elsewhere: Elsewhere, file: str, old: str, new: str, layers: list[str], path: str
) -> None:
    elsewhere.edit(file, old, new)
    done = elsewhere("replay", "verify", exported, "--json")
    assert done.code == 4, done
    differing = [layer for layer in json.loads(done.stdout)["layers"] if layer["verdict"] == "DRIFT"]
    assert [layer["layer"] for layer in differing] == layers
    assert differing[0]["differences"][0]["path"].startswith(path)


@pytest.mark.contract("CP-3")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text[: len(text) // 2], "RUN_FILE_DAMAGED"),
        (lambda text: text.replace("14 days", "15 days"), "RUN_FILE_ALTERED"),
        (lambda text: text.replace("sourcebound_run_v1", "sourcebound_run_v2"), "RUN_FILE_NEWER"),
        (lambda text: '{"answer": 42}', "RUN_FILE_UNKNOWN"),
        (lambda text: "", "RUN_FILE_DAMAGED"),
    ],
)
def test_a_file_that_is_no_whole_run_is_refused(
    exported: Path, tmp_path: Path, demo: Program, change: Callable[[str], str], code: str
) -> None:
    text = exported.read_text("utf-8")
    path = tmp_path / "run.json"
    path.write_text(change(text), "utf-8")
    assert path.read_text("utf-8") != text
    assert _fault(demo("replay", "verify", path)) == code


@pytest.mark.contract("CP-3")
def test_a_file_may_be_laid_out_otherwise_and_may_hold_many_runs(exported: Path, tmp_path: Path, demo: Program) -> None:
    text = exported.read_text("utf-8")
    (tmp_path / "pretty.json").write_text(json.dumps(json.loads(text), indent=2), "utf-8")
    assert demo("replay", "verify", tmp_path / "pretty.json").code == 0
    assert demo("ask", ANSWERED).code == 0  # whichever test comes first, there are two runs
    history = demo("runs", "export", "--all")
    lines = history.stdout.splitlines()
    (tmp_path / "history.jsonl").write_text(history.stdout, "utf-8")
    done = demo("replay", "verify", tmp_path / "history.jsonl")
    assert (done.code, done.stderr) == (0, f"{len(lines)} runs: {len(lines)} match, 0 drifted\n")
    (tmp_path / "history.jsonl").write_text(text + text[:-20] + "\n", "utf-8")
    cut = demo("replay", "verify", tmp_path / "history.jsonl")
    assert cut.code == 2
    assert "history.jsonl, line 2: it is not one complete JSON object" in cut.stderr
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    assert _fault(demo("replay", "verify", tmp_path / "latin.json")) == "RUN_FILE_DAMAGED"

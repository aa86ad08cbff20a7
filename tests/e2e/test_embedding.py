"""The programs of examples/embedding run, over the demo's collection."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.places import ROOT
from support.processes.commands import DEADLINE_SECONDS, Finished, Program
from support.processes.studio import Studio

PROGRAMS = ROOT / "examples" / "embedding"
ANSWER = "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C. [C0]"
STAGES = ["accept", "retrieve", "assemble", "build_prompt", "generate", "validate", "record", "package"]


def run(demo: Program, name: str, *arguments: str, folder: Path = PROGRAMS) -> str:
    """Run a program to its end, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", PROGRAMS / name, *arguments],
        env=demo.variables(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    finished = Finished(done.returncode, done.stdout, done.stderr)
    assert (finished.code, finished.stderr) == (0, ""), finished
    return finished.stdout


def test_a_stream_shows_stages_and_then_the_answer(demo: Program) -> None:
    lines = run(demo, "stream.py").splitlines()
    assert lines == [*(f"… {stage}" for stage in STAGES), f"OK: {ANSWER}"]


def test_a_script_asks_without_await(demo: Program) -> None:
    assert run(demo, "synchronous.py").splitlines() == [
        "To what is the spring compression of the HP-200 seal set?",
        "  OK: The spring compression of the HP-200 seal is set to 3.2 mm in revision C before the drive collar is "
        "locked. [C0]",
        "To what is the spring compression of the HP-300 seal set?",
        "  OK: The spring compression of the HP-300 seal is set to 4.1 mm before the drive collar is locked. [C1]",
        f"in a running loop, after {len(STAGES)} stages: OK",
    ]


def test_an_agent_calls_the_tool(demo: Program) -> None:
    shown = run(demo, "langchain_agent.py").splitlines()
    assert shown[0] == ANSWER.replace("[C0]", "[1]")
    assert shown[2].startswith("- [1] HP-200 Circulation Pump")
    assert shown[-1].startswith("recorded as run ")


def test_a_graph_of_another_program_asks_and_its_run_is_replayed(demo: Program) -> None:
    *shown, recorded = run(demo, "langgraph_node.py").splitlines()
    assert shown == [*(f"… {stage}" for stage in STAGES), f"reply: {ANSWER}"]
    run_id = recorded.removeprefix("recorded as run ")
    verified = demo("replay", "verify", run_id)
    assert (verified.code, "MATCH" in verified.stdout) == (0, True), verified


def test_a_chain_reads_the_evidence_and_its_answer_is_checked(demo: Program) -> None:
    assert run(demo, "langchain_retriever.py").splitlines() == [ANSWER, "FAILED UNSUPPORTED_LITERAL", "NO_EVIDENCE"]


@pytest.mark.parametrize(
    ("package", "program"), [("llama_index", "guard_llama_index.py"), ("haystack", "guard_haystack.py")]
)
def test_the_answers_of_another_framework_are_checked(package: str, program: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    shown = run(Program({"HAYSTACK_TELEMETRY_ENABLED": "False"}), program).splitlines()
    assert shown == [ANSWER.replace(". [C0]", " [1]."), "FAILED UNSUPPORTED_LITERAL"]


def test_another_program_asks_the_graph_of_a_server(studio: Studio) -> None:
    answered, as_node, recorded = run(Program(studio.variables()), "remote_graph.py", studio.url).splitlines()
    assert (answered, as_node) == (f"OK: {ANSWER}", "as a node: OK")
    verified = Program(studio.variables())("replay", "verify", recorded.removeprefix("recorded as run "))
    assert (verified.code, "MATCH" in verified.stdout) == (0, True), verified

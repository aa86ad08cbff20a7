"""`sourcebound search` as a real process: candidates, their outcomes and reasons, and nothing left behind."""

import json
import os
import pty
import re
import subprocess
from typing import Any

import pytest

from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from support.processes.commands import PROGRAM, Finished, Program

QUESTION = "How often is the shaft of a stored HP-200 turned by hand?"
OFF_TOPIC = "Which orchestra played at the opening of the Sydney Opera House?"
NOWHERE = Program({"SOURCEBOUND_HOME": "/dev/null/nowhere"})

HEAD = re.compile(
    r"^(\d+)  similarity (0\.\d{3})  dense (\d+|-)  lexical (\d+|-)(?: \([\d.]+\))?  "
    r"(\w+)(?: (C\d+))?  (.+)\n    (.+)$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def found(demo: Program) -> dict[str, Any]:
    """The report of a question that has evidence."""
    return _report(demo("search", QUESTION, "--json"), 0)


def _report(done: Finished, code: int) -> dict[str, Any]:
    assert (done.code, done.stderr) == (code, "")
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def test_each_candidate_stands_with_its_places_and_its_fate(demo: Program, found: dict[str, Any]) -> None:
    done = demo("search", QUESTION)
    assert (done.code, done.stderr) == (0, "")
    heads = HEAD.findall(done.stdout)
    rows = found["candidates"]
    assert [head[0] for head in heads] == [str(row["rank"]) for row in rows] == [str(n) for n in range(12)]
    for (_, similarity, dense, lexical, fate, anchor, place, first_line), row in zip(heads, rows, strict=True):
        assert similarity == f"{row['similarity_score']:.3f}"
        assert (dense, lexical) == tuple(
            "-" if row[name] is None else str(row[name]) for name in ("dense_rank", "lexical_rank")
        )
        assert (fate, anchor) == (row["outcome"], row["anchor"] or "")
        assert row["source_reference"] in place
        assert row["section"] is None or row["section"] in place
        assert first_line == row["first_line"] != ""
    assert "hp-200-manual-rev-c.pdf, p. 16" in heads[0][6]


def test_the_verdict_stands_with_both_minima_and_what_was_measured(demo: Program, found: dict[str, Any]) -> None:
    lines = demo("search", QUESTION).stdout.splitlines()
    gate = found["gate"]
    assert "OK  evidence" in lines
    assert (
        f"similarity {gate['top_similarity']:.3f} (minimum {gate['min_top_similarity']:.3f}), "
        f"coverage {gate['question_coverage']:.3f} (minimum {gate['min_question_coverage']:.3f})"
    ) in lines
    assert "policy SOURCEBOUND_V2  collection demo" in lines
    assert gate["top_similarity"] >= gate["min_top_similarity"] > 0
    assert gate["question_coverage"] >= gate["min_question_coverage"] > 0


def test_the_evidence_is_that_of_ask(demo: Program, found: dict[str, Any]) -> None:
    answer = json.loads(demo("ask", QUESTION, "--json").stdout)
    by_anchor = {row["anchor"]: row for row in found["candidates"] if row["anchor"]}
    assert list(by_anchor) == [f"C{number}" for number in range(len(by_anchor))]
    assert {row["outcome"] for row in found["candidates"]} <= set(RowOutcome)
    for citation in answer["citations"]:
        assert by_anchor[citation["anchor"]]["source_reference"] == citation["source_reference"]


def test_no_run_is_recorded(demo: Program) -> None:
    before = demo("runs", "list", "--json", "--limit", "1000").stdout
    _report(demo("search", QUESTION, "--json"), 0)
    _report(demo("search", OFF_TOPIC, "--json"), 3)
    assert demo("runs", "list", "--json", "--limit", "1000").stdout == before
    assert demo("audit", "verify").code == 0


@pytest.mark.contract("R1-11")
def test_a_refusal_of_the_gate_says_what_was_too_low_and_ends_with_3(demo: Program) -> None:
    report = _report(demo("search", OFF_TOPIC, "--json"), 3)
    assert report["outcome"]["refusal_code"] == "below_similarity_gate"
    assert {row["outcome"] for row in report["candidates"]} == {"DROP_GATE"}
    gate = report["gate"]
    assert (
        gate["top_similarity"] < gate["min_top_similarity"] or gate["question_coverage"] < gate["min_question_coverage"]
    )
    plain = demo("search", OFF_TOPIC)
    assert plain.code == 3
    assert "\nNO_EVIDENCE  below_similarity_gate: no source " in plain.stdout


@pytest.mark.contract("R1-2")
def test_an_unknown_collection_is_a_refusal_that_says_how_to_fill_it(demo: Program) -> None:
    done = demo("search", QUESTION, "--collection", "nowhere")
    assert (done.code, done.stderr) == (3, "")
    assert done.stdout.startswith("NO_EVIDENCE  collection_not_found: ")
    assert "sourcebound ingest PATH --collection nowhere" in done.stdout


@pytest.mark.contract("R1-8")
@pytest.mark.contract("P-4")
def test_filters_and_limits_are_obeyed(demo: Program) -> None:
    report = _report(
        demo("search", QUESTION, "--json", "--filter", "equipment_id=HP-300", "--limit", "max_chunks=1",
             "--limit", "min_question_coverage=0.7"), 0
    )  # fmt: skip
    assert report["filters"] == {"equipment_id": "HP-300"}
    assert all("300" in row["knowledge_id"] for row in report["candidates"])
    fates = [row["outcome"] for row in report["candidates"]]
    assert fates.count("ADMITTED") == 1
    assert "DROP_MAX_CHUNKS" in fates


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["  "], "the question is empty"),
        (["why?", "--filter", "colour=red"], "Known filters: equipment_id"),
        (["why?", "--limit", "min_sources=many"], "is not a number"),
    ],
)
def test_what_cannot_be_searched_so_is_said_before_any_database_is_opened(arguments: list[str], words: str) -> None:
    done = NOWHERE("search", *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert "[BAD_REQUEST]" in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [("--policy", "NO_SUCH_POLICY", "UNKNOWN_POLICY"), ("--limit", "min_top_similarity=0.01", "POLICY_LOOSENED")],
)
def test_an_unknown_policy_and_a_looser_limit_are_bad_usage(demo: Program, option: str, value: str, code: str) -> None:
    done = demo("search", QUESTION, option, value)
    assert (done.code, done.stdout) == (2, "")
    assert f"[{code}]" in done.stderr


def test_on_a_terminal_it_is_a_table(demo: Program) -> None:
    ours, theirs = pty.openpty()
    try:
        environment = {**demo.variables(), "COLUMNS": "110", "TERM": "xterm"}
        process = subprocess.Popen([PROGRAM, "search", QUESTION], stdout=theirs, env=environment, cwd="/")
        os.close(theirs)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", _read(ours))
        assert process.wait(timeout=120) == 0
    finally:
        os.close(ours)
    assert re.search(r"^rank +similarity +dense +lexical +outcome +candidate", shown)
    assert re.search(r"^ +0 +0\.\d{3} +\d+ +\d+.* ADMITTED C0 +hp-200-manual-rev-c\.pdf, p\. 16", shown, re.MULTILINE)
    assert max(map(len, shown.splitlines()[: 2 * 12 + 1])) <= 110


def _read(terminal: int) -> str:
    """Everything that a process writes to its terminal until it closes it."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode("utf-8")
